/** Starts Tessera and the floor side by side. Each has its own state, which is deleted when they stop. */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ROOT } from '../../dev/local/build.ts';
import { type LocalServer, startLocalServer } from '../../dev/local/local-server.ts';
import { listChildren, readCpuMs } from './processes.ts';

export const BENCH_ROOT_TOKEN = 'root-of-the-benchmark';

const UNLIMITED = 1_000_000_000;
/** High limits that disable the rate limiters, because a benchmark sends all its requests with one key. */
export const NO_LIMITS: Readonly<Record<string, number>> = {
  RATE_LIMIT_AUTH: UNLIMITED,
  RATE_LIMIT_ACCESS_KEY: UNLIMITED,
  RATE_LIMIT_BUCKET: UNLIMITED,
  RATE_LIMIT_CLIENT: UNLIMITED,
  RATE_LIMIT_USER: UNLIMITED,
};

/** Log settings as in a deployment. A local server would otherwise log each request. */
export const AS_DEPLOYED = { LOG_SAMPLE_PERCENT: '1' };

/** Prints only errors of the Worker's log. A line per request would hide the benchmark's table. */
export function printErrors(message: string): void {
  if (message.includes('"level":"error"')) console.error(message);
}

export interface BenchServer extends LocalServer {
  /** Resident memory of the server's workerd in bytes, including freed memory that V8 and the allocator keep. 0 without /proc. */
  residentBytes(): number;
  /** Processor time that the server's workerd has used since its start, in milliseconds. */
  processorMs(): number;
}

export async function startPair(
  vars: Readonly<Record<string, string>> = {},
): Promise<{ ours: BenchServer; floor: BenchServer; restartOurs(): Promise<string>; stop(): Promise<void> }> {
  const directory = mkdtempSync(join(tmpdir(), 'tessera-bench-state-'));
  const base = {
    host: '127.0.0.1',
    port: 0,
    printLog: printErrors,
    rateLimits: NO_LIMITS,
    vars: {
      ROOT_TOKEN: BENCH_ROOT_TOKEN,
      MASTER_KEY: Buffer.alloc(32, 1).toString('base64'),
      ...AS_DEPLOYED,
      MAIL_DOMAINS: 'example.test',
      REGISTRATION: 'open',
      // No edge cache: Miniflare's cache is a database next to its R2, so it is not faster. The simulated globe measures the cache.
      EDGE_CACHE_SECONDS: '0',
      ...vars,
    },
  };
  const startOurs = () => startMeasured({ ...base, stateDirectory: join(directory, 'ours') });
  let ours = await startOurs();
  const floor = await startMeasured({
    ...base,
    stateDirectory: join(directory, 'floor'),
    scriptPath: join(ROOT, 'bench/floor/worker.js'),
  });
  return {
    ours,
    floor,
    /** Restarts Tessera on the same state. @returns its new URL. */
    async restartOurs() {
      await ours.stop();
      ours = await startOurs();
      return ours.url;
    },
    async stop() {
      await ours.stop();
      await floor.stop();
      rmSync(directory, { recursive: true, force: true });
    },
  };
}

/** Returns the resident memory of this process's children in MiB, including workerd. */
export function readChildMemory(): number {
  const rows = execFileSync('ps', ['-o', 'rss=', '--ppid', String(process.pid)], { encoding: 'utf8' });
  return rows.split('\n').reduce((sum, row) => sum + Number(row), 0) / 1024;
}

/** Starts a server whose memory and processor time can be read. */
export async function startMeasured(options: Parameters<typeof startLocalServer>[0]): Promise<BenchServer> {
  const before = new Set(listChildren());
  const server = await startLocalServer(options);
  const own = listChildren().filter((pid) => !before.has(pid));
  const residentBytes = () => own.reduce((sum, pid) => sum + readPages(pid) * 4096, 0);
  return { ...server, residentBytes, processorMs: () => readCpuMs(own) };
}

function readPages(pid: string): number {
  try {
    return Number(readFileSync(`/proc/${pid}/statm`, 'utf8').split(' ')[1] ?? 0);
  } catch {
    return 0;
  }
}
