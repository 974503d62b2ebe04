/** Sends the message, and cancels the send on request. */
import { describeError } from '../../shared/api.ts';
import { formatDateTime } from '../../shared/format.ts';
import { fill } from '../../shared/texts/index.ts';
import { mailTexts } from '../../shared/texts/mail.ts';
import { showToast } from '../../shared/toasts.tsx';
import { parseAddresses } from '../model/addresses.ts';
import { cancelSend, type Delivery, listShownMessages, loadDraft } from '../model/api.ts';
import { noteUndo, offerUndo } from '../model/changes.ts';
import { refreshAll } from '../model/list-reading.ts';
import { view } from '../model/view.ts';
import { endWriting, startWriting } from './compose-state.ts';
import { compose } from './compose-store.ts';
import { cancelScheduledSave, readDraft, saveDetached, saveDraft, savesSettled } from './draft-saving.ts';
import { keepWriting } from './kept-writing.ts';
import { type Letter, type OutboxEvents, outbox, postLetter, sendLetters, takeBack } from './outbox.ts';
import { toMessageId } from './reply.ts';
import { fromDraft, isEmptyWriting, isOwnDraft, toOutgoing, type Writing } from './writing.ts';

const t = mailTexts.writing;

/** Limits of the time in which the user can undo a send. If the answer has no sending time, the maximum applies. */
const UNDO_MS_MIN = 10_000;
const UNDO_MS_MAX = 30_000;

/** Checks whether the message can be sent. @returns the reason why not, as text for the user; null if it can. */
export function findSendProblem(writing: Writing): string | null {
  const lines = [writing.to, writing.cc, writing.bcc].map(parseAddresses);
  const bad = [...lines, parseAddresses(writing.replyTo)].flatMap((line) => line.bad);
  if (bad.length > 0) return fill(t.invalidAddress, { bad: bad.join(', ') });
  if (!lines.some((line) => line.addresses.length > 0)) return t.addRecipient;
  if (writing.attachments.some((upload) => upload.error)) return t.uploadFailed;
  if (writing.attachments.some((upload) => !upload.attachmentId)) return t.uploadsRunning;
  return null;
}

const changedElsewhere = () => t.changedElsewhere;

/**
 * Checks first whether the draft was changed elsewhere. Sending deletes the draft, so a version written elsewhere would be lost.
 */
async function wasChangedElsewhere(writing: Writing): Promise<boolean> {
  if (compose.get().theirs) return true;
  // An error while reading the draft is ignored here: sending reports the reason.
  const theirs = writing.draftId && navigator.onLine ? await readDraft(writing.draftId).catch(() => null) : null;
  if (theirs === null || isOwnDraft(theirs, writing)) return false;
  compose.set({ theirs, saved: 'changed' });
  return true;
}

/**
 * Puts the message into the outbox and closes the window. If the server refuses the message or the user undoes the send,
 * the window opens again with everything in it.
 * @returns why it was not sent, as text for the user; null if it is in the outbox.
 */
export async function send(sendAt: Date | null): Promise<string | null> {
  const requested = compose.get().writing;
  if (!requested || compose.get().isSending) return null;
  const missing = findSendProblem(requested);
  if (missing) return missing;
  cancelScheduledSave();
  compose.set({ isSending: true });
  await savesSettled();
  const current = compose.get().writing;
  if (current?.key !== requested.key) return null;
  // If the send is undone, the message is kept, although it may be a reply with nothing but its quote.
  const { untouched: _untouched, ...writing } = current;
  if (await wasChangedElsewhere(writing)) {
    compose.set({ isSending: false });
    return changedElsewhere();
  }
  const { letter, isDurable } = await postLetter({
    idempotencyKey: writing.doubtfulKey ?? `${writing.key}.${sendAt ? sendAt.getTime() : 'now'}`,
    body: toOutgoing(writing, sendAt),
    writing,
  });
  endWriting();
  // Without IndexedDB the message stays in local storage until it is sent.
  if (!isDurable) keepWriting(letter.writing);
  void sendLetters();
  return null;
}

/** Whether the conversation that the message answers is open. */
function isShownInPlace({ body }: Letter): boolean {
  const { threadId } = view.get();
  return (
    threadId !== null &&
    listShownMessages().some(
      (one) => one.thread_id === threadId && toMessageId(one.headers.message_id) === body.in_reply_to,
    )
  );
}

