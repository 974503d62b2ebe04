/** `Mailbox/get` (RFC 8621 §2.1). */
import { z } from '@hono/zod-openapi';
import { MAILBOX_PROPERTIES, readMailboxes, withoutPath } from '../objects/mailbox.ts';
import { getArguments } from '../protocol/arguments.ts';
import { method } from '../protocol/method.ts';
import type { JmapRequest } from '../protocol/request.ts';
import { answerGet } from '../protocol/standard.ts';

const THREAD_COUNTS = ['totalThreads', 'unreadThreads'];
const schema = z.strictObject(getArguments);

const countsThreads = ({ ids, properties }: z.output<typeof schema>): boolean =>
  ids?.length !== 0 && (properties ?? THREAD_COUNTS).some((name) => THREAD_COUNTS.includes(name));

/** @returns an object if the first call of a request reads the folders, as when a client opens; null for any other request. */
export function readsFoldersFirst({ methodCalls: [first] }: JmapRequest): { readonly withThreads: boolean } | null {
  if (first?.[0] !== 'Mailbox/get') return null;
  const args = schema.safeParse(first[1]);
  return args.success ? { withThreads: countsThreads(args.data) } : null;
}

export const mailboxGet = method({
  capability: 'mail',
  schema,
  run: async (call, args) => {
    const read = await readMailboxes(call, countsThreads(args));
    if (!read.ok) return read;
    const { state, mailboxes } = read.value;
    return answerGet(call, args, { state, objects: mailboxes.map(withoutPath), known: MAILBOX_PROPERTIES });
  },
});
