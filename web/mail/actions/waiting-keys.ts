/**
 * Keys that are pressed between a command that opens a window and the window's first field. They wait, and the field gets them in
 * their order as soon as it has the focus. A page cannot repeat a key press of the user, so this does what the browser does for the
 * keys of written text.
 */
import { flushSync } from 'react-dom';
import { palette } from '../../shared/commands.ts';
import { compose } from '../compose/compose-store.ts';

interface Pressed {
  readonly key: string;
  readonly ctrlKey: boolean;
  readonly metaKey: boolean;
  readonly shiftKey: boolean;
}

const STOPS = 'input:not([type="hidden"]), textarea, [contenteditable], select, button, a[href]';
const FIELDS = 'input, textarea, [contenteditable]';
/** Keys that move the cursor: the direction and the distance. */
const MOVES: Readonly<Record<string, [direction: string, by: string]>> = {
  ArrowLeft: ['left', 'character'],
  ArrowRight: ['right', 'character'],
  ArrowUp: ['backward', 'line'],
  ArrowDown: ['forward', 'line'],
  Home: ['backward', 'lineboundary'],
  End: ['forward', 'lineboundary'],
};
/** Frames to wait for the focus of a window that is there. A reply may move into its conversation first. */
const FOCUS_FRAMES_MAX = 60;

let waiting: Pressed[] = [];
let isGiving = false;

/** Returns the window that is opening or open, if its code or its message is loaded first. */
const findWindow = (): Element | null => document.querySelector(palette.get().isOpen ? 'dialog.palette' : '.compose');
const hasFocus = (): boolean => findWindow()?.contains(document.activeElement) === true;

/** Whether a window was asked for that is not there yet. */
function isOpening(): boolean {
  if (palette.get().isOpen) return !hasFocus();
  const { writing, isOpening: isRead, isSending } = compose.get();
  return isRead || (writing !== null && !isSending && findWindow() === null);
}

/** Whether a window handles the key. Other keys, such as F5 and Ctrl+R, belong to the browser. */
function isForWindow({ key, ctrlKey, metaKey, altKey, shiftKey }: KeyboardEvent): boolean {
  if (altKey) return false;
  if (ctrlKey || metaKey) return key === 'Enter' || (shiftKey && /^[BC]$/i.test(key));
  return [...key].length === 1 || ['Tab', 'Enter', 'Backspace', 'Delete', 'Escape'].includes(key) || key in MOVES;
}

/** Holds a key back if a window is opening. */
export function holdKey(event: KeyboardEvent): void {
  if (!(isGiving || isOpening()) || !isForWindow(event)) return;
  const { key, ctrlKey, metaKey, shiftKey } = event;
  event.preventDefault();
  event.stopPropagation();
  waiting.push({ key, ctrlKey, metaKey, shiftKey });
  // A message that cannot be read, on a line that hangs, must not keep the keys for ever.
  if (key === 'Escape') {
    waiting = [];
    compose.set({ isOpening: false });
  }
  if (!isGiving) void giveKeys();
}

const nextFrame = () => new Promise((resolve) => requestAnimationFrame(resolve));

/** Gives all keys at once, so that no press of a key or of the mouse can come between them. */
async function giveKeys(): Promise<void> {
  isGiving = true;
  while (isOpening()) await nextFrame();
  for (let frame = 0; frame < FOCUS_FRAMES_MAX && findWindow() && !hasFocus(); frame += 1) await nextFrame();
  const pressed = waiting;
  waiting = [];
  isGiving = false;
  for (const one of pressed) {
    // The window did not open, for example because its message could not be read. The keys were meant for it.
    if (!hasFocus()) return;
    // The page must show what a key changed before it handles the next one.
    flushSync(() => give(one, document.activeElement as HTMLElement));
  }
}

function give(pressed: Pressed, element: HTMLElement): void {
  const event = new KeyboardEvent('keydown', { ...pressed, bubbles: true, cancelable: true });
  if (!element.dispatchEvent(event) || pressed.ctrlKey || pressed.metaKey) return;
  const { key, shiftKey } = pressed;
  if (key === 'Tab') moveFocus(element, shiftKey ? -1 : 1);
  else if (!element.matches(FIELDS)) {
    // Text commands would change the field that has the selection, even without the focus.
    if (key === 'Enter' || key === ' ') element.click();
  } else edit(element, key, shiftKey);
}

function edit(field: HTMLElement, key: string, isExtended: boolean): void {
  const move = MOVES[key];
  if (move) getSelection()?.modify(isExtended ? 'extend' : 'move', ...move);
  else if (key === 'Backspace') document.execCommand('delete');
  else if (key === 'Delete') document.execCommand('forwardDelete');
  else if (key === 'Enter' && field.matches('textarea')) document.execCommand('insertText', false, '\n');
  else if (key === 'Enter') document.execCommand('insertParagraph');
  else if ([...key].length === 1) document.execCommand('insertText', false, key);
}

function moveFocus(from: HTMLElement, by: 1 | -1): void {
  const stops = [...(findWindow()?.querySelectorAll<HTMLElement>(STOPS) ?? [])].filter(
    (element) => element.tabIndex >= 0 && !element.matches(':disabled') && element.checkVisibility(),
  );
  stops[stops.indexOf(from) + by]?.focus();
}
