/**
 * Starts, changes and closes the message being written. Every change is stored in this browser at once, and in Drafts
 * when the user pauses. So a closed tab, a crash or a lost network loses no text.
 */

import { fill } from '../../shared/texts/index.ts';
import { mailTexts } from '../../shared/texts/mail.ts';
import { showError, showToast } from '../../shared/toasts.tsx';
import { deleteDraft, findShownMessage, loadConversation, loadDraft, loadMessage, type Message } from '../model/api.ts';
import { offerUndo } from '../model/changes.ts';
import { refreshAll } from '../model/list-reading.ts';
import { changeMasked, findMaskedSender } from '../model/masked.ts';
import { session } from '../model/session.ts';
import { view } from '../model/view.ts';
import { CLOSED_COMPOSE, compose, newWriting } from './compose-store.ts';
import { cancelScheduledSave, readDraft, saveDetached, saveDraft, savesSettled, scheduleSave } from './draft-saving.ts';
import { findKeptMessages, forgetWriting, keepWriting } from './kept-writing.ts';
import { joinPlain, type Picture, quoteHtml } from './quoted-html.ts';
import { type ReplyKind, toMessageId, toReply } from './reply.ts';
import { toLines } from './rich-lines.ts';
import { fromDraft, isEmptyWriting, isOwnDraft, isUntouched, toTyped, type Upload, type Writing } from './writing.ts';

const t = mailTexts.writing;

/**
 * Opens the newest message that a closed tab left in this browser. Older such messages go to Drafts, where the user can find them.
 */
export async function resumeWriting(): Promise<void> {
  const [newest, ...older] = await findKeptMessages();
  if (newest && !compose.get().writing) {
    compose.set({ ...CLOSED_COMPOSE, writing: newest, saved: 'here' });
    keepWriting(newest);
    scheduleSave();
  } else if (newest) older.unshift(newest);
  for (const writing of older) await saveDetached(writing);
}

/** Whether nothing would be lost without the message. */
const isWorthless = (writing: Writing): boolean => isEmptyWriting(writing, newWriting().body) || isUntouched(writing);

export function startWriting(start: Partial<Writing> = {}): void {
  const { writing, saved } = compose.get();
  if (writing && !isWorthless(writing)) {
    if (Object.keys(start).length === 0) {
      document.querySelector<HTMLElement>('.compose input')?.focus();
      return;
    }
    // Save the message that was open before to Drafts. Once it is in Drafts, remove it from this browser.
    cancelScheduledSave();
    if (saved === 'drafts') forgetWriting(writing.key);
    else void saveDetached(writing);
  }
  compose.set({ ...CLOSED_COMPOSE, writing: { ...newWriting(), ...start } });
}

/** Files of an answered or forwarded message that the new message needs. */
export interface NeededFiles {
  /** Pictures of the quoted text. */
  pictures: Picture[];
  /** Whether an attachment is forwarded. `at` is the attachment's position in the original message. */
  isForwarded: (at: number) => boolean;
}
/** Listeners that copy files of an answered or forwarded message. */
const fileListeners = new Set<(message: Message, files: NeededFiles) => void>();
export function onNeededFiles(listener: (message: Message, files: NeededFiles) => void): () => void {
  fileListeners.add(listener);
  return () => fileListeners.delete(listener);
}

export async function startReply(kind: ReplyKind, message?: Message): Promise<void> {
  const messageId = view.get().messageId;
  if (!message && !messageId) return;
  compose.set({ isOpening: true });
  try {
    const source = message ?? findShownMessage(messageId ?? '') ?? (await loadMessage(messageId ?? ''));
    if (kind !== 'forward' && (await continueReply(source))) return;
    const quoted = quoteHtml(source);
    const blank = newWriting();
    const masked = await findMaskedSender(source);
    const own = [...(session.get().profile?.addresses ?? []), ...(masked ? [masked.email] : [])];
    const reply = toReply(kind, source, own, blank.body, quoted?.html ?? null);
    startWriting({ ...reply, untouched: toTyped({ ...blank, ...reply }) });
    if (masked?.state === 'deleted') offerOpening(masked.email);
    const pictures = quoted?.pictures ?? [];
    const inQuote = new Set(pictures.map((picture) => picture.fileName));
    const isForwarded = (at: number) => kind === 'forward' && !inQuote.has(source.attachments[at]?.file_name ?? '');
    if (pictures.length > 0 || source.attachments.some((_, at) => isForwarded(at)))
      for (const listener of fileListeners) listener(source, { pictures, isForwarded });
  } catch (error) {
    showError(error);
  } finally {
    compose.set({ isOpening: false });
  }
}

