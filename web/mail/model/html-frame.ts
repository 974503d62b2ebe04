/**
 * Shows a sender's HTML in isolation. `/_/mail-frame` is a document whose policy allows no script, no form and no
 * connection, in a frame that is sandboxed without scripts. With the two sanitisers, three barriers separate a message
 * from the mailbox.
 *
 * The frame keeps our origin only so that this page can fit its size and receive its events.
 */
import { clean, PARSED_STYLE_ATTRIBUTE } from './message-html.ts';

export const FRAME_SANDBOX = 'allow-same-origin allow-popups allow-popups-to-escape-sandbox';
/** Smallest factor by which wide mail is scaled down to fit the frame. */
const ZOOM_MIN = 0.3;
/** Size in pixels below which text cannot be read. If most of the text would be smaller, tables are folded instead. */
const READABLE_PX_MIN = 7;
/** Texts of a message whose size is measured. */
const MEASURED_TEXTS_MAX = 400;

export interface FrameFacts {
  hasRemoteImages: boolean;
  isScaled: boolean;
  hasQuote: boolean;
}

export interface FrameOptions {
  withRemoteImages: boolean;
  /** Whether wide mail is shown at its own size with a scroll bar, instead of being scaled down. */
  isFullSize: boolean;
  /** Loads an image that is attached to the message; null if there is none of this Content-ID. */
  loadPicture: (contentId: string) => Promise<Blob | null>;
  /** Whether the quoted message at the end is hidden. */
  isQuoteFolded: boolean;
  onFilled: (facts: FrameFacts) => void;
  onKeyDown?: (event: KeyboardEvent) => void;
  onClick?: (event: MouseEvent) => void;
}

/** Fills the frame as soon as its document is loaded. @returns a function that stops. */
export function fillFrame(frame: HTMLIFrameElement, html: string, options: FrameOptions): () => void {
  const urls: string[] = [];
  const observer = new ResizeObserver(() => fitFrame());
  let isStopped = false;
  let inside: Document | null = null;
  let hasRemoteImages = false;
  let isScaled = false;
  let hasQuote = false;

  const fitFrame = () => {
    if (!inside?.body) return;
    const wasScaled = isScaled;
    isScaled = fitWidth(inside, options.isFullSize);
    frame.style.height = `${Math.ceil(inside.documentElement.getBoundingClientRect().height) + 4}px`;
    if (wasScaled !== isScaled) options.onFilled({ hasRemoteImages, isScaled, hasQuote });
  };
  const fill = () => {
    inside = frame.contentDocument;
    if (!inside?.body || inside.URL === 'about:blank') return;
    const document = inside;
    const cleaned = clean(html);
    hasRemoteImages = cleaned.hasRemoteImages;
    document.body.replaceChildren(...cleaned.nodes.map((node) => document.adoptNode(node)));
    for (const element of document.querySelectorAll<HTMLElement>(`[${PARSED_STYLE_ATTRIBUTE}]`)) {
      element.style.cssText = element.getAttribute(PARSED_STYLE_ATTRIBUTE) ?? '';
    }
    for (const image of document.querySelectorAll<HTMLImageElement>('img')) {
      // The size of the frame changes when an image is loaded or fails.
      image.addEventListener('load', fitFrame);
      if (options.withRemoteImages && image.dataset.remoteSrc) image.src = image.dataset.remoteSrc;
    }
    void showPictures();
    observer.disconnect();
    observer.observe(document.documentElement);
    observer.observe(frame);
    if (options.onKeyDown) document.addEventListener('keydown', options.onKeyDown);
    if (options.onClick) document.addEventListener('click', options.onClick);
    const quote = findQuote(document.body);
    hasQuote = quote !== null;
    if (quote) quote.hidden = options.isQuoteFolded;
    fitFrame();
    options.onFilled({ hasRemoteImages, isScaled, hasQuote });
  };
  /** Fetches attached images in this page, because the frame cannot open connections. */
  const showPictures = async () => {
    for (const image of inside?.querySelectorAll<HTMLImageElement>('img[data-cid]') ?? []) {
      const blob = await options.loadPicture(image.dataset.cid ?? '').catch(() => null);
      if (isStopped) return;
      if (!blob) continue;
      const url = URL.createObjectURL(blob);
      urls.push(url);
      image.src = url;
    }
  };
  frame.addEventListener('load', fill);
  if (frame.contentDocument?.readyState === 'complete') fill();
  return () => {
    isStopped = true;
    frame.removeEventListener('load', fill);
    observer.disconnect();
    for (const url of urls) URL.revokeObjectURL(url);
  };
}

