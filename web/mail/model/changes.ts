/**
 * Changes messages: first in the page, then on the server. If the server refuses, the list is read again. Offline, the
 * change waits on this device.
 */
import { formatDateTime } from '../../shared/format.ts';
import { fill, plural } from '../../shared/texts/index.ts';
import { mailTexts } from '../../shared/texts/mail.ts';
import { dismissToast, showError, showToast } from '../../shared/toasts.tsx';
import type { BatchPatch, Folder, Patch, Summary } from './api.ts';
import { isOffline, type QueuedChange, queueChange, sendOrKeep } from './change-queue.ts';
import { refreshLabels } from './labels.ts';
import { forgetLists } from './left-lists.ts';
import { refreshAll, refreshFolders } from './list-reading.ts';
import { folderByRole, isVirtualFolder, mailbox, setMessages, updateMessages } from './mailbox.ts';
import { restoreRemoved } from './rows.ts';
import type { Sender } from './senders.ts';
import { signOutIfUnauthorized } from './session.ts';

const t = mailTexts.changes;

/** Most messages in one batch request (a limit of the API). */
const BATCH_MAX = 1_000;

interface Undo {
  /** Id of the toast that offers the undo, so that a new one replaces the last. */
  toast: number;
  run: () => Promise<unknown>;
}
let lastUndo: Undo | null = null;

/** Reverts the last change that can be undone (key `z`). */
export function undoLast(): void {
  if (lastUndo) revert(lastUndo);
  else showToast(t.nothingToUndo);
}

function revert(undo: Undo): void {
  if (lastUndo === undo) lastUndo = null;
  dismissToast(undo.toast);
  undo.run().then(
    () => {
      refreshAll();
    },
    (error: unknown) => showError(error),
  );
}

/**
 * Adds to the text of a toast that the change is kept on this device, if it is not sent.
 * @param isSent whether the server has the change.
 */
const withState = (text: string, isSent: boolean): string => (isSent ? text : `${text} ${mailTexts.offline.kept}`);

/** Offers an undo in place of the last one. */
export function offerUndo(text: string, run: () => Promise<unknown>, durationMs = 6000): void {
  if (lastUndo) dismissToast(lastUndo.toast);
  const undo: Undo = { toast: 0, run };
  undo.toast = showToast(text, { action: { label: t.undo, run: () => revert(undo) }, durationMs });
  lastUndo = undo;
}

/** Says what was done, if its undo is shown elsewhere. The key `z` reverts it too. */
export function noteUndo(text: string, run: () => Promise<unknown>): void {
  if (lastUndo) dismissToast(lastUndo.toast);
  lastUndo = { toast: showToast(text), run };
}

/** Clears the undo at sign-out, so that the next user of this browser cannot undo the change. */
export function forgetUndo(): void {
  lastUndo = null;
}

/** Adds a label to messages, or removes it. */
export async function labelMessages(targets: Summary[], label: string, isOn: boolean): Promise<void> {
  const known = new Set(targets.map((message) => message.id));
  const relabel = (labels: string[]) => (isOn ? [...labels, label] : labels.filter((one) => one !== label));
  updateMessages(known, (message) => ({ ...message, labels: relabel(message.labels) }));
  await sendPatch([...known], isOn ? { add_labels: [label] } : { remove_labels: [label] });
  await refreshLabels();
}

/**
 * Changes messages at once in the page, then on the server.
 * @param outcome the members that the messages have afterwards, if the server sets more than `patch` names.
 */
export async function changeMessages(ids: string[], patch: Patch, outcome: Patch = patch): Promise<void> {
  showChange(ids, outcome);
  await sendPatch(ids, patch);
}

function showChange(ids: readonly string[], outcome: Patch): void {
  const { source } = mailbox.get();
  const leaves = outcome.folder_id !== undefined && source?.kind === 'folder' && !isVirtualFolder(source.folderId);
  updateMessages(new Set(ids), (message) =>
    leaves && outcome.folder_id !== message.folder_id ? null : { ...message, ...outcome },
  );
}

/** Queues one change per 1,000 messages. All of them are stored on this device before the first one is sent. */
async function queueForAll(ids: string[], toChange: (ids: string[]) => QueuedChange): Promise<void> {
  const starts = Array.from({ length: Math.ceil(ids.length / BATCH_MAX) }, (_, n) => n * BATCH_MAX);
  await Promise.all(starts.map((start) => queueChange(toChange(ids.slice(start, start + BATCH_MAX)))));
}

async function sendPatch(ids: string[], patch: BatchPatch): Promise<void> {
  try {
    await queueForAll(ids, (part) => ({ kind: 'patch', ids: part, patch }));
    void refreshFolders();
  } catch (error) {
    signOutIfUnauthorized(error);
    showError(error);
    refreshAll();
  }
}

/**
 * Prepares the undo of a move.
 * @returns a function that puts messages back into their folders, and into the list if it is still open.
 */
