/** Helpers of the leaderboard benchmarks: a token, and percentiles. */
import { BENCH_ROOT_TOKEN } from '../shared/servers.ts';

export async function makeToken(url: string): Promise<string> {
  const response = await fetch(`${url}/v1/iam/tokens`, {
    method: 'POST',
    headers: { authorization: `Bearer ${BENCH_ROOT_TOKEN}`, 'content-type': 'application/json' },
    body: JSON.stringify({ name: 'bench', scopes: ['scores:write'] }),
  });
  return ((await response.json()) as { token: string }).token;
}

export function percentile(values: readonly number[], percent: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor((sorted.length * percent) / 100))] ?? Number.NaN;
}
