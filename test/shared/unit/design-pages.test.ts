/** Checks that the documents name paths, tests and sections of this repository, and the form of the design papers. */
import { existsSync, globSync, readFileSync } from 'node:fs';
import { dirname, join, matchesGlob, normalize } from 'node:path';
import { describe, expect, it } from 'vitest';
import { DOCUMENTS, listTitles, ROOT, readDocument } from '../../support/markdown.ts';

const FOLDERS = ['workers', 'durable-objects', 'web', 'test', 'dev', 'bench', 'migrations', 'docs', 'clients'];
const FILES = globSync(`{${FOLDERS.join(',')}}/**`, { cwd: ROOT });
const TESTS = FILES.filter((file) => file.endsWith('.test.ts'));
/** Pages that name paths of earlier versions. `moved-files.md` is read by a test of its own. */
const HISTORY = ['CHANGELOG.md', 'docs/moved-files.md'];

const isBelowTop = (word: string): boolean => FOLDERS.some((folder) => word.startsWith(`${folder}/`));
const isPath = (word: string): boolean => /^[\w.*-]+(?:\/[\w.*-]+)*\/?$/.test(word);
/** Whether a word is the path of a file or folder: below a top folder, or with an end that only files of this repository have. */
const isNamed = (word: string): boolean =>
  isPath(word) && (isBelowTop(word) || /\w\.(?:tsx?|sql)$|^(?:.*\/)?[A-Z]+\.md$/.test(word));
/** Whether a word is a folder without its top folder, such as `domain/`. Guides of S3 name keys in this form. */
const isShortFolder = (word: string): boolean => /^[\w.-]+(?:\/[\w.-]+)*\/$/.test(word);

/** Lists the words of the code spans and code blocks of a page. Spans may contain commands. */
function listWords(page: string): string[] {
  const blocks = [...page.matchAll(/^ *```(?!mermaid)[^\n]*\n([\s\S]*?)^ *```$/gm)].map(([, code = '']) => code);
  const prose = page.replace(/^ *```[\s\S]*?^ *```$/gm, '');
  const spans = [...prose.matchAll(/`([^`]+)`/g)].map(([, span = '']) => span);
  return [...blocks, ...spans]
    .flatMap((text) => text.split(/[\s'"=,;()]+/))
    .map((word) => word.replace(/[.:]$/, ''))
    .filter((word) => word !== '');
}

/** Lists the paths of a page. `folders`: also folders without their top folder. */
const listPaths = (page: string, { folders = false } = {}): string[] =>
  listWords(page).filter((word) => isNamed(word) || (folders && isShortFolder(word)));

/**
 * Whether a path leads to a file or folder. A path below a top folder must be whole. Others may be relative to their page, or the
 * end of a path, because pages shorten paths inside a section.
 */
function isThere(path: string, document: string): boolean {
  const below = [dirname(document), BASES[document] ?? ''].map((folder) => normalize(join(folder, path)));
  if ([path, ...below].some(isPresent)) return true;
  return !isBelowTop(path) && FILES.some((file) => `/${file}${path.endsWith('/') ? '/' : ''}`.endsWith(`/${path}`));
}

/** Folders in which pages look for their paths. */
const BASES: Readonly<Record<string, string>> = { 'SECURITY.md': 'test', 'docs/web-app-tests.md': 'test' };

/** The start of a path, such as `test/shared/system/memory`, is how Vitest selects test files. */
const isPresent = (path: string): boolean =>
  existsSync(join(ROOT, path)) ||
  TESTS.some((file) => file.startsWith(path) && path.startsWith('test/') && !path.endsWith('/')) ||
  (path.includes('*') && FILES.some((file) => matchesGlob(file, path) || matchesGlob(file, `**/${path}`)));

/** Lists the filters of Vitest in the commands of a page: words that select test files by a part of their path. */
function listFilters(page: string): string[] {
  const commands = page.matchAll(/(?:npm test --|npm run test:long --|vitest run)((?: +[\w./:<>=*'-]+)+)/g);
  return [...commands].flatMap(([, text = '']) => {
    const words = text.trim().split(/ +/);
    return words.filter((word, at) => /^[a-z][\w./-]*$/.test(word) && words[at - 1] !== '--project');
  });
}

const read = (path: string): string => readFileSync(join(ROOT, path), 'utf8');
/** Pages about the code. They name folders without their top folder. */
const isAboutCode = (page: string): boolean =>
  /^docs\/(?:architecture|glossary|decisions|design\/.*)\.md$/.test(page) ||
  /^(?:workers|durable-objects|web|test|dev)\/.*README\.md$/.test(page);
const PRESENT = DOCUMENTS.filter((page) => !HISTORY.includes(page));

describe.each(PRESENT)('%s', (document) => {
  it('names files and folders that exist', () => {
    const paths = listPaths(read(document), { folders: isAboutCode(document) });
    expect(paths.filter((path) => !isThere(path, document))).toEqual([]);
  });

  it('selects tests that exist', () => {
    const filters = listFilters(read(document));
    expect(filters.filter((filter) => !TESTS.some((file) => file.includes(filter)))).toEqual([]);
  });
});

/** Earlier words, and the ones that the glossary has for them. */
const EARLIER_WORDS: Readonly<Record<string, RegExp>> = {
  storage: /\bobject-storage\b/,
  mail: /\b(?:mailbox product|mail transport)\b/i,
  'user database': /\b(?:home databases?|databases? for people|groups? of (?:user )?databases)\b/i,
};
/** The glossary names earlier words. The page of settings is generated from their descriptions in the code. */
const WITHOUT_RULE = ['docs/glossary.md', 'docs/configuration.md'];

it.each(PRESENT.filter((page) => !WITHOUT_RULE.includes(page)))('%s uses the words of the glossary', (page) => {
  const used = Object.entries(EARLIER_WORDS).filter(([, earlier]) => earlier.test(read(page)));
  expect(used.map(([word]) => word)).toEqual([]);
});

it('each word of the glossary is listed once per section', () => {
  for (const section of read('docs/glossary.md').split(/^#+ /m)) {
    const words = [...section.matchAll(/^\| ([^|]+) \|/gm)].flatMap(([, cell = '']) => cell.split(', '));
    expect(words).toEqual([...new Set(words)]);
  }
});

it('finds many paths and filters, so the checks above can fail', () => {
  const pages = PRESENT.map(read);
  expect(pages.flatMap((page) => listPaths(page)).length).toBeGreaterThan(500);
  expect(pages.flatMap(listFilters).length).toBeGreaterThan(40);
});

it('notices a file, a folder and a selected test that do not exist', () => {
  const page = [
    '`workers/index.ts` `workers/no-such.ts` `domain/` `no-such-room/` `web/index.ts` `log.ts`, `npm test -- storage-wire`',
    '```sh',
    'npx vitest run --project unit test/storage/unit/no-such.test.ts',
    'npm run test:long -- test/shared/system/memory',
    '```',
  ].join('\n');
  const paths = listPaths(page, { folders: true });
  expect(paths.filter((path) => !isThere(path, 'docs/page.md'))).toEqual([
    'test/storage/unit/no-such.test.ts',
    'workers/no-such.ts',
    'no-such-room/',
    'web/index.ts',
  ]);
  expect(listFilters(page)).toEqual(['storage-wire', 'test/storage/unit/no-such.test.ts', 'test/shared/system/memory']);
});

