/** Parses the Markdown of `docs/`: headings, paragraphs, lists, tables, code. Returns blocks, no HTML. Pure. */

export type Inline =
  | { kind: 'text' | 'code' | 'strong' | 'em'; text: string }
  | { kind: 'link'; text: string; target: string };

export type Block =
  | { kind: 'heading'; level: number; anchor: string; text: Inline[] }
  | { kind: 'paragraph'; text: Inline[] }
  | { kind: 'list'; isOrdered: boolean; items: Inline[][] }
  | { kind: 'table'; head: Inline[][]; rows: Inline[][][] }
  | { kind: 'code'; language: string; text: string };

const INLINE = /(`+)(.+?)\1|\*\*(.+?)\*\*|(?<![\w*])\*([^*\s][^*]*)\*|!?\[([^\]]*)\]\(([^)\s]+)\)|<(https?:[^>]+)>/g;

export function parseInline(text: string): Inline[] {
  const parts: Inline[] = [];
  let end = 0;
  for (const match of text.matchAll(INLINE)) {
    if (match.index > end) parts.push({ kind: 'text', text: text.slice(end, match.index) });
    end = match.index + match[0].length;
    const [whole, , code, strong, em, label, target, url] = match;
    if (code !== undefined) parts.push({ kind: 'code', text: code.trim() });
    else if (strong !== undefined) parts.push({ kind: 'strong', text: strong.replaceAll('`', '') });
    else if (em !== undefined) parts.push({ kind: 'em', text: em });
    else if (url !== undefined) parts.push({ kind: 'link', text: url, target: url });
    // Pictures of the repository are left out, because the Worker does not serve them.
    else if (!whole.startsWith('!'))
      parts.push({ kind: 'link', text: (label ?? '').replaceAll('`', ''), target: target ?? '' });
  }
  if (end < text.length) parts.push({ kind: 'text', text: text.slice(end) });
  return parts;
}

/** Makes the anchor of a heading, as GitHub does. */
export const toAnchor = (title: string): string =>
  title
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N} _-]/gu, '')
    .replaceAll(' ', '-');

/** Splits a table line into cells. `\|` is a literal bar, also in code. */
const toCells = (line: string): Inline[][] =>
  line
    .trim()
    .replaceAll(/^\||\|$/g, '')
    .split(/(?<!\\)\|/)
    .map((cell) => parseInline(cell.trim().replaceAll('\\|', '|')));

const FENCE = /^( *)```(\w*)/;
const ITEM = /^(?:-|\d+\.) +/;
const isStart = (line: string): boolean => /^(?:#{1,6} |\|)/.test(line) || FENCE.test(line) || ITEM.test(line);

export function parseMarkdown(source: string): Block[] {
  const lines = source.split('\n');
  const blocks: Block[] = [];
  let at = 0;
  /** Takes lines from the current position while `fits` returns true. */
  const take = (fits: (line: string) => boolean): string[] => {
    const first = at;
    while (at < lines.length && fits(lines[at] ?? '')) at++;
    return lines.slice(first, at);
  };
  while (at < lines.length) {
    const line = lines[at] ?? '';
    const heading = /^(#{1,6}) (.*)$/.exec(line);
    if (line.trim() === '') at++;
    else if (heading) {
      const [, marks = '', text = ''] = heading;
      at++;
      blocks.push({ kind: 'heading', level: marks.length, anchor: toAnchor(text), text: parseInline(text) });
    } else if (FENCE.test(line)) {
      // Inside a list item, the fence and the code are indented.
      const [, indent = '', language = ''] = FENCE.exec(line) ?? [];
      at++;
      const text = take((one) => !FENCE.test(one)).map((one) =>
        one.startsWith(indent) ? one.slice(indent.length) : one,
      );
      at++;
      blocks.push({ kind: 'code', language, text: text.join('\n') });
    } else if (line.startsWith('|')) {
      const [head = '', , ...rows] = take((one) => one.startsWith('|'));
      blocks.push({ kind: 'table', head: toCells(head), rows: rows.map(toCells) });
    } else if (ITEM.test(line)) {
      const items: string[] = [];
      for (const one of take((next) => ITEM.test(next) || (/^ +\S/.test(next) && !FENCE.test(next)))) {
        if (ITEM.test(one)) items.push(one.replace(ITEM, ''));
        else items.push(`${items.pop() ?? ''} ${one.trim()}`);
      }
      blocks.push({ kind: 'list', isOrdered: /^\d/.test(line), items: items.map(parseInline) });
    } else {
      at++;
      const rest = take((one) => one.trim() !== '' && !isStart(one));
      blocks.push({ kind: 'paragraph', text: parseInline([line, ...rest].join(' ')) });
    }
  }
  return blocks;
}
