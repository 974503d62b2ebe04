/** Reads the counters of this day (UTC) from Analytics Engine. https://developers.cloudflare.com/analytics/analytics-engine/sql-api/ */
import { type Counter, readLocalCounters } from '../shared/counters.ts';
import { settingsOf } from '../shared/settings.ts';

const TIMEOUT_MS = 10_000;

interface CounterRow {
  readonly name: Counter['name'];
  readonly label: string;
  readonly outcome: string;
  /** Analytics Engine writes 64-bit numbers as text. */
  readonly count: number | string;
  readonly ms: number | string;
}

/** @returns null if ANALYTICS_TOKEN is not set. @throws if Analytics Engine does not answer. */
export async function readCounters(env: Env, sinceMs: number, untilMs: number): Promise<readonly Counter[] | null> {
  const settings = settingsOf(env);
  const { LOCAL: isLocal, ANALYTICS_TOKEN: token, ANALYTICS_URL: url, ANALYTICS_DATASET: dataset } = settings;
  if (token === '' || url === '') return isLocal === '1' ? readLocalCounters() : null;
  const [since, until] = [Math.floor(sinceMs / 1000), Math.ceil(untilMs / 1000)];
  const query = `SELECT blob1 AS name, blob2 AS label, blob3 AS outcome, sum(_sample_interval * double1) AS count, sum(_sample_interval * double2) AS ms FROM ${dataset} WHERE timestamp >= toDateTime(${since}) AND timestamp < toDateTime(${until}) GROUP BY name, label, outcome FORMAT JSON`;
  const response = await fetch(url, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}` },
    body: query,
    signal: AbortSignal.timeout(TIMEOUT_MS),
  });
  if (!response.ok) throw new Error(`Analytics Engine answers ${response.status}`);
  const { data } = (await response.json()) as { data: readonly CounterRow[] };
  return data.map((row) => ({ ...row, count: Number(row.count), ms: Number(row.ms) }));
}