function toReturn(messages: readonly Summary[]): () => Promise<void> {
  const before = new Map<string, string[]>();
  for (const message of messages) before.set(message.folder_id, [...(before.get(message.folder_id) ?? []), message.id]);
  const { source, messages: then } = mailbox.get();
  return async () => {
    // Put the messages back into the list here. They may be far down, where a refresh of the first page would not show them.
    const { source: shown, messages: now } = mailbox.get();
    if (shown === source) setMessages(restoreRemoved(now, then, new Set(messages.map((message) => message.id))));
    await Promise.all(
      [...before].map(([folderId, ids]) =>
        queueForAll(ids, (part) => ({ kind: 'patch', ids: part, patch: { folder_id: folderId } })),
      ),
    );
  };
}

const idsOf = (messages: readonly Summary[]): string[] => messages.map((message) => message.id);

/** Moves messages and offers an undo. */
export async function moveMessages(messages: Summary[], folder: Folder): Promise<void> {
  const values = { count: plural(mailTexts.counts.messages, messages.length), name: folder.name };
  offerUndo(withState(fill(t.moved, values), !isOffline()), toReturn(messages));
  await changeMessages(idsOf(messages), { folder_id: folder.id });
}

/** Snoozes messages: takes them out of the Inbox until a time, and offers an undo. */
export async function snoozeMessages(messages: Summary[], until: Date): Promise<void> {
  const archive = folderByRole('archive');
  if (!archive || messages.length === 0) return;
  const snoozed_until = until.toISOString();
  const text = fill(mailTexts.snooze.done, { when: formatDateTime(snoozed_until) });
  offerUndo(withState(text, !isOffline()), toReturn(messages));
  await changeMessages(idsOf(messages), { snoozed_until }, { snoozed_until, folder_id: archive.id });
}

/** Mutes a conversation, which archives it and its later mail as read, or ends the muting. */
export async function muteConversation(threadId: string, messages: Summary[], isMuted: boolean): Promise<void> {
  const archive = folderByRole('archive');
  const inbox = folderByRole('inbox');
  const left = messages.filter((message) => message.folder_id === inbox?.id);
  const putBack = toReturn(left);
  const ids = isMuted && archive ? idsOf(left) : [];
  const patch = archive ? { folder_id: archive.id, is_read: true } : {};
  showChange(ids, patch);
  const change = { kind: 'mute', threadId, isMuted, ids, patch } as const;
  let isSent: boolean;
  try {
    isSent = await sendOrKeep(change);
  } catch (error) {
    signOutIfUnauthorized(error);
    showError(error);
    refreshAll();
    return;
  }
  if (!isMuted) showToast(withState(mailTexts.mute.ended, isSent));
  else
    offerUndo(withState(mailTexts.mute.done, isSent), async () => {
      await sendOrKeep({ ...change, isMuted: false, ids: [] });
      await putBack();
    });
}

/** Trusts or blocks a sender, and offers an undo that forgets the decision. @throws ApiError if the server refuses. */
export async function decideSender(sender: string, status: Sender['status']): Promise<void> {
  const change = { kind: 'sender', sender, status, isForgotten: false } as const;
  const isSent = await sendOrKeep(change);
  const text = fill(mailTexts.senders.decisions[status].done, { email: sender });
  offerUndo(withState(text, isSent), () => sendOrKeep({ ...change, isForgotten: true }));
}

/** Forgets the decision about a sender, and offers an undo. @throws ApiError if the server refuses. */
export async function forgetSender({ id, sender, status }: Sender): Promise<void> {
  const change = { kind: 'sender', sender, status } as const;
  const isSent = await sendOrKeep({ ...change, isForgotten: true, ...(id && { id }) });
  const text = fill(mailTexts.senders.removed, { sender });
  offerUndo(withState(text, isSent), () => sendOrKeep({ ...change, isForgotten: false }));
}

/** Leaves the mailing list of a message. @throws ApiError if the server or the list refuses. */
export async function leaveListOf(messageId: string, name: string): Promise<void> {
  const isSent = await sendOrKeep({ kind: 'leave', messageId });
  forgetLists();
  showToast(fill(isSent ? mailTexts.reader.leave.done : mailTexts.reader.leave.later, { name }));
  refreshAll();
}

/** Moves messages to Trash. If some are in Trash already, deletes those permanently instead, after a confirmation. */
export async function trashMessages(messages: Summary[]): Promise<void> {
  const trash = folderByRole('trash');
  if (!trash) return;
  const inTrash = messages.filter((message) => message.folder_id === trash.id);
  if (inTrash.length === 0) {
    await moveMessages(messages, trash);
    return;
  }
  if (!confirm(fill(t.confirmErase, { count: plural(mailTexts.counts.messages, inTrash.length) }))) return;
  const gone = new Set(inTrash.map((message) => message.id));
  updateMessages(gone, () => null);
  try {
    const ids = inTrash.map((message) => message.id);
    await queueForAll(ids, (part) => ({ kind: 'erase', ids: part }));
    showToast(fill(t.erased, { count: plural(mailTexts.counts.messages, inTrash.length) }));
  } catch (error) {
    showError(error);
  }
  refreshAll();
}
