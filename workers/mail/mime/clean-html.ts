/**
 * Sanitizes HTML with an allow-list of elements, attributes and styles. Removes scripts, forms, frames, remote styles and trackers
 * (one-pixel images, hidden remote images). Keeps images of the message (`cid:`) and small `data:` images.
 *
 * Gaps: `<style>` elements are dropped, so mail that is styled by class looks plainer than intended. By design, remote images have
 * their address in `data-remote-src`, so that the reader chooses whether to load them.
 */
import sanitizeHtml from 'sanitize-html';

/**
 * Maximum length of HTML that is cleaned. Longer HTML is not shown, only its text. Cleaning takes time and memory in proportion to
 * the length.
 */
export const HTML_LENGTH_MAX = 5_000_000;

const STYLE_PROPERTIES =
  /^(?:color|background-color|background|font(?:-(?:family|size|style|weight|variant))?|line-height|letter-spacing|text-(?:align|decoration|indent|transform)|vertical-align|white-space|word-(?:break|wrap)|overflow-wrap|direction|(?:min-|max-)?(?:width|height)|(?:margin|padding)(?:-(?:top|right|bottom|left))?|border(?:-(?:top|right|bottom|left))?(?:-(?:color|style|width))?|border-(?:radius|collapse|spacing)|display|list-style(?:-type)?|table-layout|float|clear)$/;
/** Values of styles that could load resources or compute values, or that contain escapes. */
const STYLE_DANGER =
  /(?:url|src|image|image-set|cross-fade|element|paint|attr|env|var)\s*\(|expression|@import|javascript|behavior|binding|\/\*|[\\<>]/i;
const DATA_IMAGE = /^data:image\/(?:png|gif|jpeg|webp);base64,/i;

function cleanStyle(style: string): string {
  return style
    .slice(0, 4_000)
    .split(';')
    .map((declaration) => {
      const colon = declaration.indexOf(':');
      const property = declaration.slice(0, colon).trim().toLowerCase();
      const value = declaration.slice(colon + 1).trim();
      const isSafe = colon > 0 && STYLE_PROPERTIES.test(property) && !STYLE_DANGER.test(value);
      return isSafe ? `${property}:${value}` : '';
    })
    .filter((declaration) => declaration !== '')
    .join(';');
}

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
  if (/^cid:/i.test(source) || DATA_IMAGE.test(source)) return { ...rest, src: source };
  if (/^https?:\/\//i.test(source) && !isTracker(attributes)) return { ...rest, 'data-remote-src': source };
  return rest;
}

const OPTIONS: sanitizeHtml.IOptions = {
  allowedTags: (
    'a abbr address article aside b bdi bdo big blockquote br caption center cite code col colgroup dd del dfn div dl dt em ' +
    'figcaption figure font footer h1 h2 h3 h4 h5 h6 header hr i img ins kbd li main mark nav ol p pre q rp rt ruby s samp section ' +
    'small span strike strong sub sup table tbody td tfoot th thead time tr tt u ul var wbr'
  ).split(' '),
  nonTextTags: [
    'script',
    'style',
    'textarea',
    'option',
    'noscript',
    'title',
    'xmp',
    'svg',
    'math',
    'template',
    'iframe',
    'object',
  ],
  allowedAttributes: {
    '*': ['style', 'dir', 'lang', 'align', 'valign', 'title'],
    a: ['href', 'rel', 'target'],
    img: ['src', 'data-remote-src', 'alt', 'width', 'height'],
    table: ['width', 'height', 'border', 'cellpadding', 'cellspacing', 'bgcolor'],
    td: ['width', 'height', 'colspan', 'rowspan', 'bgcolor', 'nowrap'],
    th: ['width', 'height', 'colspan', 'rowspan', 'bgcolor', 'nowrap'],
    tr: ['bgcolor', 'height'],
    col: ['width', 'span'],
    font: ['color', 'face', 'size'],
    ol: ['start', 'type', 'reversed'],
    li: ['value'],
    time: ['datetime'],
  },
  allowedSchemes: ['http', 'https', 'mailto', 'tel'],
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

export { toPlainText } from '../domain/plain-text.ts';
export { showRemoteImages } from '../domain/remote-images.ts';
