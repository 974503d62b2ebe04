/** Shows the editor of formatted text. Text, pictures and files are pasted or dropped into it. */
import { type RefObject, useEffect, useLayoutEffect, useRef, useState } from 'react';
import { toDraftContentId } from '../../../workers/mail/domain/inline-picture.ts';
import { plural } from '../../shared/texts/index.ts';
import { mailComposeTexts } from '../../shared/texts/mail-compose.ts';
import { showToast } from '../../shared/toasts.tsx';
import { escapeHtml } from '../model/message-html.ts';
import { change } from './compose-state.ts';
import { compose } from './compose-store.ts';
import { Editor, findEditor } from './editor.ts';
import { type Pasted, placePictures, readPasted } from './pasting.ts';
import { loadPicture } from './pictures.ts';
import { isFormatted, toLines } from './rich-lines.ts';
import { attach, attachPicture, findFile } from './uploads.ts';
import type { Writing } from './writing.ts';

const { window: t } = mailComposeTexts;

const isPicture = (file: File): boolean => file.type.startsWith('image/');

/** Puts pictures at the cursor and attaches other files. */
function insertFiles(editor: Editor, files: readonly File[]): void {
  const others = files.filter((file) => !isPicture(file));
  if (others.length > 0) attach(others);
  editor.focus();
  for (const file of files.filter(isPicture)) {
    const key = attachPicture(file);
    if (key) editor.insertHTML(`<img alt="${escapeHtml(file.name || t.picture)}" data-picture="${key}">`);
  }
}

/** Inserts pasted text and pictures at the cursor. Says how many pictures are left out. */
export function insertPasted(editor: Editor, pasted: Pasted): void {
  if (pasted.leftOut > 0) showToast(plural(t.picturesLeftOut, pasted.leftOut), { durationMs: 8000 });
  if (pasted.html !== null) editor.insertHTML(placePictures(pasted, attachPicture));
  else if (pasted.files.length > 0) insertFiles(editor, pasted.files);
  else if (pasted.text !== '') editor.insertText(pasted.text);
}

/** Draws the pictures of the editor that have no address yet. Undoing a step makes new elements, which get the same address. */
function usePictures(root: RefObject<HTMLElement | null>, writing: Writing): void {
  const urls = useRef(new Map<string, string>());
  useEffect(() => () => [...urls.current.values()].forEach(URL.revokeObjectURL), []);
  useEffect(() => {
    const editor = findEditor(root.current);
    for (const image of root.current?.querySelectorAll<HTMLImageElement>('img[data-picture]:not([src])') ?? []) {
      const key = image.dataset.picture ?? '';
      const show = (blob: Blob | null) => {
        if (!blob || image.src) return;
        const url = urls.current.get(key) ?? URL.createObjectURL(blob);
        urls.current.set(key, url);
        editor?.modifyDocument(() => image.setAttribute('src', url));
      };
      const here = findFile(key);
      if (here) show(here);
      else loadPicture(writing, toDraftContentId(key)).then(show, () => undefined);
    }
  });
}

/** Moves the cursor to the place where something was dropped. */
function moveCursor(editor: Editor, { clientX, clientY }: DragEvent): void {
  const place = document.caretPositionFromPoint?.(clientX, clientY);
  if (!place || !editor.getRoot().contains(place.offsetNode)) return;
  const range = document.createRange();
  range.setStart(place.offsetNode, place.offset);
  editor.setSelection(range);
}

/** Listens before the editor does. @returns a function that stops. */
function listenForInsertions(root: HTMLElement): () => void {
  const onPaste = (event: ClipboardEvent) => {
    const editor = findEditor(root);
    if (!editor || !event.clipboardData) return;
    event.preventDefault();
    event.stopImmediatePropagation();
    insertPasted(editor, readPasted(event.clipboardData));
  };
  const onDrop = (event: DragEvent) => {
    const editor = findEditor(root);
    // The editor itself moves its own text.
    if (!editor || !event.dataTransfer || editor._dragRange) return;
    const dropped = readPasted(event.dataTransfer);
    event.preventDefault();
    event.stopImmediatePropagation();
    moveCursor(editor, event);
    editor.focus();
    insertPasted(editor, dropped);
  };
  root.addEventListener('paste', onPaste, true);
  root.addEventListener('drop', onDrop, true);
  return () => {
    root.removeEventListener('paste', onPaste, true);
    root.removeEventListener('drop', onDrop, true);
  };
}

interface Shown {
  rich: string | null;
  body: string;
}

interface Props {
  writing: Writing;
  /** Ref that is set to the element that takes the typed text. */
  body: RefObject<HTMLElement | null>;
  onEditor: (editor: Editor | null) => void;
}

export function RichEditor({ writing, body, onEditor }: Props) {
  const root = useRef<HTMLDivElement>(null);
  const shown = useRef<Shown | null>(null);
  // The editor is changed outside of rendering, so a step of it asks for the pictures of that step.
  const [, setSteps] = useState(0);
  const { rich, body: text } = writing;
  useLayoutEffect(() => {
    const element = root.current;
    if (!element) return;
    const stopListening = listenForInsertions(element);
    const editor = new Editor(element);
    editor.addEventListener('input', () => {
      const html = editor.toHtml();
      const now: Shown = { rich: isFormatted(html) ? html : null, body: editor.toText() };
      setSteps((steps) => steps + 1);
      if (compose.get().writing === null || (now.rich === shown.current?.rich && now.body === shown.current.body))
        return;
      shown.current = now;
      change(now);
    });
    onEditor(editor);
    return () => {
      onEditor(null);
      stopListening();
      editor.destroy();
    };
  }, [onEditor]);
  // Fill the editor when its text was replaced: by another tab, by an undo, or because another message was opened.
  useLayoutEffect(() => {
    body.current = root.current;
    const known = shown.current;
    if (known && known.rich === rich && (rich !== null || known.body === text)) return;
    shown.current = { rich, body: text };
    findEditor(root.current)?.setHTML(rich ?? toLines(text));
  }, [rich, text, body]);
  usePictures(root, writing);
  return (
    /* biome-ignore lint/a11y/useSemanticElements: a textarea has no formatting */
    <div
      ref={root}
      className="compose-body rich"
      contentEditable
      role="textbox"
      tabIndex={0}
      aria-multiline="true"
      aria-label={t.message}
      dir="auto"
    />
  );
}
