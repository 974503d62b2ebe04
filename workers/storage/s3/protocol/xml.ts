/** Writes XML from a small tree of elements. `xml-parser.ts` reads XML. */

export const S3_NAMESPACE = 'http://s3.amazonaws.com/doc/2006-03-01/';

/** Content of an element. Null and undefined omit the element. */
export type XmlContent = string | number | boolean | null | undefined | XmlNode | readonly XmlNode[];

export interface XmlNode {
  readonly xml: string;
}

/** Makes an element, as in `element('Key', key)`. Null content omits the element, `''` makes it empty. */
export function element(name: string, content: XmlContent, attributes = ''): XmlNode {
  if (content === null || content === undefined) return { xml: '' };
  const inner =
    typeof content === 'object'
      ? 'xml' in content
        ? content.xml
        : content.map((node) => node.xml).join('')
      : escapeXml(String(content));
  return { xml: inner === '' ? `<${name}${attributes}/>` : `<${name}${attributes}>${inner}</${name}>` };
}

/** Writes a document in S3's XML namespace. */
export function xmlDocument(name: string, content: XmlContent): string {
  return `<?xml version="1.0" encoding="UTF-8"?>\n${element(name, content ?? '', ` xmlns="${S3_NAMESPACE}"`).xml}`;
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: these are the characters to be escaped
const ESCAPED = /[&<>"\u0000-\u0008\u000b-\u001f\u007f-\u009f\ufffe\uffff]/g;
const ESCAPES: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' };

/**
 * Escapes text for XML. Control characters, and the two code points that XML 1.0 cannot contain, become numeric references, as in
 * S3. Clients that list keys with such characters set `encoding-type=url`.
 */
export function escapeXml(text: string): string {
  // Most texts have nothing to escape, and a replacement that finds nothing takes several times as long as a search.
  if (text.search(ESCAPED) === -1) return text;
  return text.replace(ESCAPED, (character) => {
    return ESCAPES[character] ?? `&#x${(character.codePointAt(0) ?? 0).toString(16)};`;
  });
}
