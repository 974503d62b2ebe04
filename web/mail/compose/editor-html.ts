/** The HTML of a message and the contents of the editor: each is made from the other. */
import { toDraftContentId } from '../../../workers/mail/domain/inline-picture.ts';
import { clean, PARSED_STYLE_ATTRIBUTE, writeHtml } from '../model/message-html.ts';
import { fromStyle, isStyleClass, toStyle } from './colours.ts';
import { TABLE_STYLES } from './table-styles.ts';

const CELL = /^t[dh]$/;

const listElements = (nodes: readonly Node[]): HTMLElement[] =>
  nodes.flatMap((node) => (node instanceof HTMLElement ? [node, ...node.querySelectorAll<HTMLElement>('*')] : []));

function setStyle(element: Element, style: string): void {
  if (style === '') element.removeAttribute(PARSED_STYLE_ATTRIBUTE);
  else element.setAttribute(PARSED_STYLE_ATTRIBUTE, style);
}

/** Returns the classes of the elements around an element, the nearest first. */
function classesAround(element: Element): string[] {
  const classes: string[] = [];
  for (let at = element.parentElement; at; at = at.parentElement) if (at.className) classes.push(at.className);
  return classes;
}

/** Converts HTML of the editor to that of a message, without classes. Pictures are named by the keys of their uploads. */
export function toMessageHtml(editorHtml: string): string {
  const { nodes } = clean(editorHtml.replaceAll('\u200b', ''), isStyleClass);
  const elements = listElements(nodes);
  const styles = elements.map((element) => toStyle(element.className, classesAround(element)));
  for (const [at, element] of elements.entries()) {
    const { localName, dataset } = element;
    const only = element.childNodes.length === 1 ? element.firstElementChild : null;
    if (CELL.test(localName) && only?.localName === 'div' && only.attributes.length === 0)
      only.replaceWith(...only.childNodes);
    if (localName === 'img' && dataset.picture !== undefined) dataset.cid = toDraftContentId(dataset.picture);
    const own = TABLE_STYLES[localName] ?? styles[at] ?? '';
    if (own !== '') setStyle(element, own);
    element.removeAttribute('class');
  }
  return writeHtml(nodes, (contentId) => contentId);
}

/** Names of elements that the editor knows under another name. */
const RENAMED: Readonly<Record<string, string>> = {
  strong: 'b',
  em: 'i',
  ins: 'u',
  strike: 's',
  del: 's',
  font: 'span',
  tt: 'code',
};

function rename(element: HTMLElement, name: string): HTMLElement {
  const renamed = element.ownerDocument.createElement(name);
  for (const { name: attribute, value } of element.attributes)
    if (element.localName !== 'font' || attribute === PARSED_STYLE_ATTRIBUTE) renamed.setAttribute(attribute, value);
  renamed.append(...element.childNodes);
  element.replaceWith(renamed);
  return renamed;
}

/** Moves the contents of an element into one element per class. */
function wrapContents(element: HTMLElement, classes: readonly string[]): void {
  for (const name of classes.toReversed()) {
    const inner = element.ownerDocument.createElement('span');
    inner.className = name;
    inner.append(...element.childNodes);
    element.append(inner);
  }
}

/** Turns styles that the editor knows into its classes. Others stay as they are. */
function styleElement(element: HTMLElement): void {
  const style = element.getAttribute(PARSED_STYLE_ATTRIBUTE);
  if (style === null) return;
  element.removeAttribute(PARSED_STYLE_ATTRIBUTE);
  // The page's style sheet has the styles of tables.
  if (element.localName in TABLE_STYLES) return;
  const { classes, rest } = fromStyle(style);
  if (rest !== '') element.style.cssText = rest;
  const [own, ...inner] = element.localName === 'span' && rest === '' ? classes : ['', ...classes];
  if (own) element.className = own;
  const around = classesAround(element);
  wrapContents(
    element,
    inner.filter((name) => !around.includes(name)),
  );
}

const BLOCK =
  /^(?:address|article|aside|blockquote|center|dl|div|figure|footer|h[1-6]|header|main|nav|ol|p|pre|section|table|ul)$/;
export const isBlock = (node: Node): boolean => node instanceof Element && BLOCK.test(node.localName);

/** Puts text and other contents between blocks into lines of their own, because the editor's own children are blocks. */
export function intoLines(nodes: readonly Node[]): Node[] {
  const lines: Node[] = [];
  let line: HTMLElement | null = null;
  for (const node of nodes) {
    if (isBlock(node)) {
      lines.push(node);
      line = null;
      continue;
    }
    if (!line) {
      line = document.createElement('div');
      lines.push(line);
    }
    line.append(node);
    if (node instanceof HTMLBRElement) line = null;
  }
  return lines.length > 0 ? lines : [document.createElement('div')];
}

/** Converts HTML of a message to contents of the editor. Pictures of other sites are left out. */
export function toFragment(html: string): DocumentFragment {
  const holder = document.createElement('div');
  holder.append(...clean(html).nodes.map((node) => document.importNode(node, true)));
  for (const element of holder.querySelectorAll<HTMLElement>(Object.keys(RENAMED).join()))
    rename(element, RENAMED[element.localName] ?? 'span');
  for (const element of listElements([...holder.childNodes])) styleElement(element);
  for (const image of holder.querySelectorAll<HTMLImageElement>('img')) {
    const { cid } = image.dataset;
    if (cid !== undefined) image.dataset.picture = cid.replace(/@attachment$/, '');
    delete image.dataset.cid;
    if (cid === undefined && image.dataset.picture === undefined && !image.src) image.remove();
  }
  // In a cell without a line of its own, Enter would split the cell.
  for (const cell of holder.querySelectorAll('td, th')) cell.replaceChildren(...intoLines([...cell.childNodes]));
  for (const element of holder.querySelectorAll('div, p, li, td, th, h1, h2, h3, h4, h5, h6, blockquote'))
    if (!element.hasChildNodes()) element.append(document.createElement('br'));
  const fragment = document.createDocumentFragment();
  fragment.append(...holder.childNodes);
  return fragment;
}

/** The same as whole contents of the editor: its children are blocks. */
export const toEditorNodes = (html: string): Node[] => intoLines([...toFragment(html).childNodes]);
