/** Applies load with `wrk`, and compares two servers in alternating rounds. */
import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

export interface Load {
  readonly url: string;
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Buffer;
  /** Lua script for wrk, for requests that differ from each other. Replaces method, headers and body. */
  readonly script?: string;
  readonly connections: number;
  readonly seconds: number;
}

export interface Measure {
  readonly requestsPerSecond: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  /** Number of responses other than 2xx and 3xx, and of broken connections. If it is not 0, the round is invalid. */
  readonly failures: number;
}

const luaString = (bytes: Buffer) => `"${[...bytes].map((byte) => `\\${byte.toString().padStart(3, '0')}`).join('')}"`;

function toScript(load: Load): string {
  if (load.script !== undefined) return load.script;
  const lines = [`wrk.method = ${luaString(Buffer.from(load.method ?? 'GET'))}`];
  for (const [name, value] of Object.entries(load.headers ?? {})) {
    lines.push(`wrk.headers[${luaString(Buffer.from(name))}] = ${luaString(Buffer.from(value))}`);
  }
  if (load.body !== undefined) lines.push(`wrk.body = ${luaString(Buffer.from(load.body))}`);
  return lines.join('\n');
}

/** Part of a Lua script that prints one line of JSON when wrk finishes. Latencies are in microseconds. */
const REPORT = `
done = function(summary, latency)
  local e = summary.errors
  io.write(string.format('\\nRESULT {"requests":%d,"duration":%d,"p50":%d,"p99":%d,"failures":%d}\\n',
    summary.requests, summary.duration, latency:percentile(50), latency:percentile(99),
    e.connect + e.read + e.write + e.status + e.timeout))
end
`;

export async function applyLoad(load: Load): Promise<Measure> {
  const directory = mkdtempSync(join(tmpdir(), 'tessera-bench-'));
  try {
    const script = join(directory, 'load.lua');
    writeFileSync(script, toScript(load) + REPORT);
    const args = ['-t1', `-c${load.connections}`, `-d${load.seconds}s`, '--timeout', '30s', '-s', script, load.url];
    const child = spawn('wrk', args, { stdio: ['ignore', 'pipe', 'inherit'] });
    let output = '';
    child.stdout.on('data', (chunk: Buffer) => {
      output += chunk.toString();
    });
    await new Promise<void>((resolve, reject) => {
      child.on('error', () => reject(new Error('wrk is not installed. Run apt-get install wrk.')));
      child.on('exit', (code) => (code === 0 ? resolve() : reject(new Error(`wrk exited with ${code}: ${output}`))));
    });
    const result = JSON.parse(/RESULT (.*)/.exec(output)?.[1] ?? 'null') as Record<string, number> | null;
    if (!result) throw new Error(`wrk printed no result: ${output}`);
    const { requests = 0, duration = 1, p50 = 0, p99 = 0, failures = 0 } = result;
    return { requestsPerSecond: requests / (duration / 1e6), p50Ms: p50 / 1000, p99Ms: p99 / 1000, failures };
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

export const median = (values: readonly number[]): number => {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)] ?? Number.NaN;
};

export interface Comparison {
  readonly name: string;
  readonly floor: Load;
  readonly ours: Load;
  readonly rounds: number;
  /** Runs after each round of `ours`, so that its leftover work does not run during the floor's round. */
  readonly settle?: () => Promise<void>;
  /** Ratio of ours to the floor that Tessera promises, if any. */
  readonly target?: number;
}

/**
 * Compares two servers: warms up both, alternates rounds of floor and ours, and prints the ratios of adjacent rounds.
 * @returns the median ratio.
 */
export async function compare(comparison: Comparison): Promise<number> {
  const { name, floor, ours, rounds, target, settle } = comparison;
  await applyLoad({ ...floor, seconds: 1 });
  await applyLoad({ ...ours, seconds: 1 });
  await settle?.();
  const pairs: { floor: Measure; ours: Measure }[] = [];
  for (let round = 0; round < rounds; round++) {
    pairs.push({ floor: await applyLoad(floor), ours: await applyLoad(ours) });
    await settle?.();
  }
  const failures = pairs.reduce((sum, pair) => sum + pair.floor.failures + pair.ours.failures, 0);
  const ratios = pairs.map((pair) => pair.ours.requestsPerSecond / pair.floor.requestsPerSecond);
  const rate = (side: 'floor' | 'ours') => Math.round(median(pairs.map((pair) => pair[side].requestsPerSecond)));
  const spread = `${Math.min(...ratios).toFixed(2)}–${Math.max(...ratios).toFixed(2)}`;
  const promise = target === undefined ? '' : `  target ${target}`;
  const doubt = failures === 0 ? '' : `  ${failures} FAILED REQUESTS: result invalid`;
  console.log(
    `${name.padEnd(36)} ours/floor ${median(ratios).toFixed(2)} (${spread})${promise}   ours ${rate('ours')}/s, floor ${rate('floor')}/s, p99 ${median(pairs.map((pair) => pair.ours.p99Ms)).toFixed(1)} ms${doubt}`,
  );
  return median(ratios);
}
