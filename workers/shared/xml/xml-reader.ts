/** Reads XML: well-formed, small, and without document types, so that no entity can be defined or expanded. Pure. */
import { XMLParser, XMLValidator } from 'fast-xml-parser';
import { type DocumentBounds, findExceededXmlBound } from '../pure/request-budget.ts';

export interface XmlElement {
  /** Name of the element without the namespace prefix. */
  readonly name: string;
  /** Namespace of the element; empty if it has none, or a prefix that no element declares. */
  readonly namespace: string;
  /** Attributes by their names without a prefix, without the declarations of namespaces. */
  readonly attributes: Readonly<Record<string, string>>;
  /** Text directly in the element, not trimmed. */
  readonly text: string;
  readonly children: readonly XmlElement[];
}

/** Character references take time each. As many as a slice of a list can have. */
const REFERENCES_MAX = 20_000;

const parser = new XMLParser({
  preserveOrder: true,
  ignoreAttributes: false,
  attributeNamePrefix: '',
  parseTagValue: false,
  parseAttributeValue: false,
  trimValues: false,
  removeNSPrefix: false,
  htmlEntities: false,
  processEntities: false,
  cdataPropName: '#cdata',
});

/** Namespaces by prefix; the default namespace has the prefix ''. */
type Scope = Readonly<Record<string, string>>;

/**
 * Reads a document.
 * @param hasNamespaces false leaves every namespace empty, for documents that are read in slices without their root.
 * @returns the root element; null if the text is not well-formed, has a document type, or exceeds a bound.
 */
export function readXml(text: string, bounds: DocumentBounds, hasNamespaces = true): XmlElement | null {
  if (findExceededXmlBound(text, bounds) !== null || hasTooManyReferences(text)) return null;
  if (/<!(DOCTYPE|ENTITY)/i.test(text) || XMLValidator.validate(text) !== true) return null;
  let nodes: unknown;
  try {
    nodes = parser.parse(text.replace(/^\ufeff/, ''));
  } catch {
    return null;
  }
  const roots = toElements(nodes, hasNamespaces ? {} : null, bounds.depthMax);
  return roots?.children.find(({ name }) => name !== '?xml') ?? null;
}

function hasTooManyReferences(text: string): boolean {
  let references = 0;
  for (let at = text.indexOf('&'); at >= 0 && references <= REFERENCES_MAX; at = text.indexOf('&', at + 1))
    references += 1;
  return references > REFERENCES_MAX;
}

/** Converts a node in the parser's ordered form: a list of `{name: [children], ':@': attributes}` and `{'#text': …}`. */
function toElements(
  nodes: unknown,
  scope: Scope | null,
  depth: number,
): { text: string; children: XmlElement[] } | null {
  if (!Array.isArray(nodes) || depth < 0) return null;
  let text = '';
  const children: XmlElement[] = [];
  for (const node of nodes as Record<string, unknown>[]) {
    for (const [fullName, value] of Object.entries(node)) {
      if (fullName === ':@') continue;
      if (fullName === '#text') text += unescapeXml(String(value));
      else if (fullName === '#cdata')
        text += (value as { '#text'?: unknown }[]).map((part) => String(part['#text'] ?? '')).join('');
      else {
        const { attributes, declared } = readAttributes(node[':@']);
        const inScope = scope === null || declared === null ? scope : { ...scope, ...declared };
        const inner = toElements(value, inScope, depth - 1);
        if (inner === null) return null;
        const [prefix, name] = splitName(fullName);
        children.push({
          name,
          namespace: inScope !== null && Object.hasOwn(inScope, prefix) ? (inScope[prefix] ?? '') : '',
          attributes,
          ...inner,
        });
      }
    }
  }
  return { text, children };
}

function splitName(fullName: string): readonly [prefix: string, name: string] {
  const colon = fullName.indexOf(':');
  return colon < 0 ? ['', fullName] : [fullName.slice(0, colon), fullName.slice(colon + 1)];
}

function readAttributes(value: unknown): { attributes: Record<string, string>; declared: Scope | null } {
  const attributes: Record<string, string> = {};
  let declared: Record<string, string> | null = null;
  if (typeof value !== 'object' || value === null) return { attributes, declared };
  for (const [fullName, text] of Object.entries(value)) {
    const [prefix, name] = splitName(fullName);
    const isDefault = fullName === 'xmlns';
    if (isDefault || prefix === 'xmlns') {
      declared ??= {};
      declared[isDefault ? '' : name] = unescapeXml(String(text));
    } else attributes[name] = unescapeXml(String(text));
  }
  return { attributes, declared };
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
