/** The parts of a message that spam checks read: its own headers, its visible text and its links. */
import { decodeContent, decodeText, decodeWords } from '../../mime/content-decoding.ts';
import { type HeaderField, headerValue, type MimePart, type MimeTree, readMimeTree } from '../../mime/mime-tree.ts';
import { type HtmlLink, type HtmlText, readHtml } from './html-text.ts';

/** Maximum of text that is read, so that the time is bounded. Spam states its offer near the top. */
const TEXT_CHARACTERS_MAX = 100_000;
const SUBJECT_CHARACTERS_MAX = 1_000;
const ENCODED_BYTES_MAX = 400_000;

export interface MessageText {
  readonly headers: readonly HeaderField[];
  readonly subject: string;
  readonly from: { readonly name: string; readonly address: string };
  readonly replyTo: string;
  /** Text of plain parts, and the visible text of HTML parts. */
  readonly text: string;
  readonly hasPlainPart: boolean;
  readonly html: HtmlText | null;
  readonly links: readonly HtmlLink[];
  readonly parts: readonly MimePart[];
}

export function readMessageText(raw: Uint8Array, { parts }: MimeTree = readMimeTree(raw)): MessageText {
  const headers = parts[0]?.headers ?? [];
  const plain: string[] = [];
  const html: string[] = [];
  let budget = TEXT_CHARACTERS_MAX;
  for (const part of parts) {
    const isHtml = part.type === 'text/html';
    if (budget <= 0 || part.isAttachment || !(isHtml || /^text\/(plain|enriched)$/.test(part.type))) continue;
    const text = decodePart(part).slice(0, budget);
    budget -= text.length;
    (isHtml ? html : plain).push(text);
  }
  const read = html.length > 0 ? readHtml(html.join('\n')) : null;
  const plainText = plain.join('\n');
  return {
    headers,
    subject: decodeWords(headerValue(headers, 'subject')).slice(0, SUBJECT_CHARACTERS_MAX),
    from: parseFrom(headerValue(headers, 'from')),
    replyTo: parseFrom(headerValue(headers, 'reply-to')).address,
    text: read === null ? plainText : `${plainText}\n${read.text}`,
    hasPlainPart: plainText.trim() !== '',
    html: read,
    links: [...(read?.links ?? []), ...findUrls(plainText)],
    parts,
  };
}

function decodePart(part: MimePart): string {
  const content = part.content.subarray(0, ENCODED_BYTES_MAX);
  return decodeText(decodeContent({ content, encoding: part.encoding }), part.parameters.get('charset') ?? '');
}

function findUrls(text: string): HtmlLink[] {
  const urls = text.match(/\b(?:https?:\/\/|www\.)[^\s<>"')\]]{3,500}/gi) ?? [];
  return urls.slice(0, 500).map((url) => ({ href: /^www/i.test(url) ? `http://${url}` : url, text: '' }));
}

/** Parses the first mailbox of an address field. The address is in lower case. */
export function parseFrom(value: string): { name: string; address: string } {
  const text = value.slice(0, 2_000);
  const angle = /<\s*([^<>\s]+@[^<>\s]+)\s*>/.exec(text);
  if (angle?.[1] !== undefined) {
    const name = text.slice(0, angle.index).trim().replace(/^"|"$/g, '');
    return { name: decodeWords(name), address: angle[1].toLowerCase() };
  }
  const bare = /[^\s<>()",;:]+@[^\s<>()",;:]+/.exec(text);
  const comment = /\(([^()]*)\)/.exec(text);
  return { name: decodeWords(comment?.[1] ?? ''), address: (bare?.[0] ?? '').toLowerCase() };
}

/** @returns the host of a link in lower case; empty if the link has none. */
export function hostOf(href: string): string {
  const match = /^\s*(?:https?|ftp):\/*(?:[^/?#@]*@)?([^/?#:\s]+)/i.exec(href);
  return (match?.[1] ?? '').toLowerCase().replace(/\.$/, '');
}
