/**
 * `npm test`: builds once, with and without the rules of the platform, migrates empty databases once, then runs every ring. `--long`
 * runs the `*.long.test.ts` files instead. Other arguments go to vitest.
 *
 * In the gate, a failed file of the system or browser ring runs once more, alone and on new servers. If it passes then, the
 * gate goes on and prints the name of the file, because one of its tests races or waits too short.
 */
import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { buildAll, buildWorker } from '../dev/build.ts';
import { PLATFORM_BUNDLE, PLATFORM_ENTRY } from './support/platform/bundle.ts';
import { makeStateTemplate } from './support/state-template.ts';

const ROOT = join(import.meta.dirname, '..');
/** More failed files than this are not a race. */
const REPEATED_FILES_MAX = 4;
const REPEATED_RINGS = /^test\/(system|security|browser)\//;
/** A failed test inside workerd can keep vitest from ending. */
const RUN_LIMIT_MS = 40 * 60_000;

const isLong = process.argv.includes('--long');
const rest = process.argv.slice(2).filter((argument) => argument !== '--long');
const env = {
  ...process.env,
  TESSERA_PREBUILT: '1',
  TESSERA_LONG: isLong ? '1' : '',
  WRANGLER_SEND_METRICS: 'false',
  // Each server and each run of wrangler loads the same large modules. Saves a fifth of the processor time of a start.
  NODE_COMPILE_CACHE: join(ROOT, 'dist/compile-cache'),
};

function vitest(...options: string[]): boolean {
  const timeout = isLong ? undefined : RUN_LIMIT_MS;
  const { status } = spawnSync(join(ROOT, 'node_modules/.bin/vitest'), ['run', ...options], {
    cwd: ROOT,
    stdio: 'inherit',
    env,
    timeout,
    killSignal: 'SIGKILL',
  });
  return status === 0;
}

/** Files with a failed test. `undefined` without a report. */
function failedFiles(report: string): string[] | undefined {
  if (!existsSync(report)) return undefined;
  const { testResults } = JSON.parse(readFileSync(report, 'utf8')) as {
    testResults: { name: string; status: string }[];
  };
  return testResults.filter(({ status }) => status !== 'passed').map(({ name }) => relative(ROOT, name));
}

function runGate(): boolean {
  const folder = mkdtempSync(join(tmpdir(), 'tessera-test-'));
  const report = join(folder, 'report.json');
  try {
    if (vitest('--reporter=default', '--reporter=json', `--outputFile.json=${report}`, ...rest)) return true;
    const failed = failedFiles(report);
    if (!failed?.length || failed.length > REPEATED_FILES_MAX) return false;
    if (!failed.every((file) => REPEATED_RINGS.test(file))) return false;
    console.log(`Failed, and repeated alone: ${failed.join(', ')}`);
    const passed = vitest('--no-file-parallelism', ...failed);
    if (passed) console.log(`Passed only alone, so a test races or waits too short: ${failed.join(', ')}`);
    return passed;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

buildAll();
buildWorker(PLATFORM_BUNDLE, PLATFORM_ENTRY);
await makeStateTemplate();
process.exit((process.env.CI && !isLong ? runGate() : vitest(...rest)) ? 0 : 1);
