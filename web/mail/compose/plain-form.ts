/** Formatted text as plain text: lists keep their marks, quotations their `>`, links their addresses. */

const BLOCKS =
  /^(?:address|article|aside|blockquote|caption|center|dd|div|dl|dt|figcaption|figure|footer|h[1-6]|header|li|main|nav|ol|p|pre|section|table|tbody|td|tfoot|th|thead|tr|ul)$/;

const isElement = (node: Node): node is HTMLElement => node.nodeType === Node.ELEMENT_NODE;
const isBlock = (node: Node): boolean => isElement(node) && BLOCKS.test(node.localName);

/** Reads text as it is shown: editors write a space as a no-break space, and mark places with characters without a width. */
const readText = (node: Node): string => (node.nodeValue ?? '').replaceAll('\u00a0', ' ').replaceAll('\u200b', '');

function readInline(node: Node): string {
  if (node.nodeType === Node.TEXT_NODE) return readText(node);
  if (!isElement(node)) return '';
  if (node.localName === 'br') return '\n';
  if (node.localName === 'hr') return '\n---\n';
  if (node.localName === 'img') return `[${node.getAttribute('alt') ?? ''}]`;
  const text = [...node.childNodes].map(readInline).join('');
  const address = node.localName === 'a' ? (node.getAttribute('href') ?? '') : '';
  const isNamed = address === '' || text.trim() === '' || address.replace(/^mailto:/, '') === text.trim();
  return isNamed || address === `${text.trim()}/` ? text : `${text} <${address}>`;
}

const indent = (lines: readonly string[], first: string, next: string): string[] =>
  lines.map((line, at) => (at === 0 ? first : next) + line);

function readBlock(block: HTMLElement): string[] {
  const lines = () => readLines(block.childNodes);
  if (block.localName === 'blockquote') return lines().map((line) => (line.startsWith('>') ? `>${line}` : `> ${line}`));
  if (block.localName === 'ul' || block.localName === 'ol') {
    let number = Number(block.getAttribute('start') ?? 1);
    return [...block.children].flatMap((item) => {
      if (item.localName !== 'li') return indent(readBlock(item as HTMLElement), '  ', '  ');
      const mark = block.localName === 'ul' ? '- ' : `${number++}. `;
      return indent(readLines(item.childNodes), mark, ' '.repeat(mark.length));
    });
  }
  if (block.localName === 'tr') {
    const cells = [...block.children].map((cell) => readLines(cell.childNodes).join(' '));
    return [cells.every((cell) => cell.trim() === '') ? '' : cells.join(' | ')];
  }
  return lines();
}

/** Reads the lines of nodes. A block is one line or more; so is what is between blocks. */
function readLines(nodes: Iterable<Node>): string[] {
  const lines: string[] = [];
  let open: string | null = null;
  const close = () => {
    // The line end at the end of a block only gives it a height.
    if (open !== null) lines.push(...open.replace(/\n$/, '').split('\n'));
    open = null;
  };
  for (const node of nodes) {
    if (isBlock(node)) {
      close();
      lines.push(...readBlock(node as HTMLElement));
    } else if (isElement(node) && [...node.children].some(isBlock)) {
      close();
      lines.push(...readLines(node.childNodes));
    } else if (isElement(node) || node.nodeType === Node.TEXT_NODE) open = (open ?? '') + readInline(node);
  }
  close();
  return lines.length === 0 ? [''] : lines;
}

export const toPlainText = (nodes: Iterable<Node>): string => readLines(nodes).join('\n');
