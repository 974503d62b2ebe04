/**
 * Beginning, changing and ending a message. Every change goes to this browser's own storage at once, and to the Drafts
 * folder when the writer pauses; so a closed tab, a crash or a lost network loses nothing that was typed.
 */
import { showError, showToast } from '../../shared/toasts.tsx';
import { deleteDraft, loadDraft, loadMessage, type Message } from '../model/api.ts';
import { offerUndo } from '../model/changes.ts';
import { refreshAll } from '../model/list-reading.ts';
import { session } from '../model/session.ts';
import { view } from '../model/view.ts';
import { CLOSED_COMPOSE, compose, newWriting } from './compose-store.ts';
import { readDraft, saveAside, saveDraft, saveSoon, savesEnded, stopSaving } from './draft-saving.ts';
import { findKeptWritings, forgetWriting, keepWriting } from './kept-writing.ts';
import { type ReplyKind, toReply } from './reply.ts';
import { fromDraft, isEmptyWriting, isOwnDraft, type Upload, type Writing } from './writing.ts';

/** Opens what was being written when this browser was last closed; older ones go to Drafts, where they can be found. */
export async function resumeWriting(): Promise<void> {
  const [newest, ...older] = await findKeptWritings();
  if (newest && !compose.get().writing) {
    compose.set({ ...CLOSED_COMPOSE, writing: newest, saved: 'here' });
    keepWriting(newest);
    saveSoon();
  } else if (newest) older.unshift(newest);
  for (const writing of older) await saveAside(writing);
}

export function startWriting(start: Partial<Writing> = {}): void {
  const { writing, saved } = compose.get();
  if (writing && !isEmptyWriting(writing, newWriting().body)) {
    if (Object.keys(start).length === 0) {
      document.querySelector<HTMLElement>('.compose input')?.focus();
      return;
    }
    // It makes room: to Drafts, and out of this browser once it is there.
    stopSaving();
    if (saved === 'drafts') forgetWriting(writing.key);
    else void saveAside(writing);
  }
  compose.set({ ...CLOSED_COMPOSE, writing: { ...newWriting(), ...start } });
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
    startWriting(toReply(kind, source, session.get().profile?.addresses ?? [], newWriting().body));
    if (kind === 'forward') for (const listener of forwardListeners) listener(source);
  } catch (error) {
    showError(error);
  }
}

/** A draft of the Drafts folder, to go on with. */
export async function continueDraft(draftId: string): Promise<void> {
  if (compose.get().writing?.draftId === draftId) {
    document.querySelector<HTMLElement>('.compose textarea')?.focus();
    return;
  }
  try {
    const draft = await loadDraft(draftId);
    const writing = fromDraft(draft);
    // Formatted text alone is shown as the plain text that the server makes of it.
    const body = draft.html !== null && draft.body === '' ? (await loadMessage(draftId)).body : draft.body;
    startWriting({ ...writing, body });
    compose.set({ saved: 'drafts' });
  } catch (error) {
    showError(error);
  }
}

export function change(part: Partial<Writing>): void {
  const { writing, theirs } = compose.get();
  if (!writing) return;
  const next = { ...writing, ...part };
  compose.set({ writing: next, saved: theirs ? 'changed' : 'here' });
  keepWriting(next);
  saveSoon();
}

const PLAIN_UNDO_MS = 20_000;

/** From now on the text can be changed; its formatting is gone. */
export function makePlain(): void {
  const { writing } = compose.get();
  if (!writing?.html) return;
  const { key, html, body } = writing;
  change({ html: null });
  const undo = async () => {
    if (compose.get().writing?.key === key) change({ html, body });
  };
  offerUndo('The formatting was removed.', undo, PLAIN_UNDO_MS);
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

/** The window closes and this browser forgets what was in it. */
export function endWriting(): void {
  stopSaving();
  const { writing } = compose.get();
  if (writing) forgetWriting(writing.key);
  compose.set(CLOSED_COMPOSE);
}

/** Closes the window; what was written stays in Drafts, or here when Drafts cannot be reached. */
export async function closeWriting(): Promise<void> {
  const { writing, theirs } = compose.get();
  if (!writing) return;
  if (isEmptyWriting(writing, newWriting().body)) {
    await discard();
    return;
  }
  if (theirs) {
    stopSaving();
    compose.set(CLOSED_COMPOSE);
    if ((await saveAside(writing)) === 'failed') sayKeptHere();
    else showToast('Both texts are in Drafts.');
  } else if (await saveDraft()) {
    endWriting();
    showToast('Saved in Drafts.');
  } else if (!compose.get().theirs) {
    stopSaving();
    compose.set(CLOSED_COMPOSE);
    sayKeptHere();
  } else return;
  refreshAll();
}

const sayKeptHere = () =>
  showToast('Drafts cannot be reached. The message is kept in this browser and opens here next time.', {
    durationMs: 9000,
  });

const DISCARD_UNDO_MS = 12_000;

/** Throws away what was written here. A text that was written into the same draft elsewhere stays. */
export async function discard(): Promise<void> {
  stopSaving();
  await savesEnded();
  const { writing, theirs } = compose.get();
  endWriting();
  if (!writing) return;
  if (!isEmptyWriting(writing, newWriting().body)) {
    offerUndo('Thrown away.', async () => startAgain(writing), DISCARD_UNDO_MS);
  }
  if (!writing.draftId || theirs) return;
  try {
    const there = await readDraft(writing.draftId);
    if (!there) return;
    if (isOwnDraft(there, writing)) await deleteDraft(writing.draftId);
    else showToast('What was written elsewhere stays in Drafts.');
  } catch (error) {
    showError(error);
  }
  refreshAll();
}

/** The text comes back as a message of its own; its files went with the draft. */
function startAgain(writing: Writing): void {
  const { draftId: _, revision: __, tried: ___, key: ____, ...said } = writing;
  startWriting({
    ...said,
    attachments: writing.attachments.map((upload) => ({
      ...upload,
      attachmentId: null,
      error: 'It was thrown away. Attach it again.',
    })),
  });
  change({});
}
