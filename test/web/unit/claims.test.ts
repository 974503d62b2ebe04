/** Tests that docs/web-app-tests.md names an existing browser test for each claim about the web app. */
import { existsSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';

const root = new URL('../../../', import.meta.url);
const page = readFileSync(new URL('docs/web-app-tests.md', root), 'utf8');
const rows = page
  .split('\n')
  .filter((line) => line.startsWith('| ') && !line.startsWith('| claim |'))
  .map((line) => {
    const [, claim = '', test = ''] = line.split(' | ').length === 2 ? (/^\| (.+) \| (.+) \|$/.exec(line) ?? []) : [];
    const [, file = '', name = ''] = /^`([\w/-]+(?:\.long)?\.test\.ts)`: (.+)$/.exec(test) ?? [];
    return { line, claim, file, name };
  });

/** Finds names of `it` and `it.each`, in single or double quotes, also on a line of their own. */
function listTests(file: string): string[] {
  const path = new URL(`test/${file}`, root);
  if (!existsSync(path)) return [];
  const source = readFileSync(path, 'utf8');
  return [...source.matchAll(/\bit(?:\.each\([^)]*\))?\(\s*(['"])(.+?)\1,/g)].map((match) => match[2] ?? '');
}

describe('the claims about the web app', () => {
  it('are a table with one test in each row', () => {
    expect(rows.length).toBeGreaterThan(80);
    expect(rows.filter(({ claim, file, name }) => !claim || !file || !name).map(({ line }) => line)).toEqual([]);
  });

  it.each([...new Set(rows.map(({ file }) => file))])('name tests that exist in %s', (file) => {
    const names = rows.filter((row) => row.file === file).map(({ name }) => name);
    expect(listTests(file)).toEqual(expect.arrayContaining(names));
  });
});
