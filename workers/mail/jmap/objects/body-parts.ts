/** Describes the body of a message as JMAP does (RFC 8621 §4.1.4). */
import type { RequestBudget } from '../../../shared/pure/request-budget.ts';
import type { OpenedMessage } from '../../checks/opened-message.ts';
import { decodeText } from '../../domain/charset.ts';
import { decodeContent } from '../../mime/content-decoding.ts';
import { headerValue, type MimePart } from '../../mime/mime-tree.ts';
import { toPartBlobId } from '../domain/blob-id.ts';
import type { Arguments } from '../protocol/method.ts';
import { parseHeaderProperty, readHeaderProperty, toRaw } from './header-forms.ts';

export interface BodyPart {
  /** Id of the part; null for a multipart. */
  readonly partId: string | null;
  readonly blobId: string | null;
  readonly size: number;
  readonly part: MimePart;
  readonly subParts: readonly BodyPart[] | null;
}

export interface MessageBody {
  readonly structure: BodyPart;
  readonly textBody: readonly BodyPart[];
  readonly htmlBody: readonly BodyPart[];
  readonly attachments: readonly BodyPart[];
}

export const BODY_PART_PROPERTIES = [
  'partId',
  'blobId',
  'size',
  'headers',
  'name',
  'type',
  'charset',
  'disposition',
  'cid',
  'language',
  'location',
  'subParts',
] as const;
export const DEFAULT_BODY_PROPERTIES: readonly string[] = BODY_PART_PROPERTIES.filter(
  (name) => name !== 'headers' && name !== 'subParts',
);
export const isBodyPartProperty = (name: string): boolean =>
  (BODY_PART_PROPERTIES as readonly string[]).includes(name) || parseHeaderProperty(name) !== null;

export function readBody(message: Pick<OpenedMessage, 'tree'>, blobId: string): MessageBody {
  const structure = toStructure(message.tree.parts, blobId);
  const lists = { textBody: [] as BodyPart[], htmlBody: [] as BodyPart[], attachments: [] as BodyPart[] };
  sortParts([structure], 'mixed', false, lists.htmlBody, lists.textBody, lists.attachments);
  return { structure, ...lists };
}

/**
 * Builds the tree of parts. An attached message has no sub-parts in it; its own parts, which follow in the list at a greater depth,
 * are skipped.
 */
function toStructure(parts: readonly MimePart[], blobId: string): BodyPart {
  const isMultipart = (part: MimePart, at: number) =>
    part.type.startsWith('multipart/') && (parts[at + 1]?.depth ?? -1) > part.depth;
  const build = (at: number): BodyPart => {
    const part = parts[at] as MimePart;
    if (!isMultipart(part, at))
      return { partId: String(at), blobId: toPartBlobId(blobId, at), size: sizeOf(part), part, subParts: null };
    const subParts: BodyPart[] = [];
    for (let next = at + 1; (parts[next]?.depth ?? -1) > part.depth; next += 1) {
      if (parts[next]?.depth === part.depth + 1) subParts.push(build(next));
    }
    return { partId: null, blobId: null, size: 0, part, subParts };
  };
  return build(0);
}

function sizeOf(part: MimePart): number {
  if (part.cut) return part.cut.inspection.length;
  return (part.message ?? decodeContent(part)).length;
}

const isInlineMedia = (type: string): boolean => /^(?:image|audio|video)\//.test(type);

/**
 * Sorts parts into text body, HTML body and attachments, by the algorithm of RFC 8621 §4.1.4. A list that is null takes no more
 * parts.
 */
