/** Parses XML: well-formed, small, and without document types, so that no entity can be defined or expanded. */
import { XMLParser, XMLValidator } from 'fast-xml-parser';
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

const DEPTH_MAX = 16;

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

/** Converts a node in the parser's ordered form: a list of `{name: [children], ':@': attributes}` and `{'#text': …}`. */
function toElements(nodes: unknown, depth: number): { text: string; children: XmlElement[] } | null {
  if (!Array.isArray(nodes) || depth > DEPTH_MAX) return null;
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
