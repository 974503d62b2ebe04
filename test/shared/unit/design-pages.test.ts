import { existsSync, globSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, it } from 'vitest';
import { DOCUMENTS, ROOT } from '../../support/markdown.ts';

const FILES = globSync('{workers,durable-objects,web,test,dev,bench,migrations,docs,clients,.ci,.github}/**', {
  cwd: ROOT,
});

/** Lists the names of files and folders in code spans of a page: `a/b.ts`, `b.ts`, `a/b/`. */
function listPaths(page: string): string[] {
  const prose = page.replace(/^```[\s\S]*?^```$/gm, '');
  const spans = [...prose.matchAll(/`([^`\s]+)`/g)].map(([, span = '']) => span);
  return spans.filter((span) => /^[\w.][\w./-]*(?:\.(?:ts|tsx|md|sql)|[a-z]\/)$/.test(span));
}

/** Whether a file has this full path, or this end of a path: the pages shorten paths inside a section. */
const isThere = (path: string): boolean =>
  existsSync(join(ROOT, path)) || FILES.some((file) => `/${file}${path.endsWith('/') ? '/' : ''}`.endsWith(`/${path}`));

it.each(['architecture', 'glossary', 'decisions'])('docs/%s.md names files and folders that exist', (name) => {
  const paths = listPaths(readFileSync(join(ROOT, `docs/${name}.md`), 'utf8'));
  expect(paths.length).toBeGreaterThan(20);
  expect(paths.filter((path) => !isThere(path))).toEqual([]);
});

/** Pages that name files of earlier versions on purpose. */
const HISTORY = ['CHANGELOG.md', 'docs/moved-files.md'];

it.each(DOCUMENTS.filter((page) => !HISTORY.includes(page)))('%s names files and folders that exist', (page) => {
  const paths = listPaths(readFileSync(join(ROOT, page), 'utf8'));
  // A README of a folder names files from there or from the root, so that a reader finds each at once. The guides shorten paths.
  const isNamed = (path: string) =>
    /^(?:workers|durable-objects|web|test|dev)\/.*README\.md$/.test(page)
      ? existsSync(join(ROOT, dirname(page), path)) || existsSync(join(ROOT, path))
      : isThere(path);
  expect(paths.filter((path) => !isNamed(path))).toEqual([]);
});

it('notices a file and a folder that do not exist', () => {
  const page = '`workers/index.ts` `workers/no-such.ts` `domain/` `no-such-room/`';
  expect(listPaths(page).filter((path) => !isThere(path))).toEqual(['workers/no-such.ts', 'no-such-room/']);
});
