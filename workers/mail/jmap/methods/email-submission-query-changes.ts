/** `EmailSubmission/queryChanges` (RFC 8621 §7.4). */
import { z } from '@hono/zod-openapi';
import { ok } from '../../../shared/pure/result.ts';
import { readSubmissions } from '../objects/submission.ts';
import { findSubmissions } from '../objects/submission-query.ts';
import { queryChangesArguments } from '../protocol/arguments.ts';
import { answerQueryChanges } from '../protocol/changes.ts';
import { method } from '../protocol/method.ts';

export const emailSubmissionQueryChanges = method({
  capability: 'submission',
  schema: z.strictObject(queryChangesArguments),
  run: (call, args) =>
    answerQueryChanges(call, 'EmailSubmission', args, async (changed) => {
      const read = await readSubmissions(call, null);
      if (!read.ok) return read;
      const found = findSubmissions(read.value.submissions, args);
      return found.ok ? ok({ state: read.value.state, ids: found.value, changed }) : found;
    }),
});
