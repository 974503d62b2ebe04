import { existsSync, globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';

const ROOT = join(import.meta.dirname, '../../..');
const FILES = globSync('{workers,durable-objects,web,test,dev,bench,migrations,docs}/**', { cwd: ROOT });

/** Lists the names of files and folders in code spans of a page: `a/b.ts`, `b.ts`, `a/b/`. */
function listPaths(page: string): string[] {
  const prose = page.replace(/^```[\s\S]*?^```$/gm, '');
  const spans = [...prose.matchAll(/`([^`\s]+)`/g)].map(([, span = '']) => span);
  return spans.filter((span) => /^[\w./-]+(?:\.(?:ts|tsx|md|sql)|[a-z]\/)$/.test(span));
}

/** Whether a file has this full path, or this end of a path: the pages shorten paths inside a section. */
const isThere = (path: string): boolean =>
  existsSync(join(ROOT, path)) || FILES.some((file) => `/${file}${path.endsWith('/') ? '/' : ''}`.endsWith(`/${path}`));

it.each(['architecture', 'glossary', 'decisions'])('docs/%s.md names files and folders that exist', (name) => {
  const paths = listPaths(readFileSync(join(ROOT, `docs/${name}.md`), 'utf8'));
  expect(paths.length).toBeGreaterThan(20);
  expect(paths.filter((path) => !isThere(path))).toEqual([]);
});

it('notices a file and a folder that do not exist', () => {
  const page = '`workers/index.ts` `workers/no-such.ts` `domain/` `no-such-room/`';
  expect(listPaths(page).filter((path) => !isThere(path))).toEqual(['workers/no-such.ts', 'no-such-room/']);
});
