/** Switches between plain and formatted text. The cursor stays at its place, and the text keeps the focus. */
import type { ClipboardEvent } from 'react';
import { flushSync } from 'react-dom';
import { plural } from '../../shared/texts/index.ts';
import { mailComposeTexts } from '../../shared/texts/mail-compose.ts';
import { showToast } from '../../shared/toasts.tsx';
import { makePlain, makeRich } from './compose-state.ts';
import { compose } from './compose-store.ts';
import { readPasted } from './pasting.ts';
import { focusEditorAt, insertPasted } from './rich-editor.tsx';
import { attach } from './uploads.ts';

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

/**
 * Handles a paste into plain text. Pictures that come with their bytes turn the text into formatted text, which can show them. Other
 * files are attached, and the browser inserts plain text.
 */
export function pasteIntoPlain(event: ClipboardEvent, body: string): void {
  const pasted = readPasted(event.clipboardData);
  const hasPictures = pasted.files.some((file) => file.type.startsWith('image/'));
  if (!hasPictures) {
    if (pasted.files.length > 0) event.preventDefault();
    if (pasted.files.length > 0) attach(pasted.files);
    else if (pasted.leftOut > 0)
      showToast(plural(mailComposeTexts.window.picturesLeftOut, pasted.leftOut), { durationMs: 8000 });
    return;
  }
  event.preventDefault();
  const { selectionStart } = event.currentTarget as HTMLTextAreaElement;
  flushSync(makeRich);
  const editor = focusEditorAt(body.slice(0, selectionStart));
  if (editor) insertPasted(editor, pasted);
}
