/**
 * A message being written. Every change goes to this browser's own storage at once, and to the Drafts folder when the writer
 * pauses; so a closed tab, a crash or a lost network loses nothing that was typed.
 */
import { ApiError } from '../shared/api.ts';
import { createStore } from '../shared/store.ts';
import { showError, showToast } from '../shared/toasts.tsx';
import { formatAddresses, parseAddresses, quote, replyRecipients, withPrefix } from './addresses.ts';
import {
  type Address,
  cancelSend,
  createDraft,
  type DraftAnswer,
  type DraftBody,
  deleteDraft,
  loadDraft,
  loadMessage,
  type Message,
  replaceDraft,
  sendMessage,
} from './api.ts';
import { offerUndo, refreshAll } from './mailbox.ts';
import { session } from './session.ts';
import { view } from './view.ts';

export interface Upload {
  key: string;
  fileName: string;
  size: number;
  /** 0 to 1. */
  progress: number;
  attachmentId: string | null;
  error: string | null;
}

export interface Writing {
  /** Names the message in this browser and makes a repeated send harmless. */
  key: string;
  draftId: string | null;
  to: string;
  cc: string;
  bcc: string;
  subject: string;
  body: string;
  attachments: Upload[];
  inReplyTo: string | null;
  references: string[];
}

interface ComposeState {
  writing: Writing | null;
  saved: 'no' | 'here' | 'drafts' | 'failed';
  isSending: boolean;
}

export const compose = createStore<ComposeState>({ writing: null, saved: 'no', isSending: false });

const KEPT = 'tessera.writing';
const DRAFT_AFTER_MS = 1500;
/** What the API takes; the newest say where a message belongs. */
const REFERENCES_MAX = 100;

/** Kept under the account, so that another person's tab does not open it. */
const keptName = () => `${KEPT}.${session.get().profile?.user_id ?? ''}`;

function keepHere(writing: Writing | null): void {
  try {
    if (writing) localStorage.setItem(keptName(), JSON.stringify(writing));
    else localStorage.removeItem(keptName());
  } catch {
    // Storage may be full or forbidden: the Drafts folder still has it.
  }
}

const isEmpty = (writing: Writing): boolean =>
  ![writing.to, writing.cc, writing.bcc, writing.subject, writing.body].some((text) => text.trim() !== '') &&
  writing.attachments.length === 0;

const blank = (): Writing => {
  const signature = session.get().profile?.signature;
  return {
    key: crypto.randomUUID(),
    draftId: null,
    to: '',
    cc: '',
    bcc: '',
    subject: '',
    body: signature ? `\n\n-- \n${signature}` : '',
    attachments: [],
    inReplyTo: null,
    references: [],
  };
};

/** Opens what was being written when this browser was last closed. */
export function resumeWriting(): void {
  try {
    const kept = localStorage.getItem(keptName());
    if (kept) compose.set({ writing: JSON.parse(kept) as Writing, saved: 'here' });
  } catch {
    keepHere(null);
  }
}

export function startWriting(start: Partial<Writing> = {}): void {
  const { writing } = compose.get();
  if (writing && !isEmpty(writing)) {
    void saveDraft();
    if (Object.keys(start).length === 0) {
      document.querySelector<HTMLElement>('.compose input')?.focus();
      return;
    }
  }
  compose.set({ writing: { ...blank(), ...start }, saved: 'no', isSending: false });
}

/** A forwarded message takes its files along: who uploads them listens here. */
const forwardListeners = new Set<(message: Message) => void>();
export function onForward(listener: (message: Message) => void): () => void {
  forwardListeners.add(listener);
  return () => forwardListeners.delete(listener);
}

export async function startReply(kind: 'reply' | 'all' | 'forward', message?: Message): Promise<void> {
  const messageId = view.get().messageId;
  if (!message && !messageId) return;
  try {
    const source = message ?? (await loadMessage(messageId ?? ''));
    startWriting(toReply(kind, source, session.get().profile?.email ?? ''));
    if (kind === 'forward') for (const listener of forwardListeners) listener(source);
  } catch (error) {
    showError(error);
  }
}