/**
 * Finds the quoted message at the end of a reply: the last outermost blockquote, with a line such as "On … wrote:" before it or at
 * its start, text before it and none after it. Other quotations stay visible.
 */
export function findQuote(body: HTMLElement): HTMLElement | null {
  const quote = [...body.querySelectorAll<HTMLElement>('blockquote')].findLast(
    (one) => one.parentElement?.closest('blockquote') === null,
  );
  if (!quote) return null;
  const range = body.ownerDocument.createRange();
  range.setStartBefore(body.firstChild ?? body);
  range.setEndBefore(quote);
  const before = range.toString().trim();
  range.setStartAfter(quote);
  range.setEndAfter(body.lastChild ?? body);
  if (before === '' || range.toString().trim() !== '') return null;
  const firstLine = (quote.textContent ?? '').trim().split('\n')[0] ?? '';
  const isIntroduced =
    before.endsWith(':') || /:\s*$/.test(quote.firstElementChild?.textContent ?? '') || /:$/.test(firstLine);
  return isIntroduced ? quote : null;
}

/**
 * Scales mail that is wider than the frame. If its text would be too small to read, folds its tables first: cells are then below each
 * other (`mail-frame.html`). @returns whether it is wider.
 */
function fitWidth(inside: Document, isFullSize: boolean): boolean {
  const { body, documentElement } = inside;
  body.style.removeProperty('zoom');
  body.classList.remove('folded');
  const isWide = documentElement.scrollWidth > documentElement.clientWidth + 1;
  documentElement.style.overflowX = isWide && isFullSize ? 'auto' : 'hidden';
  if (!isWide || isFullSize) return isWide;
  const textSize = findTextSize(inside);
  if (textSize * scaleToFit(inside) >= READABLE_PX_MIN) return true;
  body.style.removeProperty('zoom');
  body.classList.add('folded');
  scaleToFit(inside);
  return true;
}

/** Scales the content until it fits, because scaling changes how lines break and so the width. @returns the factor. */
function scaleToFit({ body, documentElement }: Document): number {
  let zoom = 1;
  for (let round = 0; round < 4; round += 1) {
    const ratio = documentElement.clientWidth / documentElement.scrollWidth;
    if (ratio >= 1) break;
    zoom = Math.max(ZOOM_MIN, zoom * ratio * 0.995);
    body.style.setProperty('zoom', String(zoom));
  }
  return zoom;
}

/** @returns the size that most of the text has, in pixels without the scale. */
function findTextSize(inside: Document): number {
  const lengths = new Map<number, number>();
  const walker = inside.createTreeWalker(inside.body, NodeFilter.SHOW_TEXT);
  for (let count = 0; count < MEASURED_TEXTS_MAX && walker.nextNode(); count += 1) {
    const { parentElement, textContent } = walker.currentNode;
    const length = (textContent ?? '').trim().length;
    if (!parentElement || length === 0) continue;
    const size = Number.parseFloat(inside.defaultView?.getComputedStyle(parentElement).fontSize ?? '');
    lengths.set(size, (lengths.get(size) ?? 0) + length);
  }
  const [most] = [...lengths].sort(([, a], [, b]) => b - a);
  return most?.[0] ?? READABLE_PX_MIN / ZOOM_MIN;
}
