/** `EmailSubmission/get` (RFC 8621 §7.1). */
import { z } from '@hono/zod-openapi';
import { err, ok } from '../../../shared/pure/result.ts';
import { readSubmissions, SUBMISSION_PROPERTIES } from '../objects/submission.ts';
import { getArguments } from '../protocol/arguments.ts';
import { method } from '../protocol/method.ts';
import { findGetError, pick, resolveId } from '../protocol/standard.ts';

const KNOWN: readonly string[] = SUBMISSION_PROPERTIES;

export const emailSubmissionGet = method({
  capability: 'submission',
  schema: z.strictObject(getArguments),
  run: async (call, args) => {
    const refusal = findGetError(args, (name) => KNOWN.includes(name));
    if (refusal) return err(refusal);
    const ids = args.ids && [...new Set(args.ids.map((id) => resolveId(call, id)))];
    const read = await readSubmissions(call, ids);
    if (!read.ok) return read;
    const { state, submissions } = read.value;
    const found = new Set(submissions.map(({ id }) => id));
    return ok({
      accountId: call.accountId,
      state,
      list: submissions.map((submission) => pick(submission, args.properties)),
      notFound: (ids ?? []).filter((id) => !found.has(id)),
    });
  },
});
