/** `Thread/changes` (RFC 8621 §3.2). */
import { z } from '@hono/zod-openapi';
import { changesArguments } from '../protocol/arguments.ts';
import { answerChanges } from '../protocol/changes.ts';
import { method } from '../protocol/method.ts';

export const threadChanges = method({
  capability: 'mail',
  schema: z.strictObject(changesArguments),
  run: (call, args) => answerChanges(call, 'Thread', args),
});
