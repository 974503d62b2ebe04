/** Ten thousand idle WebSockets over ten mailboxes (`BENCH_SOCKETS`): memory before and with them, and the time of one push. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type LocalServer, startLocalServer } from '../dev/local-server.ts';
import { readChildMemory } from './servers.ts';

const SOCKETS = Number(process.env.BENCH_SOCKETS ?? 10_000);
const MAILBOXES = 10;

async function register(server: LocalServer, name: string): Promise<string> {
  const answer = await fetch(`${server.url}/v1/auth/register`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ email: `${name}@example.test`, password: 'long enough', name }),
  });
  return ((await answer.json()) as { token: string }).token;
}

export async function runSockets(): Promise<void> {
  const directory = mkdtempSync(join(tmpdir(), 'tessera-bench-sockets-'));
  const vars = {
    ROOT_TOKEN: 'root',
    MASTER_KEY: Buffer.alloc(32, 1).toString('base64'),
    MAIL_DOMAINS: 'example.test',
    REGISTRATION: 'open',
  };
  const server = await startLocalServer({ host: '127.0.0.1', port: 0, stateDirectory: directory, vars });
  try {
    const tokens: string[] = [];
    for (let n = 0; n < MAILBOXES; n += 1) tokens.push(await register(server, `socket${n}`));
    const before = readChildMemory();
    let heard = 0;
    let onHeard = () => {};
    const target = `${server.url.replace('http', 'ws')}/v1/events`;
    for (let n = 0; n < SOCKETS; n += 100) {
      await Promise.all(
        Array.from({ length: Math.min(100, SOCKETS - n) }, (_, at) => {
          const headers = { authorization: `Bearer ${tokens[(n + at) % MAILBOXES]}` };
          const socket = new WebSocket(target, { headers } as never);
          return new Promise<void>((resolve, reject) => {
            socket.addEventListener('error', () => reject(new Error('a socket was refused')));
            socket.addEventListener('message', (event) => {
              if (!String(event.data).includes('folder_created')) return resolve();
              heard += 1;
              onHeard();
            });
          });
        }),
      );
    }
    const memory = readChildMemory();
    console.log(
      `${SOCKETS} idle sockets: ${Math.round(memory - before)} MiB more, ${(((memory - before) * 1024) / SOCKETS).toFixed(1)} KiB each`,
    );
    const all = new Promise<void>((resolve) => {
      onHeard = () => heard >= SOCKETS / MAILBOXES && resolve();
    });
    const startedAt = performance.now();
    await fetch(`${server.url}/v1/folders`, {
      method: 'POST',
      headers: { authorization: `Bearer ${tokens[0]}`, 'content-type': 'application/json' },
      body: JSON.stringify({ name: 'News' }),
    });
    await all;
    console.log(
      `one change to ${SOCKETS / MAILBOXES} listeners of a mailbox: ${Math.round(performance.now() - startedAt)} ms`,
    );
  } finally {
    await server.stop();
    rmSync(directory, { recursive: true, force: true });
  }
}
