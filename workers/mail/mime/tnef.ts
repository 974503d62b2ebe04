/**
 * Reads winmail.dat: the files and texts that Outlook puts into one attachment ([MS-OXTNEF]). Copies nothing: files are views.
 * Damaged input yields the content before the damage. Never throws.
 */
import { decodeText } from '../domain/charset.ts';

const SIGNATURE = 0x223e9f78;
const FILES_MAX = 200;
const PROPERTIES_MAX = 5_000;

/** Ids of attributes ([MS-OXTNEF] §2.1.3.2), without their types. */
const OEM_CODE_PAGE = 0x9007;
const BODY = 0x800c;
const MESSAGE_PROPERTIES = 0x9003;
const ATTACH_START = 0x9002;
const ATTACH_TITLE = 0x8010;
const ATTACH_DATA = 0x800f;
const ATTACH_PROPERTIES = 0x9005;

/** Ids of properties ([MS-OXPROPS]). */
const P_BODY = 0x1000;
const P_RTF = 0x1009;
const P_HTML = 0x1013;
const P_CODE_PAGE = 0x3fde;
const P_DATA = 0x3701;
const P_SHORT_NAME = 0x3704;
const P_LONG_NAME = 0x3707;
const P_TYPE = 0x370e;
const P_CONTENT_ID = 0x3712;

const OBJECT = 0x000d;
/** Size of the interface id with which an object begins. */
const OBJECT_ID_BYTES = 16;
/** Size of a value in bytes, padded to four, by property type. */
const SIZES: Readonly<Record<number, number>> = {
  1: 4,
  2: 4,
  3: 4,
  4: 4,
  5: 8,
  6: 8,
  7: 8,
  10: 4,
  11: 4,
  20: 8,
  64: 8,
  72: 16,
};
const VARIABLE = new Set([0x000d, 0x001e, 0x001f, 0x0102]);
const IS_MULTIPLE = 0x1000;
const UNICODE = 0x001f;

export interface TnefFile {
  readonly name: string;
  /** Media type of the file; empty if the sender named none. */
  readonly contentType: string;
  readonly contentId: string | null;
  readonly content: Uint8Array;
}

export interface TnefContent {
  readonly files: readonly TnefFile[];
  readonly text: string | null;
  readonly html: string | null;
  /** Compressed RTF text ([MS-OXRTFCP]); null if there is none. */
  readonly rtf: Uint8Array | null;
  /** False if the end is damaged, or if the number of files exceeds the limit. */
  readonly isWhole: boolean;
}

interface Property {
  readonly type: number;
  readonly value: Uint8Array;
}
type Properties = Map<number, Property>;

interface OpenFile {
  title: string;
  data: Uint8Array | null;
  properties: Properties;
}

export const isTnef = (bytes: Uint8Array): boolean =>
  bytes.length >= 6 && toView(bytes).getUint32(0, true) === SIGNATURE;

/** Reads a winmail.dat. @returns null if the bytes are not TNEF. */
export function readTnef(bytes: Uint8Array): TnefContent | null {
  if (!isTnef(bytes)) return null;
  const files: OpenFile[] = [];
  let message: Properties = new Map();
  let body: Uint8Array | null = null;
  let codePage = '';
  let isWhole = false;
  for (const { id, data, end } of readAttributes(bytes)) {
    const file = files.at(-1);
    if (id === ATTACH_START) {
      isWhole = files.length < FILES_MAX;
      if (!isWhole) break;
      files.push({ title: '', data: null, properties: new Map() });
    } else if (id === OEM_CODE_PAGE && data.length >= 4) codePage = `cp${toView(data).getUint32(0, true)}`;
    else if (id === BODY) body = data;
    else if (id === MESSAGE_PROPERTIES) message = readProperties(data);
    else if (file && id === ATTACH_TITLE) file.title = toText(data, codePage);
    else if (file && id === ATTACH_DATA) file.data = data;
    else if (file && id === ATTACH_PROPERTIES) file.properties = readProperties(data);
    isWhole = end === bytes.length;
  }
  const page = message.get(P_CODE_PAGE);
  const htmlCharset = page && page.value.length >= 4 ? toCharset(toView(page.value).getUint32(0, true)) : codePage;
  const html = message.get(P_HTML);
  return {
    files: files.flatMap((file) => toFile(file, codePage)),
    text: textOf(message.get(P_BODY), codePage) || (body && toText(body, codePage)) || null,
    html: textOf(html, htmlCharset) || null,
    rtf: message.get(P_RTF)?.value ?? null,
    isWhole,
  };
}

