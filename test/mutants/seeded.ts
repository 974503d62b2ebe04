/**
 * Makes the faults of `seeded-faults.ts` one at a time, in a copy of the tree, and runs the tests that must fail.
 *
 * First the same tests run without a fault: a kill counts only if they pass then. A fault whose text matches no place of the product,
 * or several, no longer applies and fails the run, so that the list is kept true.
 */
import { spawnSync } from 'node:child_process';
import { cpSync, existsSync, globSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { SEEDED_FAULTS, type SeededFault } from './seeded-faults.ts';

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
  symlinkSync(join(ROOT, 'node_modules'), join(copy, 'node_modules'));
  return copy;
}

/** Runs test files in the copy. @returns whether they passed. */
function passes(copy: string, tests: readonly string[]): boolean {
  const { CI: _, ...env } = process.env;
  const { status } = spawnSync(process.execPath, ['test/run.ts', ...tests], { cwd: copy, env, stdio: 'ignore' });
  return status === 0;
}

/** Finds the one file of the product that has the text of a fault. @returns null if none or several have it, or one has it twice. */
function findPlace(copy: string, { from }: SeededFault): { path: string; text: string } | null {
  const places = globSync(PRODUCT, { cwd: copy }).flatMap((file) => {
    const path = join(copy, file);
    const text = readFileSync(path, 'utf8');
    return text.includes(from) ? [{ path, text, count: text.split(from).length - 1 }] : [];
  });
  const [only] = places;
  return only && places.length === 1 && only.count === 1 ? only : null;
}

function judge(copy: string, fault: SeededFault, passing: Map<string, boolean>): Outcome {
  const place = findPlace(copy, fault);
  if (place === null) return 'NO LONGER APPLIES';
  const tests = fault.tests.filter((test) => existsSync(join(copy, test)));
  if (tests.length === 0) return 'NO TEST';
  for (const test of tests) if (!passing.has(test)) passing.set(test, passes(copy, [test]));
  const sound = tests.filter((test) => passing.get(test));
  if (sound.length === 0) return 'FAILS WITHOUT THE FAULT';
  writeFileSync(
    place.path,
    place.text.replace(fault.from, () => fault.to),
  );
  try {
    return sound.some((test) => !passes(copy, [test])) ? 'killed' : 'SURVIVED';
  } finally {
    writeFileSync(place.path, place.text);
  }
}

/** @param ids ids of the faults to make, such as `O01`; all if there are none. @returns whether every fault was killed. */
export function runSeeded(ids: readonly string[]): boolean {
  const unknown = ids.filter((id) => !SEEDED_FAULTS.some((fault) => fault.id === id));
  if (unknown.length > 0) throw new Error(`no seeded fault is named ${unknown.join(', ')}`);
  const faults = SEEDED_FAULTS.filter(({ id }) => ids.length === 0 || ids.includes(id));
  const copy = copyTree();
  const passing = new Map<string, boolean>();
  try {
    const outcomes = faults.map((fault) => {
      const outcome = judge(copy, fault, passing);
      console.log(`${outcome} ${fault.id}: ${fault.harm}`);
      return outcome;
    });
    const killed = outcomes.filter((outcome) => outcome === 'killed').length;
    console.log(`${killed} of ${faults.length} seeded faults were killed.`);
    return killed === faults.length;
  } finally {
    rmSync(copy, { recursive: true, force: true });
  }
}
