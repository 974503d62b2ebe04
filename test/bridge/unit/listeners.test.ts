/** Sockets of Node: STARTTLS, limits, and clients that do not read. */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect as connectTls } from 'node:tls';
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest';
import { type Listening, type ListenOptions, listen } from '../../../bridge/listeners.ts';
import { Accounts } from '../../../bridge/session/account.ts';
import { runSession } from '../../../bridge/session/session.ts';
import { ADDRESS, MemoryAccount, TOKEN } from '../../support/bridge/memory-account.ts';

const folder = mkdtempSync(join(tmpdir(), 'tessera-listeners-'));
let certificate: { readonly cert: string; readonly key: string };
let running: Listening | undefined;

beforeAll(() => {
  const [key, cert] = [join(folder, 'key'), join(folder, 'cert')];
  const kind = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-subj', '/CN=localhost'];
  execFileSync('openssl', ['req', '-x509', ...kind, '-keyout', key, '-out', cert], { stdio: 'pipe' });
  certificate = { key: readFileSync(key, 'utf8'), cert: readFileSync(cert, 'utf8') };
});
afterEach(async () => {
  await running?.stop();
  running = undefined;
});
afterAll(() => rmSync(folder, { recursive: true }));

async function start(memory: MemoryAccount, more: Partial<ListenOptions> = {}): Promise<number> {
  const accounts = new Accounts({ server: 'https://tessera.test', network: memory.network });
  running = await listen({
    host: '127.0.0.1',
    port: 0,
    certificate,
    isTls: false,
    connectionsMax: 100,
    connectionsPerAddressMax: 100,
    serve: (pipe, peer) => runSession(pipe, { ...peer, address: '192.0.2.1' }, { accounts, devicesUrl: '' }),
    ...more,
  });
  return running.port;
}

function read(socket: Socket, pattern: RegExp): Promise<string> {
  return new Promise((resolve) => {
    let text = '';
    const finish = (): void => {
      socket.off('data', receive).off('close', finish);
      resolve(text);
    };
    const receive = (bytes: Buffer): void => {
      text += bytes.toString('latin1');
      if (pattern.test(text)) finish();
    };
    socket.on('data', receive).on('close', finish);
  });
}

it('runs no command that came before TLS, and allows the log-in after it', async () => {
  const port = await start(new MemoryAccount());
  const raw = connect(port, '127.0.0.1');
  await read(raw, /^\* OK/);
  raw.write(`a STARTTLS\r\nb LOGIN ${ADDRESS} ${TOKEN}\r\n`);
  expect(await read(raw, /^a OK.*\r\n/m)).not.toContain('b ');
  const socket = connectTls({ socket: raw, rejectUnauthorized: false });
  socket.write(`c CAPABILITY\r\n`);
  const answer = await read(socket, /^c OK/m);
  expect(answer).not.toMatch(/^b /m);
  expect(answer).not.toContain('STARTTLS');
  socket.write(`d LOGIN ${ADDRESS} ${TOKEN}\r\n`);
  expect(await read(socket, /^d /m)).toContain('d OK');
  socket.destroy();
});
it('serves TLS from the start, also to clients that do not name the server', async () => {
  const port = await start(new MemoryAccount(), { isTls: true });
  const socket = connectTls({ port, host: '127.0.0.1', rejectUnauthorized: false });
  expect(await read(socket, /\r\n/)).toContain('AUTH=PLAIN');
  socket.destroy();
});
it('bounds the connections of an address, and takes new ones when old ones end', async () => {
  const port = await start(new MemoryAccount(), { connectionsPerAddressMax: 1 });
  const first = connect(port, '127.0.0.1');
  await read(first, /^\* OK/);
  expect(await read(connect(port, '127.0.0.1'), /\r\n/)).toContain('* BYE');
  first.write('a LOGOUT\r\n');
  await read(first, /$^/);
  await expect.poll(async () => read(connect(port, '127.0.0.1'), /\r\n/)).toContain('* OK');
});
it('waits for a client that does not read, and then sends the rest', async () => {
  const memory = new MemoryAccount();
  const size = 40_000_000;
  memory.add(`Subject: large\r\n\r\n${'x'.repeat(size)}`);
  const port = await start(memory, {
    serve: (pipe, peer) =>
      runSession(
        pipe,
        { ...peer, isTls: true },
        { accounts: new Accounts({ server: 'https://tessera.test', network: memory.network }), devicesUrl: '' },
      ),
  });
  const socket = connect(port, '127.0.0.1');
  await read(socket, /^\* OK/);
  socket.write(`a LOGIN ${ADDRESS} ${TOKEN}\r\nb SELECT INBOX\r\nc FETCH 1 BODY.PEEK[]\r\n`);
  let received = (await read(socket, /^b OK/m)).length;
  socket.pause();
  await expect.poll(() => memory.requests.filter((request) => request.endsWith('/raw')).length).toBe(1);
  let end = '';
  const done = new Promise((resolve) =>
    socket.on('data', (bytes) => {
      received += bytes.length;
      end = (end + bytes.toString('latin1')).slice(-100);
      if (/^c OK/m.test(end)) resolve(null);
    }),
  );
  socket.resume();
  await done;
  expect(received).toBeGreaterThan(size);
  socket.destroy();
});
