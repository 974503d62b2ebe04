/** Calls of the mail API that this page makes. */

import type { Profile } from '../../../workers/mail/schemas/account.ts';
import type { DraftAnswer } from '../../../workers/mail/schemas/draft.ts';
import type { InvitationAnswer as Invitation } from '../../../workers/mail/schemas/invitation.ts';
import type {
  Folder,
  Summary as FullSummary,
  Message,
  MessagePatchRequest,
} from '../../../workers/mail/schemas/message.ts';
import { call, callJson, type Page } from '../../shared/api.ts';
import { mailTexts } from '../../shared/texts/mail.ts';
import { FOLDERS_PATH, nameInbox, readFirst, toListPath } from './first-reads.ts';
import { loadKept } from './kept-answers.ts';

export interface Address {
  name?: string;
  email: string;
}
export type { DraftAnswer, Folder, Invitation, Message, Profile };
/** Fields of a message that the list keeps. Small, because a list may hold hundreds of thousands of messages. */
export type Summary = Omit<FullSummary, 'user_id' | 'email_id' | 'date' | 'size'>;
export type FolderRole = Folder['role'];
export type Attachment = Message['attachments'][number];
export type Delivery = NonNullable<Message['delivery']>[number];

export interface Change {
  type: string;
  message_id?: string;
  thread_id?: string;
  folder_id?: string;
}
export interface Events {
  state: string;
  changes?: Change[];
  resync?: boolean;
}

export type Patch = { [Member in keyof MessagePatchRequest]?: Exclude<MessagePatchRequest[Member], undefined> };

/** Changes that one batch request makes to many messages. */
export type BatchPatch = Patch & { add_labels?: string[]; remove_labels?: string[] };

const id = encodeURIComponent;
const THREAD_MESSAGES_MAX = 500;

export const loadProfile = () => loadKept('profile', () => callJson<Profile>('/v1/me'), true);
/** Loads the folders. Folders with a role get their name in the language of the page. */
export async function loadFolders(): Promise<Folder[]> {
  const folders = await loadKept('folders', () => readFirst<Folder[]>(FOLDERS_PATH));
  nameInbox(folders.find(({ role }) => role === 'inbox')?.id ?? '');
  return folders.map((folder) => (folder.role ? { ...folder, name: mailTexts.roles[folder.role] } : folder));
}

/** Loads one page of a folder. @param from the cursor of the previous page, or how many of the newest messages to skip. */
export function loadMessages(folderId: string, from: { cursor: string | null } | { offset: number }, limit = 50) {
  const [name, value] = Object.entries(from)[0] ?? [];
  const path = toListPath(folderId, limit);
  if (value) return callJson<Page<Summary>>(`${path}&${name}=${id(value)}`);
  return loadKept(`list ${folderId}`, () => readFirst<Page<Summary>>(path));
}

export const searchMessages = (q: string, cursor: string | null, limit = 50) =>
  callJson<Page<Summary>>(`/v1/messages?q=${id(q)}&limit=${limit}${cursor ? `&cursor=${id(cursor)}` : ''}`);

export const loadMessage = (messageId: string) => callJson<Message>(`/v1/messages/${id(messageId)}`);
export interface Thread {
  /** Messages of the conversation, oldest first. */
  messages: Message[];
  isMuted: boolean;
}

/** Loads a conversation, or the kept one if the server cannot be reached. */
export async function loadThread(threadId: string): Promise<Thread> {
  const thread = await loadKept(`conversation ${threadId}`, () => loadWholeThread(threadId));
  shownMessages = thread.messages;
  return thread;
}
let shownMessages: Message[] = [];
/** Lists the messages of the conversation that was read last. */
export const listShownMessages = (): readonly Message[] => shownMessages;
/** Finds a message of the conversation that was read last. */
export const findShownMessage = (messageId: string): Message | undefined =>
  shownMessages.find((message) => message.id === messageId);

