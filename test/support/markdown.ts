/** Reads the Markdown documents of the repository: links, headings and commands. */
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

export const ROOT = join(import.meta.dirname, '../..');

/** Paths of the Markdown documents from the root of the repository. */
export const DOCUMENTS: readonly string[] = [
  'README.md',
  'CHANGELOG.md',
  'CONTRIBUTING.md',
  'SECURITY.md',
  'test/storage/s3-suite/COVERAGE.md',
  ...globSync(['docs/**/*.md', '{workers,durable-objects,web,test,dev,bench,migrations,clients}/**/README.md'], {
    cwd: ROOT,
    exclude: ['**/node_modules/**'],
  }).sort(),
];

export interface CodeBlock {
  /** Text after the opening fence of a code block, such as `sh no-test`. */
  readonly info: string;
  readonly code: string;
  /** Line number of the code block's opening fence, from 1. */
  readonly line: number;
}

interface Document {
  readonly blocks: readonly CodeBlock[];
  /** Lines of a document outside of code blocks. */
  readonly prose: readonly { readonly text: string; readonly line: number }[];
}

/** Reads a Markdown document. @throws when a code block has no end. */
export function readDocument(path: string): Document {
  return parseDocument(readFileSync(join(ROOT, path), 'utf8'), path);
}

export function parseDocument(text: string, name: string): Document {
  const blocks: CodeBlock[] = [];
  const prose: { text: string; line: number }[] = [];
  let open: { info: string; lines: string[]; line: number } | null = null;
  for (const [at, line] of text.split('\n').entries()) {
    const fence = /^```(.*)$/.exec(line);
    if (open === null && fence !== null) open = { info: fence[1]?.trim() ?? '', lines: [], line: at + 1 };
    else if (open === null) prose.push({ text: line, line: at + 1 });
    else if (fence === null) open.lines.push(line);
    else {
      blocks.push({ info: open.info, code: open.lines.join('\n'), line: open.line });
      open = null;
    }
  }
  if (open !== null) throw new Error(`${name}:${open.line}: the code block has no end`);
  return { blocks, prose };
}

/** Lists the targets of the links and pictures of a document, without those to other sites. */
export function listLinks({ prose }: Document): { target: string; line: number }[] {
  return prose.flatMap(({ text, line }) =>
    [...text.replace(/`[^`]*`/g, '').matchAll(/\]\(([^)\s]+)\)/g)]
      .map((match) => ({ target: match[1] ?? '', line }))
      .filter(({ target }) => !/^(https?|mailto):/.test(target)),
  );
}

/** Lists the headings of a document. */
export const listTitles = ({ prose }: Document): string[] =>
  prose.flatMap(({ text }) => /^#{1,6} (.*)$/.exec(text)?.[1] ?? []);

/** Lists the anchors that GitHub gives the headings of a document. */
export function listAnchors(document: Document): Set<string> {
  const anchors = new Set<string>();
  for (const title of listTitles(document)) {
    const slug = title
      .toLowerCase()
      .replace(/[^\p{L}\p{N} _-]/gu, '')
      .replaceAll(' ', '-');
    let anchor = slug;
    for (let count = 1; anchors.has(anchor); count++) anchor = `${slug}-${count}`;
    anchors.add(anchor);
  }
  return anchors;
}
