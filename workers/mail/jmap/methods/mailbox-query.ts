/** `Mailbox/query` (RFC 8621 §2.3). */
import { z } from '@hono/zod-openapi';
import { readMailboxes } from '../objects/mailbox.ts';
import { findMailboxes } from '../objects/mailbox-query.ts';
import { queryArguments } from '../protocol/arguments.ts';
import { method } from '../protocol/method.ts';
import { answerQuery } from '../protocol/standard.ts';

export const mailboxQuery = method({
  capability: 'mail',
  schema: z.strictObject({
    ...queryArguments,
    sortAsTree: z.boolean().default(false),
    filterAsTree: z.boolean().default(false),
  }),
  run: async (call, args) => {
    const read = await readMailboxes(call, false);
    if (!read.ok) return read;
    const found = findMailboxes(read.value.mailboxes, args);
    if (!found.ok) return found;
    return answerQuery(call, args, { queryState: read.value.state, ids: found.value, canCalculateChanges: true });
  },
});
