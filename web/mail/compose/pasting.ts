/**
 * Reads what was pasted into the text of a message. Browsers give a copied picture as HTML and as a file, and text with pictures as
 * HTML, in which only some pictures come with their bytes.
 */
import { clean, escapeHtml } from '../model/message-html.ts';

export interface Pasted {
  /** HTML with a marker in place of each picture that came with its bytes. Null if there is no formatted text. */
  readonly html: string | null;
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

/** Reduces pasted HTML to lists, links, tables and words. Colours and sizes of another page rarely fit. */
function reduce(body: HTMLElement): string {
  for (const element of body.querySelectorAll('*'))
    for (const { name } of [...element.attributes])
      if (name !== 'href' && name !== MARKER) element.removeAttribute(name);
  // The editor shows line ends as they are, but in HTML a line end is a space.
  const walker = body.ownerDocument.createTreeWalker(body, NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node; node = walker.nextNode())
    if (!node.parentElement?.closest('pre')) node.nodeValue = (node.nodeValue ?? '').replaceAll(/\s+/g, ' ');
  return body.innerHTML;
}

/** Reads pasted HTML. @param given the pasted files. Without pictures in the text, they only repeat it, as Excel does. */
function readHtml(html: string, given: readonly File[]): Pasted {
  const body = document.implementation.createHTMLDocument('').body;
  body.append(...clean(html).nodes);
  const images = [...body.querySelectorAll('img')];
  const waiting = given.filter(isPicture);
  const files: File[] = [];
  let leftOut = 0;
  for (const [at, image] of images.entries()) {
    const file = decodePicture(image.getAttribute('src') ?? '', nameOf(image, at)) ?? waiting.shift();
    if (!file) {
      leftOut += 1;
      image.remove();
      continue;
    }
    image.setAttribute(MARKER, String(files.length));
    files.push(file);
  }
  const hasText = (body.textContent ?? '').trim() !== '';
  if (!hasText && (images.length === 0 || leftOut === 0))
    return { html: null, files: files.length ? files : given, leftOut };
  return { html: reduce(body), files, leftOut };
}

/** Must be called during the event of the paste. */
export function readPasted(data: DataTransfer): Pasted {
  const given = [...data.files];
  const html = data.getData('text/html');
  if (html !== '') return readHtml(html, given);
  return { html: null, files: data.types.includes('text/plain') ? [] : given, leftOut: 0 };
}

/** Puts the pictures in the places of their markers. @param upload starts the upload of a file and returns its key. */
export function placePictures({ html, files }: Pasted, upload: (file: File) => string | null): string {
  return (html ?? '').replaceAll(new RegExp(`<img ${MARKER}="(\\d+)">`, 'g'), (_, at: string) => {
    const file = files[Number(at)];
    const key = file ? upload(file) : null;
    return file && key ? `<img alt="${escapeHtml(file.name)}" data-picture="${key}">` : '';
  });
}
