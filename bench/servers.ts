/** Ours and the floor, side by side, with state of their own that goes when they stop. */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ROOT } from '../dev/build.ts';
import { type LocalServer, startLocalServer } from '../dev/local-server.ts';

export const BENCH_ROOT_TOKEN = 'root-of-the-benchmark';

export async function startPair(
  vars: Readonly<Record<string, string>> = {},
): Promise<{ ours: LocalServer; floor: LocalServer; restartOurs(): Promise<string>; stop(): Promise<void> }> {
  const directory = mkdtempSync(join(tmpdir(), 'tessera-bench-state-'));
  const base = {
    host: '127.0.0.1',
    port: 0,
    vars: {
      ROOT_TOKEN: BENCH_ROOT_TOKEN,
      MASTER_KEY: Buffer.alloc(32, 1).toString('base64'),
      MAIL_DOMAINS: 'example.test',
      REGISTRATION: 'open',
      ...vars,
    },
  };
  const startOurs = () => startLocalServer({ ...base, stateDirectory: join(directory, 'ours') });
  let ours = await startOurs();
  const floor = await startLocalServer({
    ...base,
    stateDirectory: join(directory, 'floor'),
    scriptPath: join(ROOT, 'bench/floor/worker.js'),
  });
  return {
    ours,
    floor,
    /** On the same state. @returns the new URL. */
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

/** Resident memory of this process's children, in MiB: workerd is one of them. */
export function readChildMemory(): number {
  const rows = execFileSync('ps', ['-o', 'rss=', '--ppid', String(process.pid)], { encoding: 'utf8' });
  return rows.split('\n').reduce((sum, row) => sum + Number(row), 0) / 1024;
}