function sortParts(
  parts: readonly BodyPart[],
  container: string,
  isInAlternative: boolean,
  htmlBody: BodyPart[] | null,
  textBody: BodyPart[] | null,
  attachments: BodyPart[],
): void {
  const [textLength, htmlLength] = [textBody?.length ?? -1, htmlBody?.length ?? -1];
  let [html, text] = [htmlBody, textBody];
  for (const [at, body] of parts.entries()) {
    const { type, fileName, isAttachment } = body.part;
    const isMultipart = body.subParts !== null;
    const isText = type === 'text/plain' || type === 'text/html';
    const isInline =
      !isAttachment &&
      (isText || isInlineMedia(type)) &&
      (at === 0 || (container !== 'related' && (isInlineMedia(type) || fileName === '')));
    if (isMultipart) {
      const subtype = type.slice('multipart/'.length);
      sortParts(body.subParts, subtype, isInAlternative || subtype === 'alternative', html, text, attachments);
    } else if (!isInline) attachments.push(body);
    else if (container === 'alternative') {
      if (type === 'text/plain') text?.push(body);
      else if (type === 'text/html') html?.push(body);
      else attachments.push(body);
    } else {
      if (isInAlternative && type === 'text/plain') html = null;
      if (isInAlternative && type === 'text/html') text = null;
      text?.push(body);
      html?.push(body);
      if ((!text || !html) && isInlineMedia(type)) attachments.push(body);
    }
  }
  if (container !== 'alternative' || !textBody || !htmlBody) return;
  // The alternative has only one form, text or HTML. Its parts are used as the other form too.
  if (textLength === textBody.length && htmlLength !== htmlBody.length) textBody.push(...htmlBody.slice(htmlLength));
  if (htmlLength === htmlBody.length && textLength !== textBody.length) htmlBody.push(...textBody.slice(textLength));
}

/** @throws OverBudgetError if the properties exceed the budget for the parts of the answer. */
export function toBodyPartJson(body: BodyPart, properties: readonly string[], parts: RequestBudget): Arguments {
  return Object.fromEntries(
    properties.map((name) => {
      if (name === 'subParts')
        return [name, body.subParts?.map((each) => toBodyPartJson(each, properties, parts)) ?? null];
      const value = readPartProperty(body, name);
      parts.spendJson({ [name]: value });
      return [name, value];
    }),
  );
}

function readPartProperty(body: BodyPart, name: string): unknown {
  const { part } = body;
  const header = (field: string) => headerValue(part.headers, field);
  switch (name) {
    case 'partId':
      return body.partId;
    case 'blobId':
      return body.blobId;
    case 'size':
      return body.size;
    case 'headers':
      return listHeaders(part);
    case 'name':
      return part.fileName === '' ? null : part.fileName;
    case 'type':
      return part.type;
    case 'charset':
      return part.type.startsWith('text/') ? (part.parameters.get('charset') ?? 'us-ascii') : null;
    case 'disposition':
      return /^\s*([^\s;]+)/.exec(header('content-disposition'))?.[1]?.toLowerCase() ?? null;
    case 'cid':
      return (
        header('content-id')
          .replace(/^\s*<|>\s*$/g, '')
          .trim() || null
      );
    case 'language':
      return header('content-language')
        .split(/[\s,]+/)
        .filter(Boolean).length > 0
        ? header('content-language')
            .split(/[\s,]+/)
            .filter(Boolean)
        : null;
    case 'location':
      return header('content-location') || null;
    default: {
      const property = parseHeaderProperty(name);
      return property && readHeaderProperty(part.headers, property);
    }
  }
}

export const listHeaders = ({ headers }: Pick<MimePart, 'headers'>): { name: string; value: string }[] =>
  headers.map(({ source, value }) => ({ name: source.slice(0, source.indexOf(':')).trim(), value: toRaw(value) }));

export interface BodyValue extends Arguments {
  readonly value: string;
  readonly isEncodingProblem: boolean;
  readonly isTruncated: boolean;
}

/** Decodes the text of a part. @param maxBytes maximum size in UTF-8; 0 for no limit. */
export function readBodyValue({ part }: BodyPart, maxBytes: number): BodyValue {
  const decoded = decodeText(decodeContent(part), part.parameters.get('charset') ?? '')
    .replace(/\r\n/g, '\n')
    .replaceAll('\u0000', '')
    .toWellFormed();
  const value = truncate(decoded, maxBytes, part.type === 'text/html');
  return { value, isEncodingProblem: decoded.includes('\ufffd'), isTruncated: value.length < decoded.length };
}

/** Shortens a text, never inside a character, nor inside a tag of HTML. */
export function truncate(text: string, maxBytes: number, isHtml: boolean): string {
  if (maxBytes === 0 || Buffer.byteLength(text) <= maxBytes) return text;
  const cut = Buffer.from(text.slice(0, maxBytes))
    .subarray(0, maxBytes)
    .toString('utf8')
    .replace(/\ufffd+$/, '');
  if (!isHtml) return cut;
  const open = cut.lastIndexOf('<');
  return open > cut.lastIndexOf('>') ? cut.slice(0, open) : cut;
}
