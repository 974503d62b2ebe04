import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { expect, test } from 'vitest';
import { PROBLEM_CODES_BY_PART } from '../../../workers/shared/json/problem-codes/index.ts';
import { DOCUMENTS, listAnchors, listLinks, parseDocument, ROOT, readDocument } from '../../support/markdown.ts';

/** Checks a relative link. @returns its error, or null. */
function explainLink(document: string, target: string): string | null {
  const [path = '', anchor] = target.split('#');
  const file = path === '' ? document : normalize(join(dirname(document), path));
  if (file.startsWith('..')) return 'leaves the repository';
  if (!existsSync(join(ROOT, file))) return 'does not exist';
  if (anchor === undefined) return null;
  return file.endsWith('.md') && listAnchors(readDocument(file)).has(anchor) ? null : 'has no such heading';
}

test.each(DOCUMENTS)('the links of %s lead to files and headings of the repository', (document) => {
  const faults = listLinks(readDocument(document)).flatMap(({ target, line }) => {
    const fault = explainLink(document, target);
    return fault === null ? [] : [`${document}:${line}: ${target} ${fault}`];
  });
  expect(faults).toEqual([]);
});

test('a link to a missing file, a missing heading or another repository is a fault', () => {
  expect(explainLink('docs/mail.md', 'no-such-page.md')).toBe('does not exist');
  expect(explainLink('docs/mail.md', '../README.md#no-such-heading')).toBe('has no such heading');
  expect(explainLink('docs/mail.md', '../../elsewhere/README.md')).toBe('leaves the repository');
  expect(explainLink('docs/mail.md', '#guarantees')).toBeNull();
});

test('links and headings inside code do not count', () => {
  const document = parseDocument('# One `two`\n\n[a](b.md) `[c](d.md)`\n\n```md\n[e](f.md)\n# Three\n```\n', 'test');
  expect(listLinks(document)).toEqual([{ target: 'b.md', line: 3 }]);
  expect([...listAnchors(document)]).toEqual(['one-two']);
});

test('README has at most 150 lines and 10 KB, and each picture at most 160 KB', () => {
  const { prose, blocks } = readDocument('README.md');
  const codeLines = blocks.reduce((sum, { code }) => sum + code.split('\n').length + 2, 0);
  expect(prose.length - 1 + codeLines).toBeLessThanOrEqual(150);
  expect(statSync(join(ROOT, 'README.md')).size).toBeLessThanOrEqual(10_000);
  const pictures = listLinks({ prose, blocks }).filter(({ target }) => target.endsWith('.png'));
  expect(pictures.length).toBeGreaterThan(0);
  for (const { target } of pictures) expect(statSync(join(ROOT, target)).size).toBeLessThanOrEqual(160_000);
});

const readAll = (folder: string, ending: string): string =>
  readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith(ending) && !name.includes('problem-codes/'))
    .map((name) => readFileSync(join(ROOT, folder, name), 'utf8'))
    .join('\n');

test('migrations/README.md names every table', () => {
  const page = readFileSync(join(ROOT, 'migrations/README.md'), 'utf8');
  const tables = [...readAll('migrations', '.sql').matchAll(/CREATE (?:VIRTUAL )?TABLE `?(\w+)/g)].map(
    ([, name]) => name,
  );
  expect(tables.length).toBeGreaterThan(40);
  expect(tables.filter((name) => !page.includes(`\`${name}\``))).toEqual([]);
});

test('every problem code is used', () => {
  const sources = readAll('workers', '.ts') + readAll('durable-objects', '.ts');
  const codes = Object.values(PROBLEM_CODES_BY_PART).flatMap((codes) => Object.keys(codes));
  expect(codes.length).toBeGreaterThan(90);
  expect(codes.filter((code) => !sources.includes(`'${code}'`))).toEqual([]);
});
