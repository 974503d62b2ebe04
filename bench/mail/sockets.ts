/**
 * Opens ten thousand idle WebSockets (`BENCH_SOCKETS`) to twenty mailboxes. Measures memory while the mailboxes are awake and
 * asleep, the time until one change reaches all listeners of its mailbox, and events that reach the wrong listeners.
 *
 * workerd uses two file descriptors per socket, and only root may raise the limit of a machine. If the limit is too low for
 * one process, the sockets are spread over several.
 */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type LocalServer, startLocalServer } from '../../dev/local/local-server.ts';
import { readChildMemory } from '../shared/servers.ts';

const SOCKETS = Number(process.env.BENCH_SOCKETS ?? 10_000);
const MAILBOXES = 20;
const DESCRIPTORS_PER_SOCKET = 2;
/** Number of file descriptors that a server uses for databases, R2 and other files. */
const OTHER_DESCRIPTORS = 500;
/** Time after which the mailboxes are asleep: workerd evicts an object after ten idle seconds. */
const SLEEP_MS = 15_000;
/** Time to wait for events that might reach the wrong listener. */
const STRAY_MS = 1_000;

interface ListenedMailbox {
  readonly server: LocalServer;
  readonly token: string;
  readonly sockets: WebSocket[];
  received: number;
}

async function register(server: LocalServer, name: string): Promise<string> {
  const answer = await fetch(`${server.url}/v1/auth/register`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ email: `${name}@example.test`, password: 'long enough', name }),
  });
  return ((await answer.json()) as { token: string }).token;
}

/** Connects one more listener. Resolves when it receives its first message. */
function listen(mailbox: ListenedMailbox, onReceived: () => void): Promise<void> {
  const headers = { authorization: `Bearer ${mailbox.token}` };
  const socket = new WebSocket(`${mailbox.server.url.replace('http', 'ws')}/v1/events`, { headers } as never);
  mailbox.sockets.push(socket);
  return new Promise((resolve, reject) => {
    socket.addEventListener('error', () => reject(new Error('A WebSocket was refused or broke.')));
    socket.addEventListener('message', (event) => {
      if (!String(event.data).includes('folder_created')) return resolve();
      mailbox.received += 1;
      onReceived();
    });
  });
}

const sleep = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

function countServers(): number {
  const limit = Number(execFileSync('sh', ['-c', 'ulimit -n'], { encoding: 'utf8' }).trim()) || Number.MAX_SAFE_INTEGER;
  return Math.ceil((SOCKETS * DESCRIPTORS_PER_SOCKET) / (limit - OTHER_DESCRIPTORS));
}

export async function runSockets(): Promise<void> {
  const directory = mkdtempSync(join(tmpdir(), 'tessera-bench-sockets-'));
  const vars = {
    ROOT_TOKEN: 'root',
    MASTER_KEY: Buffer.alloc(32, 1).toString('base64'),
    MAIL_DOMAINS: 'example.test',
    REGISTRATION: 'open',
  };
  const servers: LocalServer[] = [];
  try {
    for (let n = 0; n < countServers(); n += 1) {
      servers.push(
        await startLocalServer({ host: '127.0.0.1', port: 0, stateDirectory: join(directory, `${n}`), vars }),
      );
    }
    const mailboxes: ListenedMailbox[] = [];
    for (let n = 0; n < MAILBOXES; n += 1) {
      const server = servers[n % servers.length];
      if (server) mailboxes.push({ server, token: await register(server, `socket${n}`), sockets: [], received: 0 });
    }
    let onReceived = () => {};
    const before = readChildMemory();
    for (let n = 0; n < SOCKETS; n += 100) {
      const batch = Array.from({ length: Math.min(100, SOCKETS - n) }, (_, at) => mailboxes[(n + at) % MAILBOXES]);
      await Promise.all(batch.map((mailbox) => mailbox && listen(mailbox, () => onReceived())));
    }
    const printMemory = (label: string) => {
      const more = readChildMemory() - before;
      console.log(`${label}: ${Math.round(more)} MiB more, ${((more * 1024) / SOCKETS).toFixed(1)} KiB each`);
    };
    printMemory(`${SOCKETS} sockets to ${MAILBOXES} mailboxes on ${servers.length} servers`);
    await sleep(SLEEP_MS);
    printMemory(`after ${SLEEP_MS / 1_000} idle seconds`);
    const [first] = mailboxes;
    if (first)
      await measureOneChange(first, mailboxes, (received) => {
        onReceived = received;
      });
  } finally {
    for (const server of servers) await server.stop();
    rmSync(directory, { recursive: true, force: true });
  }
}

async function measureOneChange(
  changed: ListenedMailbox,
  all: readonly ListenedMailbox[],
  setOnReceived: (received: () => void) => void,
): Promise<void> {
  const allReceived = new Promise<void>((resolve) =>
    setOnReceived(() => changed.received === changed.sockets.length && resolve()),
  );
  const startedAt = performance.now();
  await fetch(`${changed.server.url}/v1/folders`, {
    method: 'POST',
    headers: { authorization: `Bearer ${changed.token}`, 'content-type': 'application/json' },
    body: JSON.stringify({ name: 'News' }),
  });
  await allReceived;
  const tookMs = Math.round(performance.now() - startedAt);
  await sleep(STRAY_MS);
  const stray = all.reduce((sum, mailbox) => sum + mailbox.received, 0) - changed.sockets.length;
  const open = all.reduce(
    (sum, { sockets }) => sum + sockets.filter((socket) => socket.readyState === WebSocket.OPEN).length,
    0,
  );
  console.log(
    `one change to ${changed.sockets.length} listeners of a sleeping mailbox: ${tookMs} ms; received by ${stray} wrong listeners; ${open} sockets are open`,
  );
}
