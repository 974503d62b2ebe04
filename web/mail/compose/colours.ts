/**
 * The colours of formatted text. Pure.
 *
 * In the editor, a text colour is `<font color>` and a highlight is `<font face="mark-…">`: the browser's editor writes and undoes
 * both, and the page's policy forbids the style attributes that it would write instead. A message has the colours themselves.
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
/**
 * The same text colours for a dark editor. The browser's editor writes the colours that it shows, so reading them back needs both
 * lists.
 */
export const INKS_IN_DARK: Readonly<Record<Ink, string>> = {
  red: '#ef958f',
  orange: '#e89c5b',
  green: '#32c663',
  blue: '#7eb1ed',
  violet: '#c59fdf',
  grey: '#b0ada8',
};

export const MARKS = { yellow: '#fff1a8', green: '#d6f3d3', blue: '#e3efff', pink: '#ffe6ee' } as const;
export type Mark = keyof typeof MARKS;
/** Text colour on a highlight. Without it, mail programs with a dark background would show light text there. */
export const MARKED_TEXT = '#1d1c1a';
export const toFace = (mark: Mark): string => `mark-${mark}`;

const INK_NAMES = Object.keys(INKS) as Ink[];
const MARK_NAMES = Object.keys(MARKS) as Mark[];

/**
 * Returns the style that a `<font>` of the editor has in the sent message. The editor makes no other colours and fonts.
 * @param color its attribute `color`.
 * @param face its attribute `face`. The browser's editor appends the fallback fonts of the style sheet to it.
 */
export function toFontStyle(color: string | null, face: string | null): string {
  const mark = MARK_NAMES.find((name) => face?.startsWith(toFace(name)));
  const name = INK_NAMES.find((one) => INKS[one] === color || INKS_IN_DARK[one] === color);
  const ink = name ? INKS[name] : null;
  if (mark) return `background-color:${MARKS[mark]};color:${ink ?? MARKED_TEXT}`;
  return ink === null ? '' : `color:${ink}`;
}

/** Converts a style of a message back to a `<font>` of the editor: the reverse of `toFontStyle`. */
export function fromFontStyle(style: string): { color: string | null; face: string | null } {
  const read = (property: string) => new RegExp(`(?:^|;)${property}:(#[0-9a-f]{6})`).exec(style)?.[1] ?? null;
  const background = read('background-color');
  const color = read('color');
  const mark = MARK_NAMES.find((name) => MARKS[name] === background);
  return { color: mark && color === MARKED_TEXT ? null : color, face: mark ? toFace(mark) : null };
}
