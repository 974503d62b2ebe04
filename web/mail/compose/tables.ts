/** Tables in the editor of formatted text: insert one, add and remove rows and columns. Each is one step of the history. */
import type { Editor } from './editor.ts';

const ROWS = 3;
const COLUMNS = 3;
const CELL = '<td><br></td>';

export const TABLE_CHANGES = ['rowBelow', 'columnAfter', 'removeRow', 'removeColumn', 'removeTable'] as const;
export type TableChange = (typeof TABLE_CHANGES)[number];

/** Returns the table cell that has the cursor; null outside tables. */
export function findCell(editor: Editor): HTMLTableCellElement | null {
  const root = editor.getRoot();
  const node = editor.getSelection().startContainer;
  const cell = (node instanceof Element ? node : node.parentElement)?.closest<HTMLTableCellElement>('td, th') ?? null;
  return cell && root.contains(cell) ? cell : null;
}

function putCursor(editor: Editor, target: Element | null | undefined): void {
  if (!target) return;
  const range = document.createRange();
  range.setStart(target.querySelector('div') ?? target, 0);
  editor.setSelection(range);
}

/** Inserts an empty table at the cursor, with a line below it for the text that follows. */
export function insertTable(editor: Editor): void {
  const before = new Set(editor.getRoot().querySelectorAll('table'));
  const row = `<tr>${CELL.repeat(COLUMNS)}</tr>`;
  editor.insertHTML(`<table><tbody>${row.repeat(ROWS)}</tbody></table><div><br></div>`);
  const added = [...editor.getRoot().querySelectorAll('table')].find((table) => !before.has(table));
  putCursor(editor, added?.rows[0]?.cells[0]);
  editor.focus();
}

function emptyCell(): HTMLTableCellElement {
  const cell = document.createElement('td');
  const line = document.createElement('div');
  line.append(document.createElement('br'));
  cell.append(line);
  return cell;
}

/** Adds or removes rows or columns at the cursor. The cursor stays in the nearest cell that is left. */
export function changeTable(editor: Editor, change: TableChange): void {
  const cell = findCell(editor);
  const row = cell?.closest('tr');
  const table = cell?.closest('table');
  if (!cell || !row || !table) return;
  editor.saveUndoState();
  const column = cell.cellIndex;
  const rowIndex = row.rowIndex;
  if (change === 'rowBelow') {
    const added = document.createElement('tr');
    added.append(...[...row.cells].map(emptyCell));
    row.after(added);
    putCursor(editor, added.cells[column]);
    return;
  }
  if (change === 'columnAfter') {
    for (const one of table.rows) one.insertBefore(emptyCell(), one.cells[column + 1] ?? null);
    putCursor(editor, row.cells[column + 1]);
    return;
  }
  if (change === 'removeRow') row.remove();
  if (change === 'removeColumn') for (const one of [...table.rows]) one.cells[column]?.remove();
  const isEmpty = [...table.rows].every((one) => one.cells.length === 0);
  if (change === 'removeTable' || isEmpty) {
    const line = editor.createDefaultBlock();
    table.replaceWith(line);
    putCursor(editor, line);
    return;
  }
  const nearest = table.rows[Math.min(rowIndex, table.rows.length - 1)];
  putCursor(editor, nearest?.cells[Math.min(column, nearest.cells.length - 1)]);
}
