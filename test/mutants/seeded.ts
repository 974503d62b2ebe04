/**
 * Makes the faults of a list (`seeded-faults.ts`, `fresh-faults.ts`) one at a time, in a copy of the tree, and runs the tests that must fail.
 *
 * A file that fails with a fault runs once without it: a kill counts only if it passes then. A fault whose text matches no place of the
 * product, or several, no longer applies and fails the run, so that the list is kept true. With `TESSERA_PREBUILT=1`, the copy begins
 * with the build of this tree.
 */
import { spawnSync } from 'node:child_process';
import { cpSync, existsSync, globSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { stripVTControlCharacters } from 'node:util';
import type { SeededFault } from './seeded-faults.ts';

const ROOT = join(import.meta.dirname, '../..');
const PRODUCT = '{workers,durable-objects,web}/**/*.{ts,tsx}';

type Outcome = 'killed' | 'SURVIVED' | 'NO TEST' | 'NO LONGER APPLIES' | 'FAILS WITHOUT THE FAULT';

/** Copies what git knows of the tree, with the changes that are not committed. */
function copyTree(): string {
  const copy = mkdtempSync(join(tmpdir(), 'tessera-seeded-'));
  const listed = spawnSync('git', ['ls-files', '--cached', '--others', '--exclude-standard', '-z'], {
    cwd: ROOT,
    encoding: 'utf8',
    maxBuffer: 64 * 1024 * 1024,
  });
  if (listed.status !== 0) throw new Error(`git ls-files failed: ${listed.stderr}`);
  for (const path of listed.stdout.split('\0')) {
    if (path !== '' && existsSync(join(ROOT, path))) cpSync(join(ROOT, path), join(copy, path));
  }
  if (process.env.TESSERA_PREBUILT === '1') cpSync(join(ROOT, 'dist'), join(copy, 'dist'), { recursive: true });
  symlinkSync(join(ROOT, 'node_modules'), join(copy, 'node_modules'));
  return copy;
}

/**
 * Runs a test file in the copy. Tests of pure code, and of code inside workerd, need no build.
 * @returns the first test that failed, or another sign of failure; null if the file passed.
 */
function findFailure(copy: string, test: string): string | null {
  const { CI: _, TESSERA_PREBUILT: _prebuilt, ...env } = process.env;
  const isBuilt = /^test\/[^/]+\/(?:objects|unit)\//.test(test) && existsSync(join(copy, 'dist/state'));
  const ran = spawnSync(process.execPath, ['test/run.ts', test], {
    cwd: copy,
    env: isBuilt ? { ...env, TESSERA_PREBUILT: '1' } : env,
    encoding: 'utf8',
    maxBuffer: 256 * 1024 * 1024,
  });
  if (ran.status === 0) return null;
  const failed = /^.*FAIL .*$/m.exec(stripVTControlCharacters(`${ran.stdout}${ran.stderr}`))?.[0];
  return failed?.replace(/^.*FAIL\s+(?:\|?\w+\|?\s+)?/, '').trim() ?? `${test} ended with ${ran.status}`;
}

/** Reads the code of the product. @returns the text of each file by its path below `root` */
export const readProduct = (root: string): ReadonlyMap<string, string> =>
  new Map(globSync(PRODUCT, { cwd: root }).map((file) => [file, readFileSync(join(root, file), 'utf8')]));

/** Finds the one file that has the text of a fault. @returns null if none or several have it, or one has it twice. */
export function findPlace(product: ReadonlyMap<string, string>, { from }: SeededFault) {
  const places = [...product].filter(([, text]) => text.includes(from)).map(([file, text]) => ({ file, text }));
  const [only] = places;
  return only && places.length === 1 && only.text.split(from).length === 2 ? only : null;
}

interface Copy {
  readonly root: string;
  readonly product: ReadonlyMap<string, string>;
  /** Whether a test file passes without a fault, for those that noticed one. */
  readonly passing: Map<string, boolean>;
}

interface Judged {
  readonly outcome: Outcome;
  /** The test that noticed the fault. */
  readonly by?: string;
}

function judge({ root: copy, product, passing }: Copy, fault: SeededFault): Judged {
  const place = findPlace(product, fault);
  if (place === null) return { outcome: 'NO LONGER APPLIES' };
  const tests = fault.tests.filter((test) => existsSync(join(copy, test)));
  if (tests.length === 0) return { outcome: 'NO TEST' };
  const path = join(copy, place.file);
  let unsound = 0;
  for (const test of tests) {
    const changed = place.text.replace(fault.from, () => fault.to);
    writeFileSync(path, changed);
    const by = findFailure(copy, test);
    writeFileSync(path, place.text);
    if (by === null) continue;
    if (!passing.has(test)) passing.set(test, findFailure(copy, test) === null);
    if (passing.get(test)) return { outcome: 'killed', by };
    unsound++;
  }
  return { outcome: unsound === tests.length ? 'FAILS WITHOUT THE FAULT' : 'SURVIVED' };
}

/** @param ids ids of the faults to make, such as `O01`; all if there are none. @returns whether every fault was killed. */
export function runSeeded(list: readonly SeededFault[], ids: readonly string[]): boolean {
  const unknown = ids.filter((id) => !list.some((fault) => fault.id === id));
  if (unknown.length > 0) throw new Error(`no seeded fault is named ${unknown.join(', ')}`);
  const faults = list.filter(({ id }) => ids.length === 0 || ids.includes(id));
  const root = copyTree();
  const copy: Copy = { root, product: readProduct(root), passing: new Map() };
  try {
    const outcomes = faults.map((fault) => {
      const { outcome, by } = judge(copy, fault);
      console.log(`${outcome} ${fault.id}: ${fault.harm}${by === undefined ? '' : ` [${by}]`}`);
      return outcome;
    });
    const killed = outcomes.filter((outcome) => outcome === 'killed').length;
    console.log(`${killed} of ${faults.length} seeded faults were killed.`);
    return killed === faults.length;
  } finally {
    rmSync(root, { recursive: true, force: true });
  }
}
