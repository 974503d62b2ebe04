/** `Email/changes` (RFC 8621 §4.3). */
import { z } from '@hono/zod-openapi';
import { changesArguments } from '../protocol/arguments.ts';
import { answerChanges } from '../protocol/changes.ts';
import { method } from '../protocol/method.ts';

export const emailChanges = method({
  capability: 'mail',
  schema: z.strictObject(changesArguments),
  run: (call, args) => answerChanges(call, 'Email', args),
});