/** Only what has the form of a Message-ID may stand in a header of ours. */
function toMessageId(text: string | null): string | null {
  const id = text?.trim().replaceAll(/^<|>$/g, '');
  return id && /^[^<>\s\p{Cc}]+$/u.test(id) ? `<${id}>` : null;
}

function toReply(kind: 'reply' | 'all' | 'forward', message: Message, own: string): Partial<Writing> {
  const when = new Date(message.date).toLocaleString();
  const sender = message.from ? formatAddresses([message.from]) : 'somebody';
  const { body: signed } = blank();
  if (kind === 'forward') {
    const head = `---------- Forwarded message ----------\nFrom: ${sender}\nDate: ${when}\nSubject: ${message.subject}\nTo: ${formatAddresses(message.to)}`;
    return { subject: withPrefix('Fwd', message.subject), body: `${signed}\n\n${head}\n\n${message.body}` };
  }
  const { to, cc } = replyRecipients(message, own, kind === 'all');
  return {
    to: formatAddresses(to),
    cc: formatAddresses(cc),
    subject: withPrefix('Re', message.subject),
    body: `${signed}\n\nOn ${when}, ${sender} wrote:\n${quote(message.body)}`,
    inReplyTo: toMessageId(message.headers.message_id),
    references: [...message.headers.references, message.headers.message_id].flatMap((id) => toMessageId(id) ?? []),
  };
}

const toUploads = (draft: DraftAnswer): Upload[] =>
  draft.attachments.map((one) => ({
    key: one.attachment_id,
    fileName: one.file_name,
    size: one.size,
    progress: 1,
    attachmentId: one.attachment_id,
    error: null,
  }));

/** A draft of the Drafts folder, to go on with. */
export async function continueDraft(draftId: string): Promise<void> {
  try {
    const draft = await loadDraft(draftId);
    startWriting({
      draftId,
      to: formatAddresses(draft.to),
      cc: formatAddresses(draft.cc),
      bcc: formatAddresses(draft.bcc),
      subject: draft.subject,
      body: draft.body,
      inReplyTo: draft.in_reply_to,
      references: draft.references,
      attachments: toUploads(draft),
    });
  } catch (error) {
    showError(error);
  }
}

let timer: ReturnType<typeof setTimeout> | undefined;

export function change(part: Partial<Writing>): void {
  const { writing } = compose.get();
  if (!writing) return;
  const next = { ...writing, ...part };
  compose.set({ writing: next, saved: 'here' });
  keepHere(next);
  clearTimeout(timer);
  timer = setTimeout(saveDraft, DRAFT_AFTER_MS);
}

/** Uploads end at any time, so they change the list as it is then. */
export function changeUpload(key: string, part: Partial<Upload> | null): void {
  const { writing } = compose.get();
  if (!writing) return;
  change({
    attachments: writing.attachments.flatMap((upload) => {
      if (upload.key !== key) return upload;
      return part === null ? [] : { ...upload, ...part };
    }),
  });
}

/** A draft keeps half-written addresses too; a message that is sent has none (`send` saw to it). */
function toAddresses(text: string): Address[] {
  const { addresses, bad } = parseAddresses(text);
  return [...addresses, ...bad.map((email) => ({ email }))];
}

function toBody(writing: Writing): DraftBody {
  return {
    to: toAddresses(writing.to),
    cc: toAddresses(writing.cc),
    bcc: toAddresses(writing.bcc),
    subject: writing.subject,
    body: writing.body,
    attachments: writing.attachments.flatMap((upload) =>
      upload.attachmentId ? { attachment_id: upload.attachmentId } : [],
    ),
    ...(writing.inReplyTo ? { in_reply_to: writing.inReplyTo } : {}),
    ...(writing.references.length > 0 ? { references: writing.references.slice(-REFERENCES_MAX) } : {}),
  };
}

