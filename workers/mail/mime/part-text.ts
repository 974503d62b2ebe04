/** Converts a text part to text: decoded, with LF line ends, and with the lines of `format=flowed` joined. */
import { decodeText } from '../domain/charset.ts';
import { decodeContent } from './content-decoding.ts';
import { joinFlowedLines } from './flowed-text.ts';
import type { MimePart } from './mime-tree.ts';
import { takeUuencoded, type UuencodedFile } from './uuencode.ts';

/** Number of first bytes in which HTML may declare its charset (https://html.spec.whatwg.org/multipage/semantics.html#charset). */
const META_BYTES = 1_024;
const META = /<meta[^>]+charset\s*=\s*["']?([\w:.-]+)/i;

export interface PartText {
  readonly text: string;
  /** Uuencoded files that were removed from the text. */
  readonly files: readonly UuencodedFile[];
}

export function readText(part: MimePart): PartText {
  const content = decodeContent(part);
  const taken = part.type === 'text/html' ? null : takeUuencoded(content);
  return { text: toText(part, taken?.text ?? content), files: taken?.files ?? [] };
}

function toText(part: MimePart, bytes: Uint8Array): string {
  const text = decodeText(bytes, part.parameters.get('charset') ?? declaredCharset(part, bytes)).replace(/\r\n/g, '\n');
  if (part.type === 'text/html' || part.parameters.get('format')?.toLowerCase() !== 'flowed') return text;
  return joinFlowedLines(text, part.parameters.get('delsp')?.toLowerCase() === 'yes');
}

function declaredCharset(part: MimePart, bytes: Uint8Array): string {
  if (part.type !== 'text/html') return '';
  const declared = META.exec(Buffer.from(bytes.subarray(0, META_BYTES)).toString('latin1'))?.[1] ?? '';
  // A declaration of UTF-16 is wrong: it could be read as ASCII, so the text is not UTF-16.
  return /^utf-?16/i.test(declared) ? '' : declared;
}

/** Converts plain text to HTML, for a message whose other parts are HTML. */
export function toHtml(text: string): string {
  const escaped = text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
  return `<div>${escaped.trimEnd().replaceAll('\n', '<br>\n')}</div>`;
}
