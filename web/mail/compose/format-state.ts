/** The formats at the cursor, which the tools show. */
import { useEffect, useState } from 'react';
import { type Kind, listClasses } from './colours.ts';
import type { Editor } from './editor.ts';
import { findCell } from './tables.ts';

/** Formats that are on or off. */
export const TOGGLES = ['bold', 'italic', 'underline', 'strike', 'list', 'numbers', 'quote', 'code'] as const;
export type Toggle = (typeof TOGGLES)[number];

const TAGS: Readonly<Record<Toggle, readonly string[]>> = {
  bold: ['B'],
  italic: ['I'],
  underline: ['U'],
  strike: ['S'],
  list: ['UL'],
  numbers: ['OL'],
  quote: ['BLOCKQUOTE'],
  code: ['PRE', 'CODE'],
};

export interface FormatState {
  readonly on: readonly Toggle[];
  /** The class of the editor at the cursor, by kind. */
  readonly styles: Readonly<Record<Kind, string | null>>;
  /** Address of the link at the cursor. */
  readonly link: string | null;
  readonly isInTable: boolean;
}

const NOTHING: FormatState = {
  on: [],
  styles: { ink: null, mark: null, size: null },
  link: null,
  isInTable: false,
};

export const hasToggle = (editor: Editor, toggle: Toggle): boolean =>
  TAGS[toggle].some((tag) => editor.hasFormat(tag, null, editor.getSelection().cloneRange()));

function findLink(editor: Editor): string | null {
  const node = editor.getSelection().startContainer;
  const link = (node instanceof Element ? node : node.parentElement)?.closest('a') ?? null;
  return link && editor.getRoot().contains(link) ? link.getAttribute('href') : null;
}

function readState(editor: Editor): FormatState {
  const find = (kind: Kind) =>
    listClasses(kind).find((name) => editor.hasFormat('SPAN', { class: name }, editor.getSelection().cloneRange())) ??
    null;
  return {
    on: TOGGLES.filter((toggle) => hasToggle(editor, toggle)),
    styles: { ink: find('ink'), mark: find('mark'), size: find('size') },
    link: findLink(editor),
    isInTable: findCell(editor) !== null,
  };
}

/** Follows the cursor and the text. While the focus is outside the editor, the last state stays. */
export function useFormatState(editor: Editor | null): FormatState {
  const [state, setState] = useState(NOTHING);
  useEffect(() => {
    if (!editor) return;
    let frame = 0;
    const read = () => {
      const now = readState(editor);
      setState((before) => (JSON.stringify(before) === JSON.stringify(now) ? before : now));
    };
    const plan = () => {
      cancelAnimationFrame(frame);
      frame = requestAnimationFrame(read);
    };
    const onSelection = () => {
      if (editor.getRoot().contains(getSelection()?.anchorNode ?? null)) plan();
    };
    document.addEventListener('selectionchange', onSelection);
    editor.addEventListener('input', plan);
    editor.addEventListener('pathChange', plan);
    plan();
    return () => {
      cancelAnimationFrame(frame);
      document.removeEventListener('selectionchange', onSelection);
      editor.removeEventListener('input', plan);
      editor.removeEventListener('pathChange', plan);
    };
  }, [editor]);
  return state;
}
