/** Parses XML: well-formed, small, and without document types, so that no entity can be defined or expanded. */
import { XMLParser, XMLValidator } from 'fast-xml-parser';
import { findExceededXmlBound } from '../../../shared/pure/request-budget.ts';
import { err, ok, type Result } from '../../../shared/pure/result.ts';
import { type S3Failure, s3Failure } from '../../domain/failure.ts';

export interface XmlElement {
  /** Name of the element without the namespace prefix. */
  readonly name: string;
  readonly attributes: Readonly<Record<string, string>>;
  /** Text directly in the element, not trimmed. */
  readonly text: string;
  readonly children: readonly XmlElement[];
}

/** A parsed element takes about 200 bytes and two microseconds. The largest documented configuration has 1,000 rules. */
const BOUNDS = { depthMax: 16, valuesMax: 20_000 };

const parser = new XMLParser({
  preserveOrder: true,
  ignoreAttributes: false,
  attributeNamePrefix: '',
  parseTagValue: false,
  parseAttributeValue: false,
  trimValues: false,
  removeNSPrefix: true,
  htmlEntities: false,
  processEntities: false,
  cdataPropName: '#cdata',
});

/** Parses an XML document. @param rootName name that the root element must have. */
export function parseXml(text: string, rootName: string): Result<XmlElement, S3Failure> {
  const malformed = err(s3Failure('MalformedXML'));
  if (text.trim() === '') return err(s3Failure('MissingRequestBodyError'));
  if (findExceededXmlBound(text, BOUNDS) !== null || hasTooManyReferences(text)) return malformed;
  if (/<!(DOCTYPE|ENTITY)/i.test(text) || XMLValidator.validate(text) !== true) return malformed;
  let nodes: unknown;
  try {
    nodes = parser.parse(text.replace(/^\ufeff/, ''));
  } catch {
    return malformed;
  }
  const roots = toElements(nodes, 0);
  const root = roots?.children.find((child) => child.name !== '?xml');
  return root?.name === rootName ? ok(root) : malformed;
}

/** Character references take time each. As many as a slice of a list can have. */
const REFERENCES_MAX = 20_000;
/** An item with all checksums has eight elements. */
const VALUES_PER_ITEM_MAX = 10;
/**
 * Characters that are parsed at once. They take a few milliseconds, and other requests run between two slices. An item has fewer: a key
 * of 1,024 bytes, fully escaped, has 6 KB.
 */
const SLICE_LENGTH_MAX = 32 * 1024;

export interface XmlList {
  readonly rootName: string;
  /** Name of the items, which are children of the root. */
  readonly itemName: string;
  /** A list with more items is malformed. */
  readonly itemsMax: number;
}

/** Parses a document that is a list of many items in slices, so that it does not hold the isolate's thread for long. */
export async function parseXmlList(text: string, list: XmlList): Promise<Result<XmlElement, S3Failure>> {
  const { rootName, itemName, itemsMax } = list;
  if (text.length <= SLICE_LENGTH_MAX) return parseXml(text, rootName);
  const malformed = err(s3Failure('MalformedXML'));
  const bounds = { ...BOUNDS, valuesMax: itemsMax * VALUES_PER_ITEM_MAX };
  // Comments and CDATA sections may contain the text of tags, so a long document with them cannot be cut, and is refused.
  if (findExceededXmlBound(text, bounds) !== null || text.includes('<!')) return malformed;
  const begin = text.search(new RegExp(`<(?:[\\w.-]+:)?${itemName}[\\s>]`));
  const end = new RegExp(`</(?:[\\w.-]+:)?${itemName}\\s*>`, 'g');
  const ends = [...text.matchAll(end)].map((found) => found.index + found[0].length);
  const last = ends.at(-1) ?? 0;
  if (begin < 0 || begin + text.length - last > SLICE_LENGTH_MAX || ends.length > itemsMax) return malformed;
  const around = parseXml(text.slice(0, begin) + text.slice(last), rootName);
  if (!around.ok) return around;
  const children: XmlElement[] = [];
  let from = begin;
  for (const [at, to] of ends.entries()) {
    if (to - from > SLICE_LENGTH_MAX) return malformed;
    const next = ends[at + 1];
    if (next !== undefined && next - from <= SLICE_LENGTH_MAX) continue;
    const slice = parseXml(`<${rootName}>${text.slice(from, to)}</${rootName}>`, rootName);
    if (!slice.ok) return slice;
    children.push(...slice.value.children);
    from = to;
    await new Promise((resolve) => setTimeout(resolve, 0));
  }
  return ok({ ...around.value, children: [...children, ...around.value.children] });
}

function hasTooManyReferences(text: string): boolean {
  let references = 0;
  for (let at = text.indexOf('&'); at >= 0 && references <= REFERENCES_MAX; at = text.indexOf('&', at + 1))
    references += 1;
  return references > REFERENCES_MAX;
}

/** Converts a node in the parser's ordered form: a list of `{name: [children], ':@': attributes}` and `{'#text': …}`. */
function toElements(nodes: unknown, depth: number): { text: string; children: XmlElement[] } | null {
  if (!Array.isArray(nodes) || depth > BOUNDS.depthMax) return null;
  let text = '';
  const children: XmlElement[] = [];
  for (const node of nodes as Record<string, unknown>[]) {
    for (const [name, value] of Object.entries(node)) {
      if (name === ':@') continue;
      if (name === '#text') text += unescapeXml(String(value));
      else if (name === '#cdata')
        text += (value as { '#text'?: unknown }[]).map((part) => String(part['#text'] ?? '')).join('');
      else {
        const inner = toElements(value, depth + 1);
        if (inner === null) return null;
        children.push({ name, attributes: toAttributes(node[':@']), ...inner });
      }
    }
  }
  return { text, children };
}

function toAttributes(value: unknown): Record<string, string> {
  if (typeof value !== 'object' || value === null) return {};
  return Object.fromEntries(Object.entries(value).map(([name, text]) => [name, unescapeXml(String(text))]));
}

const NAMED: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'" };

/** Replaces the five named character references and the numeric ones. All others stay as text. */
function unescapeXml(text: string): string {
  if (!text.includes('&')) return text;
  return text.replace(/&(?:#(\d{1,7})|#x([0-9a-fA-F]{1,6})|(amp|lt|gt|quot|apos));/g, (whole, decimal, hex, named) => {
    if (named) return NAMED[named as string] ?? whole;
    const point = decimal ? Number(decimal) : Number.parseInt(hex as string, 16);
    return point <= 0x10ffff ? String.fromCodePoint(point) : whole;
  });
}

export const childrenOf = (parent: XmlElement, name: string): XmlElement[] =>
  parent.children.filter((child) => child.name === name);

export const childOf = (parent: XmlElement, name: string): XmlElement | null =>
  parent.children.find((child) => child.name === name) ?? null;

/** @returns the text of the child element with this name, or null when there is none. */
export const textOf = (parent: XmlElement, name: string): string | null => childOf(parent, name)?.text ?? null;

/** The texts of all child elements with this name. */
export const textsOf = (parent: XmlElement, name: string): string[] => childrenOf(parent, name).map(({ text }) => text);
