/**
 * Keyboard shortcuts of the mail page, the same as in Gmail and Fastmail. `g i` means g and then i. Shortcuts do nothing while the
 * user types, or while a window, dialog, menu or panel has the focus. The command palette offers them too.
 */
import type { Command } from '../../shared/commands.ts';
import { go, readRoute, toHash } from '../../shared/hash-route.ts';
import { mailTexts } from '../../shared/texts/mail.ts';
import { startReply, startWriting } from '../compose/compose-state.ts';
import type { FolderRole } from '../model/api.ts';
import { undoLast } from '../model/changes.ts';
import { view } from '../model/view.ts';
import { act, openSnooze } from './actions.ts';
import { belongsToWindow, followKeyOwner } from './key-owner.ts';
import { holdKey } from './waiting-keys.ts';

const { keys: t, folders } = mailTexts;

type Key = Command & { keys: string };

const toFolder = (keys: string, role: NonNullable<FolderRole>): Key => ({
  keys,
  icon: role,
  title: folders[role],
  run: () => go(toHash([role])),
});

export const shortcuts = (): readonly Key[] => [
  { keys: 'j', icon: 'down', title: t.next, run: () => act.step(1) },
  { keys: 'k', icon: 'up', title: t.previous, run: () => act.step(-1) },
  { keys: 'Enter', icon: 'read', title: t.open, run: () => act.openActive() },
  { keys: 'u', icon: 'back', title: t.back, run: () => act.close() },
  { keys: 'n', icon: 'down', title: t.nextMessage, run: () => act.stepMessage(1) },
  { keys: 'p', icon: 'up', title: t.previousMessage, run: () => act.stepMessage(-1) },
  { keys: 'e', icon: 'archive', title: t.archive, run: () => act.archive() },
  { keys: '#', icon: 'trash', title: t.trash, run: () => act.trash() },
  { keys: '!', icon: 'junk', title: t.junk, run: () => act.junk() },
  { keys: 'v', icon: 'move', title: t.move, run: () => view.set({ isMoveOpen: true }) },
  { keys: 'l', icon: 'label', title: t.label, run: () => view.set({ isLabelOpen: true }) },
  { keys: 'b', icon: 'snooze', title: t.snooze, run: () => openSnooze() },
  { keys: 'm', icon: 'mute', title: t.mute, run: () => act.mute() },
  { keys: 's', icon: 'flagged', title: t.flag, run: () => act.toggleFlag() },
  { keys: 'x', icon: 'check', title: t.select, run: () => act.toggleSelected() },
  { keys: '* a', icon: 'check', title: t.selectAll, run: () => act.selectAll() },
  { keys: 'U', icon: 'unread', title: t.read, run: () => act.toggleRead() },
  { keys: 'z', icon: 'undo', title: t.undo, run: () => undoLast() },
  { keys: 'r', icon: 'reply', title: t.reply, run: () => void startReply('reply') },
  { keys: 'a', icon: 'replyAll', title: t.replyAll, run: () => void startReply('all') },
  { keys: 'f', icon: 'forward', title: t.forward, run: () => void startReply('forward') },
  { keys: 'c', icon: 'write', title: t.write, run: () => startWriting() },
  { keys: '/', icon: 'search', title: t.search, run: () => document.getElementById('search')?.focus() },
  toFolder('g i', 'inbox'),
  toFolder('g s', 'flagged'),
  toFolder('g d', 'drafts'),
  toFolder('g t', 'sent'),
  toFolder('g e', 'archive'),
  toFolder('g a', 'all'),
  toFolder('g j', 'junk'),
  toFolder('g k', 'trash'),
  { keys: '?', icon: 'keys', title: t.help, run: () => view.set({ isHelpOpen: true }) },
];

/** The first key of a pair such as `g i`, until the second one is pressed. */
let first = '';

function findKey(pressed: string): Key | undefined {
  const pair = first === '' ? undefined : shortcuts().find(({ keys }) => keys === `${first} ${pressed}`);
  const isPair = shortcuts().some(({ keys }) => keys.startsWith(`${pressed} `));
  first = pair === undefined && isPair ? pressed : '';
  return pair ?? (isPair ? undefined : shortcuts().find(({ keys }) => keys === pressed));
}

/** Commands that need no list of conversations: Undo, Write, Search, Help and the folders. */
const OF_THE_PAGE = /^(?:[zc/?]|g .)$/;

const MODIFIERS: readonly string[] = ['Shift', 'Control', 'Alt', 'Meta', 'AltGraph'];

/** Handles a key press of the page, or of the frame that shows a message's HTML. */
export function handleKey(event: KeyboardEvent): void {
  if (event.defaultPrevented || MODIFIERS.includes(event.key)) return;
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (belongsToWindow(event.target)) {
    first = '';
    return;
  }
  // A focused button or link handles Enter itself.
  if (event.key === 'Enter' && event.target instanceof Element && event.target.closest('button, a')) return;
  const key = findKey(event.key);
  // The settings show no list, so commands for conversations would act unseen.
  if (!key || (readRoute().parts[0] === 'settings' && !OF_THE_PAGE.test(key.keys))) return;
  event.preventDefault();
  key.run();
}

/** Holds keys for a window that is opening, before any element of the page can handle them. */
const holdTrusted = (event: KeyboardEvent) => {
  if (event.isTrusted) holdKey(event);
};

export function listenToKeys(): () => void {
  const stop = followKeyOwner();
  addEventListener('keydown', holdTrusted, { capture: true });
  addEventListener('keydown', handleKey);
  return () => {
    removeEventListener('keydown', holdTrusted, { capture: true });
    removeEventListener('keydown', handleKey);
    stop();
  };
}
