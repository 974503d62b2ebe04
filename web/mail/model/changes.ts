/**
 * Changes messages: first in the page, then on the server. If the server refuses, the list is read again. Offline, the
 * change waits on this device.
 */
import { formatNumber } from '../../shared/format.ts';
import { showError, showToast } from '../../shared/toasts.tsx';
import type { BatchPatch, Folder, Patch, Summary } from './api.ts';
import { isOffline, type QueuedChange, queueChange } from './change-queue.ts';
import { refreshAll, refreshFolders } from './list-reading.ts';
import { folderByRole, isVirtualFolder, mailbox, setMessages, updateMessages } from './mailbox.ts';
import { restoreRemoved } from './rows.ts';
import { signOutIfUnauthorized } from './session.ts';

/** Most messages in one batch request (a limit of the API). */
const BATCH_MAX = 1_000;

interface Undo {
  text: string;
  run: () => Promise<unknown>;
}
let lastUndo: Undo | null = null;

/** Reverts the last change that can be undone (key `z`). */
export function undoLast(): void {
  const undo = lastUndo;
  lastUndo = null;
  if (!undo) {
    showToast('There is nothing to undo.');
    return;
  }
  undo.run().then(
    () => {
      refreshAll();
    },
    (error: unknown) => showError(error),
  );
}

export function offerUndo(text: string, run: () => Promise<unknown>, durationMs = 6000): void {
  lastUndo = { text, run };
  showToast(text, { action: { label: 'Undo', run: undoLast }, durationMs });
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
}

/** Changes messages at once in the page, then on the server. */
export async function changeMessages(ids: string[], patch: Patch): Promise<void> {
  const { source } = mailbox.get();
  const leaves = patch.folder_id !== undefined && source?.kind === 'folder' && !isVirtualFolder(source.folderId);
  updateMessages(new Set(ids), (message) =>
    leaves && patch.folder_id !== message.folder_id ? null : { ...message, ...patch },
  );
  await sendPatch(ids, patch);
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

/** Moves messages and offers an undo. */
export async function moveMessages(messages: Summary[], folder: Folder): Promise<void> {
  const before = new Map<string, string[]>();
  for (const message of messages) {
    before.set(message.folder_id, [...(before.get(message.folder_id) ?? []), message.id]);
  }
  const { source, messages: then } = mailbox.get();
  const later = isOffline() ? ' This is saved on this device until you are online.' : '';
  offerUndo(`${formatNumber(messages.length, 'message')} moved to ${folder.name}.${later}`, async () => {
    // Put the messages back here: far down in a long list, a refresh of its first page would not show them.
    const { source: shown, messages: now } = mailbox.get();
    if (shown === source) setMessages(restoreRemoved(now, then, new Set(messages.map((message) => message.id))));
    await Promise.all(
      [...before].map(([folderId, ids]) =>
        queueForAll(ids, (part) => ({ kind: 'patch', ids: part, patch: { folder_id: folderId } })),
      ),
    );
  });
  await changeMessages(
    messages.map((message) => message.id),
    { folder_id: folder.id },
  );
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
  if (!confirm(`Erase ${formatNumber(inTrash.length, 'message')} for good?`)) return;
  const gone = new Set(inTrash.map((message) => message.id));
  updateMessages(gone, () => null);
  try {
    const ids = inTrash.map((message) => message.id);
    await queueForAll(ids, (part) => ({ kind: 'erase', ids: part }));
    showToast(`${formatNumber(inTrash.length, 'message')} erased.`);
  } catch (error) {
    showError(error);
  }
  refreshAll();
}
