/** Tables in the editor of formatted text: insert one, add and remove rows and columns. */
import { toMarkup } from '../model/message-html.ts';

const ROWS = 3;
const COLUMNS = 3;
const CELL = '<td><br></td>';

const CELL_STYLE = 'border:1px solid #8b877e;padding:4px 8px;min-width:2em;vertical-align:top';
/** Styles of tables in a sent message, by element. The editor's style sheet has the same styles. */
export const TABLE_STYLES: Readonly<Record<string, string>> = {
  table: 'border-collapse:collapse',
  td: CELL_STYLE,
  th: CELL_STYLE,
};

export const TABLE_CHANGES = ['rowBelow', 'columnAfter', 'removeRow', 'removeColumn', 'removeTable'] as const;
export type TableChange = (typeof TABLE_CHANGES)[number];

/** Returns the table cell that has the cursor; null outside tables of the editor. */
export function findCell(editor: HTMLElement | null): HTMLTableCellElement | null {
  const node = getSelection()?.anchorNode ?? null;
  if (!editor || !node || !editor.contains(node)) return null;
  const cell = (node instanceof Element ? node : node.parentElement)?.closest<HTMLTableCellElement>('td, th') ?? null;
  return cell && editor.contains(cell) ? cell : null;
}

function putCursor(target: Node | null | undefined): void {
  if (target) getSelection()?.collapse(target, 0);
}

/** Inserts an empty table at the cursor, with a line below it for the text that follows. */
export function insertTable(editor: HTMLElement): void {
  const before = new Set(editor.querySelectorAll('table'));
  const row = `<tr>${CELL.repeat(COLUMNS)}</tr>`;
  const html = `<table><tbody>${row.repeat(ROWS)}</tbody></table><div><br></div>`;
  document.execCommand('insertHTML', false, toMarkup(html));
  const added = [...editor.querySelectorAll('table')].find((table) => !before.has(table));
  putCursor(added?.rows[0]?.cells[0]);
}

function emptyCell(): HTMLTableCellElement {
  const cell = document.createElement('td');
  cell.append(document.createElement('br'));
  return cell;
}

/** Adds or removes rows or columns at a cell of a table. The cursor stays in the nearest cell that is left. */
export function changeTable(cell: HTMLTableCellElement, change: TableChange): void {
  const row = cell.closest('tr');
  const table = cell.closest('table');
  if (!row || !table) return;
  const column = cell.cellIndex;
  const rowIndex = row.rowIndex;
  if (change === 'rowBelow') {
    const added = document.createElement('tr');
    added.append(...[...row.cells].map(emptyCell));
    row.after(added);
    putCursor(added.cells[column]);
    return;
  }
  if (change === 'columnAfter') {
    for (const one of table.rows) one.insertBefore(emptyCell(), one.cells[column + 1] ?? null);
    putCursor(row.cells[column + 1]);
    return;
  }
  if (change === 'removeRow') row.remove();
  if (change === 'removeColumn') for (const one of [...table.rows]) one.cells[column]?.remove();
  const isEmpty = [...table.rows].every((one) => one.cells.length === 0);
  if (change === 'removeTable' || isEmpty) {
    const line = document.createElement('div');
    line.append(document.createElement('br'));
    table.replaceWith(line);
    putCursor(line);
    return;
  }
  const nearest = table.rows[Math.min(rowIndex, table.rows.length - 1)];
  putCursor(nearest?.cells[Math.min(column, nearest.cells.length - 1)]);
}
