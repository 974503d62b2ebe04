/**
 * Single posts at a steady rate (`RATE`, 2,500/s) with 50 reads of the top list per second, on 4 shards. Open loop: a slow answer
 * does not delay later posts. Afterwards Redis behind a plain HTTP server does the same work. With `PROFILE_PORT`, a free port, prints
 * a profile of the Worker instead.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { startLocalServer } from '../../dev/local/local-server.ts';
import { profileWhile } from '../shared/cpu-profile.ts';
import { listChildren, readCpuMs } from '../shared/processes.ts';
import { AS_DEPLOYED, BENCH_ROOT_TOKEN, NO_LIMITS, printErrors } from '../shared/servers.ts';
import { makeToken, percentile } from './client.ts';

const RATE = Number(process.env.RATE ?? 2_500);
const SECONDS = Number(process.env.BENCH_SECONDS ?? 20);
const PROFILE_PORT = Number(process.env.PROFILE_PORT ?? 0);
const TOPS_PER_SECOND = 50;
const PLAYERS = 20_000;
const CONNECTIONS = 512;
/** Milliseconds between the posts of a leading player. The time until each of these posts is in the top list is measured. */
const PROBE_MS = 250;
const TICK_MS = 4;

/** An HTTP/1.1 client that needs little processor time per request, because it shares the processor with the server. */
class Client {
  readonly #url: URL;
  readonly #head: string;
  readonly #idle: Socket[] = [];
  readonly #waiting: ((socket: Socket) => void)[] = [];
  #open = 0;
  failures = 0;

  constructor(url: string, token: string) {
    this.#url = new URL(url);
    this.#head = `host: ${this.#url.host}\r\nauthorization: Bearer ${token}\r\n`;
  }

  async send(method: string, path: string, body = ''): Promise<string> {
    const socket = await this.#take();
    const length =
      body === '' ? '' : `content-type: application/json\r\ncontent-length: ${Buffer.byteLength(body)}\r\n`;
    socket.write(`${method} ${path} HTTP/1.1\r\n${this.#head}${length}\r\n${body}`);
    const answer = await readAnswer(socket);
    if (!answer.startsWith('HTTP/1.1 200')) this.failures++;
    const next = this.#waiting.shift();
    if (next) next(socket);
    else this.#idle.push(socket);
    return answer;
  }

