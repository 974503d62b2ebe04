/** Tools that read: they change nothing. */
import { z } from '@hono/zod-openapi';
import type { MessageDetail } from '../../../durable-objects/mail/contract/messages.ts';
import type { SearchAnswer, SearchPage, SearchRequest } from '../../../durable-objects/mail/contract/search.ts';
import { isExplained, readTextTerms } from '../domain/agent-query.ts';
import { decodeText } from '../domain/charset.ts';
import { fence, toVisibleLine, toVisibleText } from '../domain/foreign-text.ts';
import { maskAll, withholdSecrets } from '../domain/secret-text.ts';
import { readPieces } from '../inbound/process/delivery.ts';
import { readAttachment } from '../inbound/process/stored-attachment.ts';
import { toDeliveryJson } from '../routes/message-json.ts';
import { toTime } from '../routes/route.ts';
import { type Agent, readMessage, ToolError } from './agent.ts';
import { toMessageText } from './answers.ts';
import { AgentReader, type ShownMessage } from './reading.ts';
import { tool } from './tool.ts';

const THREAD_MESSAGES_MAX = 30;
const HITS_MAX = 20;
/** Pages of the search that are read to fill an answer. */
const PAGES_MAX = 4;
const FILE_BYTES_MAX = 200_000;

const idSchema = z.string().min(1).max(100);

export const whoami = tool({
  name: 'whoami',
  scope: 'mail:read',
  description: 'Whose mailbox this is, what this connection may do, and the time.',
  input: z.strictObject({}),
  run: async ({ user, now }) =>
    [
      `address: ${user.email ?? user.userName}`,
      `name: ${toVisibleLine(user.name, 100)}`,
      `scopes: ${(user.scopes ?? []).join(' ')}`,
      `time: ${toTime(now)}`,
    ].join('\n'),
});

export const listFolders = tool({
  name: 'list_folders',
  scope: 'mail:read',
  description: 'Folders with their ids, roles and counts.',
  input: z.strictObject({}),
  run: async (agent) => {
    const rows = await agent.ask((mailbox) => mailbox.listFolders());
    return rows
      .map(
        (row) =>
          `${row.folder_id} ${row.role ?? '-'} "${toVisibleLine(row.name, 200)}" unread ${row.unread} of ${row.total}`,
      )
      .join('\n');
  },
});

/** Shows messages with the rest of their threads in view, because a reply may quote what is withheld. */
async function showAll(agent: Agent, reader: AgentReader, ids: readonly string[]): Promise<ShownMessage[]> {
  return Promise.all(
    ids.map(async (id) => {
      const message = await readMessage(agent, id);
      return reader.show(message, await readMates(agent, message));
    }),
  );
}

async function readMates(agent: Agent, { threadId }: MessageDetail): Promise<readonly MessageDetail[]> {
  if (agent.has('mail:codes')) return [];
  return (await agent.ask((mailbox) => mailbox.readThread(threadId, -1, THREAD_MESSAGES_MAX))).messages;
}

export const search = tool({
  name: 'search',
  scope: 'mail:read',
  description:
    'Searches mail. Words, "phrases", prefix*, from: to: cc: subject: in: is:unread|read|flagged has:attachment filename: label: before: after: newer_than:2d older_than:1y larger: smaller:, - negates, OR, parentheses. Without words: the newest mail. Junk and Trash only if in: names them.',
  input: z.strictObject({
    query: z.string().max(1_000).default(''),
    limit: z.int().min(1).max(HITS_MAX).default(10),
    sort: z.enum(['relevance', 'newest']).default('newest'),
  }),
  run: async (agent, { query, limit, sort }) => {
    const found: ShownMessage[] = [];
    const reader = new AgentReader(agent);
    const terms = readTextTerms(query);
    // Whether a message is in the answer must not depend on what is withheld in it.
    const mayShow = ({ hasSecrets, ...shown }: ShownMessage): boolean =>
      !hasSecrets || isExplained(terms, toSearched(shown));
    let page: SearchPage | null = null;
    for (let round = 0; round < PAGES_MAX && found.length <= limit; round++) {
      const request: SearchRequest = { query, sort, page, limit: HITS_MAX };
      const { hits, next }: SearchAnswer = await agent.ask((mailbox) => mailbox.search(request));
      const ids = hits.map(({ message }) => message.messageId);
      found.push(...(await showAll(agent, reader, ids)).filter(mayShow));
      page = next;
      if (page === null) break;
    }
    if (found.length === 0) return 'No message matches.';
    const texts = found.slice(0, limit).map((shown) => toMessageText(agent, shown, false));
    return [
      ...texts,
      ...(found.length > limit ? ['There are more matches. Narrow the search with before:.'] : []),
    ].join('\n\n');
  },
});

