/**
 * `npm test`: builds once, with and without the rules of the platform, migrates empty databases once, then runs every ring. `--long`
 * runs the `*.long.test.ts` files instead. Other arguments go to vitest. `TESSERA_PREBUILT=1` leaves out the builds.
 *
 * A run that makes no progress is ended, and a file that did not end counts as failed. With `CI` set, a failed file runs once more.
 */
import { spawnSync } from 'node:child_process';
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DOCUMENT_PATH } from '../dev/generate/api-document.ts';
import { readServedDocument } from '../dev/generate/api-types.ts';
import { buildAll, buildWorker } from '../dev/local/build.ts';
import { describeMissing } from './support/missing-programs.ts';
import { PLATFORM_BUNDLE, PLATFORM_ENTRY, TEST_MODULES } from './support/platform/bundle.ts';
import { RuntimeLog } from './support/runtime-log.ts';
import { makeStateTemplate } from './support/state-template.ts';
import { runGate, runWatched } from './support/watched-run.ts';

const ROOT = join(import.meta.dirname, '..');

/** Programs that tests did not find. */
const MISSING = join(ROOT, 'dist/test-log/missing.jsonl');
const isLong = process.argv.includes('--long');
const rest = process.argv.slice(2).filter((argument) => argument !== '--long');
// With extra certificates, each start of workerd costs half a second more: Miniflare passes on all of them, one by one. No test
// connects to the outside, and the test with Postfix gives its server the certificate that it needs.
const { NODE_EXTRA_CA_CERTS: _, ...inherited } = process.env;
const env = {
  ...inherited,
  TESSERA_PREBUILT: '1',
  TESSERA_LONG: isLong ? '1' : '',
  TESSERA_TEST_MISSING: MISSING,
  WRANGLER_SEND_METRICS: 'false',
  // Each server and each run of wrangler loads the same large modules. This cache saves a fifth of the processor time of a start.
  NODE_COMPILE_CACHE: join(ROOT, 'dist/compile-cache'),
};

/** Log of workerd in the ring `objects`. */
const LOG = join(ROOT, 'dist/test-log/workerd.log');
const VITEST = join(ROOT, 'node_modules/.bin/vitest');
const REPORTERS = ['--silent=passed-only', '--reporter=default', '--reporter=./test/support/journal-reporter.ts'];

const runFiles = (...options: string[]) =>
  runWatched({
    command: [VITEST, 'run', ...REPORTERS, ...options],
    cwd: ROOT,
    env,
    log: join(ROOT, 'dist/test-log/workerd.log'),
  });

/** Runs without the watch, because one long test may take an hour. */
function runLong(): boolean {
  return spawnSync(VITEST, ['run', ...rest], { cwd: ROOT, stdio: 'inherit', env }).status === 0;
}

rmSync(MISSING, { force: true });
const log = new RuntimeLog(LOG);
for (const stream of [process.stdout, process.stderr]) log.divert(stream);
if (process.env.TESSERA_PREBUILT !== '1') {
  buildAll();
  buildWorker(PLATFORM_BUNDLE, { main: PLATFORM_ENTRY, replaced: TEST_MODULES });
  if (isLong) writeFileSync(DOCUMENT_PATH, await readServedDocument());
  await makeStateTemplate();
}
const isPassed = isLong ? runLong() : await runGate(runFiles, rest, Boolean(process.env.CI));
for (const line of describeMissing(MISSING)) console.log(line);
process.exit(isPassed ? 0 : 1);
