/** Failed requests by version of the Worker, from the counters in Analytics Engine (`workers/shared/telemetry/counters.ts`). */
import { describeMissingPermission, reasonOf } from './cloudflare-api.ts';
import type { Account } from './resources.ts';

/** Requests of each version since a time, by the id of the version. */
export type VersionCounts = Readonly<Record<string, { readonly requests: number; readonly failed: number }>>;

const TIMEOUT_MS = 30_000;
const PERMISSION = 'Account > Account Analytics > Read';

/**
 * Reads the requests of each version. Counters arrive about a minute late.
 * @returns a sentence if the token may not read them or they do not answer: health then decides alone.
 */
export async function readCounts(
  { access, accountId }: Account,
  dataset: string,
  sinceMs: number,
): Promise<VersionCounts | string> {
  const since = Math.floor(sinceMs / 1000);
  const sql = `SELECT blob4 AS version, blob3 AS outcome, sum(_sample_interval * double1) AS count FROM ${dataset} WHERE blob1 = 'operations' AND timestamp >= toDateTime(${since}) GROUP BY version, outcome FORMAT JSON`;
  const path = `${access.baseUrl}/accounts/${accountId}/analytics_engine/sql`;
  const headers = { authorization: `Bearer ${access.token}` };
  try {
    const answer = await fetch(path, { method: 'POST', headers, body: sql, signal: AbortSignal.timeout(TIMEOUT_MS) });
    if (answer.status === 401 || answer.status === 403)
      return `errors are not looked at. ${describeMissingPermission(PERMISSION)}`;
    if (!answer.ok) return `errors are not looked at: Analytics Engine answers ${answer.status}`;
    const { data } = (await answer.json()) as { data: { version: string; outcome: string; count: number | string }[] };
    return toCounts(data);
  } catch (error) {
    return `errors are not looked at: Analytics Engine does not answer (${reasonOf(error)})`;
  }
}

function toCounts(rows: readonly { version: string; outcome: string; count: number | string }[]): VersionCounts {
  const counts: Record<string, { requests: number; failed: number }> = {};
  for (const { version, outcome, count } of rows) {
    const known = counts[version] ?? { requests: 0, failed: 0 };
    const requests = known.requests + Number(count);
    counts[version] = { requests, failed: known.failed + (outcome === 'failed' ? Number(count) : 0) };
  }
  return counts;
}

/** Fewer failed requests may be chance. */
const FAILED_MIN = 5;
/** The share of failed requests that the new version may have beyond that of the version before. */
const MORE_FAILED_MAX = 0.01;

/** Judges the new version. @returns a sentence if it fails more often than the version before. */
export function judgeVersions(
  counts: VersionCounts,
  { before, after }: { before: string; after: string },
): string | null {
  const { requests = 0, failed = 0 } = counts[after] ?? {};
  const old = counts[before] ?? { requests: 0, failed: 0 };
  if (failed < FAILED_MIN) return null;
  const allowed = old.failed / Math.max(old.requests, 1) + MORE_FAILED_MAX;
  if (failed / requests <= allowed) return null;
  return `${failed} of ${requests} requests failed in the new version, and ${old.failed} of ${old.requests} in the version before.`;
}
