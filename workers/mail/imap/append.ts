/** `POST /v1/imap/append`: puts a message into a folder, byte for byte. */
import { createHash, randomUUID } from 'node:crypto';
import { createRoute, type OpenAPIHono } from '@hono/zod-openapi';
import type { ImapAppended, ImapMarks, ImapSource } from '../../../durable-objects/mail/contract/imap.ts';
import { type JsonApiEnv, jsonContent, problemResponses, rawBody, sendProblem } from '../../shared/json/json-api.ts';
import type { Problem } from '../../shared/json/problem.ts';
import { err, ok, type Result } from '../../shared/pure/result.ts';
import { createClock } from '../../shared/settings/clock.ts';
import { deleteBlobs } from '../bindings/blobs.ts';
import { type OpenedMessage, openStored } from '../checks/opened-message.ts';
import { putDelivery, toRawKey } from '../inbound/process/delivery.ts';
import { headerValue } from '../mime/mime-tree.ts';
import { createLineEnder } from '../outbound/compose-message.ts';
import { type AskMailbox, openOwnMailbox, USER_ROUTE } from '../routes/route.ts';
import { toBadRequest } from '../schemas/errors.ts';
import { labelSchema } from '../schemas/message.ts';
import { toMessageBytesMax, toStateJson } from './account.ts';
import { toImapMarks } from './keywords.ts';
import { type Received, receiveMessage } from './received-body.ts';
import { appendAnswerSchema, appendQuerySchema } from './schemas.ts';

const LABELS_MAX = 50;

interface Appending {
  readonly env: Env;
  readonly userId: string;
  readonly ask: AskMailbox;
  readonly folderKey: string;
  readonly marks: ImapMarks;
  readonly receivedAt: number;
  readonly deliveryKey: string;
}

export function addImapAppend(api: OpenAPIHono<JsonApiEnv>): void {
  api.openapi(
    createRoute({
      ...USER_ROUTE,
      method: 'post',
      path: '/v1/imap/append',
      operationId: 'appendImapMessage',
      summary: 'Put a raw message into a folder',
      description:
        'A message whose bytes the mailbox has is put into the folder too, so a repeated request adds nothing. In Sent, a message that was submitted here is not stored again.',
      request: { ...rawBody('message/rfc822'), query: appendQuerySchema },
      responses: {
        200: jsonContent(appendAnswerSchema, 'The message in the folder'),
        ...problemResponses(400, 401, 403, 404, 411, 413, 415, 503),
      },
    }),
    async (c) => {
      const own = await openOwnMailbox(c);
      if (!own.ok) return sendProblem(c, own.error);
      const { folder_id: folderKey, keywords, received_at } = c.req.valid('query');
      const names = keywords.split(',').filter((name) => name.trim() !== '');
      if (names.length > LABELS_MAX || names.some((name) => !labelSchema.safeParse(name).success))
        return sendProblem(c, toBadRequest('keywords', 'Not a keyword.'));
      const { ask, user } = own.value;
      const profile = await ask((mailbox) => mailbox.readProfile());
      if (!profile.ok) return sendProblem(c, profile.error);
      const now = createClock(c.env)();
      const deliveryKey = `imap:${randomUUID()}`;
      const about = { env: c.env, userId: user.userId, ask, folderKey, deliveryKey };
      const appending = { ...about, marks: toImapMarks(names, []), receivedAt: Math.min(received_at ?? now, now) };
      const place = {
        key: toRawKey(user.userId, deliveryKey),
        bytesMax: toMessageBytesMax(c.env, profile.value.accountType),
      };
      const appended = await receiveMessage(c, place, (received) => append(appending, received));
      if (!appended.ok) return sendProblem(c, appended.error);
      const { uid, messageId } = appended.value;
      return c.json({ ...toStateJson(appended.value), uid, message_id: messageId }, 200);
    },
  );
}

async function append(
  appending: Appending,
  { message, storedKey }: Received,
): Promise<{ readonly outcome: Result<ImapAppended, Problem>; readonly keepsBytes: boolean }> {
  const { env, userId, ask, folderKey, marks, receivedAt, deliveryKey } = appending;
  const sent = await findSubmitted(appending, message);
  if (sent) return { outcome: sent, keepsBytes: false };
  const { input, written } = await putDelivery(env, {
    userId,
    deliveryKey,
    message,
    ...(storedKey === null ? {} : { rawKey: storedKey }),
    receivedAt,
    origin: 'imported',
    folder: '',
    isRead: marks.isRead ?? false,
    isFlagged: marks.isFlagged ?? false,
    labels: [...marks.addLabels],
    envelopeFrom: '',
    envelopeTo: null,
    spam: null,
    authentication: null,
    applyRules: false,
    enforceQuota: true,
  });
  const outcome = await ask((mailbox) => mailbox.appendMessage({ folderKey, marks, input }));
  // After an outage the transaction may have succeeded, so the bytes stay. A collector deletes them if no row names them.
  const isRefused = !outcome.ok && outcome.error.status < 500;
  if (isRefused) await deleteBlobs(env, written);
  return { outcome, keepsBytes: !isRefused };
}

/**
 * Recognises the copy that a program puts into Sent after it submitted the message: the same Message-ID and the same body. The header
 * may differ, because submission takes Bcc out.
 * @returns the message in Sent; null for any other message.
 */
async function findSubmitted(
  { env, ask, folderKey, marks }: Appending,
  message: OpenedMessage,
): Promise<Result<ImapAppended, Problem> | null> {
  const [top] = message.tree.parts;
  const headerMessageId = top ? headerValue(top.headers, 'message-id') : '';
  if (headerMessageId === '') return null;
  const folders = await ask((mailbox) => mailbox.listFolders());
  const folder = folders.ok ? folders.value.find(({ role }) => role === 'sent') : undefined;
  if (folderKey !== 'sent' && folderKey !== folder?.folder_id) return null;
  const sources = await ask((mailbox) => mailbox.findSentSources(headerMessageId));
  for (const source of sources.ok ? sources.value : []) {
    if (!(await hasSameBody(env, source, message))) continue;
    const marking = { messageIds: [source.messageId], marks, unchangedSince: null };
    const marked = await ask((mailbox) => mailbox.markInFolder(folderKey, marking));
    if (!marked.ok) return err(marked.error);
    const [row] = marked.value.messages;
    if (row) return ok({ ...marked.value, uid: row.uid, messageId: row.messageId });
  }
  return null;
}

async function hasSameBody(env: Env, { rawKey }: ImapSource, message: OpenedMessage): Promise<boolean> {
  const stored = rawKey === null ? null : await openStored(env, rawKey);
  if (!stored) return false;
  const [ours, theirs] = await Promise.all([hashBody(stored), hashBody(message)]);
  return ours === theirs;
}

/** Hashes the body with CRLF line ends, without the line ends at its end. */
async function hashBody(message: OpenedMessage): Promise<string> {
  const hash = createHash('sha256');
  const toLines = createLineEnder();
  const body = message.tree.parts[0]?.span.body ?? 0;
  let ends = '';
  for await (const piece of await message.readPieces({ offset: body, length: message.sizeBytes - body })) {
    const text = ends + toLines(piece).toString('latin1');
    ends = /(?:\r\n)*$/.exec(text)?.[0] ?? '';
    hash.update(text.slice(0, text.length - ends.length), 'latin1');
  }
  return hash.digest('hex');
}
