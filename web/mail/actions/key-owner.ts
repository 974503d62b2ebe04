/**
 * Tells whether a key press belongs to a window, a dialog, a menu or a panel. Such a key is never a command for the list behind it,
 * whatever element has the focus there.
 */
import { isLayerOpen } from '../../shared/open-layers.ts';
import { view } from '../model/view.ts';

const FIELDS = 'input:not([type="checkbox"], [type="radio"]), textarea, select, [contenteditable]';
const WINDOWS = '.compose, dialog, [role="dialog"], [role="menu"], [popover]';

/** The window that was focused or pressed last, while no other element took its place. */
let last: Element | null = null;

const note = (event: Event) => {
  if (event.target instanceof Element) last = event.target.closest(WINDOWS);
};

/** @returns a function that stops. */
export function followKeyOwner(): () => void {
  addEventListener('focusin', note);
  addEventListener('pointerdown', note);
  return () => {
    removeEventListener('focusin', note);
    removeEventListener('pointerdown', note);
    last = null;
  };
}

/** Whether the window is still there. A reply may move into its conversation, which replaces its element by another one. */
function isStillOpen(element: Element): boolean {
  const now = element.matches('.compose') ? document.querySelector('.compose') : element;
  return now?.isConnected === true && now.checkVisibility();
}

/** @param target of the key press. If the focused element has disappeared, this is the body of the page. */
export function belongsToWindow(target: EventTarget | null): boolean {
  // A dialog or menu that is open takes the keys, even if the button that opened it still has the focus.
  if (isLayerOpen() || view.get().isFoldersOpen) return true;
  // An element of a frame is not an instance of this page's `Element`. Frames show messages, which have no fields.
  if (!(target instanceof Element)) return false;
  if (target.closest(FIELDS) !== null || target.closest(WINDOWS) !== null) return true;
  // The element with the focus disappeared, or a part of the window that cannot have the focus was pressed.
  return target === document.body && last !== null && isStillOpen(last);
}
