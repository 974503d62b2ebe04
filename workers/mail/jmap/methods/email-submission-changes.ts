/** `EmailSubmission/changes` (RFC 8621 §7.2). */
import { z } from '@hono/zod-openapi';
import { changesArguments } from '../protocol/arguments.ts';
import { answerChanges } from '../protocol/changes.ts';
import { method } from '../protocol/method.ts';

export const emailSubmissionChanges = method({
  capability: 'submission',
  schema: z.strictObject(changesArguments),
  run: (call, args) => answerChanges(call, 'EmailSubmission', args),
});