it('docs/moved-files.md maps to files and folders that exist', () => {
  const present = read('docs/moved-files.md')
    .split('\n')
    .flatMap((line) => listPaths(line.split('|')[2] ?? ''));
  expect(present.length).toBeGreaterThan(100);
  expect(present.filter((path) => !isThere(path, 'docs/moved-files.md'))).toEqual([]);
});

/** Lists the documents and sections that a source file names, such as `docs/design/replicas.md, "Names"`. */
const listMentions = (text: string): { page: string; section: string | undefined }[] =>
  [...text.matchAll(/(?<![\w/.-])(docs\/[\w/-]+\.md|[A-Z]+\.md)(?:, "([^"\n]+)")?/g)].map(([, page = '', section]) => ({
    page,
    section,
  }));

const isMentionRight = ({ page, section }: { page: string; section: string | undefined }): boolean =>
  existsSync(join(ROOT, page)) && (section === undefined || listTitles(readDocument(page)).includes(section));

it('comments name documents and sections that exist', () => {
  const sources = FILES.filter((file) => /\.tsx?$/.test(file) && !file.startsWith('test/')).concat('wrangler.toml');
  const wrong = sources.flatMap((file) =>
    listMentions(read(file)).flatMap((mention) => (isMentionRight(mention) ? [] : [{ file, ...mention }])),
  );
  expect(wrong).toEqual([]);
  const mentions = listMentions('docs/design/replicas.md, "Names". docs/mail.md, "No such". docs/no-such.md');
  expect(mentions.map(isMentionRight)).toEqual([true, false, false]);
});

/** Lists the whole paths of files that a source file names, outside of its imports. */
const listFilesNamed = (text: string): string[] =>
  [...text.matchAll(/(?<![\w/.@-])[a-z-]+\/[\w./-]+\.(?:tsx?|sql)\b/g)].map(([path]) => path).filter(isBelowTop);

it('comments and settings name files that exist', () => {
  const sources = FILES.filter((file) => /\.tsx?$/.test(file) && !file.startsWith('test/')).concat('wrangler.toml');
  const named = sources.flatMap((file) => listFilesNamed(read(file)).map((path) => ({ file, path })));
  expect(named.length).toBeGreaterThan(20);
  expect(named.filter(({ path }) => !existsSync(join(ROOT, path)))).toEqual([]);
  expect(listFilesNamed('// See workers/no-such.ts and `log.ts`.')).toEqual(['workers/no-such.ts']);
});

it('docs/architecture.md has at most 150 lines', () => {
  expect(read('docs/architecture.md').trimEnd().split('\n').length).toBeLessThanOrEqual(150);
});

const PAPERS = DOCUMENTS.filter((page) => page.startsWith('docs/design/') && page !== 'docs/design/recipes.md');

it.each(PAPERS)('%s begins with an argument of five sentences, and has one figure', (page) => {
  const text = read(page);
  const [, argument = ''] = text.split('\n\n');
  expect(argument.split('\n').filter((line) => /^- .*\.$/.test(line))).toHaveLength(5);
  expect(readDocument(page).blocks.filter(({ info }) => info === 'mermaid')).toHaveLength(1);
  expect(read('docs/architecture.md')).toContain(`](${page.replace('docs/', '')})`);
});