/** Returns the conversation of a message: the one that was read last if it has the message, otherwise the server's. */
export async function loadConversation(message: Message): Promise<readonly Message[]> {
  if (findShownMessage(message.id)) return shownMessages;
  return (await loadThread(message.thread_id).catch(() => null))?.messages ?? [];
}

/** Reads a conversation page by page. Stops after the page that reaches 500 messages. */
async function loadWholeThread(threadId: string): Promise<Thread> {
  const messages: Message[] = [];
  let isMuted = false;
  let cursor: string | null = null;
  do {
    const query: string = cursor ? `?cursor=${id(cursor)}` : '';
    const page: Page<Message> & { is_muted: boolean } = await callJson(`/v1/threads/${id(threadId)}${query}`);
    isMuted = page.is_muted;
    messages.push(...page.data);
    cursor = page.next_cursor;
  } while (cursor !== null && messages.length < THREAD_MESSAGES_MAX);
  return { messages, isMuted };
}

export const muteThread = (threadId: string, isMuted: boolean) =>
  callJson<unknown>(`/v1/threads/${id(threadId)}`, { method: 'PATCH', body: { is_muted: isMuted } });
export const leaveList = (messageId: string) =>
  callJson<{ method: 'one_click' | 'mail' }>(`/v1/messages/${id(messageId)}/unsubscribe`, { method: 'POST' });
export const loadInvitation = (messageId: string) =>
  loadKept(`invitation ${messageId}`, () => callJson<Invitation>(`/v1/messages/${id(messageId)}/invitation`));

export const patchMessages = (ids: string[], patch: BatchPatch) =>
  callJson<unknown>('/v1/messages/batch', { method: 'POST', body: { message_ids: ids, ...patch } });
/** Moves messages to Trash. Messages that are in Trash already are deleted permanently. */
export const eraseMessages = (ids: string[]) =>
  callJson<unknown>('/v1/messages/batch', { method: 'POST', body: { message_ids: ids, delete: true } });
export const cancelSend = (messageId: string) =>
  callJson<{ draft_id?: string }>(`/v1/messages/${id(messageId)}/cancel`, { method: 'POST' });

export const attachmentPath = (messageId: string, fileName: string) =>
  `/v1/messages/${id(messageId)}/attachments/${id(fileName)}`;
export const rawPath = (messageId: string) => `/v1/messages/${id(messageId)}/raw`;

export interface Outgoing {
  from?: Address;
  to: Address[];
  cc: Address[];
  bcc: Address[];
  subject: string;
  body: string;
  html?: string;
  attachments: { attachment_id: string; content_id?: string }[];
  in_reply_to?: string;
  references?: string[];
  reply_to?: Address[];
  importance?: DraftAnswer['importance'];
  headers?: DraftAnswer['headers'];
  forward_of?: string;
  send_at?: string;
  draft_id?: string;
}

export const sendMessage = (message: Outgoing, idempotencyKey: string) =>
  callJson<{ id: string; email_id: string; status: string; delivery: Delivery[] }>('/v1/messages', {
    body: message,
    headers: { 'idempotency-key': idempotencyKey },
  });

export type DraftBody = Omit<Outgoing, 'send_at' | 'draft_id'>;
export const createDraft = (draft: DraftBody) => callJson<DraftAnswer>('/v1/drafts', { body: draft });
/**
 * Saves a draft.
 * @param revision the revision that the text is based on. If the draft has another one by now, the server answers 412 and changes
 * nothing. Null saves unconditionally.
 */
export const replaceDraft = (draftId: string, draft: DraftBody, revision: number | null) =>
  callJson<DraftAnswer>(`/v1/drafts/${id(draftId)}`, {
    method: 'PUT',
    body: draft,
    ...(revision === null ? {} : { headers: { 'if-match': `"${revision}"` } }),
  });
export const loadDraft = (draftId: string) => callJson<DraftAnswer>(`/v1/drafts/${id(draftId)}`);
export const deleteDraft = (draftId: string) => call(`/v1/drafts/${id(draftId)}`, { method: 'DELETE' });
