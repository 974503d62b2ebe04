/** Keyboard shortcuts of the mail page, the same as in Gmail and Fastmail. They do nothing while the user types. */
import { startReply, startWriting } from '../compose/compose-state.ts';
import { compose } from '../compose/compose-store.ts';
import { undoLast } from '../model/changes.ts';
import { view } from '../model/view.ts';
import { act } from './actions.ts';

export const KEYS: { keys: string; does: string; run: () => void }[] = [
  { keys: 'j', does: 'Next conversation', run: () => act.step(1) },
  { keys: 'k', does: 'Previous conversation', run: () => act.step(-1) },
  { keys: 'Enter', does: 'Open the conversation', run: () => act.openActive() },
  { keys: 'u', does: 'Back to the list', run: () => act.close() },
  { keys: 'e', does: 'Archive', run: () => act.archive() },
  { keys: '#', does: 'Move to Trash', run: () => act.trash() },
  { keys: '!', does: 'Junk', run: () => act.junk() },
  { keys: 'v', does: 'Move to a folder', run: () => view.set({ isMoveOpen: true }) },
  { keys: 'l', does: 'Label', run: () => view.set({ isLabelOpen: true }) },
  { keys: 's', does: 'Flag, or take the flag away', run: () => act.toggleFlag() },
  { keys: 'x', does: 'Select', run: () => act.toggleSelected() },
  { keys: 'U', does: 'Mark as read or unread', run: () => act.toggleRead() },
  { keys: 'z', does: 'Undo', run: () => undoLast() },
  { keys: 'r', does: 'Reply', run: () => void startReply('reply') },
  { keys: 'a', does: 'Reply to all', run: () => void startReply('all') },
  { keys: 'f', does: 'Forward', run: () => void startReply('forward') },
  { keys: 'c', does: 'Write a message', run: () => startWriting() },
  { keys: '/', does: 'Search', run: () => document.querySelector<HTMLInputElement>('#search')?.focus() },
  { keys: '?', does: 'Show these keys', run: () => view.set({ isHelpOpen: true }) },
];

const isTyping = (target: EventTarget | null) =>
  target instanceof Element &&
  target.closest('input:not([type="checkbox"]), textarea, select, dialog, [contenteditable]') !== null;

/** Also called with events from the frame of a message. */
export function handleKey(event: KeyboardEvent): void {
  if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target)) return;
  // Keys that are typed while the compose window opens are text for it.
  if (compose.get().writing && !document.querySelector('.compose')) return;
  // A focused button or link handles Enter itself.
  if (event.key === 'Enter' && event.target instanceof Element && event.target.closest('button, a')) return;
  const key = KEYS.find((one) => one.keys === event.key);
  if (!key) return;
  event.preventDefault();
  key.run();
}

export function listenToKeys(): () => void {
  addEventListener('keydown', handleKey);
  return () => removeEventListener('keydown', handleKey);
}
