/** Runs Vitest under a watch that ends a run that hangs. The gate repeats failed files. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { JournalLine } from './journal-reporter.ts';
import { readPart } from './runtime-log.ts';

export interface WatchLimits {
  /**
   * Time without progress after which a run is stopped. The slowest file takes two minutes on a quiet machine. A failed test inside
   * workerd can keep its file from ending.
   */
  readonly stallMs: number;
  /** Time that Vitest gets to end after its last file. It would wait for ever for a workerd that does not stop. */
  readonly endMs: number;
  /** Time between two checks. */
  readonly checkMs: number;
}

const LIMITS: WatchLimits = { stallMs: 8 * 60_000, endMs: 20_000, checkMs: 5_000 };

/** Limit of failed files that are run again. If more fail, timing is not the reason. */
const REPEATED_FILES_MAX = 4;

/** A command that writes a journal to `TESSERA_TEST_JOURNAL`, and the log of workerd to `TESSERA_TEST_LOG`. */
export interface WatchedCommand {
  readonly command: readonly string[];
  readonly cwd: string;
  readonly env: NodeJS.ProcessEnv;
  /** File for the log of workerd. It is kept. */
  readonly log: string;
  readonly limits?: WatchLimits;
}

export interface Outcome {
  /** Files that failed or did not end. */
  readonly failed: readonly string[];
  /** Whether Vitest itself broke off. Most files may then have had no turn. */
  readonly isCrashed: boolean;
}

type Run = (...options: string[]) => Promise<Outcome | null>;

/** @returns null if Vitest failed without a failed file. */
export async function runWatched(run: WatchedCommand): Promise<Outcome | null> {
  rmSync(run.log, { force: true });
  const folder = mkdtempSync(join(tmpdir(), 'tessera-test-'));
  const journal = join(folder, 'journal.jsonl');
  try {
    const { status, isComplete, isStalled } = await watch(run, journal);
    if (status === 0) return { failed: [], isCrashed: false };
    const read = readJournal(journal);
    if (read === null) return null;
    const { failed, pending, failures } = read;
    for (const { file, log } of failed) if (log && log[1] > log[0]) printLog(file, readPart(run.log, log));
    for (const failure of failures) console.log(`Failed in ${failure}`);
    for (const file of pending) console.log(`Did not end: ${file}`);
    if (isComplete) console.log('Every file ended, but Vitest did not: a workerd did not stop.');
    if (!isComplete && failed.length + pending.size === 0) return null;
    return { failed: [...failed.map(({ file }) => file), ...pending], isCrashed: pending.size > 0 && !isStalled };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Prints what workerd logged while a file ran. Other files ran at the same time, so their messages are among these. */
function printLog(file: string, text: string): void {
  console.log(`Log of workerd during ${file}:\n${text}End of the log of workerd.`);
}

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

/** Runs the command until it exits or makes no progress. */
async function watch({ command, cwd, env, log, limits = LIMITS }: WatchedCommand, journal: string) {
  const [program = '', ...options] = command;
  const child = spawn(program, options, {
    cwd,
    stdio: ['ignore', 'inherit', 'inherit'],
    env: { ...env, TESSERA_TEST_JOURNAL: journal, TESSERA_TEST_LOG: log },
    // Run in a process group of its own, so that its servers can be ended with it.
    detached: true,
  });
  const signal = (name: NodeJS.Signals) => {
    if (child.pid && child.exitCode === null) process.kill(-child.pid, name);
  };
  // A terminal sends its signals only to the group of this process.
  for (const name of SIGNALS) process.on(name, signal);
  const startedAt = Date.now();
  let isComplete = false;
  let isStalled = false;
  const timer = setInterval(() => {
    const progressAt = existsSync(journal) ? statSync(journal).mtimeMs : startedAt;
    const waitedMs = Date.now() - progressAt;
    isComplete = waitedMs > limits.endMs && readJournal(journal)?.pending.size === 0;
    isStalled = waitedMs > limits.stallMs;
    if (isComplete || isStalled) signal('SIGKILL');
  }, limits.checkMs);
  const [status] = (await once(child, 'exit')) as [number | null];
  clearInterval(timer);
  for (const name of SIGNALS) process.off(name, signal);
  return { status, isComplete, isStalled };
}

type EndedFile = Extract<JournalLine, { file: string }>;

interface Journal {
  readonly failed: EndedFile[];
  /** Files that have begun and not ended. */
  readonly pending: Set<string>;
  readonly failures: string[];
}

/** Reads the journal of a run. @returns null before the run has begun. */
function readJournal(path: string): Journal | null {
  if (!existsSync(path)) return null;
  const pending = new Set<string>();
  const failed: EndedFile[] = [];
  const failures: string[] = [];
  for (const text of readFileSync(path, 'utf8').trim().split('\n')) {
    const line = JSON.parse(text) as JournalLine;
    if ('started' in line) {
      for (const file of line.started) pending.add(file);
      continue;
    }
    pending.delete(line.file);
    if (line.passed) continue;
    failed.push(line);
    for (const failure of line.failures) failures.push(`${line.file}: ${failure}`);
  }
  return { failed, pending, failures };
}

/**
 * Runs the gate.
 * @param isRepeating whether a failed file runs once more, alone and on new servers. If it passes then, the gate passes and prints
 * the name of the file, because one of its tests depends on timing.
 * @returns whether it passed.
 */
export async function runGate(run: Run, options: readonly string[], isRepeating: boolean): Promise<boolean> {
  let outcome = await run(...options);
  if (outcome?.isCrashed && isRepeating) {
    console.log('Vitest broke off. The files that failed or did not end run again.');
    outcome = await run(...outcome.failed);
  }
  if (!outcome || outcome.failed.length > REPEATED_FILES_MAX) return false;
  if (outcome.failed.length === 0) return true;
  if (!isRepeating) return false;
  const files = outcome.failed.join(', ');
  console.log(`Repeated alone: ${files}`);
  const again = await run('--no-file-parallelism', ...outcome.failed);
  if (again?.failed.length !== 0) return false;
  console.log(`Passed only alone, so a test depends on timing: ${files}`);
  return true;
}
