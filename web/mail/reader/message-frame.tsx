/**
 * Shows a sender's HTML in isolation. `/_/mail-frame` is a document whose policy allows no script, no form and no
 * connection, in a frame that is sandboxed without scripts. The nodes are sanitised again here, after the server has
 * done it. So three barriers separate a message from the mailbox.
 *
 * The frame keeps our origin only so that this page can fit its height and receive its key events.
 */
import { useEffect, useRef, useState } from 'react';
import { call } from '../../shared/api.ts';
import { handleKey } from '../actions/keys.ts';
import { startWriting } from '../compose/compose-state.ts';
import { type Attachment, attachmentPath } from '../model/api.ts';

const FORBIDDEN =
  'script, style, link, meta, base, title, iframe, frame, frameset, object, embed, applet, form, input, button, select, textarea, svg, math, template, noscript, portal, audio, video, dialog';
const ALLOWED_SCHEMES = /^(https?|mailto|tel):/i;

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

/**
 * The page's policy forbids style attributes in parsed text, but allows styles set through the object model. So styles
 * are parsed as another attribute. The server's sanitiser writes every attribute in double quotes, without `<` or `>`.
 */
const PARSED_STYLE_ATTRIBUTE = 'data-style';
const renameStyleAttributes = (html: string): string =>
  html.replace(/<[a-z][^<>]*>/gi, (tag) => tag.replaceAll(' style="', ` ${PARSED_STYLE_ATTRIBUTE}="`));

/** @returns nodes without scripts, handlers, forms, frames and addresses of schemes that are not allowed. */
export function clean(html: string): { nodes: Node[]; hasRemoteImages: boolean } {
  const inert = new DOMParser().parseFromString(markup.createHTML(renameStyleAttributes(html)), 'text/html');
  for (const element of inert.querySelectorAll(FORBIDDEN)) element.remove();
  for (const element of inert.body.querySelectorAll('*')) {
    for (const { name, value } of [...element.attributes]) {
      const isAddress = name === 'href' || name === 'action' || name === 'formaction' || name.endsWith(':href');
      const isHandler = name.startsWith('on');
      const isLoading = ['srcset', 'background', 'poster', 'ping', 'srcdoc', 'id', 'name', 'class'].includes(name);
      if (isHandler || isLoading || (isAddress && !ALLOWED_SCHEMES.test(value.trim()))) element.removeAttribute(name);
    }
    if (element.getAttribute(PARSED_STYLE_ATTRIBUTE)?.match(/url\s*\(|expression|@import|image-set|\\/i))
      element.removeAttribute(PARSED_STYLE_ATTRIBUTE);
  }
  for (const image of inert.body.querySelectorAll('img')) {
    const source = image.getAttribute('src') ?? '';
    if (/^https?:/i.test(source)) {
      image.removeAttribute('src');
      image.dataset.remoteSrc = source;
    } else if (source && !/^(cid:|data:image\/)/i.test(source)) image.removeAttribute('src');
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

/** Returns text with invalid percent-encoding unchanged. */
function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** Fetches attached images in this page, because the frame cannot open connections. */
async function showOwnImages(
  root: HTMLElement,
  messageId: string,
  attachments: Attachment[],
  urls: string[],
): Promise<void> {
  for (const image of root.querySelectorAll<HTMLImageElement>('img[src^="cid:" i]')) {
    const wanted = decode((image.getAttribute('src') ?? '').slice(4)).replaceAll(/^<|>$/g, '');
    const attachment = attachments.find((one) => one.content_id?.replaceAll(/^<|>$/g, '') === wanted);
    if (!attachment?.content_type.startsWith('image/')) continue;
    const response = await call(attachmentPath(messageId, attachment.file_name)).catch(() => null);
    if (!response) continue;
    const url = URL.createObjectURL(await response.blob());
    urls.push(url);
    image.src = url;
  }
}

function onClickInside(event: MouseEvent): void {
  const link = (event.target as Element | null)?.closest?.('a');
  if (!link?.href.startsWith('mailto:')) return;
  event.preventDefault();
  const address = new URL(link.href);
  startWriting({ to: decode(address.pathname), subject: address.searchParams.get('subject') ?? '' });
}

interface Props {
  messageId: string;
  html: string;
  attachments: Attachment[];
}

export function MessageFrame({ messageId, html, attachments }: Props) {
  const frame = useRef<HTMLIFrameElement>(null);
  const [withImages, setWithImages] = useState(false);
  const [hasRemote, setHasRemote] = useState(false);
  // After each read the attachments are new objects for the same files. The ref keeps the message from being drawn
  // again.
  const files = useRef(attachments);
  files.current = attachments;
  useEffect(() => {
    const element = frame.current;
    if (!element) return;
    const urls: string[] = [];
    let observer: ResizeObserver | null = null;
    const fill = () => {
      const inside = element.contentDocument;
      if (!inside?.body || inside.URL === 'about:blank') return;
      const { nodes, hasRemoteImages } = clean(html);
      setHasRemote(hasRemoteImages);
      inside.body.replaceChildren(...nodes.map((node) => inside.adoptNode(node)));
      for (const element of inside.querySelectorAll<HTMLElement>(`[${PARSED_STYLE_ATTRIBUTE}]`)) {
        element.style.cssText = element.getAttribute(PARSED_STYLE_ATTRIBUTE) ?? '';
      }
      if (withImages) {
        for (const image of inside.querySelectorAll<HTMLImageElement>('img[data-remote-src]')) {
          image.src = image.dataset.remoteSrc ?? '';
        }
      }
      void showOwnImages(inside.body, messageId, files.current, urls);
      const fitHeight = () => {
        element.style.height = `${Math.ceil(inside.documentElement.getBoundingClientRect().height) + 4}px`;
      };
      observer?.disconnect();
      observer = new ResizeObserver(fitHeight);
      observer.observe(inside.documentElement);
      inside.addEventListener('keydown', handleKey);
      inside.addEventListener('click', onClickInside);
      fitHeight();
    };
    element.addEventListener('load', fill);
    if (element.contentDocument?.readyState === 'complete') fill();
    return () => {
      element.removeEventListener('load', fill);
      observer?.disconnect();
      for (const url of urls) URL.revokeObjectURL(url);
    };
  }, [html, messageId, withImages]);
  return (
    <>
      {hasRemote && !withImages && (
        <p className="images-note small">
          Images from the sender’s server are not shown: they would tell the sender that you read this.{' '}
          <button type="button" className="link" onClick={() => setWithImages(true)}>
            Show images
          </button>
        </p>
      )}
      <iframe
        key={withImages ? 'images' : 'plain'}
        ref={frame}
        className="message-frame"
        title="Message"
        sandbox="allow-same-origin allow-popups allow-popups-to-escape-sandbox"
        referrerPolicy="no-referrer"
        src={withImages ? '/_/mail-frame?images=1' : '/_/mail-frame'}
      />
    </>
  );
}
