/**
 * A message being written. Every change goes to this browser's own storage at once, and to the Drafts folder when the writer
 * pauses; so a closed tab, a crash or a lost network loses nothing that was typed.
 */
import { ApiError } from '../shared/api.ts';
import { formatDateTime } from '../shared/format.ts';
import { createStore } from '../shared/store.ts';
import { showError, showToast } from '../shared/toasts.tsx';
import { formatAddresses, parseAddresses } from './addresses.ts';
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
import { findKeptWritings, forgetWriting, keepWriting, type Upload, type Writing } from './kept-writing.ts';
import { offerUndo, refreshAll } from './mailbox.ts';
import { type ReplyKind, toReply } from './reply.ts';
import { session } from './session.ts';
import { view } from './view.ts';

interface ComposeState {
  writing: Writing | null;
  saved: 'no' | 'here' | 'drafts' | 'failed';
  isSending: boolean;
}

export const compose = createStore<ComposeState>({ writing: null, saved: 'no', isSending: false });

const DRAFT_AFTER_MS = 1500;
/** What the API takes; the newest say where a message belongs. */
const REFERENCES_MAX = 100;

const isEmpty = (writing: Writing): boolean =>
  ![writing.to, writing.cc, writing.bcc, writing.subject, writing.body].some((text) => text.trim() !== '') &&
  writing.attachments.length === 0;

