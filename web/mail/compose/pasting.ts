/**
 * Reads what was pasted or dropped into the text of a message. Browsers give a copied picture as HTML and as a file, and text with
 * pictures as HTML, in which only some pictures come with their bytes.
 */
import { clean, escapeHtml, PARSED_STYLE_ATTRIBUTE } from '../model/message-html.ts';
import { fromStyle, isStyleClass, toStyle } from './colours.ts';
import { compose } from './compose-store.ts';

export interface Pasted {
  /** HTML with a marker in place of each picture that came with its bytes. Null if there is no formatted text. */
  readonly html: string | null;
  /** The text without its formatting. */
  readonly text: string;
  /** The files, in the order of their markers; without formatted text, all files. */
  readonly files: readonly File[];
  /** Number of pictures that came without their bytes. */
  readonly leftOut: number;
}

/** Attribute of the marker of a picture. Its value is the position of the picture's file. */
export const MARKER = 'data-pasted';

const isPicture = (file: File): boolean => file.type.startsWith('image/');

/** Decodes a `data:` address of a picture. */
function decodePicture(address: string, name: string): File | null {
  const match = /^data:(image\/[a-z0-9.+-]+);base64,([a-z0-9+/=\s]+)$/i.exec(address);
  if (!match?.[1] || !match[2]) return null;
  try {
    const bytes = Uint8Array.from(atob(match[2].replaceAll(/\s/g, '')), (char) => char.charCodeAt(0));
    return new File([bytes], name, { type: match[1] });
  } catch {
    return null;
  }
}

/** The name of a picture: its alternative text would be lost otherwise, and a file needs a name. */
const nameOf = (image: HTMLImageElement, at: number): string =>
  image.alt.trim().slice(0, 60) || `picture-${at + 1}.png`;

/** Elements that mean what documents of other programs say with styles. */
const MEANINGS: readonly (readonly [name: string, style: RegExp])[] = [
  ['b', /(?:^|;)font-weight:\s*(?:bold|[6-9]00)/],
  ['i', /(?:^|;)font-style:\s*(?:italic|oblique)/],
  ['u', /(?:^|;)text-decoration(?:-line)?:[^;]*underline/],
  ['s', /(?:^|;)text-decoration(?:-line)?:[^;]*line-through/],
];
const HEADING = /^h[1-6]$/;

/** Says with elements what pasted styles say: bold, italic, underlined, struck out, and the colours and sizes of the editor. */
function keepMeaning(element: HTMLElement): void {
  const style = element.getAttribute(PARSED_STYLE_ATTRIBUTE) ?? '';
  const { localName } = element;
  // Documents of Google wrap everything in such an element.
  if (localName === 'b' && /font-weight:\s*normal/.test(style)) {
    element.replaceWith(...element.childNodes);
    return;
  }
  const wrap = (name: string) => {
    const inner = element.ownerDocument.createElement(name);
    inner.append(...element.childNodes);
    element.append(inner);
    return inner;
  };
  if (!/^(?:table|tbody|thead|tr|ul|ol)$/.test(localName))
    for (const [name, pattern] of MEANINGS) {
      const isImplied =
        name === localName || (name === 'b' && HEADING.test(localName)) || (name === 'u' && localName === 'a');
      if (!isImplied && pattern.test(style)) wrap(name);
    }
  if (localName !== 'span' && localName !== 'font') return;
  for (const name of fromStyle(style).classes.filter(isStyleClass))
    wrap('span').setAttribute(PARSED_STYLE_ATTRIBUTE, toStyle(name, []));
  element.replaceWith(...element.childNodes);
}

const KEPT: readonly string[] = ['href', MARKER, 'data-picture', 'alt', 'colspan', 'rowspan', 'start', 'dir'];

/** Reduces pasted HTML to its structure, links, tables and words. Other colours and sizes of another page rarely fit. */
function reduce(body: HTMLElement): string {
  for (const element of body.querySelectorAll<HTMLElement>('*')) keepMeaning(element);
  for (const element of body.querySelectorAll('*'))
    for (const { name } of [...element.attributes]) {
      const isOwnStyle = name === PARSED_STYLE_ATTRIBUTE && element.localName === 'span';
      if (!isOwnStyle && !KEPT.includes(name)) element.removeAttribute(name);
    }
  // The editor shows line ends as they are, but in HTML a line end is a space.
  const walker = body.ownerDocument.createTreeWalker(body, NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node; node = walker.nextNode())
    if (!node.parentElement?.closest('pre')) node.nodeValue = (node.nodeValue ?? '').replaceAll(/[ \t\r\n\f]+/g, ' ');
  return body.innerHTML;
}

/** Finds the key of a picture that was copied from this message. */
function findOwnPicture(image: HTMLImageElement): string | null {
  const key = image.dataset.cid?.replace(/@attachment$/, '') ?? null;
  const isHere = key !== null && compose.get().writing?.attachments.some((upload) => upload.key === key);
  return isHere ? key : null;
}

/** Renames what the page's policy would refuse and report while the HTML is parsed. `clean` removes it or keeps its safe part. */
const rename = (html: string): string =>
  html
    .replaceAll(/<(\/?)style\b/gi, '<$1template')
    .replaceAll(/<[a-z][^<>]*>/gi, (tag) =>
      tag.replaceAll(/\s(on[a-z]+\s*=)/gi, ' data-$1').replaceAll(/\sstyle\s*=/gi, ` ${PARSED_STYLE_ATTRIBUTE}=`),
    );

/** Reads pasted HTML. @param given the pasted files. Without pictures in the text, they only repeat it, as Excel does. */
function readHtml(html: string, text: string, given: readonly File[]): Pasted {
  const body = document.implementation.createHTMLDocument('').body;
  body.append(...clean(rename(html)).nodes);
  const images = [...body.querySelectorAll('img')];
  const waiting = given.filter(isPicture);
  const files: File[] = [];
  let own = 0;
  let leftOut = 0;
  for (const [at, image] of images.entries()) {
    const key = findOwnPicture(image);
    image.removeAttribute('data-picture');
    if (key !== null) {
      image.dataset.picture = key;
      own += 1;
      continue;
    }
    const file = decodePicture(image.getAttribute('src') ?? '', nameOf(image, at)) ?? waiting.shift();
    if (!file) {
      leftOut += 1;
      image.remove();
      continue;
    }
    image.setAttribute(MARKER, String(files.length));
    files.push(file);
  }
  const hasText = (body.textContent ?? '').trim() !== '' || own > 0 || body.querySelector('table, hr') !== null;
  if (!hasText && (images.length === 0 || leftOut === 0))
    return { html: null, text, files: files.length ? files : given, leftOut };
  return { html: reduce(body), text, files, leftOut };
}

/** Must be called during the event of the paste or drop. */
export function readPasted(data: DataTransfer): Pasted {
  const given = [...data.files];
  const html = data.getData('text/html');
  const text = data.getData('text/plain') || data.getData('text/uri-list');
  if (html !== '') return readHtml(html, text, given);
  return { html: null, text, files: data.types.includes('text/plain') ? [] : given, leftOut: 0 };
}

/** Puts the pictures in the places of their markers. @param upload starts the upload of a file and returns its key. */
export function placePictures({ html, files }: Pasted, upload: (file: File) => string | null): string {
  return (html ?? '').replaceAll(new RegExp(`<img(?: alt="[^"]*")? ${MARKER}="(\\d+)">`, 'g'), (_, at: string) => {
    const file = files[Number(at)];
    const key = file ? upload(file) : null;
    return file && key ? `<img alt="${escapeHtml(file.name)}" data-picture="${key}">` : '';
  });
}
