/** `EmailSubmission/query` (RFC 8621 §7.3). Searches only the newest submissions. */
import { z } from '@hono/zod-openapi';
import { readSubmissions } from '../objects/submission.ts';
import { findSubmissions } from '../objects/submission-query.ts';
import { queryArguments } from '../protocol/arguments.ts';
import { method } from '../protocol/method.ts';
import { answerQuery } from '../protocol/standard.ts';

export const emailSubmissionQuery = method({
  capability: 'submission',
  schema: z.strictObject(queryArguments),
  run: async (call, args) => {
    const read = await readSubmissions(call, null);
    if (!read.ok) return read;
    const found = findSubmissions(read.value.submissions, args);
    if (!found.ok) return found;
    return answerQuery(call, args, { queryState: read.value.state, ids: found.value, canCalculateChanges: true });
  },
});
