/** `/v1/imap`: reads for programs that speak IMAP, by way of a bridge. No syntax of IMAP is here. */
import { createRoute, type OpenAPIHono } from '@hono/zod-openapi';
import type { ImapMessage, ImapState } from '../../../durable-objects/mail/contract/imap.ts';
import { type JsonApiEnv, jsonContent, problemResponses, sendProblem } from '../../shared/json/json-api.ts';
import { userDatabaseOf } from '../../shared/stores/directories.ts';
import { readLimits } from '../bindings/account-limits.ts';
import { openMailbox } from '../bindings/mailbox.ts';
import { toBase64Size } from '../domain/base64-size.ts';
import { composeDraft } from '../outbound/compose-draft.ts';
import { folderParamSchema, READ_ROUTE, readOwnMailbox } from '../routes/route.ts';
import { createAccountStore } from '../store/account-store.ts';
import { toImapKeywords } from './keywords.ts';
import { accountSchema, changesQuerySchema, changesSchema, listQuerySchema, pageSchema } from './schemas.ts';

/** Room for the texts of a message, beside its files. */
const TEXT_BYTES_MAX = 2 * 1024 * 1024;

/** @returns the size of the largest message that an account may append or submit: its files in Base64, and its texts. */
export const toMessageBytesMax = (env: Env, accountType: string): number =>
  toBase64Size(readLimits(env, accountType).attachmentBytes) + TEXT_BYTES_MAX;

type Row = [uid: number, messageId: string, keywords: string[], sizeBytes: number, receivedAt: number, modseq: number];

/** Converts messages to rows of an answer. A draft that was written in the app has the size of its composed bytes. */
export async function toRows(env: Env, userId: string, messages: readonly ImapMessage[]): Promise<Row[]> {
  const ids = messages.flatMap(({ isComposed, messageId }) => (isComposed ? [messageId] : []));
  const drafts = ids.length === 0 ? null : await openMailbox(env, userId).readDrafts(ids);
  const sizes = new Map<string, number>();
  for (const draft of drafts?.ok ? drafts.value : []) sizes.set(draft.messageId, (await composeDraft(draft)).sizeBytes);
  return messages.map((message) => [
    message.uid,
    message.messageId,
    toImapKeywords(message),
    sizes.get(message.messageId) ?? message.sizeBytes,
    message.receivedAt,
    message.modseq,
  ]);
}

export const toStateJson = ({ uidValidity, state }: ImapState) => ({ uid_validity: uidValidity, state: String(state) });

export function addImapReads(api: OpenAPIHono<JsonApiEnv>): void {
  api.openapi(
    createRoute({
      ...READ_ROUTE,
      method: 'get',
      path: '/v1/imap',
      operationId: 'getImapAccount',
      summary: 'Read the account and its folders, for a bridge to IMAP',
      responses: { 200: jsonContent(accountSchema, 'The account'), ...problemResponses(401, 403, 404, 503) },
    }),
    async (c) => {
      const found = await readOwnMailbox(c, (mailbox, proof) => mailbox.readOwnImapAccount(proof));
      if (!found.ok) return sendProblem(c, found.error);
      const { user, value } = found.value;
      const addresses = await createAccountStore(userDatabaseOf(c.env, user.userId)).listAddresses(user.userId);
      const folders = value.folders.map((folder) => ({
        folder_id: folder.folderId,
        name: folder.name,
        role: folder.role as Exclude<typeof folder.role, 'all' | 'flagged'>,
        total: folder.total,
        unread: folder.unread,
        uid_next: folder.uidNext,
        is_subscribed: folder.isSubscribed,
      }));
      const account = { user_id: user.userId, address: user.email ?? addresses[0] ?? '', addresses };
      const message_bytes_max = toMessageBytesMax(c.env, value.accountType);
      return c.json({ ...account, message_bytes_max, ...toStateJson(value), folders }, 200);
    },
  );
  addFolderReads(api);
}

function addFolderReads(api: OpenAPIHono<JsonApiEnv>): void {
  api.openapi(
    createRoute({
      ...READ_ROUTE,
      method: 'get',
      path: '/v1/imap/folders/{folder_id}/messages',
      operationId: 'listImapMessages',
      summary: 'List the messages of a folder in the order of their UIDs',
      request: { params: folderParamSchema, query: listQuerySchema },
      responses: { 200: jsonContent(pageSchema, 'A page'), ...problemResponses(400, 401, 403, 404, 503) },
    }),
    async (c) => {
      const { after_uid, limit } = c.req.valid('query');
      const { folder_id } = c.req.valid('param');
      const found = await readOwnMailbox(c, (mailbox, proof) =>
        mailbox.listOwnImapMessages(proof, folder_id, after_uid, limit),
      );
      if (!found.ok) return sendProblem(c, found.error);
      const { user, value } = found.value;
      const page = { uid_next: value.uidNext, next_after_uid: value.nextAfterUid };
      return c.json(
        { ...toStateJson(value), ...page, messages: await toRows(c.env, user.userId, value.messages) },
        200,
      );
    },
  );
  api.openapi(
    createRoute({
      ...READ_ROUTE,
      method: 'get',
      path: '/v1/imap/folders/{folder_id}/changes',
      operationId: 'listImapChanges',
      summary: 'List the messages of a folder that changed since a state',
      request: { params: folderParamSchema, query: changesQuerySchema },
      responses: { 200: jsonContent(changesSchema, 'The changes'), ...problemResponses(400, 401, 403, 404, 503) },
    }),
    async (c) => {
      const since = Number(c.req.valid('query').since);
      const { folder_id } = c.req.valid('param');
      const found = await readOwnMailbox(c, (mailbox, proof) => mailbox.readOwnImapChanges(proof, folder_id, since));
      if (!found.ok) return sendProblem(c, found.error);
      const { user, value } = found.value;
      const changes = { uid_next: value.uidNext, resync: value.isResync, gone: [...value.gone] };
      return c.json(
        { ...toStateJson(value), ...changes, messages: await toRows(c.env, user.userId, value.messages) },
        200,
      );
    },
  );
}
