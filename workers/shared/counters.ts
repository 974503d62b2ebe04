/**
 * Counters in Workers Analytics Engine (binding `COUNTERS`): operations by outcome with their time, and errors by event. A local
 * server has no Analytics Engine, so it counts in memory.
 */
import { currentInvocation } from './invocation.ts';
import type { Operation } from './prices.ts';
import { MisconfiguredError, settingsOf } from './settings.ts';

export type Outcome = 'ok' | 'refused' | 'failed';

export interface Counter {
  readonly name: 'operations' | 'errors';
  /** The operation, or the event of the log. */
  readonly label: string;
  /** '' for errors. */
  readonly outcome: string;
  count: number;
  /** Milliseconds, together. */
  ms: number;
}

/** A data point costs nearly as much as a request, so of the requests that went well one in so many is written, with this weight. */
const SAMPLED_OF = 10;

const local = new Map<string, Counter>();

/** The counters of this local server since it started. */
export const readLocalCounters = (): readonly Counter[] => [...local.values()];

export const toOutcome = (status: number): Outcome => (status >= 500 ? 'failed' : status >= 400 ? 'refused' : 'ok');

export function countOperation(env: Env, operation: Operation, outcome: Outcome, ms: number): void {
  const weight = outcome === 'ok' && !isLocal(env) ? SAMPLED_OF : 1;
  if (Math.random() * weight >= 1) return;
  add(env, { name: 'operations', label: operation, outcome, count: weight, ms: ms * weight });
}

/** Counts a log line of level `error` of the running event. */
export function countError(event: string): void {
  const invocation = currentInvocation();
  if (invocation) add(invocation.env, { name: 'errors', label: event, outcome: '', count: 1, ms: 0 });
}

function isLocal(env: Env): boolean {
  try {
    return settingsOf(env).LOCAL === '1';
  } catch (error) {
    if (error instanceof MisconfiguredError) return false;
    throw error;
  }
}

function add(env: Env, { name, label, outcome, count, ms }: Counter): void {
  if (!isLocal(env)) {
    env.COUNTERS.writeDataPoint({ indexes: [label], blobs: [name, label, outcome], doubles: [count, ms] });
    return;
  }
  const key = `${name} ${label} ${outcome}`;
  const known = local.get(key) ?? { name, label, outcome, count: 0, ms: 0 };
  known.count += count;
  known.ms += ms;
  local.set(key, known);
}