const OPENING_MS = 20_000;

/** Says that the address from which a reply would leave has ended. The server refuses mail from it until it is opened again. */
function offerOpening(email: string): void {
  const open = () =>
    changeMasked(email, { state: 'enabled' }).then(
      () => showToast(fill(t.openedAgain, { email })),
      (error) => showError(error),
    );
  const action = { label: t.openAgain, run: () => void open() };
  showToast(fill(t.fromEnded, { email }), { action, durationMs: OPENING_MS });
}

/** Continues the reply to a message that is being written or in Drafts. @returns false if there is none. */
async function continueReply(source: Message): Promise<boolean> {
  const answered = toMessageId(source.headers.message_id);
  if (answered === null) return false;
  const { writing, closed } = compose.get();
  if (writing?.inReplyTo === answered) {
    document.querySelector<HTMLElement>('.compose-body')?.focus();
    return true;
  }
  const draftId = closed?.inReplyTo === answered ? closed.draftId : await findReply(source, answered);
  if (draftId === null || !(await readDraft(draftId))) return false;
  await continueDraft(draftId);
  return true;
}

/** Finds the draft that answers a message in its conversation. */
async function findReply(source: Message, answered: string): Promise<string | null> {
  const messages = await loadConversation(source);
  return messages.findLast((one) => one.is_draft && toMessageId(one.headers.in_reply_to) === answered)?.id ?? null;
}

/** Opens a draft of the Drafts folder for editing. */
export async function continueDraft(draftId: string): Promise<void> {
  if (compose.get().writing?.draftId === draftId) {
    document.querySelector<HTMLElement>('.compose-body')?.focus();
    return;
  }
  compose.set({ isOpening: true });
  try {
    const draft = await loadDraft(draftId);
    const writing = fromDraft(draft);
    // If the draft has only formatted text, show the plain text that the server makes of it.
    const body = writing.html !== null && writing.body === '' ? (await loadMessage(draftId)).body : writing.body;
    startWriting({ ...writing, body });
    const error = draft.refusal === null ? null : fill(t.cameBack, { reason: draft.refusal });
    compose.set({ saved: 'drafts', error });
  } catch (error) {
    showError(error);
  } finally {
    compose.set({ isOpening: false });
  }
}

export function change(part: Partial<Writing>): void {
  const { writing, theirs } = compose.get();
  if (!writing) return;
  const next = { ...writing, ...part };
  // A reply that the user has not touched is kept nowhere.
  if (next.draftId === null && isUntouched(next)) {
    forgetWriting(next.key);
    compose.set({ writing: next, saved: 'no', error: null });
    return;
  }
  compose.set({ writing: next, saved: theirs ? 'changed' : 'here', error: null });
  keepWriting(next);
  scheduleSave();
}

const PLAIN_UNDO_MS = 20_000;

const isOfQuote = (quote: Writing['quote'], upload: Upload): boolean =>
  upload.isInline === true && quote !== null && quote.html.includes(`cid:${upload.key}@`);

/**
 * Turns formatted text into plain text. Its pictures become attachments. A quote becomes plain text too, unless it is kept.
 */