/** A draft that was sent or erased elsewhere is written anew. */
async function putDraft(writing: Writing): Promise<string> {
  const body = toBody(writing);
  if (writing.draftId) {
    try {
      return (await replaceDraft(writing.draftId, body)).id;
    } catch (error) {
      if (!(error instanceof ApiError) || error.status !== 404) throw error;
    }
  }
  return (await createDraft(body)).id;
}

/** One save at a time: a draft that is made twice would be two drafts. */
let saving: Promise<void> = Promise.resolve();

export function saveDraft(): Promise<void> {
  clearTimeout(timer);
  saving = saving.then(async () => {
    const { writing, isSending } = compose.get();
    if (!writing || isEmpty(writing) || isSending) return;
    try {
      const id = await putDraft(writing);
      const now = compose.get().writing;
      if (now?.key !== writing.key) return;
      const next = { ...now, draftId: id };
      compose.set({ writing: next, saved: now === writing ? 'drafts' : 'here' });
      keepHere(next);
    } catch {
      if (compose.get().writing?.key === writing.key) compose.set({ saved: 'failed' });
    }
  });
  return saving;
}

function close(): void {
  clearTimeout(timer);
  keepHere(null);
  compose.set({ writing: null, saved: 'no', isSending: false });
}

/** Closes the window; what was written stays in Drafts, or here when Drafts cannot be reached. */
export async function closeWriting(): Promise<void> {
  const { writing } = compose.get();
  if (!writing) return;
  if (isEmpty(writing) || (writing.body === blank().body && !writing.to && !writing.subject)) {
    await discard();
    return;
  }
  await saveDraft();
  if (compose.get().saved === 'failed') {
    compose.set({ writing: null, isSending: false });
    showToast('Drafts cannot be reached. The message is kept in this browser and opens here next time.', {
      durationMs: 9000,
    });
    return;
  }
  close();
  showToast('Saved in Drafts.');
  refreshAll();
}

export async function discard(): Promise<void> {
  const draftId = compose.get().writing?.draftId;
  await saving;
  close();
  if (draftId) {
    await deleteDraft(draftId).catch(showError);
    refreshAll();
  }
}

/** Sends, or says what is missing. The window opens again with everything in it when the send is taken back. */
export async function send(sendAt: Date | null): Promise<string | null> {
  const { writing } = compose.get();
  if (!writing) return null;
  const bad = [writing.to, writing.cc, writing.bcc].flatMap((text) => parseAddresses(text).bad);
  if (bad.length > 0) return `This is not an address: ${bad.join(', ')}`;
  const body = toBody(writing);
  if (body.to.length + body.cc.length + body.bcc.length === 0) return 'Who is it for?';
  if (writing.attachments.some((upload) => !upload.attachmentId && !upload.error))
    return 'Files are still on their way.';
  clearTimeout(timer);
  await saving;
  compose.set({ isSending: true });
  const draftId = compose.get().writing?.draftId;
  const key = `${writing.key}.${sendAt ? sendAt.getTime() : 'now'}`;
  try {
    const { id } = await sendMessage(
      { ...body, ...(sendAt ? { send_at: sendAt.toISOString() } : {}), ...(draftId ? { draft_id: draftId } : {}) },
      key,
    );
    close();
    offerUndo(
      sendAt ? `Will be sent ${sendAt.toLocaleString()}.` : 'Sent.',
      async () => {
        const { draft_id: backId = null } = await cancelSend(id);
        // What is taken back lies in Drafts under an id of its own, and so do its files.
        const attachments = backId ? await loadDraft(backId).then(toUploads, () => []) : writing.attachments;
        compose.set({
          writing: { ...writing, key: crypto.randomUUID(), draftId: backId, attachments },
          saved: 'here',
          isSending: false,
        });
        keepHere(compose.get().writing);
        showToast('Taken back.');
      },
      10_000,
    );
    refreshAll();
    return null;
  } catch (error) {
    compose.set({ isSending: false });
    void saveDraft();
    return (error as Error).message;
  }
}
