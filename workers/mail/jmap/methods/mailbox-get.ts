/** `Mailbox/get` (RFC 8621 §2.1). */
import { z } from '@hono/zod-openapi';
import { MAILBOX_PROPERTIES, readMailboxes, withoutPath } from '../objects/mailbox.ts';
import { getArguments } from '../protocol/arguments.ts';
import { method } from '../protocol/method.ts';
import { answerGet } from '../protocol/standard.ts';

const THREAD_COUNTS = ['totalThreads', 'unreadThreads'];

export const mailboxGet = method({
  capability: 'mail',
  schema: z.strictObject(getArguments),
  run: async (call, args) => {
    const isCounted =
      args.ids?.length !== 0 && (args.properties ?? THREAD_COUNTS).some((name) => THREAD_COUNTS.includes(name));
    const read = await readMailboxes(call, isCounted);
    if (!read.ok) return read;
    const { state, mailboxes } = read.value;
    return answerGet(call, args, { state, objects: mailboxes.map(withoutPath), known: MAILBOX_PROPERTIES });
  },
});
