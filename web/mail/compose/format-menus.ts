/** The menus of the tools: sizes, colours, highlights and tables. */
import type { MenuCommand } from '../../shared/menu.tsx';
import { mailComposeTexts } from '../../shared/texts/mail-compose.ts';
import { INKS, type Kind, MARKS, SIZES, toClass } from './colours.ts';
import type { Editor } from './editor.ts';
import type { FormatState } from './format-state.ts';
import { changeTable, insertTable, TABLE_CHANGES, type TableChange } from './tables.ts';

const { window: t } = mailComposeTexts;

type Icon = MenuCommand['icon'];
/** Makes a command that changes the editor and gives it the focus. */
type Edit = (work: (editor: Editor) => unknown) => () => void;

export interface ToolMenu {
  readonly icon: Icon;
  readonly label: string;
  readonly commands: readonly MenuCommand[];
}

const STYLES: Readonly<Record<Kind, { values: object; icon: Icon; itemIcon: Icon; label: string; none: string }>> = {
  size: { values: SIZES, icon: 'size', itemIcon: 'size', label: t.size, none: t.noSize },
  ink: { values: INKS, icon: 'colour', itemIcon: 'format', label: t.ink, none: t.noInk },
  mark: { values: MARKS, icon: 'highlight', itemIcon: 'highlight', label: t.mark, none: t.noMark },
};
const NAMES: Readonly<Record<Kind, Readonly<Record<string, string>>>> = { size: t.sizes, ink: t.inks, mark: t.marks };

/** The style at the cursor has a tick in place of its icon. */
function toStyleMenu(kind: Kind, { styles }: FormatState, edit: Edit): ToolMenu {
  const { values, icon, itemIcon, label, none } = STYLES[kind];
  const commands = Object.keys(values).map((name): MenuCommand => {
    const className = toClass(kind, name);
    return {
      icon: styles[kind] === className ? 'check' : itemIcon,
      className,
      title: NAMES[kind][name] ?? name,
      run: edit((editor) => editor.setStyle(kind, className)),
    };
  });
  return {
    icon,
    label,
    commands: [{ icon: 'close', title: none, run: edit((editor) => editor.setStyle(kind, null)) }, ...commands],
  };
}

const TABLE_ICONS: Record<TableChange, Icon> = {
  rowBelow: 'row',
  columnAfter: 'column',
  removeRow: 'row',
  removeColumn: 'column',
  removeTable: 'trash',
};

function toTableMenu({ isInTable }: FormatState, edit: Edit): ToolMenu {
  const changes = TABLE_CHANGES.map(
    (name): MenuCommand => ({
      icon: TABLE_ICONS[name],
      title: t.table[name],
      run: edit((editor) => changeTable(editor, name)),
    }),
  );
  const insert: MenuCommand = { icon: 'table', title: t.table.insert, run: edit(insertTable) };
  return { icon: 'table', label: t.table.title, commands: isInTable ? changes : [insert] };
}

export const listMenus = (state: FormatState, edit: Edit): ToolMenu[] => [
  ...(['size', 'ink', 'mark'] as const).map((kind) => toStyleMenu(kind, state, edit)),
  toTableMenu(state, edit),
];
