/**
 * The editor of formatted text: Squire, which keeps any HTML and its own history. Here it gets what the page's policy and its other
 * parts need: everything that enters it is cleaned, and its history has the HTML of messages, without style attributes.
 */
import Squire from 'squire-rte';
import { clean } from '../model/message-html.ts';
import { isStyleClass, type Kind, listClasses } from './colours.ts';
import { intoLines, isBlock, toEditorNodes, toFragment, toMessageHtml } from './editor-html.ts';
import { toPlainText } from './plain-form.ts';

/** Elements by which Squire marks the selection in its history, and what they are in cleaned HTML. */
const BOOKMARK = /<input id="(squire-selection-(?:start|end))" type="hidden">/g;
const KEPT_BOOKMARK = 'wbr[title^="squire-selection-"]';

const readPlainText = (html: string): string => toPlainText(clean(html, isStyleClass).nodes);

/** Keys of Squire that would surprise: Page keys that jump to the ends, Ctrl+D for code. */
const UNUSED_KEYS = ['PageUp', 'PageDown', 'Ctrl-d', 'Meta-d'];

/** Limit of the history: up to this many steps, as soon as the text has this many bytes. */
const HISTORY = { undoLimit: 100, documentSizeThreshold: 100_000 };

const editors = new WeakMap<Element, Editor>();
/** @returns the editor of an element, if it has one. */
export const findEditor = (root: Element | null): Editor | null => (root && editors.get(root)) ?? null;

const findCell = (range: Range): HTMLTableCellElement | null => {
  const { startContainer: node } = range;
  return (node instanceof Element ? node : node.parentElement)?.closest<HTMLTableCellElement>('td, th') ?? null;
};

/** Whether there is nothing between the cursor and the start or the end of its table cell. */
function isAtEdgeOfCell(range: Range, edge: 'start' | 'end'): boolean {
  const cell = findCell(range);
  if (!cell || !range.collapsed) return false;
  const between = range.cloneRange();
  if (edge === 'start') between.setStart(cell, 0);
  else between.setEnd(cell, cell.childNodes.length);
  const contents = between.cloneContents();
  return (contents.textContent ?? '').replaceAll('\u200b', '') === '' && contents.querySelector('img') === null;
}

// The constructor of Squire calls methods of `Editor` before the private methods exist, so these are functions.
function fill(editor: Squire, html: string): void {
  editor._ignoreChange = true;
  const nodes = toEditorNodes(html);
  editor._root.replaceChildren(...(nodes.length > 0 ? nodes : [editor.createDefaultBlock()]));
}

/** Squire would join two cells of a table, which then has rows of different lengths. */
function keepCells(editor: Squire, key: string, edge: 'start' | 'end'): void {
  const handle = editor._keyHandlers[key];
  editor.setKeyHandler(key, (one, event, range) => {
    if (isAtEdgeOfCell(range, edge)) event.preventDefault();
    else handle?.(one, event, range);
  });
}

export class Editor extends Squire {
  constructor(root: HTMLElement) {
    super(root, {
      sanitizeToDOMFragment: toFragment,
      willCutCopy: toMessageHtml,
      toPlainText: readPlainText,
      addLinks: false,
      undo: HISTORY,
      didError: (error) => reportError(error),
    });
    editors.set(root, this);
    // Its handles need style attributes, and while they are shown no key leaves the picture.
    this._imageResizer.destroy();
    for (const key of UNUSED_KEYS) this.setKeyHandler(key, null);
    for (const [key, edge] of [
      ['Backspace', 'start'],
      ['Delete', 'end'],
    ] as const)
      keepCells(this, key, edge);
  }

  override _getRawHTML(): string {
    return toMessageHtml(this._root.innerHTML.replaceAll(BOOKMARK, '<wbr title="$1">'));
  }

  override _setRawHTML(html: string): this {
    fill(this, html);
    for (const kept of this._root.querySelectorAll(KEPT_BOOKMARK)) {
      const bookmark = document.createElement('input');
      bookmark.id = kept.getAttribute('title') ?? '';
      bookmark.type = 'hidden';
      kept.replaceWith(bookmark);
    }
    return this;
  }

  /** Replaces the text and forgets its history. Unlike Squire's, this keeps spaces at the ends of lines. */
  override setHTML(html: string): this {
    fill(this, html);
    this._undoIndex = -1;
    this._undoStack.length = 0;
    this._undoStackLength = 0;
    this._isInUndoState = false;
    const range = document.createRange();
    range.setStart(this._root.firstElementChild ?? this._root, 0);
    this.saveUndoState(range);
    this.setSelection(range);
    this._updatePath(range, true);
    return this;
  }

  /** Puts contents of an element that are in no line into lines. The range stays at its place. */
  #putIntoLines(element: Element, range: Range): Range {
    if ([...element.childNodes].every(isBlock)) return range;
    this._saveRangeToBookmark(range);
    element.replaceChildren(...intoLines([...element.childNodes]));
    return this._getRangeAndRemoveBookmark(range) ?? range;
  }

  /** Without a line in its table cell, Squire would insert a line break, which is not shown at the end of the cell. */
  override splitBlock(isLineBreak: boolean, range: Range = this.getSelection()): this {
    const cell = findCell(range);
    super.splitBlock(isLineBreak, cell ? this.#putIntoLines(cell, range) : range);
    return this;
  }

  /** Squire leaves the lines of the code without elements. */
  override removeCode(): this {
    super.removeCode();
    this.setSelection(this.#putIntoLines(this._root, this.getSelection()));
    return this;
  }

  /** The text in the form of a message. */
  toHtml(): string {
    return toMessageHtml(this._root.innerHTML.replaceAll(BOOKMARK, ''));
  }

  toText(): string {
    return toPlainText(this._root.childNodes);
  }

  /** Inserts plain text at the cursor. Spaces at the start of a line stay. */
  insertText(text: string): void {
    const lines = text.replaceAll(/\r\n?/g, '\n').split('\n');
    const kept = lines.map((line) =>
      line.replace(/^[ \t]+/, (space) => space.replaceAll('\t', '    ').replaceAll(' ', '\u00a0')),
    );
    this.insertPlainText(kept.join('\n'), false);
  }

  /** Gives the selection a colour, a highlight or a size, or takes it away. It is one step of the history. */
  setStyle(kind: Kind, className: string | null): void {
    for (const other of listClasses(kind)) {
      const isUsed = other !== className && this._root.getElementsByClassName(other).length > 0;
      if (isUsed) this.changeFormat(null, { tag: 'SPAN', attributes: { class: other } });
    }
    if (className) this.changeFormat({ tag: 'SPAN', attributes: { class: className } });
    this.focus();
  }
}
