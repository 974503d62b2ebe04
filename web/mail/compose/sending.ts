/** Sends the message, and cancels the send on request. */
import { describeError } from '../../shared/api.ts';
import { formatDateTime } from '../../shared/format.ts';
import { showToast } from '../../shared/toasts.tsx';
import { parseAddresses } from '../model/addresses.ts';
import { cancelSend, loadDraft, sendMessage } from '../model/api.ts';
import { offerUndo } from '../model/changes.ts';
import { refreshAll } from '../model/list-reading.ts';
import { endWriting, startWriting } from './compose-state.ts';
import { compose } from './compose-store.ts';
import { cancelScheduledSave, readDraft, saveDraft, savesSettled } from './draft-saving.ts';
import { keepWriting } from './kept-writing.ts';
import { fromDraft, isOwnDraft, toDraftBody, type Writing } from './writing.ts';

/** Limits of the time in which the user can undo. If the answer has no sending time, the maximum applies. */
const UNDO_MS_MIN = 10_000;
const UNDO_MS_MAX = 30_000;

/** @returns why the message cannot be sent, as text for the user; null if it can. */
export function findSendProblem(writing: Writing): string | null {
  const lines = [writing.to, writing.cc, writing.bcc].map(parseAddresses);
  const bad = lines.flatMap((line) => line.bad);
  if (bad.length > 0) return `This is not an address: ${bad.join(', ')}`;
  if (!lines.some((line) => line.addresses.length > 0)) return 'Who is it for?';
  if (writing.attachments.some((upload) => upload.error))
    return 'A file did not arrive. Attach it again, or remove it.';
  if (writing.attachments.some((upload) => !upload.attachmentId)) return 'Files are still on their way.';
  return null;
}

const CHANGED_ELSEWHERE = 'This message was changed elsewhere. Choose a text first.';

/** Sending deletes the draft, so a version written elsewhere would be lost. */
async function wasChangedElsewhere(writing: Writing): Promise<boolean> {
  if (compose.get().theirs) return true;
  // If the draft cannot be read, sending reports the reason.
  const theirs = writing.draftId ? await readDraft(writing.draftId).catch(() => null) : null;
  if (theirs === null || isOwnDraft(theirs, writing)) return false;
  compose.set({ theirs, saved: 'changed' });
  return true;
}

/**
 * Sends the message. If the user undoes the send, the window opens again with everything in it.
 * @returns why it was not sent, as text for the user; null if it was.
 */
export async function send(sendAt: Date | null): Promise<string | null> {
  const requested = compose.get().writing;
  if (!requested) return null;
  const missing = findSendProblem(requested);
  if (missing) return missing;
  cancelScheduledSave();
  compose.set({ isSending: true });
  await savesSettled();
  const writing = compose.get().writing;
  if (writing?.key !== requested.key) return null;
  if (await wasChangedElsewhere(writing)) {
    compose.set({ isSending: false });
    return CHANGED_ELSEWHERE;
  }
  const key = `${writing.key}.${sendAt ? sendAt.getTime() : 'now'}`;
  try {
    const { id, delivery } = await sendMessage(
      {
        ...toDraftBody(writing),
        ...(sendAt ? { send_at: sendAt.toISOString() } : {}),
        ...(writing.draftId ? { draft_id: writing.draftId } : {}),
      },
      key,
    );
    endWriting();
    const leavesAt = Math.min(...delivery.map((one) => Date.parse(one.next_attempt_at ?? '')).filter(Number.isFinite));
    const undoMs = Math.min(Math.max(leavesAt - Date.now(), UNDO_MS_MIN), UNDO_MS_MAX);
    const text = sendAt ? `Will be sent ${formatDateTime(sendAt.toISOString())}.` : 'Sent.';
    offerUndo(text, () => cancelSending(id, writing), undoMs);
    refreshAll();
    return null;
  } catch (error) {
    compose.set({ isSending: false });
    void saveDraft();
    return describeError(error);
  }
}

/** Cancels the send. The server stores the message in Drafts with new ids for draft and attachments. */
async function cancelSending(messageId: string, sent: Writing): Promise<void> {
  const { draft_id: draftId = null } = await cancelSend(messageId);
  const draft = draftId ? await loadDraft(draftId).then(fromDraft, () => null) : null;
  // Keep the text as it was typed. Take id, revision and attachments from the draft.
  const draftRef = draft
    ? { draftId, revision: draft.revision, attachments: draft.attachments }
    : { draftId, revision: null };
  startWriting({ ...sent, tried: [], ...draftRef, key: crypto.randomUUID() });
  const { writing } = compose.get();
  if (writing) keepWriting(writing);
  showToast('Taken back.');
}
