import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { RuntimeLog, readPart } from '../../support/runtime-log.ts';
import { type Outcome, runGate, runWatched } from '../../support/watched-run.ts';

const scratch = mkdtempSync(join(tmpdir(), 'tessera-watch-'));
afterAll(() => rmSync(scratch, { recursive: true, force: true }));
const log = join(scratch, 'workerd.log');

/** The stall is longer than the start of the script on a busy machine. */
const LIMITS = { stallMs: 8_000, endMs: 100, checkMs: 20 };

/** Runs a script that writes these lines of a journal. @param end what the script does then. */
const run = (lines: readonly object[], end: string) => {
  const text = lines.map((line) => `${JSON.stringify(line)}\n`).join('');
  const script = `require('node:fs').writeFileSync(process.env.TESSERA_TEST_JOURNAL, ${JSON.stringify(text)}); ${end}`;
  const { CI: _, ...env } = process.env;
  return runWatched({ command: [process.execPath, '-e', script], cwd: scratch, env, log, limits: LIMITS });
};

const HANG = 'setInterval(() => {}, 1000)';
const passed = (file: string) => ({ file, passed: true, failures: [] });

it('ends a run that makes no progress, and names the file that did not end', async () => {
  const outcome = await run([{ started: ['a.test.ts', 'b.test.ts'] }, passed('a.test.ts')], HANG);
  expect(outcome).toEqual({ failed: ['b.test.ts'], isCrashed: false });
});

it('ends a run whose files have ended, and counts it as passed', async () => {
  const outcome = await run([{ started: ['a.test.ts'] }, passed('a.test.ts')], HANG);
  expect(outcome).toEqual({ failed: [], isCrashed: false });
});

it('says that a run crashed if it exits with files that did not end', async () => {
  const outcome = await run([{ started: ['a.test.ts'] }], 'process.exit(1)');
  expect(outcome).toEqual({ failed: ['a.test.ts'], isCrashed: true });
});

const FAILED: Outcome = { failed: ['a.test.ts'], isCrashed: false };
const PASSED: Outcome = { failed: [], isCrashed: false };

it.each([
  {
    isRepeating: true,
    outcomes: [FAILED, PASSED],
    runs: [['x'], ['--no-file-parallelism', 'a.test.ts']],
    isPassed: true,
  },
  {
    isRepeating: true,
    outcomes: [FAILED, FAILED],
    runs: [['x'], ['--no-file-parallelism', 'a.test.ts']],
    isPassed: false,
  },
  { isRepeating: false, outcomes: [FAILED], runs: [['x']], isPassed: false },
  { isRepeating: false, outcomes: [{ ...FAILED, isCrashed: true }], runs: [['x']], isPassed: false },
  { isRepeating: false, outcomes: [PASSED], runs: [['x']], isPassed: true },
])(
  'repeats a failed file only if asked to: $isRepeating, $isPassed',
  async ({ outcomes, isRepeating, ...expected }) => {
    const left = [...outcomes];
    const runs: string[][] = [];
    const isPassed = await runGate(
      async (...options) => {
        runs.push(options);
        return left.shift() ?? null;
      },
      ['x'],
      isRepeating,
    );
    expect({ runs, isPassed }).toEqual(expected);
  },
);

it('moves messages of workerd to the log, whole, and leaves those of Vitest', () => {
  const path = join(scratch, 'diverted/workerd.log');
  const printed: string[] = [];
  const stream = { write: (text: string) => printed.push(text) > 0 };
  const diverted = new RuntimeLog(path);
  diverted.divert(stream as never);
  const messages = [
    'uncaught exception; source = Uncaught; stack = Error: the storage is gone\n    at run (x.ts:1:1)\n',
    '{"level":"error","event":"schedule_failed"}\n',
    '\u001B[33m▲ \u001B[43;33m[WARNING]\u001B[0m Missing required secrets: ROOT_TOKEN.\n',
  ];
  const ours = ['✓ test/a.test.ts\n', 'Error: uncaught exception; in a test\n'];
  for (const message of [messages[0], ours[0], messages[1], ours[1], messages[2]]) stream.write(message ?? '');
  expect(printed).toEqual(ours);
  expect(readFileSync(path, 'utf8')).toBe(messages.join(''));
  expect(readPart(path, [0, diverted.size])).toBe(messages.join(''));
});
