/**
 * Parses S3's XML answers without the browser's parser: the page's policy (Trusted Types) allows no text to become
 * markup. Reads elements and text only, because S3 sends nothing else. Pure.
 */
export interface Element {
  name: string;
  text: string;
  children: Element[];
}

const ENTITIES: Record<string, string> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'" };

const decode = (text: string): string =>
  text.replaceAll(/&(#x[0-9a-f]+|#\d+|[a-z]+);/gi, (whole, name: string) => {
    if (name.startsWith('#x') || name.startsWith('#X')) return String.fromCodePoint(Number.parseInt(name.slice(2), 16));
    if (name.startsWith('#')) return String.fromCodePoint(Number(name.slice(1)));
    return ENTITIES[name] ?? whole;
  });

export function parseXml(xml: string): Element {
  const root: Element = { name: '', text: '', children: [] };
  const open = [root];
  for (const match of xml.matchAll(/<(\/?)([\w:.-]+)[^>]*?(\/?)>|<[?!][^>]*>|([^<]+)/g)) {
    const [, isClosing, name, isEmpty, text] = match;
    const parent = open.at(-1);
    if (!parent) break;
    if (text !== undefined) parent.text += decode(text);
    else if (name === undefined) continue;
    else if (isClosing) open.pop();
    else {
      const element: Element = { name: name.replace(/^.*:/, ''), text: '', children: [] };
      parent.children.push(element);
      if (!isEmpty) open.push(element);
    }
  }
  return root.children[0] ?? root;
}

export const textOf = (element: Element, name: string): string =>
  element.children.find((child) => child.name === name)?.text ?? '';

export const childrenOf = (element: Element, name: string): Element[] =>
  element.children.filter((child) => child.name === name);

export const escapeXml = (text: string): string =>
  text.replaceAll(/[<>&"]/g, (char) => ({ '<': '&lt;', '>': '&gt;', '&': '&amp;', '"': '&quot;' })[char] ?? char);
