/** Runs the steps of a trial one after the other. After a failed step the others do not run; the removal always does. */
import { reasonOf } from '../deploy/cloudflare-api.ts';
import type { Facts, Known, Step, TrialWorld } from './world.ts';

export interface StepReport {
  readonly step: string;
  readonly outcome: 'ok' | 'failed' | 'not run';
  readonly ms: number;
  /** Why it failed. */
  readonly reason?: string;
  readonly facts?: Facts;
}

export interface TrialReport {
  readonly name: string;
  readonly steps: readonly StepReport[];
  /** Names of what could not be removed, or was not to be. */
  readonly left: readonly string[];
  readonly is_ok: boolean;
}

/**
 * Runs a trial.
 * @param remove removes everything. @returns the names of what is left. It may throw.
 */
export async function runTrial(
  world: TrialWorld,
  steps: readonly Step[],
  remove: () => Promise<string[]>,
): Promise<TrialReport> {
  const known: Known = {};
  const reports: StepReport[] = [];
  for (const { name, run } of steps) {
    const isOver = reports.some(({ outcome }) => outcome === 'failed');
    reports.push(isOver ? { step: name, outcome: 'not run', ms: 0 } : await runStep(world, known, { name, run }));
    const report = reports.at(-1);
    console.log(`${name}: ${report?.outcome}${report?.reason ? `: ${report.reason}` : ''}`);
  }
  const left = await remove().catch((error: unknown) => [
    `everything with "${world.name}" in its name, because the removal failed: ${reasonOf(error)}`,
  ]);
  const is_ok = left.length === 0 && reports.every(({ outcome }) => outcome === 'ok');
  return { name: world.name, steps: reports, left, is_ok };
}

async function runStep(world: TrialWorld, known: Known, { name, run }: Step): Promise<StepReport> {
  const startedAt = Date.now();
  try {
    world.signal.throwIfAborted();
    const facts = await run(world, known);
    return { step: name, outcome: 'ok', ms: Date.now() - startedAt, facts };
  } catch (error) {
    const reason = world.signal.aborted ? `the trial ended: ${reasonOf(world.signal.reason)}` : reasonOf(error);
    return { step: name, outcome: 'failed', ms: Date.now() - startedAt, reason };
  }
}
