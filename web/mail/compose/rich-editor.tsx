/** The editor of formatted text. Pictures are pasted or dropped into it. */
import { type ClipboardEvent, type DragEvent, type RefObject, useEffect, useLayoutEffect, useRef } from 'react';
import { toDraftContentId } from '../../../workers/mail/domain/inline-picture.ts';
import { plural } from '../../shared/texts/index.ts';
import { mailComposeTexts } from '../../shared/texts/mail-compose.ts';
import { showToast } from '../../shared/toasts.tsx';
import { clean, escapeHtml, PARSED_STYLE_ATTRIBUTE, toMarkup, writeHtml } from '../model/message-html.ts';
import { fromFontStyle, toFontStyle } from './colours.ts';
import { change } from './compose-state.ts';
import { compose } from './compose-store.ts';
import { FormatBar, run } from './format-bar.tsx';
import { type Pasted, placePictures, readPasted } from './pasting.ts';
import { loadPicture } from './pictures.ts';
import { TABLE_STYLES } from './tables.ts';
import { attach, attachPicture, findFile } from './uploads.ts';
import type { Writing } from './writing.ts';

const { window: t } = mailComposeTexts;

const listElements = (nodes: readonly Node[]): Element[] =>
  nodes.flatMap((node) => (node instanceof Element ? [node, ...node.querySelectorAll('*')] : []));

function setStyle(element: Element, style: string): void {
  if (style === '') element.removeAttribute(PARSED_STYLE_ATTRIBUTE);
  else element.setAttribute(PARSED_STYLE_ATTRIBUTE, style);
}

/** Returns the editor's text as HTML without classes and handlers. Pictures are named by the keys of their uploads. */
function serialize(editor: HTMLElement): string {
  const { nodes } = clean(editor.innerHTML);
  // Inner elements first, because a highlight takes the colour of the text around it.
  for (const element of listElements(nodes).toReversed()) {
    const { localName, dataset } = element as HTMLElement;
    if (localName === 'img' && dataset.picture !== undefined) dataset.cid = toDraftContentId(dataset.picture);
    if (localName === 'font') {
      const around = element.parentElement?.localName === 'font' ? element.parentElement : null;
      const color = element.getAttribute('color') ?? around?.getAttribute('color') ?? null;
      setStyle(element, toFontStyle(color, element.getAttribute('face')));
      for (const name of ['color', 'face']) element.removeAttribute(name);
    }
    const style = TABLE_STYLES[localName];
    if (style !== undefined) setStyle(element, style);
  }
  return writeHtml(nodes, (contentId) => contentId);
}

const toPlain = (editor: HTMLElement): string => editor.innerText.replaceAll('\u00a0', ' ');

/** Puts HTML into the editor. It keeps its formatting, but pictures from other sites are left out. */
function fill(editor: HTMLElement, rich: string): void {
  const nodes = clean(rich).nodes.map((node) => document.importNode(node, true));
  editor.replaceChildren(...nodes);
  for (const element of editor.querySelectorAll<HTMLElement>(`[${PARSED_STYLE_ATTRIBUTE}]`)) {
    const style = element.getAttribute(PARSED_STYLE_ATTRIBUTE) ?? '';
    element.removeAttribute(PARSED_STYLE_ATTRIBUTE);
    // Styles of tables are left out here, because the page's style sheet has them.
    if (element.localName in TABLE_STYLES) continue;
    if (element.localName !== 'font') {
      element.style.cssText = style;
      continue;
    }
    for (const [name, value] of Object.entries(fromFontStyle(style))) if (value) element.setAttribute(name, value);
  }
  for (const image of editor.querySelectorAll<HTMLImageElement>('img[data-cid]')) {
    image.dataset.picture = (image.dataset.cid ?? '').replace(/@attachment$/, '');
    delete image.dataset.cid;
  }
}

const isPicture = (file: File): boolean => file.type.startsWith('image/');