export function makePlain({ isQuoteKept = false } = {}): void {
  const { writing } = compose.get();
  if (!writing) return;
  const { key, html, rich, body, quote, attachments, former } = writing;
  const kept = isQuoteKept ? quote : null;
  if (html === null && rich === null && quote === kept) {
    if (former) change({ former: null });
    return;
  }
  change({
    html: null,
    rich: null,
    former: rich,
    quote: kept,
    ...(quote && !kept ? { body: `${body}\n\n${quote.text}` } : {}),
    attachments: attachments.flatMap((upload) => {
      if (!upload.isInline || isOfQuote(kept, upload)) return upload;
      return isOfQuote(quote, upload) ? [] : { ...upload, isInline: false };
    }),
  });
  const undo = async () => {
    const now = compose.get().writing;
    if (now?.key !== key) return;
    const added = now.attachments.filter((upload) => !attachments.some((one) => one.key === upload.key));
    change({ html, rich, body, quote, former: former ?? null, attachments: [...attachments, ...added] });
  };
  offerUndo(t.formattingWasRemoved, undo, PLAIN_UNDO_MS);
}

/** Moves a quote of plain text into the text, where it can be answered line by line. */
export function unfoldQuote(): void {
  const { writing } = compose.get();
  if (!writing?.quote) return;
  const { quote, body, rich } = writing;
  change({ quote: null, body: joinPlain(body, quote), rich: rich === null ? null : rich + toLines(`\n${quote.text}`) });
}

/** Removes the quoted message. */
export function removeQuote(): void {
  const { writing } = compose.get();
  if (!writing?.quote) return;
  const { key, quote, attachments } = writing;
  const pictures = attachments.filter((upload) => isOfQuote(quote, upload));
  change({ quote: null, attachments: attachments.filter((upload) => !isOfQuote(quote, upload)) });
  const undo = async () => {
    const now = compose.get().writing;
    if (now?.key === key) change({ quote, attachments: [...now.attachments, ...pictures] });
  };
  offerUndo(t.quotedMessageWasRemoved, undo, PLAIN_UNDO_MS);
}

/** Changes one upload, or removes it if `part` is null. Uploads end at any time, so this reads the newest list of attachments. */
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

/** Closes the window and removes the message from this browser. */
export function endWriting(): void {
  cancelScheduledSave();
  const { writing } = compose.get();
  if (writing) forgetWriting(writing.key);
  compose.set(CLOSED_COMPOSE);
}

/** Closes the window. The message stays in Drafts, or in this browser if Drafts cannot be reached. */
export async function closeWriting(): Promise<void> {
  const { writing, theirs } = compose.get();
  if (!writing) return;
  if (isWorthless(writing)) {
    await discard();
    return;
  }
  if (theirs) {
    cancelScheduledSave();
    compose.set(CLOSED_COMPOSE);
    if ((await saveDetached(writing)) === 'failed') showKeptHere();
    else showToast(t.bothInDrafts);
  } else if (await saveDraft()) {
    const { inReplyTo, draftId } = compose.get().writing ?? writing;
    endWriting();
    compose.set({ closed: inReplyTo && draftId ? { inReplyTo, draftId } : null });
    showToast(t.savedInDrafts);
  } else if (!compose.get().theirs) {
    cancelScheduledSave();
    compose.set(CLOSED_COMPOSE);
    showKeptHere();
  } else return;
  refreshAll();
}

const showKeptHere = () =>
  showToast(t.keptHere, {
    durationMs: 9000,
  });

const DISCARD_UNDO_MS = 12_000;

/** Discards the message. If another tab or device changed the draft, that version stays in Drafts. */
export async function discard(): Promise<void> {
  cancelScheduledSave();
  await savesSettled();
  const { writing, theirs } = compose.get();
  endWriting();
  if (!writing) return;
  if (!isWorthless(writing)) {
    offerUndo(t.draftDiscarded, async () => reopenDiscarded(writing), DISCARD_UNDO_MS);
  }
  if (!writing.draftId || theirs) return;
  try {
    const there = await readDraft(writing.draftId);
    if (!there) return;
    if (isOwnDraft(there, writing)) await deleteDraft(writing.draftId);
    else showToast(t.otherStays);
  } catch (error) {
    showError(error);
  }
  refreshAll();
}

/** Opens a discarded message as a new one. Its attachments were deleted with the draft. */
function reopenDiscarded(writing: Writing): void {
  const { draftId: _, revision: __, tried: ___, key: ____, ...said } = writing;
  startWriting({
    ...said,
    attachments: writing.attachments.map((upload) => ({
      ...upload,
      attachmentId: null,
      error: t.uploadDeleted,
    })),
  });
  change({});
}
