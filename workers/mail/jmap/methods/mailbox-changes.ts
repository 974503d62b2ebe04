/** `Mailbox/changes` (RFC 8621 §2.2). */
import { z } from '@hono/zod-openapi';
import { COUNT_PROPERTIES } from '../objects/mailbox.ts';
import { changesArguments } from '../protocol/arguments.ts';
import { answerChanges } from '../protocol/changes.ts';
import { method } from '../protocol/method.ts';

export const mailboxChanges = method({
  capability: 'mail',
  schema: z.strictObject(changesArguments),
  run: (call, args) =>
    answerChanges(call, 'Mailbox', args, ({ onlyCounts }) => ({
      updatedProperties: onlyCounts ? COUNT_PROPERTIES : null,
    })),
});
