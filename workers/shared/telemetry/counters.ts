/**
 * Counters in Workers Analytics Engine (binding `COUNTERS`): operations by outcome with their time, errors by event, events from outside, and gauges. A
 * local server has no Analytics Engine, so it counts in memory.
 */

import { MisconfiguredError, settingsOf } from '../settings/settings.ts';
import { currentInvocation } from './invocation.ts';
import type { Operation } from './prices.ts';

export type Outcome = 'ok' | 'refused' | 'failed';

export interface Counter {
  readonly name: 'operations' | 'errors' | 'gauges' | 'events';
  /** Name of the operation, of the event in the log, of the gauge, or of the event from outside. */
  readonly label: string;
  /** Outcome of the operation or the event; '' for errors and gauges. */
  readonly outcome: string;
  count: number;
  /** Sum of the durations of the operations in milliseconds, or of the gauge's values. */
  ms: number;
  /** How many of the operations took at most each of `BOUNDS_MS`. */
  readonly atMost: number[];
}

/** Bounds of the histogram of durations, in milliseconds. */
export const BOUNDS_MS: readonly number[] = [10, 25, 50, 100, 250, 500, 1_000, 2_500, 5_000, 10_000];

/** A counter with the counts of one hour. */
export interface HourlyCounter extends Counter {
  /** Start of the hour, in seconds since 1970. */
  readonly hour: number;
}

/**
 * Sampling rate: one in this many successful requests is written, with this weight, because a data point costs nearly as much as a
 * request.
 */
const SAMPLED_OF = 10;

const local = new Map<string, HourlyCounter>();

/** All counters that this local server has counted since its start. */
export const readLocalCounters = (): readonly HourlyCounter[] => [...local.values()];

export const toOutcome = (status: number): Outcome => (status >= 500 ? 'failed' : status >= 400 ? 'refused' : 'ok');

/** Label of starts of isolates. Their number times `START_CPU_MS` is part of the price. */
export const ISOLATE_STARTS = 'isolate_start';
let isStartCounted = false;

/** Counts an operation. The first one of an isolate also counts the start of the isolate. */
export function countOperation(env: Env, operation: Operation, outcome: Outcome, ms: number): void {
  if (!isStartCounted) {
    isStartCounted = true;
    countEvent(env, ISOLATE_STARTS, 'started');
  }
  const weight = outcome === 'ok' && !isLocal(env) ? SAMPLED_OF : 1;
  if (Math.random() * weight >= 1) return;
  add(env, { name: 'operations', label: operation, outcome, count: weight, ms: ms * weight });
}

/** Counts an error of the running event, at each log line of level `error`. */
export function countError(event: string): void {
  const invocation = currentInvocation();
  if (invocation) add(invocation.env, { name: 'errors', label: event, outcome: '', count: 1, ms: 0 });
}

/** Label of recipients for whom Email Service accepted a message. */
export const ACCEPTED_RECIPIENTS = 'email_service_recipient';
/** Label of refused submissions of mail. */
export const REFUSED_SUBMISSIONS = 'submission_refused';

/** Counts an event from outside, such as a delivery event, by what it came to. */
export const countEvent = (env: Env, label: string, outcome: string, count = 1): void =>
  add(env, { name: 'events', label, outcome, count, ms: 0 });

/** Records the present value of a gauge. Readers get the mean of an hour. */
export const recordGauge = (env: Env, label: string, value: number): void =>
  add(env, { name: 'gauges', label, outcome: '', count: 1, ms: value });

function isLocal(env: Env): boolean {
  try {
    return settingsOf(env).LOCAL === '1';
  } catch (error) {
    if (error instanceof MisconfiguredError) return false;
    throw error;
  }
}

function add(env: Env, { name, label, outcome, count, ms }: Omit<Counter, 'atMost'>): void {
  if (!isLocal(env)) {
    // The version of the Worker tells a gradual deployment which version fails.
    const { VERSION: version }: Partial<Env> = env;
    env.COUNTERS.writeDataPoint({
      indexes: [label],
      blobs: [name, label, outcome, version?.id ?? ''],
      doubles: [count, ms],
    });
    return;
  }
  const hour = Math.floor(Date.now() / 3_600_000) * 3600;
  const key = `${hour} ${name} ${label} ${outcome}`;
  const known = local.get(key) ?? { hour, name, label, outcome, count: 0, ms: 0, atMost: BOUNDS_MS.map(() => 0) };
  known.count += count;
  known.ms += ms;
  for (const [at, bound] of BOUNDS_MS.entries())
    if (ms <= bound * count) known.atMost[at] = (known.atMost[at] ?? 0) + count;
  local.set(key, known);
}
