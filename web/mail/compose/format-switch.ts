/** Switches between plain and formatted text. Nothing is lost, the cursor stays at its place, and the text keeps the focus. */
import type { ClipboardEvent } from 'react';
import { flushSync } from 'react-dom';
import { plural } from '../../shared/texts/index.ts';
import { mailComposeTexts } from '../../shared/texts/mail-compose.ts';
import { showToast } from '../../shared/toasts.tsx';
import { change, makePlain } from './compose-state.ts';
import { compose } from './compose-store.ts';
import { type Editor, findEditor } from './editor.ts';
import { toEditorNodes, toMessageHtml } from './editor-html.ts';
import { readPasted } from './pasting.ts';
import { choosePlain, showEditor } from './plain-choice.ts';
import { toPlainText } from './plain-form.ts';
import { insertPasted } from './rich-editor.tsx';
import { type Block, restoreBlocks } from './rich-lines.ts';
import { attach } from './uploads.ts';
import type { Writing } from './writing.ts';

const findText = (): HTMLElement | null => document.querySelector<HTMLElement>('.compose-body');

/** A character that no text has. It marks the cursor while the text is read. */
const MARK = '\u{f8ff}\u{f8fe}\u{f8ff}';

function toBlocks(rich: string): Block[] {
  return toEditorNodes(rich).map((node) => {
    const holder = document.createElement('div');
    holder.append(node);
    return { html: toMessageHtml(holder.innerHTML), text: toPlainText([node]) };
  });
}

/** Puts the cursor after so many characters of the plain text. */
function placeCursor(editor: Editor, at: number): void {
  const root = editor.getRoot();
  const range = document.createRange();
  let from = 0;
  for (const block of root.children) {
    const { length } = toPlainText([block]);
    if (at > from + length) {
      from += length + 1;
      continue;
    }
    const words = block.firstChild;
    const isText = block.childNodes.length === 1 && words?.nodeType === Node.TEXT_NODE;
    if (isText && words) range.setStart(words, Math.min(at - from, words.nodeValue?.length ?? 0));
    else range.setStart(block, at === from ? 0 : block.childNodes.length);
    editor.setSelection(range);
    break;
  }
}

/** Turns plain text into formatted text. The formatting that it had before comes back where the text is the same. */
export function makeRich(): Partial<Writing> {
  const { writing } = compose.get();
  if (!writing?.former) return {};
  const rich = restoreBlocks(toBlocks(writing.former), writing.body);
  const attachments = writing.attachments.map((upload) =>
    rich.includes(`cid:${upload.key}@`) ? { ...upload, isInline: true } : upload,
  );
  return { rich, attachments };
}

function openEditor(at: number): Editor | null {
  flushSync(() => change(makeRich()));
  const editor = findEditor(findText());
  if (editor) placeCursor(editor, at);
  editor?.focus();
  return editor;
}

export function switchToRich(): void {
  choosePlain(false);
  const text = findText();
  openEditor(text instanceof HTMLTextAreaElement ? text.selectionStart : 0);
}

/** Returns the length of the plain text before the cursor. If the cursor is not in the editor, this is the whole text. */
function countBeforeCursor(editor: Editor): number {
  const root = editor.getRoot();
  const range = editor.getSelection().cloneRange();
  if (!root.contains(range.startContainer)) return editor.toText().length;
  range.collapse(false);
  const mark = document.createTextNode(MARK);
  let before = 0;
  editor.modifyDocument(() => {
    range.insertNode(mark);
    before = editor.toText().indexOf(MARK);
    const { parentNode } = mark;
    mark.remove();
    parentNode?.normalize();
  });
  return Math.max(0, before);
}

export function switchToPlain(): void {
  const editor = findEditor(findText());
  const at = editor ? countBeforeCursor(editor) : 0;
  flushSync(() => {
    choosePlain(true);
    makePlain({ isQuoteKept: true });
  });
  const text = findText();
  text?.focus();
  if (text instanceof HTMLTextAreaElement) text.setSelectionRange(at, at);
}

/**
 * Handles a paste into plain text. Pictures that come with their bytes turn the text into formatted text, which can show them. Other
 * files are attached, and the browser inserts plain text.
 */
export function pasteIntoPlain(event: ClipboardEvent): void {
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
  showEditor();
  const editor = openEditor((event.currentTarget as HTMLTextAreaElement).selectionStart);
  if (editor) insertPasted(editor, pasted);
}
