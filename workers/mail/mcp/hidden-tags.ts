/** Tells tags whose text a person does not see from others: by size, by place, and by the colour on its background. Pure. */
import { isClear, isUnreadable, parseColour } from '../checks/spam/colours.ts';
import { attribute, isHidden } from '../checks/spam/html-text.ts';

const HIDDEN_STYLE =
  /opacity\s*:\s*0*(?:\.[0-4]\d*)?\s*(?:;|$|!)|font-size\s*:\s*(?:[0-3](?:\.\d+)?|\.\d+)(?:px|pt)|font-size\s*:\s*0?\.[0-2]\d*r?em|(?:^|[;\s])font\s*:(?:[^;]*\s)?\s*(?:0(?:\.\d+)?(?:px|pt|r?em|%)?|[0-3](?:\.\d+)?(?:px|pt))(?:[\s/]|$)|(?:max-)?height\s*:\s*[0-2](?:px)?\s*(?:;|$|!)|text-indent\s*:\s*-\d{3,}|(?:margin(?:-(?:left|right|top))?|left|right|top)\s*:[^;]*-(?:\d{4,}|[3-9]\d\d)(?:\.\d+)?(?:px|pt|r?em|vw|vh|%)/i;
const PAGE = parseColour('white');

const propertyOf = (style: string, name: string): string =>
  new RegExp(`(?:^|[;\\s])${name}\\s*:\\s*([^;!]+)`, 'i').exec(style)?.[1]?.trim() ?? '';

/** The background that a tag declares; empty if it declares none. */
export function backgroundOf(tag: string): string {
  const style = attribute(tag, 'style');
  return propertyOf(style, 'background(?:-color)?') || attribute(tag, 'bgcolor');
}

/**
 * Whether a tag hides its text. White text without a background of its own counts as hidden, also where an element around it has one.
 * @param around the backgrounds that the elements around it declare, the nearest last.
 */
export function isTagHidden(tag: string, around: readonly string[]): boolean {
  const style = attribute(tag, 'style');
  if (isHidden(tag) || HIDDEN_STYLE.test(style)) return true;
  const text = parseColour(propertyOf(style, 'color') || attribute(tag, 'color'));
  if (text === null || PAGE === null) return false;
  const own = backgroundOf(tag);
  if (own === '' && isUnreadable(text, PAGE)) return true;
  // A background that is written in another way, such as a picture, is taken for readable.
  const declared = parseColour(own || (around.at(-1) ?? 'white'));
  const background = declared !== null && isClear(declared) ? PAGE : declared;
  return isClear(text) || (background !== null && isUnreadable(text, background));
}
