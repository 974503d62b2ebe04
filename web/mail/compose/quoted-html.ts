/**
 * The HTML of an answered or forwarded message, kept outside the editor. In a draft and in the sent message it follows the
 * typed text. Its pictures are attachments of the new message.
 */
import { toDraftContentId as toCid } from '../../../workers/mail/domain/inline-picture.ts';
import type { Message } from '../model/api.ts';
import { clean, escapeHtml, toContentId, writeHtml } from '../model/message-html.ts';

export interface Quote {
  /** Sanitised HTML. Its pictures have the address `cid:<key of the upload>@attachment`. */
  html: string;
  /** The quote as plain text, for the text part of the message. */
  text: string;
  /** Whether the quoted message has no formatting. If the typed text has none either, the message is sent as plain text. */
  isPlain?: boolean;
}

/** A picture of the quoted message that the new message needs. */
export interface Picture {
  key: string;
  fileName: string;
  contentType: string;
  size: number;
}

/** Limit of the quoted HTML in characters. Longer HTML is quoted as plain text, because a draft has at most 1.9 MB. */
const QUOTE_LENGTH_MAX = 1_000_000;

/** Quotes a message. @returns its HTML and its pictures; null if the message has no HTML or more than the limit. */
export function quoteHtml(message: Message): { html: string; pictures: Picture[] } | null {
  if (!message.html) return null;
  const pictures = new Map<string, Picture>();
  const html = writeHtml(clean(message.html).nodes, (contentId) => {
    const attachment = message.attachments.find((one) => one.content_id && toContentId(one.content_id) === contentId);
    if (!attachment?.content_type.startsWith('image/')) return null;
    const { file_name: fileName, content_type: contentType, size } = attachment;
    const picture = pictures.get(fileName) ?? { key: crypto.randomUUID(), fileName, contentType, size };
    pictures.set(fileName, picture);
    return toCid(picture.key);
  });
  return html.length > QUOTE_LENGTH_MAX ? null : { html, pictures: [...pictures.values()] };
}

const RICH_START = '<div class="tessera-rich" dir="auto" style="white-space:pre-wrap">';
const TEXT_START = '<div class="tessera-text" dir="auto" style="white-space:pre-wrap">';
const QUOTE_START = '</div><br><div class="tessera-quote">';
const QUOTE_END = '</div>';
const BETWEEN = '\n\n';

/**
 * Joins the typed text and the quote into one HTML document. `splitHtml` reverses it.
 * @param rich the typed text as HTML without classes, if it is formatted.
 */
export const joinHtml = (text: string, rich: string | null, quote: Quote | null): { html: string; body: string } => ({
  html:
    (rich === null ? TEXT_START + escapeHtml(text).replaceAll('\n', '<br>') : RICH_START + rich) +
    (quote ? QUOTE_START + quote.html : '') +
    QUOTE_END,
  body: text + (quote ? BETWEEN + quote.text : ''),
});

const unescapeHtml = (html: string): string =>
  html
    .replaceAll('<br>', '\n')
    .replaceAll('&quot;', '"')
    .replaceAll('&gt;', '>')
    .replaceAll('&lt;', '<')
    .replaceAll('&amp;', '&');

/** Splits the HTML of a draft into the typed text and the quote. @returns null if another program wrote or changed the HTML. */
export function splitHtml(
  html: string,
  body: string,
): { text: string; rich: string | null; quote: Quote | null } | null {
  const at = html.indexOf(QUOTE_START);
  const isRich = html.startsWith(RICH_START);
  if (!html.endsWith(QUOTE_END) || !(isRich || (html.startsWith(TEXT_START) && at !== -1))) return null;
  if (at === -1)
    return { text: body, rich: html.slice(RICH_START.length, html.length - QUOTE_END.length), quote: null };
  const quoted = html.slice(at + QUOTE_START.length, html.length - QUOTE_END.length);
  if (isRich) {
    // The text part has no separator mark. The quote's own text is at the end, so look for its first line.
    const end = body.lastIndexOf(BETWEEN + firstLine(quoted));
    const text = end === -1 ? body : body.slice(0, end);
    const rest = end === -1 ? '' : body.slice(end + BETWEEN.length);
    return { text, rich: html.slice(RICH_START.length, at), quote: { html: quoted, text: rest } };
  }
  const text = unescapeHtml(html.slice(TEXT_START.length, at));
  if (!body.startsWith(text + BETWEEN)) return null;
  return { text, rich: null, quote: { html: quoted, text: body.slice(text.length + BETWEEN.length) } };
}

/** Quotes plain text, which is shown as it is. */
export const quotePlain = (text: string): Quote => ({
  html: `<div dir="auto" style="white-space:pre-wrap">${escapeHtml(text).replaceAll('\n', '<br>')}</div>`,
  text,
  isPlain: true,
});

export const joinPlain = (text: string, quote: Quote): string => text + BETWEEN + quote.text;

/** Splits a draft of plain text into the typed text and the quote at its end, which a line such as "On …, … wrote:" begins. */
export function splitPlain(body: string): { body: string; quote: Quote | null } {
  const found = /\n\n([^\n>][^\n]*:\n(?:>[^\n]*\n?)+)$/.exec(body);
  return found?.[1] ? { body: body.slice(0, found.index), quote: quotePlain(found[1]) } : { body, quote: null };
}

/** Finds the first line of a quote, "On …, … wrote:". It begins both the quote's HTML and the quote's text. */
const firstLine = (quoted: string): string => unescapeHtml(/^<div[^>]*>(.*?)(?:<br>|<\/div>)/.exec(quoted)?.[1] ?? '');

/**
 * Puts the ids of uploaded attachments into the addresses of pictures. Leaves out pictures without an upload, which were removed or
 * could not be copied.
 * @param ids attachment id by key of the upload.
 */
export const resolvePictures = (html: string, ids: ReadonlyMap<string, string>): string =>
  html.replaceAll(/<img(?: [\w-]+="[^"]*")* src="cid:([^"@]*)@attachment"[^>]*>/g, (tag, key: string) => {
    const id = ids.get(key);
    return id === undefined ? '' : tag.replace(`src="cid:${key}@`, `src="cid:${id}@`);
  });
