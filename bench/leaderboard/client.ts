/** Helpers of the leaderboard benchmarks: a token, child processes, and the server's processor time. */
import { readFileSync } from 'node:fs';
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

/** Lists the process ids of this process's children. */
export function listChildren(): string[] {
  return readFileSync(`/proc/self/task/${process.pid}/children`, 'utf8').split(' ').filter(Boolean);
}

/**
 * Returns the processor time that processes have used since their start, in milliseconds. Linux counts in hundredths of a second.
 */
export function readCpuMs(pids: readonly string[]): number {
  return pids.reduce((sum, pid) => {
    const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? [];
    return sum + (Number(fields[11]) + Number(fields[12])) * 10;
  }, 0);
}
