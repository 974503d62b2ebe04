/** The tools of the editor of formatted text. */
import { type RefObject, useEffect, useState } from 'react';
import { IconButton } from '../../shared/icon-button.tsx';
import { Menu, type MenuCommand } from '../../shared/menu.tsx';
import { mailComposeTexts } from '../../shared/texts/mail-compose.ts';
import { INKS, type Ink, MARKS, type Mark, toFace } from './colours.ts';
import { changeTable, findCell, insertTable, TABLE_CHANGES, type TableChange } from './tables.ts';

const { window: t } = mailComposeTexts;

type Tool = keyof typeof t.tools;
const COMMANDS: Record<Exclude<Tool, 'link'>, [command: string, value?: string]> = {
  bold: ['bold'],
  italic: ['italic'],
  list: ['insertUnorderedList'],
  numbers: ['insertOrderedList'],
  quote: ['formatBlock', 'blockquote'],
  clear: ['removeFormat'],
};
const KEYS: Partial<Record<Tool, string>> = { bold: 'Ctrl+B', italic: 'Ctrl+I' };

// Runs an editor command. `execCommand` is deprecated, but nothing else keeps the undo of the browser's editor.
export const run = (command: string, value?: string): boolean => document.execCommand(command, false, value);

function use(tool: Tool): void {
  if (tool !== 'link') {
    run(...COMMANDS[tool]);
    return;
  }
  const typed = prompt(t.linkAddress, 'https://')?.trim();
  if (typed && /^(?:https?:\/\/|mailto:)./i.test(typed)) run('createLink', typed);
}

/** Returns whether the cursor is in a table. While the focus is outside the editor, the last answer stays. */
function useInTable(editor: RefObject<HTMLElement | null>): boolean {
  const [isInTable, setInTable] = useState(false);
  useEffect(() => {
    const look = () => {
      if (editor.current?.contains(getSelection()?.anchorNode ?? null)) setInTable(findCell(editor.current) !== null);
    };
    document.addEventListener('selectionchange', look);
    return () => document.removeEventListener('selectionchange', look);
  }, [editor]);
  return isInTable;
}

const TABLE_ICONS: Record<TableChange, MenuCommand['icon']> = {
  rowBelow: 'row',
  columnAfter: 'column',
  removeRow: 'row',
  removeColumn: 'column',
  removeTable: 'trash',
};

/** The toolbar. @param onChange reads the editor's content after a change that the browser does not report. */
export function FormatBar({ editor, onChange }: { editor: RefObject<HTMLElement | null>; onChange: () => void }) {
  const isInTable = useInTable(editor);
  const edit = (work: (element: HTMLElement) => void) => () => {
    if (!editor.current) return;
    editor.current.focus();
    run('styleWithCSS', 'false');
    work(editor.current);
    onChange();
  };
  const inks: MenuCommand[] = [
    { icon: 'close', title: t.noInk, run: edit((element) => run('foreColor', getComputedStyle(element).color)) },
    ...(Object.keys(INKS) as Ink[]).map(
      (ink): MenuCommand => ({
        icon: 'format',
        className: `ink-${ink}`,
        title: t.inks[ink],
        run: edit(() => run('foreColor', INKS[ink])),
      }),
    ),
  ];
  const marks: MenuCommand[] = [
    { icon: 'close', title: t.noMark, run: edit((element) => run('fontName', getComputedStyle(element).fontFamily)) },
    ...(Object.keys(MARKS) as Mark[]).map(
      (mark): MenuCommand => ({
        icon: 'highlight',
        className: `mark-${mark}`,
        title: t.marks[mark],
        run: edit(() => run('fontName', toFace(mark))),
      }),
    ),
  ];
  const change = (element: HTMLElement, name: TableChange) => {
    const cell = findCell(element);
    if (cell) changeTable(cell, name);
  };
  const tables: MenuCommand[] = isInTable
    ? TABLE_CHANGES.map((name) => ({
        icon: TABLE_ICONS[name],
        title: t.table[name],
        run: edit((element) => change(element, name)),
      }))
    : [{ icon: 'table', title: t.table.insert, run: edit(insertTable) }];
  return (
    // Keep the focus: a press on a button must not move the cursor out of the text.
    <div
      className="format-bar"
      role="toolbar"
      aria-label={t.toolbar}
      tabIndex={-1}
      onMouseDown={(event) => event.preventDefault()}
    >
      {(Object.keys(t.tools) as Tool[]).map((tool) => (
        <IconButton key={tool} icon={tool} label={t.tools[tool]} keys={KEYS[tool]} onClick={edit(() => use(tool))} />
      ))}
      <Menu icon="colour" label={t.ink} commands={inks} />
      <Menu icon="highlight" label={t.mark} commands={marks} />
      <Menu icon="table" label={t.table.title} commands={tables} />
    </div>
  );
}