const blank = (): Writing => {
  const signature = session.get().profile?.signature;
  return {
    key: crypto.randomUUID(),
    draftId: null,
    from: '',
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

/** Opens what was being written when this browser was last closed; older ones go to Drafts, where they can be found. */
export async function resumeWriting(): Promise<void> {
  const [newest, ...older] = await findKeptWritings();
  if (newest && !compose.get().writing) {
    compose.set({ writing: newest, saved: 'here' });
    keepWriting(newest);
  } else if (newest) older.unshift(newest);
  for (const writing of older) {
    await save(writing).then(
      () => forgetWriting(writing.key),
      () => undefined,
    );
  }
}

export function startWriting(start: Partial<Writing> = {}): void {
  const { writing } = compose.get();
  if (writing && !isEmpty(writing)) {
    if (Object.keys(start).length === 0) {
      document.querySelector<HTMLElement>('.compose input')?.focus();
      return;
    }
    // It makes room: to Drafts, and out of this browser once it is there.
    void saveDraft().then((isSaved) => isSaved && forgetWriting(writing.key));
  }
  compose.set({ writing: { ...blank(), ...start }, saved: 'no', isSending: false });
}

/** A forwarded message takes its files along: who uploads them listens here. */
const forwardListeners = new Set<(message: Message) => void>();
export function onForward(listener: (message: Message) => void): () => void {
  forwardListeners.add(listener);
  return () => forwardListeners.delete(listener);
}

export async function startReply(kind: ReplyKind, message?: Message): Promise<void> {
  const messageId = view.get().messageId;
  if (!message && !messageId) return;
  try {
    const source = message ?? (await loadMessage(messageId ?? ''));
    startWriting(toReply(kind, source, session.get().profile?.addresses ?? [], blank().body));
    if (kind === 'forward') for (const listener of forwardListeners) listener(source);
  } catch (error) {
    showError(error);
  }
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
      from: draft.from?.email ?? '',
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
  keepWriting(next);
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
    ...(writing.from ? { from: { email: writing.from } } : {}),
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

/** Ids of drafts by the message's key: a message that made room while its draft was being made has one too. */
const draftIds = new Map<string, string>();

async function save(writing: Writing): Promise<void> {
  const draftId = await putDraft({ ...writing, draftId: writing.draftId ?? draftIds.get(writing.key) ?? null });
  draftIds.set(writing.key, draftId);
  const now = compose.get().writing;
  if (now?.key !== writing.key) return;
  const next = { ...now, draftId };
  compose.set({ writing: next, saved: now === writing ? 'drafts' : 'here' });
  keepWriting(next);
}

/** One save at a time: a draft that is made twice would be two drafts. */
let saving: Promise<boolean> = Promise.resolve(true);

/** @returns whether the message as it is now is in Drafts. */
export function saveDraft(): Promise<boolean> {
  clearTimeout(timer);
  const asked = compose.get().writing;
  if (!asked || isEmpty(asked)) return saving;
  saving = saving.then(async () => {
    const { writing, isSending } = compose.get();
    const isOpen = writing?.key === asked.key;
    if (isOpen && isSending) return false;
    try {
      await save(isOpen ? writing : asked);
      return true;
    } catch {
      if (compose.get().writing?.key === asked.key) compose.set({ saved: 'failed' });
      return false;
    }
  });
  return saving;
}

/** Once the network is back: what could not be saved is saved. */
export function saveAgain(): void {
  if (compose.get().saved === 'failed') void saveDraft();
}

function close(): void {
  clearTimeout(timer);
  const { writing } = compose.get();
  if (writing) forgetWriting(writing.key);
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
  if (!(await saveDraft())) {
    compose.set({ writing: null, saved: 'no', isSending: false });
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
  clearTimeout(timer);
  await saving;
  const draftId = compose.get().writing?.draftId;
  close();
  if (draftId) {
    await deleteDraft(draftId).catch(showError);
    refreshAll();
  }
}

/** How long taking back is offered where the answer does not say when the message leaves. */
const UNDO_MS_MIN = 10_000;
const UNDO_MS_MAX = 30_000;

/** Sends, or says what is missing. The window opens again with everything in it when the send is taken back. */
export async function send(sendAt: Date | null): Promise<string | null> {
  const asked = compose.get().writing;
  if (!asked) return null;
  const bad = [asked.to, asked.cc, asked.bcc].flatMap((text) => parseAddresses(text).bad);
  if (bad.length > 0) return `This is not an address: ${bad.join(', ')}`;
  if (![asked.to, asked.cc, asked.bcc].some((text) => parseAddresses(text).addresses.length > 0))
    return 'Who is it for?';
  if (asked.attachments.some((upload) => !upload.attachmentId && !upload.error)) return 'Files are still on their way.';
  if (asked.attachments.some((upload) => upload.error)) return 'A file did not arrive. Attach it again, or remove it.';
  clearTimeout(timer);
  compose.set({ isSending: true });
  await saving;
  const writing = compose.get().writing;
  if (writing?.key !== asked.key) return null;
  const key = `${writing.key}.${sendAt ? sendAt.getTime() : 'now'}`;
  try {
    const { id, delivery } = await sendMessage(
      {
        ...toBody(writing),
        ...(sendAt ? { send_at: sendAt.toISOString() } : {}),
        ...(writing.draftId ? { draft_id: writing.draftId } : {}),
      },
      key,
    );
    close();
    const leavesAt = Math.min(...delivery.map((one) => Date.parse(one.next_attempt_at ?? '')).filter(Number.isFinite));
    const undoMs = Math.min(Math.max(leavesAt - Date.now(), UNDO_MS_MIN), UNDO_MS_MAX);
    const text = sendAt ? `Will be sent ${formatDateTime(sendAt.toISOString())}.` : 'Sent.';
    offerUndo(text, () => takeBack(id, writing), undoMs);
    refreshAll();
    return null;
  } catch (error) {
    compose.set({ isSending: false });
    void saveDraft();
    return (error as Error).message;
  }
}

/** What is taken back lies in Drafts under an id of its own, and so do its files. */
async function takeBack(messageId: string, sent: Writing): Promise<void> {
  const { draft_id: draftId = null } = await cancelSend(messageId);
  const attachments = draftId ? await loadDraft(draftId).then(toUploads, () => []) : sent.attachments;
  startWriting({ ...sent, key: crypto.randomUUID(), draftId, attachments });
  const { writing } = compose.get();
  if (writing) keepWriting(writing);
  showToast('Taken back.');
}