const toSearched = ({ message, isWithheld, subject, body, fileNames }: Omit<ShownMessage, 'hasSecrets'>): string =>
  isWithheld
    ? (message.from?.email ?? '')
    : [
        subject,
        body,
        ...fileNames,
        ...[message.from, ...message.to, ...message.cc].map((one) => `${one?.name ?? ''} ${one?.email ?? ''}`),
      ].join('\n');

export const getMessage = tool({
  name: 'get_message',
  scope: 'mail:read',
  description: 'One message as plain text.',
  input: z.strictObject({ message_id: idSchema }),
  run: async (agent, { message_id }) => {
    const [shown] = await showAll(agent, new AgentReader(agent), [message_id]);
    return shown ? toMessageText(agent, shown, true) : 'No such message.';
  },
});

export const getThread = tool({
  name: 'get_thread',
  scope: 'mail:read',
  description: `A conversation, oldest message first, at most ${THREAD_MESSAGES_MAX} messages.`,
  input: z.strictObject({ thread_id: idSchema }),
  run: async (agent, { thread_id }) => {
    const { messages, hasMore } = await agent.ask((mailbox) => mailbox.readThread(thread_id, -1, THREAD_MESSAGES_MAX));
    const reader = new AgentReader(agent);
    const shown = await Promise.all(messages.map((message) => reader.show(message, messages)));
    const texts = shown.map((one) => toMessageText(agent, one, true));
    return [...texts, ...(hasMore ? ['The conversation has more messages.'] : [])].join('\n\n');
  },
});

const TEXT_TYPE = /^(?:text\/(?!html)[\w.+-]+|application\/(?:json|csv|x-yaml))$/i;

/** ISO-2022 shifts by an escape that no other text has, so it is known without its label. */
function decodeFile(bytes: Uint8Array, contentType: string): string {
  const label = /charset\s*=\s*"?([\w.:-]+)/i.exec(contentType)?.[1];
  return decodeText(bytes, label ?? (Buffer.from(bytes).includes('\u001b$') ? 'iso-2022-jp' : 'utf-8'));
}

export const getAttachment = tool({
  name: 'get_attachment',
  scope: 'mail:read',
  description: `The text of a small attachment (plain text, CSV, JSON, calendar; at most ${FILE_BYTES_MAX / 1000} KB).`,
  input: z.strictObject({ message_id: idSchema, file_name: z.string().min(1).max(1_000) }),
  run: async (agent, { message_id, file_name }) => {
    const message = await readMessage(agent, message_id);
    const reader = new AgentReader(agent);
    if (await reader.isWithheld(message)) throw new ToolError('This message is withheld, with its attachments.');
    const file = message.attachments.find(({ fileName }) => toVisibleLine(fileName, 200) === file_name);
    if (!file) throw new ToolError('The message has no attachment of this name.');
    if (!TEXT_TYPE.test(file.contentType.split(';')[0]?.trim() ?? ''))
      throw new ToolError('Only attachments of plain text can be read.');
    if (file.sizeBytes > FILE_BYTES_MAX) throw new ToolError('The attachment is too large.');
    const bytes = await readPieces(await readAttachment(agent.env, message.rawKey, file));
    const text = toVisibleText(decodeFile(bytes, file.contentType));
    const secrets = agent.has('mail:codes') ? [] : withholdSecrets(text, message.subject).secrets;
    return fence(maskAll(text, secrets), agent.mark);
  },
});

export const listChanges = tool({
  name: 'list_changes',
  scope: 'mail:read',
  description: 'What changed since a state. Without a state: the current one.',
  input: z.strictObject({
    since: z
      .string()
      .regex(/^\d{1,16}$/)
      .optional(),
  }),
  run: async (agent, { since }) => {
    const { state, changes, resync } = await agent.ask((mailbox) =>
      mailbox.pollEvents(since === undefined ? null : Number(since), 0),
    );
    const lines = (changes ?? []).map(({ type, message_id, folder_id }) =>
      [type, message_id, folder_id].filter(Boolean).join(' '),
    );
    return [`state ${state}`, ...(resync ? ['The state is too old: search again.'] : []), ...lines].join('\n');
  },
});

export const trace = tool({
  name: 'trace',
  scope: 'mail:read',
  description:
    'What became of a message: delivery per recipient if the person sent it, else the verdict of the checks.',
  input: z.strictObject({ message_id: idSchema }),
  run: async (agent, { message_id }) => {
    const { origin, delivery, spam, folderRole, receivedAt } = await readMessage(agent, message_id);
    if (origin === 'sent') {
      const states = delivery.map((one) => `${one.email}: ${toDeliveryJson(one).state}`);
      // The replies of other servers are foreign text, so only the codes are given.
      return states.length > 0 ? fence(states.join('\n'), agent.mark) : 'It has no recipients that are known.';
    }
    const verdict = spam === null ? null : (JSON.parse(spam) as { verdict?: string }).verdict;
    return `received ${toTime(receivedAt)}, in ${folderRole ?? 'a folder of the person'}, spam check: ${verdict ?? 'none'}`;
  },
});