function toFile({ title, data, properties }: OpenFile, codePage: string): TnefFile[] {
  const text = (id: number) => textOf(properties.get(id), codePage);
  const stored = properties.get(P_DATA);
  const object = stored?.type === OBJECT ? stored.value.subarray(OBJECT_ID_BYTES) : stored?.value;
  const content = data && data.length > 0 ? data : (object ?? data);
  if (!content) return [];
  const isMessage = isTnef(content) && text(P_LONG_NAME) === '';
  return [
    {
      name: isMessage ? `${title || 'message'}.dat` : text(P_LONG_NAME) || title || text(P_SHORT_NAME),
      contentType: /^[\w.+-]+\/[\w.+-]+$/.test(text(P_TYPE)) ? text(P_TYPE).toLowerCase() : '',
      contentId: text(P_CONTENT_ID).replace(/^<|>$/g, '') || null,
      content,
    },
  ];
}

/** Reads attributes. Each has a level, id, length, data and checksum; the checksum is not needed. */
function* readAttributes(bytes: Uint8Array): Generator<{ id: number; data: Uint8Array; end: number }> {
  const view = toView(bytes);
  for (let at = 6; at + 9 <= bytes.length; ) {
    const length = view.getUint32(at + 5, true);
    const end = at + 9 + length;
    if (end > bytes.length || (bytes[at] !== 1 && bytes[at] !== 2)) return;
    yield { id: view.getUint16(at + 1, true), data: bytes.subarray(at + 9, end), end: end + 2 };
    at = end + 2;
  }
}

/** Reads properties, of each only the first value. Stops at the first property of an unknown form. */
function readProperties(bytes: Uint8Array): Properties {
  const view = toView(bytes);
  const properties: Properties = new Map();
  let at = 4;
  const has = (size: number) => at + size <= bytes.length;
  const count = bytes.length >= 4 ? Math.min(view.getUint32(0, true), PROPERTIES_MAX) : 0;
  for (let n = 0; n < count && has(4); n += 1) {
    const type = view.getUint16(at, true);
    const id = view.getUint16(at + 2, true);
    at += 4;
    if (id >= 0x8000) {
      if (!has(24)) return properties;
      const isName = view.getUint32(at + 16, true) === 1;
      at += isName ? 24 + pad(view.getUint32(at + 20, true)) : 24;
    }
    const single = type & ~IS_MULTIPLE;
    const isCounted = VARIABLE.has(single) || single !== type;
    if (isCounted && !has(4)) return properties;
    const values = isCounted ? view.getUint32(at, true) : 1;
    if (isCounted) at += 4;
    for (let value = 0; value < values; value += 1) {
      const isVariable = VARIABLE.has(single);
      if (isVariable && !has(4)) return properties;
      const size = isVariable ? view.getUint32(at, true) : SIZES[single];
      if (isVariable) at += 4;
      if (size === undefined || !has(size)) return properties;
      if (value === 0) properties.set(id, { type: single, value: bytes.subarray(at, at + size) });
      at += pad(size);
    }
  }
  return properties;
}

const pad = (size: number): number => size + ((4 - (size % 4)) % 4);
const toView = (bytes: Uint8Array) => new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
const toText = (bytes: Uint8Array, charset: string): string => decodeText(bytes, charset).replace(/\0.*$/s, '');

function textOf(property: Property | undefined, charset: string): string {
  if (!property) return '';
  return toText(property.value, property.type === UNICODE ? 'utf-16le' : charset);
}

/** Charset names of Windows code pages, for those whose name is not `cp` and the number. */
const CHARSETS: Readonly<Record<number, string>> = {
  20127: 'us-ascii',
  20866: 'koi8-r',
  21866: 'koi8-u',
  28591: 'iso-8859-1',
  28592: 'iso-8859-2',
  28605: 'iso-8859-15',
  54936: 'gb18030',
  65000: 'utf-7',
  65001: 'utf-8',
};
const toCharset = (page: number): string => CHARSETS[page] ?? `cp${page}`;
