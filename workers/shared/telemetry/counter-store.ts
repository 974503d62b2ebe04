/** Reads counters from Analytics Engine. https://developers.cloudflare.com/analytics/analytics-engine/sql-api/ */

import { settingsOf } from '../settings/settings.ts';
import {
  ACCEPTED_RECIPIENTS,
  BOUNDS_MS,
  type Counter,
  type HourlyCounter,
  ISOLATE_STARTS,
  readLocalCounters,
} from './counters.ts';
import type { Activity } from './prices.ts';

const TIMEOUT_MS = 10_000;

interface CounterRow {
  readonly name: Counter['name'];
  readonly label: string;
  readonly outcome: string;
  /** Start of the hour in seconds. Analytics Engine writes 64-bit numbers as text. */
  readonly hour?: number | string;
  readonly count: number | string;
  readonly ms: number | string;
  /** `at0`, `at1`, …: operations that took at most each of `BOUNDS_MS`. */
  readonly [column: `at${number}`]: number | string;
}

/** Reads the counters of a period. @returns null if ANALYTICS_TOKEN is not set. @throws if Analytics Engine does not answer. */
export async function readCounters(env: Env, sinceMs: number, untilMs: number): Promise<readonly Counter[] | null> {
  const rows = await query(env, sinceMs, untilMs, '');
  return rows && mergeHours(rows);
}

/** Like `readCounters`, but with one counter per hour. */
export const readHours = (env: Env, sinceMs: number, untilMs: number): Promise<readonly HourlyCounter[] | null> =>
  query(env, sinceMs, untilMs, 'intDiv(toUInt32(timestamp), 3600) * 3600 AS hour, ');

function mergeHours(rows: readonly Counter[]): Counter[] {
  const merged = new Map<string, Counter>();
  for (const { name, label, outcome, count, ms, atMost } of rows) {
    const known = merged.get(`${name} ${label} ${outcome}`);
    merged.set(`${name} ${label} ${outcome}`, {
      name,
      label,
      outcome,
      count: count + (known?.count ?? 0),
      ms: ms + (known?.ms ?? 0),
      atMost: atMost.map((number, at) => number + (known?.atMost[at] ?? 0)),
    });
  }
  return [...merged.values()];
}

/** A point has its weight and its duration times the weight. */
const AT_MOST = BOUNDS_MS.map(
  (bound, at) => `sum(if(double2 <= ${bound} * double1, _sample_interval * double1, 0)) AS at${at}`,
).join(', ');

async function query(
  env: Env,
  sinceMs: number,
  untilMs: number,
  hour: string,
): Promise<readonly HourlyCounter[] | null> {
  const settings = settingsOf(env);
  const { LOCAL: isLocal, ANALYTICS_TOKEN: token, ANALYTICS_URL: url, ANALYTICS_DATASET: dataset } = settings;
  if (token === '' || url === '') return isLocal === '1' ? readLocalCounters() : null;
  const [since, until] = [Math.floor(sinceMs / 1000), Math.ceil(untilMs / 1000)];
  const text = `SELECT ${hour}blob1 AS name, blob2 AS label, blob3 AS outcome, sum(_sample_interval * double1) AS count, sum(_sample_interval * double2) AS ms, ${AT_MOST} FROM ${dataset} WHERE timestamp >= toDateTime(${since}) AND timestamp < toDateTime(${until}) GROUP BY ${hour === '' ? '' : 'hour, '}name, label, outcome FORMAT JSON`;
  const response = await fetch(url, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}` },
    body: text,
    signal: AbortSignal.timeout(TIMEOUT_MS),
  });
  if (!response.ok) throw new Error(`Analytics Engine answers ${response.status}`);
  const { data } = (await response.json()) as { data: readonly CounterRow[] };
  return data.map(({ name, label, outcome, hour = 0, count, ms, ...columns }) => ({
    name,
    label,
    outcome,
    hour: Number(hour),
    count: Number(count),
    ms: Number(ms),
    atMost: BOUNDS_MS.map((_, at) => Number((columns as Partial<CounterRow>)[`at${at}`] ?? 0)),
  }));
}

/** What the counters of a period say, for the estimate of its cost. */
export const toActivity = (env: Env, counters: readonly Counter[], periodMs: number): Activity => ({
  operations: sumOperations(counters),
  recipients: sumEvents(counters, ACCEPTED_RECIPIENTS),
  isolateStarts: sumEvents(counters, ISOLATE_STARTS),
  periodMs,
  seasonObjects: settingsOf(env).LEADERBOARD_SHARDS + SEASON_AND_VIEW,
});

const SEASON_AND_VIEW = 2;

const sumEvents = (counters: readonly Counter[], wanted: string): number =>
  counters
    .filter(({ name, label }) => name === 'events' && label === wanted)
    .reduce((sum, { count }) => sum + count, 0);

export function sumOperations(counters: readonly Counter[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const { name, label, count } of counters)
    if (name === 'operations') counts[label] = (counts[label] ?? 0) + count;
  return counts;
}
