/** The mail API as this page uses it. */
import { call, callJson, type Page } from '../shared/api.ts';

export interface Address {
  name?: string;
  email: string;
}

export type FolderRole = 'inbox' | 'all' | 'archive' | 'drafts' | 'flagged' | 'junk' | 'sent' | 'trash' | null;

export interface Folder {
  id: string;
  name: string;
  role: FolderRole;
  unread: number;
  total: number;
}

export interface Delivery {
  email: string;
  state: 'queued' | 'held' | 'deferred' | 'sent' | 'delivered' | 'failed' | 'canceled';
  next_attempt_at?: string | null;
  last_reply?: string | null;
}

export interface Summary {
  id: string;
  thread_id: string;
  folder_id: string;
  from: Address | null;
  to: Address[];
  date: string;
  subject: string;
  preview?: string;
  snippet?: string;
  is_read: boolean;
  is_flagged: boolean;
  labels: string[];
  has_attachments?: boolean;
}

export interface Attachment {
  file_name: string;
  content_type: string;
  size: number;
  inline: boolean;
  content_id: string | null;
}

export interface Message extends Summary {
  email_id: string;
  cc: Address[];
  bcc?: Address[];
  reply_to: Address[];
  body: string;
  html: string | null;
  headers: { message_id: string | null; in_reply_to: string | null; references: string[] };
  attachments: Attachment[];
  authentication?: unknown;
  spam?: unknown;
  delivery?: Delivery[];
}

export interface Profile {
  user_id: string;
  email: string;
  name: string;
  account_type: string;
  quota: { used_bytes: number; limit_bytes: number };
  signature?: string;
}

export interface Change {
  type: string;
  message_id?: string;
  folder_id?: string;
}
export interface Events {
  state: string;
  changes?: Change[];
  resync?: boolean;
}

export interface Patch {
  is_read?: boolean;
  is_flagged?: boolean;
  folder_id?: string;
  labels?: string[];
}

const id = encodeURIComponent;

export const loadProfile = () => callJson<Profile>('/v1/me');
export const loadFolders = () => callJson<Folder[]>('/v1/folders');

export const loadMessages = (folderId: string, cursor: string | null, limit = 50) =>
  callJson<Page<Summary>>(
    `/v1/folders/${id(folderId)}/messages?limit=${limit}${cursor ? `&cursor=${id(cursor)}` : ''}`,
  );

export const searchMessages = (q: string, cursor: string | null, limit = 50) =>
  callJson<Page<Summary>>(`/v1/messages?q=${id(q)}&limit=${limit}${cursor ? `&cursor=${id(cursor)}` : ''}`);

export const loadMessage = (messageId: string) => callJson<Message>(`/v1/messages/${id(messageId)}`);
export const loadThread = async (threadId: string): Promise<Message[]> => {
  const answer = await callJson<Message[] | { data?: Message[]; messages?: Message[] }>(`/v1/threads/${id(threadId)}`);
  return Array.isArray(answer) ? answer : (answer.data ?? answer.messages ?? []);
};

export const patchMessages = (ids: string[], patch: Patch) =>
  callJson<unknown>('/v1/messages/batch', { method: 'POST', body: { message_ids: ids, ...patch } });
export const deleteMessage = (messageId: string) => call(`/v1/messages/${id(messageId)}`, { method: 'DELETE' });
export const cancelSend = (messageId: string) =>
  callJson<unknown>(`/v1/messages/${id(messageId)}/cancel`, { method: 'POST' });

export const attachmentPath = (messageId: string, fileName: string) =>
  `/v1/messages/${id(messageId)}/attachments/${id(fileName)}`;
export const rawPath = (messageId: string) => `/v1/messages/${id(messageId)}/raw`;

export interface Outgoing {
  to: Address[];
  cc: Address[];
  bcc: Address[];
  subject: string;
  body: string;
  attachments: { attachment_id: string }[];
  in_reply_to?: string;
  references?: string[];
  send_at?: string;
  draft_id?: string;
}

export const sendMessage = (message: Outgoing, idempotencyKey: string) =>
  callJson<{ id: string; email_id: string; status: string; delivery: Delivery[] }>('/v1/messages', {
    body: message,
    headers: { 'idempotency-key': idempotencyKey },
  });

export type DraftBody = Omit<Outgoing, 'send_at' | 'draft_id'>;
export const createDraft = (draft: DraftBody) => callJson<{ id: string }>('/v1/drafts', { body: draft });
export const replaceDraft = (draftId: string, draft: DraftBody) =>
  callJson<{ id: string }>(`/v1/drafts/${id(draftId)}`, { method: 'PUT', body: draft });
export const deleteDraft = (draftId: string) => call(`/v1/drafts/${id(draftId)}`, { method: 'DELETE' });

export interface Contact {
  id?: string;
  name: string;
  email: string;
}
export const loadContacts = () => callJson<Page<Contact>>('/v1/contacts?limit=200').then((page) => page.data);
