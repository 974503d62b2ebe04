/**
 * The colours and sizes of formatted text. Pure.
 *
 * The editor names them by classes, which the style sheet shows in light and dark. The page's policy forbids the style attributes
 * that editors write otherwise. A message has the styles themselves.
 */

/**
 * Text colours. Their contrast is at least 4.5:1 on white and on each highlight, and 3:1 in mail programs that show them on dark
 * grey (WCAG 2.2, 1.4.3 and 1.4.11).
 */
export const INKS = {
  red: '#cb291d',
  orange: '#aa5104',
  green: '#1e793d',
  blue: '#1c6ac3',
  violet: '#8f49c2',
  grey: '#6d6a63',
} as const;
export type Ink = keyof typeof INKS;

export const MARKS = { yellow: '#fff1a8', green: '#d6f3d3', blue: '#e3efff', pink: '#ffe6ee' } as const;
export type Mark = keyof typeof MARKS;
/** Text colour on a highlight. Without it, mail programs with a dark background would show light text there. */
export const MARKED_TEXT = '#1d1c1a';

/** Sizes besides the normal one. The keywords follow the reader's own size. */
export const SIZES = { small: 'small', large: 'large', huge: 'xx-large' } as const;
export type Size = keyof typeof SIZES;

export type Kind = 'ink' | 'mark' | 'size';
/** The values of each kind, by name. */
const VALUES: Readonly<Record<Kind, Readonly<Record<string, string>>>> = { ink: INKS, mark: MARKS, size: SIZES };
const KINDS = Object.keys(VALUES) as Kind[];

export const toClass = (kind: Kind, name: string): string => `${kind}-${name}`;
export const listClasses = (kind: Kind): string[] => Object.keys(VALUES[kind]).map((name) => toClass(kind, name));
const CLASSES: ReadonlySet<string> = new Set(KINDS.flatMap(listClasses));
export const isStyleClass = (name: string): boolean => CLASSES.has(name);

/**
 * Returns the style of an element of the editor in the sent message; empty if its class is none of the editor's.
 * @param around the classes of the elements around it. A highlight takes the text colour from there.
 */
export function toStyle(className: string, around: readonly string[]): string {
  const [kind, name = ''] = className.split('-', 2);
  if (!isStyleClass(className)) return '';
  if (kind === 'ink') return `color:${INKS[name as Ink]}`;
  if (kind === 'size') return `font-size:${SIZES[name as Size]}`;
  const ink = around.find((one) => one.startsWith('ink-') && isStyleClass(one))?.slice('ink-'.length) as
    | Ink
    | undefined;
  return `background-color:${MARKS[name as Mark]};color:${ink ? INKS[ink] : MARKED_TEXT}`;
}

const PROPERTIES: Readonly<Record<Kind, readonly string[]>> = {
  ink: ['color'],
  mark: ['background-color', 'background'],
  size: ['font-size'],
};

/** Writes `rgb(1, 2, 3)` as `#010203`, because browsers copy colours in that form. */
const toHex = (value: string): string =>
  value.replace(
    /^rgb\((\d+),\s*(\d+),\s*(\d+)\)$/,
    (_, ...parts: string[]) =>
      `#${parts
        .slice(0, 3)
        .map((part) => Number(part).toString(16).padStart(2, '0'))
        .join('')}`,
  );

export interface StyleParts {
  /** Classes of the editor, the outer one first. */
  readonly classes: string[];
  /** The declarations that have no class. */
  readonly rest: string;
}

/** Splits a style of a message into classes of the editor and the rest: the reverse of `toStyle`. */
export function fromStyle(style: string): StyleParts {
  const declarations = style.split(';').map((one): [name: string, value: string] => {
    const colon = one.indexOf(':');
    return [
      one.slice(0, colon).trim().toLowerCase(),
      toHex(
        one
          .slice(colon + 1)
          .trim()
          .toLowerCase(),
      ),
    ];
  });
  const classes: string[] = [];
  const used = new Set<string>();
  for (const kind of ['size', 'mark', 'ink'] as const) {
    for (const [name, value] of declarations) {
      if (!PROPERTIES[kind].includes(name)) continue;
      const found = Object.keys(VALUES[kind]).find((one) => VALUES[kind][one] === value);
      if (found) classes.push(toClass(kind, found));
      const isOwnText = kind === 'ink' && value === MARKED_TEXT && classes.some((one) => one.startsWith('mark-'));
      if (found || isOwnText) used.add(name);
    }
  }
  const rest = style
    .split(';')
    .filter((one) => one.trim() !== '' && !used.has(one.slice(0, one.indexOf(':')).trim().toLowerCase()))
    .join(';');
  return { classes, rest };
}
