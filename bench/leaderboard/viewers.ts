/**
 * Opens five thousand WebSockets (`VIEWERS`) to the top list and posts once a second for a leading player. Measures the time from
 * the post to each viewer, the latency of another post meanwhile, and the processor time of a push.
 */
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { startLocalServer } from '../../dev/local/local-server.ts';
import { listChildren, readCpuMs } from '../shared/processes.ts';
import { BENCH_ROOT_TOKEN, NO_LIMITS, printErrors } from '../shared/servers.ts';
import { makeToken, percentile } from './client.ts';

const VIEWERS = Number(process.env.VIEWERS ?? 5_000);
const PUSHES = 30;
const OPENED_AT_ONCE = 100;

/** Opens viewers as plain sockets, because a client library would take most of the processor time. */
async function openViewer(url: string, onData: (text: string) => void): Promise<Socket> {
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname);
  await once(socket, 'connect');
  const key = Buffer.alloc(16, 1).toString('base64');
  socket.write(
    `GET /v1/scores HTTP/1.1\r\nhost: ${hostname}\r\nupgrade: websocket\r\nconnection: upgrade\r\nsec-websocket-version: 13\r\nsec-websocket-key: ${key}\r\n\r\n`,
  );
  const [head] = await once(socket, 'data');
  if (!String(head).startsWith('HTTP/1.1 101')) throw new Error(String(head).slice(0, 200));
  socket.on('data', (data: Buffer) => onData(data.toString('latin1')));
  return socket;
}

export async function runViewers(): Promise<void> {
  const stateDirectory = mkdtempSync(join(tmpdir(), 'tessera-bench-viewers-'));
  const before = new Set(listChildren());
  const server = await startLocalServer({
    host: '127.0.0.1',
    port: 0,
    stateDirectory,
    printLog: printErrors,
    rateLimits: NO_LIMITS,
    vars: {
      ROOT_TOKEN: BENCH_ROOT_TOKEN,
      MASTER_KEY: Buffer.alloc(32, 1).toString('base64'),
      LEADERBOARD_SHARDS: '4',
      LIVE_VIEWERS_PER_CLIENT: '30000',
    },
  });
  const children = listChildren().filter((pid) => !before.has(pid));
  const sockets: Socket[] = [];
  try {
    const token = await makeToken(server.url);
    const post = async (user_id: string, points: number) => {
      const startedAt = performance.now();
      const response = await fetch(`${server.url}/v1/scores`, {
        method: 'POST',
        headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
        body: JSON.stringify({ user_id, points }),
      });
      if (!response.ok) throw new Error(await response.text());
      await response.arrayBuffer();
      return performance.now() - startedAt;
    };
    for (let i = 0; i < 200; i++) await post(`player-${i}`, i);
    let onScore = (_text: string) => {};
    while (sockets.length < VIEWERS) {
      const batch = Array.from({ length: Math.min(OPENED_AT_ONCE, VIEWERS - sockets.length) }, () =>
        openViewer(server.url, (text) => onScore(text)),
      );
      sockets.push(...(await Promise.all(batch)));
    }
    const delays: number[] = [];
    const posts: number[] = [];
    const beside: number[] = [];
    let missed = 0;
    const cpuBefore = readCpuMs(children);
    for (let push = 1; push <= PUSHES; push++) {
      const startedAt = performance.now();
      const expected = `"score":${push * 1_000}}`;
      let seen = 0;
      onScore = (text) => {
        if (!text.includes(expected)) return;
        delays.push(performance.now() - startedAt);
        seen++;
      };
      posts.push(await post('leader', 1_000));
      // Measure another post while the server still pushes the change to the viewers.
      await sleep(130);
      beside.push(await post(`player-${push}`, 0));
      await sleep(Math.max(0, 1_000 - (performance.now() - startedAt)));
      for (let wait = 0; seen < VIEWERS && wait < 50; wait++) await sleep(100);
      missed += VIEWERS - seen;
    }
    const cpuMs = (readCpuMs(children) - cpuBefore) / PUSHES;
    const show = (all: number[]) =>
      `p50 ${percentile(all, 50).toFixed(0)} ms, p99 ${percentile(all, 99).toFixed(0)} ms`;
    console.log(`${VIEWERS.toLocaleString('en')} viewers, ${PUSHES} pushes, one a second: ${missed} messages missed`);
    console.log(`  from the post to a viewer   ${show(delays)}`);
    console.log(`  the post                    ${show(posts)}`);
    console.log(`  a post during a push        ${show(beside)}`);
    console.log(`  processor time per push     ${cpuMs.toFixed(0)} ms, sockets of the machine included`);
  } finally {
    for (const socket of sockets) socket.destroy();
    await server.stop();
    rmSync(stateDirectory, { recursive: true, force: true });
  }
}
