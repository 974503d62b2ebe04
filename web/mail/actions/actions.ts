/**
 * Actions on rows of the conversation list, for keys, buttons and gestures. If no row is selected, an action applies to the active
 * row.
 */
import { focusRegion } from '../../shared/focus-keeper.ts';
import { mailTexts } from '../../shared/texts/mail.ts';
import { showToast } from '../../shared/toasts.tsx';
import type { Folder, FolderRole, Summary } from '../model/api.ts';
import {
  changeMessages,
  labelMessages,
  moveMessages,
  muteConversation,
  snoozeMessages,
  trashMessages,
} from '../model/changes.ts';
import { folderByRole, mailbox } from '../model/mailbox.ts';
import type { Row } from '../model/rows.ts';
import { view } from '../model/view.ts';
import { findWhole } from '../model/whole-selection.ts';

const t = mailTexts.changes;

function chosenRows(): Row[] {
  const { rows, selected, activeId, leftRow } = mailbox.get();
  if (selected.size > 0) return rows.filter((row) => selected.has(row.threadId));
  const active = [...rows, ...(leftRow ? [leftRow] : [])].find((row) => row.threadId === activeId);
  return active ? [active] : [];
}

/** Returns the messages of rows. If they are the selected rows of a whole selection, also those that are not loaded. */
function messagesOf(rows: readonly Row[]): Summary[] {
  const { selected } = mailbox.get();
  const whole = findWhole();
  const isWhole = whole !== null && rows.length >= selected.size && rows.every((row) => selected.has(row.threadId));
  return isWhole ? [...whole] : rows.flatMap((row) => row.messages);
}
const idsOf = (rows: readonly Row[]): string[] => messagesOf(rows).map((message) => message.id);

function activate(row: Row | undefined, isOpening: boolean): void {
  mailbox.set({ activeId: row?.threadId ?? null });
  if (!row) {
    view.set({ threadId: null, messageId: null });
    return;
  }
  if (isOpening) view.set({ threadId: row.threadId, messageId: row.messages[0]?.id ?? null });
}

/** Conversation of the row that was selected last. A range selection (Shift) starts there. */
let selectionStart: string | null = null;

/** A narrow page shows one pane at a time: an open conversation covers the list. */
export const isNarrow = (): boolean => matchMedia('(max-width: 820px)').matches;

/** Focuses the list's row after the next render, unless the user is typing. */
function focusRow(threadId: string | null): void {
  if (threadId === null) return;
  requestAnimationFrame(() => {
    if (document.activeElement?.matches('input:not([type="checkbox"]), textarea, select')) return;
    document.querySelector<HTMLElement>(`[data-thread="${CSS.escape(threadId)}"]`)?.focus({ preventScroll: true });
  });
}
const focusReader = () => requestAnimationFrame(() => focusRegion(document.getElementById('reader')));

/** Removes rows from the conversation list and makes the row that takes their place active. */
function removeAndActivateNext(rows: Row[], run: (messages: Summary[]) => Promise<void>): void {
  if (rows.length === 0) return;
  const all = mailbox.get().rows;
  const gone = new Set(rows.map((row) => row.threadId));
  const at = all.findIndex((row) => gone.has(row.threadId));
  const wasOpen = view.get().threadId !== null && gone.has(view.get().threadId ?? '');
  const next =
    at === -1
      ? undefined
      : (all.slice(at).find((row) => !gone.has(row.threadId)) ??
        all.slice(0, at).findLast((row) => !gone.has(row.threadId)));
  const messages = messagesOf(rows);
  mailbox.set({ selected: new Set() });
  void run(messages);
  if (gone.has(mailbox.get().activeId ?? '') || wasOpen) activate(next, wasOpen && !isNarrow());
  if (wasOpen && isNarrow()) view.set({ threadId: null, messageId: null });
  focusRow(mailbox.get().activeId);
}

/** Whether a message can be snoozed: only received mail can return to the Inbox. */
const canWait = (message: Summary): boolean =>
  !['sent', 'drafts'].includes(mailbox.get().folders.find(({ id }) => id === message.folder_id)?.role ?? '');

function moveToRole(role: FolderRole, rows: Row[]): void {
  const folder = folderByRole(role);
  if (folder) removeAndActivateNext(rows, (messages) => moveMessages(messages, folder));
}

/** Opens the snooze menu for the selected conversations, or for the active one. */
export function openSnooze(): void {
  if (chosenRows().length > 0) view.set({ isSnoozeOpen: true });
}

