/**
 * `npm test`: builds once, with and without the rules of the platform, migrates empty databases once, then runs every ring. `--long`
 * runs the `*.long.test.ts` files instead. Other arguments go to vitest.
 *
 * In the gate, a failed file runs once more, alone and on new servers. If it passes then, the gate passes and prints the name of the
 * file, because one of its tests depends on timing. A file that did not end counts as failed.
 */
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DOCUMENT_PATH } from '../dev/generate/api-document.ts';
import { readServedDocument } from '../dev/generate/api-types.ts';
import { buildAll, buildWorker } from '../dev/local/build.ts';
import type { JournalLine } from './support/journal-reporter.ts';
import { PLATFORM_BUNDLE, PLATFORM_ENTRY } from './support/platform/bundle.ts';
import { makeStateTemplate } from './support/state-template.ts';

const ROOT = join(import.meta.dirname, '..');
/** Limit of failed files that are run again. If more fail, timing is not the reason. */
const REPEATED_FILES_MAX = 4;
/**
 * Time without progress after which a run is stopped. The slowest file takes two minutes on a quiet machine. A failed test inside
 * workerd can keep its file from ending.
 */
const STALL_MS = 8 * 60_000;
/** Time that Vitest gets to end after its last file. It would wait for ever for a workerd that does not stop. */
const END_MS = 60_000;

const isLong = process.argv.includes('--long');
const rest = process.argv.slice(2).filter((argument) => argument !== '--long');
const env = {
  ...process.env,
  TESSERA_PREBUILT: '1',
  TESSERA_LONG: isLong ? '1' : '',
  WRANGLER_SEND_METRICS: 'false',
  // Each server and each run of wrangler loads the same large modules. This cache saves a fifth of the processor time of a start.
  NODE_COMPILE_CACHE: join(ROOT, 'dist/compile-cache'),
};

const VITEST = join(ROOT, 'node_modules/.bin/vitest');

interface Outcome {
  /** Files that failed or did not end. */
  readonly failed: string[];
  /** Whether Vitest itself broke off. Most files may then have had no turn. */
  readonly isCrashed: boolean;
}

/** @returns null if Vitest failed without a failed file. */
async function runFiles(...options: string[]): Promise<Outcome | null> {
  const folder = mkdtempSync(join(tmpdir(), 'tessera-test-'));
  const journal = join(folder, 'journal.jsonl');
  try {
    const child = spawn(
      VITEST,
      [
        'run',
        '--silent=passed-only',
        '--reporter=default',
        '--reporter=./test/support/journal-reporter.ts',
        ...options,
      ],
      {
        cwd: ROOT,
        stdio: ['ignore', 'inherit', 'inherit'],
        env: { ...env, TESSERA_TEST_JOURNAL: journal },
        // Run in a process group of its own, so that its servers can be ended with it.
        detached: true,
      },
    );
    const startedAt = Date.now();
    let isComplete = false;
    let isStalled = false;
    const watch = setInterval(() => {
      const progressAt = existsSync(journal) ? statSync(journal).mtimeMs : startedAt;
      const waitedMs = Date.now() - progressAt;
      isComplete = waitedMs > END_MS && readJournal(journal)?.pending.size === 0;
      isStalled = waitedMs > STALL_MS;
      if ((isComplete || isStalled) && child.pid) process.kill(-child.pid, 'SIGKILL');
    }, 5_000);
    const [status] = (await once(child, 'exit')) as [number | null];
    clearInterval(watch);
    if (status === 0) return { failed: [], isCrashed: false };
    const read = readJournal(journal);
    if (read === null) return null;
    const { failed, pending, failures } = read;
    for (const failure of failures) console.log(`Failed in ${failure}`);
    for (const file of pending) console.log(`Did not end: ${file}`);
    if (isComplete) console.log('Every file ended, but Vitest did not: a workerd did not stop.');
    if (!isComplete && failed.length + pending.size === 0) return null;
    return { failed: [...failed, ...pending], isCrashed: pending.size > 0 && !isStalled };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

interface Journal {
  readonly failed: string[];
  /** Files that have begun and not ended. */
  readonly pending: Set<string>;
  readonly failures: string[];
}

/** Reads the journal of a run. @returns null before the run has begun. */
function readJournal(path: string): Journal | null {
  if (!existsSync(path)) return null;
  const pending = new Set<string>();
  const failed: string[] = [];
  const failures: string[] = [];
  for (const text of readFileSync(path, 'utf8').trim().split('\n')) {
    const line = JSON.parse(text) as JournalLine;
    if ('started' in line) {
      for (const file of line.started) pending.add(file);
      continue;
    }
    pending.delete(line.file);
    if (line.passed) continue;
    failed.push(line.file);
    for (const failure of line.failures) failures.push(`${line.file}: ${failure}`);
  }
  return { failed, pending, failures };
}

async function runGate(): Promise<boolean> {
  let outcome = await runFiles(...rest);
  if (outcome?.isCrashed) {
    console.log('Vitest broke off. The files that failed or did not end run again.');
    outcome = await runFiles(...outcome.failed);
  }
  if (!outcome || outcome.failed.length > REPEATED_FILES_MAX) return false;
  if (outcome.failed.length === 0) return true;
  const files = outcome.failed.join(', ');
  console.log(`Repeated alone: ${files}`);
  const again = await runFiles('--no-file-parallelism', ...outcome.failed);
  if (again?.failed.length !== 0) return false;
  console.log(`Passed only alone, so a test depends on timing: ${files}`);
  return true;
}

function runAll(): boolean {
  return spawnSync(VITEST, ['run', ...rest], { cwd: ROOT, stdio: 'inherit', env }).status === 0;
}

buildAll();
buildWorker(PLATFORM_BUNDLE, PLATFORM_ENTRY);
if (isLong) writeFileSync(DOCUMENT_PATH, await readServedDocument());
await makeStateTemplate();
process.exit((process.env.CI && !isLong ? await runGate() : runAll()) ? 0 : 1);
