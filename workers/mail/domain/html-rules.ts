/**
 * The allow-list of HTML that is stored or shown: elements, attributes, style properties and addresses. The server's cleaner and the
 * page use the same list. Pure.
 */

export const ALLOWED_ELEMENTS: ReadonlySet<string> = new Set(
  (
    'a abbr address article aside b bdi bdo big blockquote br caption center cite code col colgroup dd del dfn div dl dt em ' +
    'figcaption figure font footer h1 h2 h3 h4 h5 h6 header hr i img ins kbd li main mark nav ol p pre q rp rt ruby s samp section ' +
    'small span strike strong sub sup table tbody td tfoot th thead time tr tt u ul var wbr'
  ).split(' '),
);
/** Elements that are removed with their content. Of other elements that are not allowed, the content stays. */
export const REMOVED_ELEMENTS: ReadonlySet<string> = new Set(
  'script style textarea option noscript title xmp svg math template iframe object'.split(' '),
);
/** Allowed attributes by element, besides those of every element, which are under `*`. */
export const ALLOWED_ATTRIBUTES: Readonly<Record<string, readonly string[]>> = {
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
};
export const LINK_SCHEMES: readonly string[] = ['http', 'https', 'mailto', 'tel'];
const LINK_ADDRESS = new RegExp(`^(?:${LINK_SCHEMES.join('|')}):`, 'i');
const DATA_IMAGE = /^data:image\/(?:png|gif|jpeg|webp);base64,/i;

export const isAllowedAttribute = (element: string, name: string): boolean =>
  ALLOWED_ATTRIBUTES['*']?.includes(name) === true ||
  (Object.hasOwn(ALLOWED_ATTRIBUTES, element) && ALLOWED_ATTRIBUTES[element]?.includes(name) === true);

export const isLinkAddress = (text: string): boolean => LINK_ADDRESS.test(text.trim());
/** Whether the image is part of the message: attached to it, or in its HTML. */
export const isOwnImage = (source: string): boolean => /^cid:/i.test(source) || DATA_IMAGE.test(source);
export const isDataImage = (source: string): boolean => DATA_IMAGE.test(source);

/** Properties that neither leave the place of their element nor load anything. `position` and `z-index` are not among them. */
const STYLE_PROPERTIES =
  /^(?:color|background-color|background|font(?:-(?:family|size|style|weight|variant))?|line-height|letter-spacing|text-(?:align|decoration|indent|transform)|vertical-align|white-space|word-(?:break|wrap)|overflow-wrap|direction|(?:min-|max-)?(?:width|height)|(?:margin|padding)(?:-(?:top|right|bottom|left))?|border(?:-(?:top|right|bottom|left))?(?:-(?:color|style|width))?|border-(?:radius|collapse|spacing)|display|list-style(?:-type)?|table-layout|float|clear)$/;
/** Values of styles that could load resources or compute values, or that contain escapes. */
const STYLE_DANGER =
  /(?:url|src|image|image-set|cross-fade|element|paint|attr|env|var)\s*\(|expression|@import|javascript|behavior|binding|\/\*|[\\<>]/i;
const STYLE_LENGTH_MAX = 4_000;

/** @returns the declarations of allowed properties with allowed values; empty if there are none. */
export function cleanStyle(style: string): string {
  return style
    .slice(0, STYLE_LENGTH_MAX)
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
