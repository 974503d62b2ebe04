/** A rule that names a path must apply to a file. After a file moves, the rule would otherwise apply to nothing, and no check would fail. */
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join, matchesGlob, normalize } from 'node:path';
import { describe, expect, it } from 'vitest';
import biome from '../../../biome.json' with { type: 'json' };
import { STATE_FACTORIES } from '../../../dev/rules/module-state.ts';
import { BUILDERS } from '../../../dev/rules/parameter-writes.ts';
import { EQUIVALENT_MUTANTS } from '../../mutants/equivalent-mutants.ts';
import { FRESH_FAULTS } from '../../mutants/fresh-faults.ts';
import { findPlace, readProduct } from '../../mutants/seeded.ts';
import { SEEDED_FAULTS } from '../../mutants/seeded-faults.ts';

const ROOT = join(import.meta.dirname, '../../..');
const read = (file: string): string => readFileSync(join(ROOT, file), 'utf8');
const FILES = execFileSync('git', ['ls-files', '--cached', '--others', '--exclude-standard'], { cwd: ROOT })
  .toString()
  .split('\n')
  .filter((file) => file !== '');
const FOLDERS = FILES.flatMap((file) => {
  const parts = file.split('/');
  return parts.slice(1).map((_, at) => parts.slice(0, at + 1).join('/'));
});
const PATHS = [...new Set([...FILES, ...FOLDERS])];

/** Expands `{a,b}`, because each alternative must match. */
function expand(pattern: string): string[] {
  const found = /^(.*?)\{([^{}]*)\}(.*)$/.exec(pattern);
  if (!found) return [pattern];
  const [, before = '', alternatives = '', after = ''] = found;
  return alternatives.split(',').flatMap((each) => expand(`${before}${each}${after}`));
}

function isUsed(pattern: string): boolean {
  const path = normalize(pattern).replace(/\/$/, '');
  return path === '.' || path === '**' || PATHS.some((each) => each === path || matchesGlob(each, path));
}
const unusedOf = (patterns: readonly string[]): string[] => patterns.flatMap(expand).filter((each) => !isUsed(each));

const TOP = '(?:workers|durable-objects|web|migrations|dev|test|bench|clients|docs|\\.ci|\\.github)';
const PATH = new RegExp(`(?<![\\w/{},-])(?:\\./)?${TOP}/[\\w@.*{},/-]+`, 'g');
/** Finds the paths that begin with a top folder of the repository. */
const pathsIn = (text: string): string[] => [...text.matchAll(PATH)].map(([path]) => path.replace(/[.,]$/, ''));

const FILES_WITH_PATHS = [
  '.ci/run',
  '.github/workflows/ci.yml',
  'dev/check.ts',
  'dev/rules/check-rules.ts',
  'drizzle.config.ts',
  'package.json',
  'test/mutants/run.ts',
  'test/mutants/vitest.config.ts',
  'vitest.config.ts',
  'web/page-sizes.ts',
  'wrangler.toml',
];
const RINGS = [...read('vitest.config.ts').matchAll(/\bfiles\(('[^)]*)\)/g)].flatMap(([, rings = '']) =>
  [...rings.matchAll(/'([^']+)'/g)].map(([, ring = '']) => ring),
);

interface TypeScriptConfig {
  readonly include: readonly string[];
  readonly exclude: readonly string[];
}

describe('a path that a rule names', () => {
  it('is that of a file', () => {
    for (const file of FILES_WITH_PATHS) {
      expect({ file, unused: unusedOf(pathsIn(read(file))) }).toEqual({ file, unused: [] });
    }
  });

  it('is that of a file in the settings of Biome', () => {
    const patterns = [...biome.files.includes, ...biome.overrides.flatMap(({ includes }) => includes)];
    expect(unusedOf(patterns.map((pattern) => pattern.replace(/^!/, '')))).toEqual([]);
  });

  it('is that of a file in the settings of TypeScript', () => {
    for (const folder of ['', 'web/']) {
      const { include, exclude }: TypeScriptConfig = JSON.parse(read(`${folder}tsconfig.json`));
      expect(unusedOf([...include, ...exclude].map((path) => `${folder}${path}`))).toEqual([]);
    }
  });

  it('is that of a file if .gitignore excepts it', () => {
    const excepted = read('.gitignore')
      .split('\n')
      .filter((line) => line.startsWith('!'));
    expect(excepted.length).toBeGreaterThan(0);
    expect(unusedOf(excepted.map((line) => line.slice(1)))).toEqual([]);
  });

  it('is that of a ring with tests, and every test is in a ring', () => {
    expect(RINGS).toContain('unit');
    expect(unusedOf(RINGS.map((ring) => `test/*/${ring}/**/*.test.ts`))).toEqual([]);
    const outside = FILES.filter((file) => file.endsWith('.test.ts')).filter(
      (file) => !RINGS.includes(file.split('/')[2] ?? ''),
    );
    expect(outside).toEqual([]);
  });

  it('and the line that it explains are in the source, for mutants that change nothing', () => {
    const oneLine = (text: string): string => text.replace(/\s+/g, ' ').trim();
    const stale = EQUIVALENT_MUTANTS.filter(({ file, line, from }) => {
      if (!FILES.includes(file)) return true;
      const text = oneLine(read(file));
      return !text.includes(oneLine(line)) || !text.includes(from);
    });
    expect(stale.map(({ file, line, from }) => `${file}: ${line}: ${from}`)).toEqual([]);
  });

  it('and the text that it replaces are in the source once, for seeded faults and their tests', () => {
    const product = readProduct(ROOT);
    const faults = [...SEEDED_FAULTS, ...FRESH_FAULTS];
    const stale = faults.filter((fault) => findPlace(product, fault) === null).map(({ id }) => id);
    expect(stale).toEqual([]);
    expect(faults.flatMap(({ tests }) => tests).filter((test) => !FILES.includes(test))).toEqual([]);
  });

  it('and each file that may write on arguments exists', () => {
    expect(BUILDERS.filter((file) => !FILES.includes(file))).toEqual([]);
  });

  it('and a name that the rule about state knows are in the source', () => {
    const sources = FILES.filter((file) => /^(?:workers|durable-objects)\/.*\.ts$/.test(file)).map(read);
    const absent = STATE_FACTORIES.filter(
      (name) => !sources.some((text) => new RegExp(`\\b(?:function|const) ${name}\\b`).test(text)),
    );
    expect(absent).toEqual([]);
  });

  it('is found in a text, and reported if it has no file', () => {
    const text = `include: ['workers/index.ts', './dev/check.ts', 'test/mutants/{run,gone}.ts', "test/*/nowhere/**"], dist/web/x`;
    expect(pathsIn(text)).toHaveLength(4);
    expect(unusedOf(pathsIn(text))).toEqual(['test/mutants/gone.ts', 'test/*/nowhere/**']);
  });
});