  async #take(): Promise<Socket> {
    // Skip connections that the server closed because they were idle for some seconds.
    for (let idle = this.#idle.pop(); idle; idle = this.#idle.pop()) if (!idle.destroyed) return idle;
    if (this.#open >= CONNECTIONS) return new Promise((resolve) => this.#waiting.push(resolve));
    this.#open++;
    const socket = connect(Number(this.#url.port), this.#url.hostname);
    socket.setNoDelay(true).once('close', () => this.#open--);
    await once(socket, 'connect');
    return socket;
  }

  close(): void {
    for (const socket of this.#idle) socket.destroy();
  }
}

/** Reads one HTTP answer, with a Content-Length or in chunks. */
function readAnswer(socket: Socket): Promise<string> {
  return new Promise((resolve, reject) => {
    let text = '';
    const onData = (part: Buffer) => {
      text += part.toString('latin1');
      const at = text.indexOf('\r\n\r\n');
      if (at < 0) return;
      const length = /\r\ncontent-length: (\d+)/i.exec(text.slice(0, at));
      if (length ? text.length < at + 4 + Number(length[1]) : !text.endsWith('0\r\n\r\n')) return;
      socket.off('data', onData).off('error', reject).off('close', onClose);
      resolve(text);
    };
    const onClose = () => reject(new Error('The connection was closed before the answer was complete.'));
    socket.on('data', onData).once('error', reject).once('close', onClose);
  });
}

async function measure(name: string, client: Client, pids: readonly string[]): Promise<void> {
  const posts: number[] = [];
  const tops: number[] = [];
  const fresh: number[] = [];
  const probes = new Map<number, number>();
  let sent = 0;
  let probe = 0;
  const under: Promise<void>[] = [];
  const post = async (userId: string, points: number) => {
    const startedAt = performance.now();
    const event = `${name}-${sent++}`;
    await client.send('POST', '/v1/scores', `{"user_id":"${userId}","points":${points},"event_id":"${event}"}`);
    posts.push(performance.now() - startedAt);
  };
  const readTop = async () => {
    const startedAt = performance.now();
    const answer = await client.send('GET', '/v1/scores');
    tops.push(performance.now() - startedAt);
    const score = Number(/"user_id":"leader"[^}]*"score":(\d+)/.exec(answer)?.[1] ?? 0);
    for (const [expected, at] of probes) {
      if (expected > score) continue;
      fresh.push(performance.now() - at);
      probes.delete(expected);
    }
  };
  const sendProbe = async () => {
    const expected = ++probe * 100_000;
    await post('leader', 100_000);
    probes.set(expected, performance.now());
  };
  const warmUp = 3_000;
  let [nextTop, nextProbe, isWarm, cpu] = [0, 0, false, 0];
  let begunAt = performance.now();
  for (let due = 0; ; ) {
    const now = performance.now() - begunAt;
    if (!isWarm && now >= warmUp) {
      await Promise.all(under.splice(0));
      for (const list of [posts, tops, fresh]) list.length = 0;
      [isWarm, due, nextTop, nextProbe, cpu, begunAt] = [true, 0, 0, 0, readCpuMs(pids), performance.now()];
      continue;
    }
    if (isWarm && now >= SECONDS * 1_000) break;
    for (; due <= (now * RATE) / 1_000; due++) under.push(post(`player-${Math.floor(Math.random() * PLAYERS)}`, 1));
    for (; nextTop <= now; nextTop += 1_000 / TOPS_PER_SECOND) under.push(readTop());
    for (; nextProbe <= now; nextProbe += PROBE_MS) under.push(sendProbe());
    await sleep(TICK_MS);
  }
  await Promise.all(under);
  const seconds = (performance.now() - begunAt) / 1_000;
  const cpuMs = (readCpuMs(pids) - cpu) / posts.length;
  const show = (all: number[]) => `p50 ${percentile(all, 50).toFixed(0)} ms, p99 ${percentile(all, 99).toFixed(0)} ms`;
  console.log(`${name}: ${Math.round(posts.length / seconds)} posts/s of ${RATE}, ${client.failures} failed`);
  console.log(`  acknowledged   ${show(posts)}`);
  console.log(`  top list       ${show(tops)}`);
  console.log(`  in the top list after its acknowledgement   ${show(fresh)}`);
  console.log(`  processor time ${cpuMs.toFixed(2)} ms per post, top reads included`);
}

export async function runRate(): Promise<void> {
  const stateDirectory = mkdtempSync(join(tmpdir(), 'tessera-bench-rate-'));
  const before = new Set(listChildren());
  const server = await startLocalServer({
    host: '127.0.0.1',
    port: 0,
    stateDirectory,
    ...(PROFILE_PORT === 0 ? {} : { inspectorPort: PROFILE_PORT }),
    printLog: printErrors,
    rateLimits: { ...NO_LIMITS, RATE_LIMIT_SCORES: 1_000_000_000 },
    vars: {
      ...AS_DEPLOYED,
      ROOT_TOKEN: BENCH_ROOT_TOKEN,
      MASTER_KEY: Buffer.alloc(32, 1).toString('base64'),
      LEADERBOARD_SHARDS: '4',
    },
  });
  try {
    const client = new Client(server.url, await makeToken(server.url));
    const pids = listChildren().filter((pid) => !before.has(pid));
    const work = () => measure('Tessera', client, pids);
    await (PROFILE_PORT === 0 ? work() : profileWhile(PROFILE_PORT, work));
    client.close();
  } finally {
    await server.stop();
    rmSync(stateDirectory, { recursive: true, force: true });
  }
  if (PROFILE_PORT !== 0) return;
  const floor = spawn(process.execPath, [join(import.meta.dirname, '../floor/redis-board.ts')], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  try {
    const [line] = await once(floor.stdout, 'data');
    const { port, pid } = JSON.parse(String(line)) as { port: number; pid: number };
    const client = new Client(`http://127.0.0.1:${port}`, '');
    await measure('Redis, appendfsync always', client, [String(floor.pid), String(pid)]);
    client.close();
  } finally {
    floor.kill();
    await once(floor, 'exit');
  }
}
