/** Tests whether the HTML of a draft has the form that the mail page writes, and so needs no cleaning. Pure. */
import { ALLOWED_ELEMENTS, cleanStyle, isAllowedAttribute, isLinkAddress, isOwnImage } from './html-rules.ts';

/** Classes by which the page finds its own parts in the HTML of a draft. */
export const DRAFT_CLASSES: readonly string[] = ['tessera-rich', 'tessera-text', 'tessera-quote'];
const VOID_ELEMENTS: ReadonlySet<string> = new Set(['br', 'col', 'hr', 'img', 'wbr']);
const DEPTH_MAX = 200;

const TAG = /<(\/?)([a-z][a-z0-9]*)((?: [a-z-]+="[^"<>]*")*)>/y;
const ATTRIBUTE = / ([a-z-]+)="([^"]*)"/g;
const OTHER_ENTITY = /&(?!(?:amp|lt|gt|quot);)/;
const decode = (value: string): string =>
  value.replaceAll('&quot;', '"').replaceAll('&gt;', '>').replaceAll('&lt;', '<').replaceAll('&amp;', '&');

/**
 * Whether the HTML consists of text and allowed elements only, in the one form in which every parser reads them alike: lower case,
 * quoted values, closed elements. Such HTML is kept byte for byte, because the page compares it with what it sent.
 */
export function isWrittenByPage(html: string): boolean {
  const open: string[] = [];
  let at = 0;
  while (at < html.length) {
    const next = html.indexOf('<', at);
    if (html.slice(at, next === -1 ? html.length : next).includes('>')) return false;
    if (next === -1) break;
    TAG.lastIndex = next;
    const [tag = '', slash, name = '', attributes = ''] = TAG.exec(html) ?? [];
    if (!ALLOWED_ELEMENTS.has(name) || open.length > DEPTH_MAX) return false;
    if (slash === '/') {
      if (attributes !== '' || open.pop() !== name) return false;
    } else {
      for (const [, key = '', value = ''] of attributes.matchAll(ATTRIBUTE))
        if (OTHER_ENTITY.test(value) || !isAllowed(name, key, decode(value))) return false;
      if (!VOID_ELEMENTS.has(name)) open.push(name);
    }
    at = next + tag.length;
  }
  return open.length === 0;
}

function isAllowed(element: string, name: string, value: string): boolean {
  if (name === 'class') return element === 'div' && DRAFT_CLASSES.includes(value);
  if (!isAllowedAttribute(element, name) || name === 'target' || name === 'data-remote-src') return false;
  if (name === 'style') return cleanStyle(value) === value;
  if (name === 'href') return isLinkAddress(value);
  return name !== 'src' || isOwnImage(value) || /^https?:\/\//i.test(value);
}
