/**
 * Sanitises HTML, for display, for quoting and for the editor. The server has sanitised it before, by the same list. The result has
 * only elements, attributes, style properties and addresses that the list allows.
 */
import {
  ALLOWED_ELEMENTS,
  cleanStyle,
  isAllowedAttribute,
  isDataImage,
  isLinkAddress,
  REMOVED_ELEMENTS,
} from '../../../workers/mail/domain/html-rules.ts';

const HTML_NAMESPACE = 'http://www.w3.org/1999/xhtml';
/** Attribute by which the editor knows its pictures: the key of the upload. */
const PICTURE_ATTRIBUTE = 'data-picture';

/**
 * The page's policy allows markup from text only through this Trusted Types policy. The document is inert until `clean`
 * has run.
 */
interface MarkupPolicy {
  createHTML(text: string): string;
}
const trustedTypes = (
  globalThis as { trustedTypes?: { createPolicy(name: string, rules: MarkupPolicy): MarkupPolicy } }
).trustedTypes;
const markup = trustedTypes?.createPolicy('message', { createHTML: (text) => text }) ?? {
  createHTML: (text: string) => text,
};

/** HTML that may be inserted into an editor. It must come from `clean` and `writeHtml`. */
export const toMarkup = (html: string): string => markup.createHTML(html);

/**
 * The page's policy forbids style attributes in parsed text, but allows styles set through the object model. So styles
 * are parsed as another attribute. The server's sanitiser writes every attribute in double quotes, without `<` or `>`.
 */
export const PARSED_STYLE_ATTRIBUTE = 'data-style';
const renameStyleAttributes = (html: string): string =>
  html.replace(/<[a-z][^<>]*>/gi, (tag) => tag.replaceAll(' style="', ` ${PARSED_STYLE_ATTRIBUTE}="`));

/**
 * Parses and cleans HTML.
 * @param isKeptClass the classes that stay, for contents of the editor; by default none.
 * @returns nodes of an inert document. Remote images have their address in `data-remote-src` and attached images in `data-cid`, so
 * that no node loads anything by itself.
 */
export function clean(
  html: string,
  isKeptClass: (name: string) => boolean = () => false,
): { nodes: Node[]; hasRemoteImages: boolean } {
  const inert = new DOMParser().parseFromString(markup.createHTML(renameStyleAttributes(html)), 'text/html');
  for (const element of inert.body.querySelectorAll('*')) {
    const { localName } = element;
    if (REMOVED_ELEMENTS.has(localName) || element.namespaceURI !== HTML_NAMESPACE) element.remove();
    else if (!ALLOWED_ELEMENTS.has(localName)) element.replaceWith(...element.childNodes);
    else cleanAttributes(element, isKeptClass);
  }
  for (const image of inert.body.querySelectorAll('img')) {
    const source = image.getAttribute('src') ?? '';
    if (!isDataImage(source)) image.removeAttribute('src');
    if (/^https?:/i.test(source)) image.dataset.remoteSrc = source;
    if (/^cid:/i.test(source)) image.dataset.cid = toContentId(source.slice(4));
    image.referrerPolicy = 'no-referrer';
  }
  for (const link of inert.body.querySelectorAll('a')) {
    link.target = '_blank';
    link.rel = 'noopener noreferrer';
    if (link.href && !link.title) link.title = link.href;
  }
  return {
    nodes: [...inert.body.childNodes],
    hasRemoteImages: inert.body.querySelector('img[data-remote-src]') !== null,
  };
}

function cleanAttributes(element: Element, isKeptClass: (name: string) => boolean): void {
  for (const { name, value } of [...element.attributes]) {
    if (name === PARSED_STYLE_ATTRIBUTE) continue;
    const isPicture = name === PICTURE_ATTRIBUTE && element.localName === 'img';
    const isClass = name === 'class' && isKeptClass(value);
    const isAllowed = isPicture || isClass || (name !== 'style' && isAllowedAttribute(element.localName, name));
    if (!isAllowed || (name === 'href' && !isLinkAddress(value))) element.removeAttribute(name);
  }
  const style = cleanStyle(element.getAttribute(PARSED_STYLE_ATTRIBUTE) ?? '');
  if (style === '') element.removeAttribute(PARSED_STYLE_ATTRIBUTE);
  else element.setAttribute(PARSED_STYLE_ATTRIBUTE, style);
}

/**
 * Reads the Content-ID of a `cid:` address: decodes percent-encoding (RFC 2392) and removes angle brackets. Invalid encoding stays
 * unchanged.
 */
export function toContentId(text: string): string {
  try {
    return decodeURIComponent(text).replaceAll(/^<|>$/g, '');
  } catch {
    return text.replaceAll(/^<|>$/g, '');
  }
}

const VOID_ELEMENTS = /^(br|col|hr|img|wbr)$/;
/** Attributes that `clean` adds for display. */
const DISPLAY_ATTRIBUTES: readonly string[] = ['target', 'rel', 'referrerpolicy'];

export const escapeHtml = (text: string): string =>
  text.replaceAll(/[&<>"]/g, (char) => ({ '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' })[char] ?? char);

/**
 * Writes cleaned nodes as HTML for another message. Remote images get their address back, because the recipient's program
 * decides whether to load them.
 * @param toCid returns the new Content-ID of an attached image, or null to leave the image out.
 */
export function writeHtml(nodes: Iterable<Node>, toCid: (contentId: string) => string | null): string {
  let html = '';
  for (const node of nodes) {
    if (node.nodeType === Node.TEXT_NODE) html += escapeHtml(node.nodeValue ?? '');
    if (node.nodeType !== Node.ELEMENT_NODE) continue;
    const element = node as Element;
    const name = element.localName;
    const attributes = toAttributes(element, toCid);
    if (attributes === null) continue;
    html += `<${name}${attributes.map(([key, value]) => ` ${key}="${escapeHtml(value)}"`).join('')}>`;
    if (!VOID_ELEMENTS.test(name)) html += `${writeHtml(element.childNodes, toCid)}</${name}>`;
  }
  return html;
}

/** Writes one node as HTML. @returns null if the element is an image that is left out. */
function toAttributes(
  element: Element,
  toCid: (contentId: string) => string | null,
): [name: string, value: string][] | null {
  const attributes: [string, string][] = [];
  for (const { name, value } of element.attributes) {
    if (DISPLAY_ATTRIBUTES.includes(name)) continue;
    if (name === 'title' && value === element.getAttribute('href')) continue;
    if (name === 'data-cid') {
      const cid = toCid(value);
      if (cid === null) return null;
      attributes.push(['src', `cid:${cid}`]);
    } else if (name === PARSED_STYLE_ATTRIBUTE) attributes.push(['style', value]);
    else if (name === 'data-remote-src') attributes.push(['src', value]);
    else if (!name.startsWith('data-')) attributes.push([name, value]);
  }
  return attributes;
}