export const act = {
  /** Makes a row the active one, on which keys act, without opening it. */
  activate: (row: Row) => mailbox.set({ activeId: row.threadId, selected: new Set() }),
  open: (row: Row) => {
    activate(row, true);
    if (isNarrow()) focusReader();
  },
  openActive: () => {
    const { rows, activeId } = mailbox.get();
    activate(rows.find((row) => row.threadId === activeId) ?? rows[0], true);
    if (isNarrow()) focusReader();
  },
  close: () => {
    view.set({ threadId: null, messageId: null });
    focusRow(mailbox.get().activeId);
  },

  step(by: 1 | -1): void {
    const { rows, activeId } = mailbox.get();
    // Before the first step there is no active row, so start from the row that has the focus.
    const from = activeId ?? (document.activeElement as HTMLElement | null)?.dataset.thread;
    const at = rows.findIndex((row) => row.threadId === from);
    const next = rows[at === -1 ? 0 : Math.min(Math.max(at + by, 0), rows.length - 1)];
    if (!next) return;
    activate(next, !isNarrow() || view.get().threadId !== null);
    focusRow(next.threadId);
  },

  /** Moves the focus between the messages of the open conversation. */
  stepMessage(by: 1 | -1): void {
    const heads = [...document.querySelectorAll<HTMLElement>('#reader .message-toggle')];
    const at = heads.findIndex((head) => head.closest('.message')?.contains(document.activeElement));
    const next =
      heads[at === -1 ? (by === 1 ? 0 : heads.length - 1) : Math.min(Math.max(at + by, 0), heads.length - 1)];
    next?.focus();
    next?.scrollIntoView({ block: 'nearest' });
  },

  toggleSelected(row?: Row): void {
    const threadId = row?.threadId ?? mailbox.get().activeId;
    if (!threadId) return;
    const selected = new Set(mailbox.get().selected);
    if (!selected.delete(threadId)) selected.add(threadId);
    selectionStart = threadId;
    mailbox.set({ selected });
  },
  /** Selects or deselects a row. With Shift, does the same to all rows since the last one that was clicked. */
  select(row: Row, isRange: boolean): void {
    const { rows, selected, activeId } = mailbox.get();
    const start = rows.findIndex((one) => one.threadId === (selectionStart ?? activeId));
    const end = rows.findIndex((one) => one.threadId === row.threadId);
    if (!isRange || start === -1) {
      act.toggleSelected(row);
      return;
    }
    const isOn = !selected.has(row.threadId);
    const changed = new Set(selected);
    for (const { threadId } of rows.slice(Math.min(start, end), Math.max(start, end) + 1)) {
      if (isOn) changed.add(threadId);
      else changed.delete(threadId);
    }
    selectionStart = row.threadId;
    mailbox.set({ selected: changed });
  },
  selectAll(): void {
    const { rows, selected } = mailbox.get();
    mailbox.set({ selected: selected.size > 0 ? new Set() : new Set(rows.map((row) => row.threadId)) });
  },

  toggleFlag(rows: Row[] = chosenRows()): void {
    if (rows.length === 0) return;
    const isFlagged = !rows.every((row) => row.isFlagged);
    const targets = isFlagged
      ? rows.flatMap((row) => row.messages[0]?.id ?? [])
      : messagesOf(rows).flatMap((message) => (message.is_flagged ? message.id : []));
    void changeMessages(targets, { is_flagged: isFlagged });
  },
  toggleRead(rows: Row[] = chosenRows()): void {
    if (rows.length === 0) return;
    const isRead = messagesOf(rows).some((message) => !message.is_read);
    void changeMessages(idsOf(rows), { is_read: isRead });
    showToast(isRead ? t.markedAsRead : t.markedAsUnread, { durationMs: 2500 });
  },
  /** Adds a label to conversations, or removes it. */
  label(label: string, isOn: boolean, rows: Row[] = chosenRows()): void {
    const targets = messagesOf(rows).filter((message) => message.labels.includes(label) !== isOn);
    if (targets.length > 0) void labelMessages(targets, label, isOn);
  },
  chosen: chosenRows,
  archive: (rows: Row[] = chosenRows()) => moveToRole('archive', rows),
  junk: (rows: Row[] = chosenRows()) => moveToRole('junk', rows),
  toInbox: (rows: Row[] = chosenRows()) => moveToRole('inbox', rows),
  snooze: (until: Date, rows: Row[] = chosenRows()) =>
    removeAndActivateNext(rows, (messages) => snoozeMessages(messages.filter(canWait), until)),
  mute: (isMuted = true, rows: Row[] = chosenRows()) => {
    for (const row of rows) {
      const run = (messages: Summary[]) => muteConversation(row.threadId, messages, isMuted);
      // Unmuting does not move the conversation.
      if (isMuted) removeAndActivateNext([row], run);
      else void run(row.messages);
    }
  },
  trash: (rows: Row[] = chosenRows()) => removeAndActivateNext(rows, trashMessages),
  move: (folder: Folder, rows: Row[] = chosenRows()) =>
    removeAndActivateNext(rows, (messages) => moveMessages(messages, folder)),
};
