/** The end of a season of five million players (`PLAYERS`) on 32 shards, in processor time of the server. The target is two minutes. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type LocalServer, startLocalServer } from '../../dev/local/local-server.ts';
import { listChildren, readCpuMs } from '../shared/processes.ts';
import { BENCH_ROOT_TOKEN, NO_LIMITS, printErrors } from '../shared/servers.ts';
import { makeToken } from './client.ts';
import { fill } from './rounds.ts';

const PLAYERS = Number(process.env.PLAYERS ?? 5_000_000);
const SEASON = '2031-03';
const POINTS_MAX = 1_000_000;

const start = (stateDirectory: string, time: string): Promise<LocalServer> =>
  startLocalServer({
    ...{ host: '127.0.0.1', port: 0, stateDirectory, printLog: printErrors, rateLimits: NO_LIMITS, withoutCron: true },
    vars: {
      ...{ ROOT_TOKEN: BENCH_ROOT_TOKEN, MASTER_KEY: Buffer.alloc(32, 1).toString('base64'), LEADERBOARD_SHARDS: '32' },
      CLOCK_OFFSET_SECONDS: String(Math.round((Date.parse(time) - Date.now()) / 1000)),
    },
  });

export async function runSeasonEnd(): Promise<void> {
  const directory = mkdtempSync(join(tmpdir(), 'tessera-bench-end-'));
  let server = await start(directory, '2031-03-30T00:00:00Z');
  try {
    const token = await makeToken(server.url);
    await fill({
      url: server.url,
      token,
      path: '/v1',
      players: PLAYERS,
      scoreOf: () => Math.floor(Math.random() * POINTS_MAX),
    });
    await server.stop();
    server = await start(directory, '2031-04-01T00:01:00Z');
    const startedAt = performance.now();
    const before = readCpuMs(listChildren());
    let players: number | null = null;
    while (players === null) {
      const headers = { authorization: `Bearer ${BENCH_ROOT_TOKEN}` };
      const response = await fetch(`${server.url}/v1/seasons/${SEASON}/close`, { method: 'POST', headers });
      const body = (await response.json()) as { state?: string; players: number };
      if (body.state === 'historical') players = body.players;
    }
    const cpu = (readCpuMs(listChildren()) - before) / 1000;
    const seconds = (performance.now() - startedAt) / 1000;
    console.log(
      `a season of ${players.toLocaleString('en')} players ends in ${cpu.toFixed(1)} s of processor time (target 120), ${seconds.toFixed(1)} s in all`,
    );
  } finally {
    await server.stop();
    rmSync(directory, { recursive: true, force: true });
  }
}
