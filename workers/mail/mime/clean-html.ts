/**
 * Sanitizes HTML with an allow-list of elements, attributes and styles. Removes scripts, forms, frames, remote styles and trackers
 * (one-pixel images, hidden remote images). Keeps images of the message (`cid:`) and small `data:` images.
 *
 * Gaps: `<style>` elements are dropped, so mail that is styled by class looks plainer than intended. By design, remote images have
 * their address in `data-remote-src`, so that the reader chooses whether to load them.
 */
import sanitizeHtml from 'sanitize-html';
import { DRAFT_CLASSES, isWrittenByPage } from '../domain/draft-html.ts';
import {
  ALLOWED_ATTRIBUTES,
  ALLOWED_ELEMENTS,
  cleanStyle,
  isOwnImage,
  LINK_SCHEMES,
  REMOVED_ELEMENTS,
} from '../domain/html-rules.ts';
import { toPlainText } from '../domain/plain-text.ts';
import { showRemoteImages } from '../domain/remote-images.ts';

/**
 * Maximum length of HTML that is cleaned. Longer HTML is not shown, only the text of its beginning. Cleaning takes time and memory in
 * proportion to the length.
 */
export const HTML_LENGTH_MAX = 5_000_000;

const isTiny = (length: string | undefined) =>
  length !== undefined && /^\s*[0-2](?:\.\d+)?\s*(?:px)?\s*$/i.test(length);

function isTracker(attributes: sanitizeHtml.Attributes): boolean {
  const style = attributes.style ?? '';
  const isHidden =
    /display\s*:\s*none|visibility\s*:\s*hidden|opacity\s*:\s*0*(?:\.0*)?\s*(?:%|;|$|!)|(?:^|;)\s*(?:max-)?(?:width|height)\s*:\s*[0-2](?:px)?\s*(?:;|$|!)/i.test(
      style,
    );
  return isHidden || isTiny(attributes.width) || isTiny(attributes.height);
}

function cleanImage(attributes: sanitizeHtml.Attributes): sanitizeHtml.Attributes {
  const { src, 'data-remote-src': heldBack, ...rest } = attributes;
  // HTML that was cleaned before has `data-remote-src`. A sender may write it too, so it is checked like `src`.
  const source = (src ?? heldBack ?? '').trim();
  if (isOwnImage(source)) return { ...rest, src: source };
  if (/^https?:\/\//i.test(source) && !isTracker(attributes)) return { ...rest, 'data-remote-src': source };
  return rest;
}

const OPTIONS: sanitizeHtml.IOptions = {
  allowedTags: [...ALLOWED_ELEMENTS],
  nonTextTags: [...REMOVED_ELEMENTS],
  allowedAttributes: Object.fromEntries(Object.entries(ALLOWED_ATTRIBUTES).map(([name, list]) => [name, [...list]])),
  allowedSchemes: [...LINK_SCHEMES],
  allowedSchemesByTag: { img: ['cid', 'data'] },
  allowProtocolRelative: false,
  parseStyleAttributes: false,
  nestingLimit: 200,
  transformTags: {
    '*': (tagName, attributes) => {
      const { style, ...rest } = attributes;
      let kept: sanitizeHtml.Attributes = rest;
      if (tagName === 'img') kept = cleanImage(attributes);
      delete kept.style;
      if (tagName === 'a' && kept.href) kept = { ...kept, rel: 'noopener noreferrer nofollow', target: '_blank' };
      const cleaned = style ? cleanStyle(style) : '';
      return { tagName, attribs: cleaned === '' ? kept : { ...kept, style: cleaned } };
    },
  },
  exclusiveFilter: (frame) => frame.tag === 'img' && !frame.attribs.src && !frame.attribs['data-remote-src'],
};

/** @returns HTML that is safe in a sandboxed frame; empty if nothing is left; null if the HTML is too long. */
export function cleanHtml(html: string): string | null {
  return html.length > HTML_LENGTH_MAX ? null : sanitizeHtml(html, OPTIONS);
}

/** Converts the beginning of HTML that is too long to be cleaned to plain text. */
export const readBeginning = (html: string): string =>
  toPlainText(sanitizeHtml(withoutData(html).slice(0, HTML_LENGTH_MAX), OPTIONS));

/**
 * Leaves out `data:` addresses: embedded pictures, which are often most of a long message. A regular expression with a repetition
 * would exceed the stack.
 */
function withoutData(html: string): string {
  const end = /["'<>\s)]/g;
  const kept: string[] = [];
  let from = 0;
  for (let at = html.indexOf('data:'); at >= 0; at = html.indexOf('data:', from)) {
    kept.push(html.slice(from, at));
    end.lastIndex = at;
    from = end.exec(html)?.index ?? html.length;
  }
  return kept.join('') + html.slice(from);
}

const DRAFT_OPTIONS: sanitizeHtml.IOptions = { ...OPTIONS, allowedClasses: { div: [...DRAFT_CLASSES] } };
const VOID_END = /<((?:br|col|hr|img|wbr)\b[^<>]*) \/>/g;

/**
 * Cleans the HTML of a draft by the same list. Keeps the marks of the page's own parts and the addresses of remote images, and does
 * not change HTML that the page wrote. HTML that is too long stays as it is, because the mailbox refuses it.
 */
export function cleanDraftHtml(html: string): string {
  if (html.length > HTML_LENGTH_MAX || isWrittenByPage(html)) return html;
  return showRemoteImages(sanitizeHtml(html, DRAFT_OPTIONS)).replaceAll(VOID_END, '<$1>');
}

export { showRemoteImages, toPlainText };
