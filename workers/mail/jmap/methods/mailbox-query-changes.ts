/** `Mailbox/queryChanges` (RFC 8621 §2.4). */
import { z } from '@hono/zod-openapi';
import { ok } from '../../../shared/pure/result.ts';
import { readMailboxes } from '../objects/mailbox.ts';
import { findMailboxes } from '../objects/mailbox-query.ts';
import { queryChangesArguments } from '../protocol/arguments.ts';
import { answerQueryChanges } from '../protocol/changes.ts';
import { method } from '../protocol/method.ts';

export const mailboxQueryChanges = method({
  capability: 'mail',
  schema: z.strictObject({
    ...queryChangesArguments,
    sortAsTree: z.boolean().default(false),
    filterAsTree: z.boolean().default(false),
  }),
  run: (call, args) =>
    answerQueryChanges(call, 'Mailbox', args, async (changed) => {
      const read = await readMailboxes(call, false);
      if (!read.ok) return read;
      const found = findMailboxes(read.value.mailboxes, args);
      return found.ok ? ok({ state: read.value.state, ids: found.value, changed }) : found;
    }),
});