/** Puts pictures at the cursor and attaches other files. */
function insertFiles(editor: HTMLElement, files: readonly File[]): void {
  const others = files.filter((file) => !isPicture(file));
  if (others.length > 0) attach(others);
  editor.focus();
  for (const file of files.filter(isPicture)) {
    const key = attachPicture(file);
    if (key) run('insertHTML', toMarkup(`<img alt="${escapeHtml(file.name || t.picture)}" data-picture="${key}">`));
  }
}

/** Draws the pictures of the editor that have no address yet. */
function usePictures(editor: RefObject<HTMLElement | null>, writing: Writing): void {
  const urls = useRef<string[]>([]);
  useEffect(() => () => urls.current.forEach(URL.revokeObjectURL), []);
  useEffect(() => {
    for (const image of editor.current?.querySelectorAll<HTMLImageElement>('img[data-picture]:not([src])') ?? []) {
      const key = image.dataset.picture ?? '';
      const show = (blob: Blob | null) => {
        if (!blob || image.src) return;
        image.src = URL.createObjectURL(blob);
        urls.current.push(image.src);
      };
      const here = findFile(key);
      if (here) show(here);
      else loadPicture(writing, toDraftContentId(key)).then(show, () => undefined);
    }
  });
}

/** Shows the editor. @param body ref that is set to the element that takes the typed text. */
export function RichEditor({ writing, body }: { writing: Writing; body: RefObject<HTMLElement | null> }) {
  const editor = useRef<HTMLDivElement>(null);
  const shown = useRef<string | null>(null);
  const { rich } = writing;
  // Fill the editor when its text was replaced: by another tab, by an undo, or because another message was opened.
  useLayoutEffect(() => {
    body.current = editor.current;
    if (!editor.current || rich === null || rich === shown.current) return;
    fill(editor.current, rich);
    shown.current = rich;
  }, [rich, body]);
  usePictures(editor, writing);
  const sync = () => {
    if (!editor.current || compose.get().writing === null) return;
    shown.current = serialize(editor.current);
    change({ rich: shown.current, body: toPlain(editor.current) });
  };
  const onPaste = (event: ClipboardEvent) => {
    event.preventDefault();
    const pasted = readPasted(event.clipboardData);
    if (pasted.html === null && pasted.files.length === 0) run('insertText', event.clipboardData.getData('text/plain'));
    else insertPasted(event.currentTarget as HTMLElement, pasted);
  };
  const onDrop = (event: DragEvent) => {
    const files = [...event.dataTransfer.files];
    if (files.length === 0) return;
    event.preventDefault();
    event.stopPropagation();
    insertFiles(event.currentTarget as HTMLElement, files);
  };
  return (
    <>
      <FormatBar editor={editor} onChange={sync} />
      {/* biome-ignore lint/a11y/useSemanticElements: a textarea has no formatting */}
      <div
        ref={editor}
        className="compose-body rich"
        contentEditable
        role="textbox"
        tabIndex={0}
        aria-multiline="true"
        aria-label={t.message}
        dir="auto"
        onInput={sync}
        onPaste={onPaste}
        onDrop={onDrop}
      />
    </>
  );
}

/**
 * Focuses the editor that has just replaced the plain text.
 * @param before the plain text before its cursor. Each line of it became one element, so it tells where the cursor was.
 */
export function focusEditorAt(before: string): HTMLElement | null {
  const editor = document.querySelector<HTMLElement>('.compose-body.rich');
  if (!editor) return null;
  const lines = before.split('\n');
  const line = editor.children[lines.length - 1];
  const words = line?.firstChild;
  editor.focus();
  if (words?.nodeType === Node.TEXT_NODE) getSelection()?.collapse(words, lines.at(-1)?.length ?? 0);
  else if (line) getSelection()?.collapse(line, 0);
  return editor;
}

/** Inserts pasted text and pictures at the cursor. Says how many pictures are left out. */
export function insertPasted(editor: HTMLElement, pasted: Pasted): void {
  if (pasted.leftOut > 0) showToast(plural(t.picturesLeftOut, pasted.leftOut), { durationMs: 8000 });
  if (pasted.html === null) insertFiles(editor, pasted.files);
  else run('insertHTML', toMarkup(placePictures(pasted, attachPicture)));
}
