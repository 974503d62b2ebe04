/** Switches between plain and formatted text. The cursor stays at its place, and the text keeps the focus. */
import { flushSync } from 'react-dom';
import { makePlain, makeRich } from './compose-state.ts';
import { compose } from './compose-store.ts';
import { focusEditorAt } from './rich-editor.tsx';

const findText = (): HTMLElement | null => document.querySelector<HTMLElement>('.compose-body');

export function switchToRich(): void {
  const { body = '' } = compose.get().writing ?? {};
  const text = findText();
  const at = text instanceof HTMLTextAreaElement ? text.selectionStart : body.length;
  flushSync(makeRich);
  focusEditorAt(body.slice(0, at));
}

/** A character that no text has. It marks the cursor while the text is read. */
const MARK = '\u{f8ff}\u{f8fe}\u{f8ff}';

/** Returns the text before the cursor as plain text. If the cursor is not in the editor, this is the whole text. */
function textBeforeCursor(editor: HTMLElement): string {
  const selection = getSelection();
  if (!selection || selection.rangeCount === 0 || !editor.contains(selection.focusNode)) return editor.innerText;
  const range = selection.getRangeAt(0).cloneRange();
  range.collapse(false);
  const mark = document.createTextNode(MARK);
  range.insertNode(mark);
  const [before = ''] = editor.innerText.split(MARK, 1);
  mark.remove();
  return before;
}

export function switchToPlain(): void {
  const editor = findText();
  const at = editor ? textBeforeCursor(editor).length : 0;
  flushSync(() => makePlain({ isQuoteKept: true }));
  const text = findText();
  text?.focus();
  if (text instanceof HTMLTextAreaElement) text.setSelectionRange(at, at);
}