/** Callbacks for the outcome of a message in the outbox. */
export const SENDING: OutboxEvents = {
  onSent(letter, messageId, delivery) {
    const { send_at: sendAt } = letter.body;
    const text = sendAt ? fill(t.willBeSent, { sendAt: formatDateTime(sendAt) }) : t.sent;
    const undo = () => cancelSending(messageId, letter.writing);
    // In its open conversation, the message itself has the undo.
    if (isShownInPlace(letter)) noteUndo(text, undo);
    else offerUndo(text, undo, toUndoMs(delivery));
    refreshAll();
  },
  onWaiting(letter) {
    if (announced.has(letter.id)) return;
    announced.add(letter.id);
    offerUndo(t.sentWhenOnline, () => reopen(letter), UNDO_MS_MIN);
  },
  onRefused(letter, error) {
    const { writing } = compose.get();
    if (!writing || isEmptyWriting(writing)) {
      // If an earlier version was sent, the user decides whether to send this one too. It then gets its own key.
      const { doubtfulKey: _doubtfulKey, ...refused } = letter.writing;
      startWriting(refused);
      compose.set({ error: describeError(error) });
      void saveDraft();
      return;
    }
    // Another message is already open in the window, so this one goes to Drafts.
    void saveDetached(letter.writing);
    showToast(fill(t.notSent, { subject: letter.body.subject || t.aMessage, error: describeError(error) }), {
      bad: true,
      durationMs: UNDO_MS_MAX,
    });
  },
};

/** Ids of waiting messages of the outbox of which the user has been notified. */
const announced = new Set<string>();

function toUndoMs(delivery: readonly Delivery[]): number {
  const leavesAt = Math.min(...delivery.map((one) => Date.parse(one.next_attempt_at ?? '')).filter(Number.isFinite));
  return Math.min(Math.max(leavesAt - Date.now(), UNDO_MS_MIN), UNDO_MS_MAX);
}

/** Resolves when no attempt to send the message is running. */
const untilAnswered = (id: string): Promise<void> =>
  new Promise((resolve) => {
    const isRunning = () => outbox.get().letters.some((one) => one.id === id && one.state === 'sending');
    if (!isRunning()) {
      resolve();
      return;
    }
    const stop = outbox.subscribe(() => {
      if (isRunning()) return;
      stop();
      resolve();
    });
  });

/** Opens the compose window again with a message of the outbox. */
async function reopen(letter: Letter): Promise<void> {
  await untilAnswered(letter.id);
  if (await takeBack(letter.id)) {
    startWriting({ ...letter.writing, key: crypto.randomUUID(), doubtfulKey: letter.idempotencyKey });
    const { writing } = compose.get();
    if (writing) keepWriting(writing);
    return;
  }
  const messageId = outbox.get().letters.find((one) => one.id === letter.id)?.messageId;
  if (messageId) await cancelSending(messageId, letter.writing);
}

/** Handles the undo button of a sent message that is shown in its conversation. */
export const undoLetter = (letter: Letter): Promise<void> => reopen(letter);

/** Cancels the send. The server stores the message in Drafts with new ids for draft and attachments. */
async function cancelSending(messageId: string, sent: Writing): Promise<void> {
  const { draft_id: draftId = null } = await cancelSend(messageId);
  const draft = draftId ? await loadDraft(draftId).then(fromDraft, () => null) : null;
  // Keep the text as the user typed it. Take the draft's id, its revision and the ids of the attachments from the draft.
  const attachments = draft?.attachments.map((upload, at) => ({ ...sent.attachments[at], ...upload }));
  const draftRef = draft && attachments ? { draftId, revision: draft.revision } : { draftId, revision: null };
  startWriting({
    ...sent,
    tried: [],
    ...draftRef,
    ...(attachments
      ? { attachments: attachments.map((upload, at) => ({ ...upload, key: sent.attachments[at]?.key ?? upload.key })) }
      : {}),
    key: crypto.randomUUID(),
  });
  const { writing } = compose.get();
  if (writing) keepWriting(writing);
  showToast(t.sendCancelled);
}

/** Cancels a send from the conversation and opens the message for editing. */
export async function cancelAndEdit(messageId: string): Promise<void> {
  const { draft_id: draftId = null } = await cancelSend(messageId);
  refreshAll();
  if (!draftId) {
    showToast(t.cancelledLate);
    return;
  }
  startWriting(fromDraft(await loadDraft(draftId)));
  compose.set({ saved: 'drafts' });
  showToast(t.sendCancelled);
}
