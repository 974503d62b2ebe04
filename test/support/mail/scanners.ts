/** Starts a real clamd and a real rspamd on free loopback ports, each with a minimal configuration. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { type AddressInfo, connect, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Duplex } from 'node:stream';
import type { CheckDependencies } from '../../../workers/mail/checks/index.ts';
import { EICAR } from '../../../workers/mail/mime/virus-signatures.ts';

export interface Scanner {
  readonly port: number;
  readonly stop: () => Promise<void>;
}

/** Implements the `connect` dependency of the checks in Node. Inside workerd, `cloudflare:sockets` implements it. */
export const connectByNode: CheckDependencies['connect'] = ({ hostname, port }) => {
  const socket = connect(port, hostname);
  const { readable, writable } = Duplex.toWeb(socket);
  return {
    readable: readable as unknown as ReadableStream<Uint8Array>,
    writable: writable as unknown as WritableStream<Uint8Array>,
    close: async () => {
      socket.destroy();
    },
  };
};

/** Starts a clamd that detects EICAR and one test signature, and reports encrypted archives. */
export async function startClamd(options: readonly string[] = []): Promise<Scanner> {
  const folder = mkdtempSync(join(tmpdir(), 'clamd-'));
  const port = await findFreePort();
  const hex = Buffer.from(EICAR, 'latin1').toString('hex');
  mkdirSync(join(folder, 'db'));
  writeFileSync(
    join(folder, 'db/own.ndb'),
    `Tessera.Eicar:0:*:${hex}\nTessera.Own:0:*:${Buffer.from('tessera test signature').toString('hex')}\n`,
  );
  const settings = [
    `TCPSocket ${port}`,
    'TCPAddr 127.0.0.1',
    `DatabaseDirectory ${join(folder, 'db')}`,
    `TemporaryDirectory ${folder}`,
    'Foreground yes',
    'AlertEncrypted yes',
    'ConcurrentDatabaseReload no',
    ...options,
  ];
  writeFileSync(join(folder, 'clamd.conf'), `${settings.join('\n')}\n`);
  return start('clamd', ['-c', join(folder, 'clamd.conf')], folder, port);
}

/** Starts an rspamd that detects GTUBE and, by a test rule, the subject "lottery". */
export async function startRspamd(): Promise<Scanner> {
  const folder = mkdtempSync(join(tmpdir(), 'rspamd-'));
  const port = await findFreePort();
  const file = (name: string, text: string) => {
    writeFileSync(join(folder, name), text);
    return join(folder, name);
  };
  const rules = file(
    'rules.lua',
    `rspamd_config.TESSERA_LOTTERY = { score = 7.5, description = 'You have won the lottery', callback = function(task)
      return (task:get_header('Subject') or ''):find('lottery') ~= nil
    end }
    rspamd_config.TESSERA_CLIENT = { score = 0.1, callback = function(task)
      return tostring(task:get_from_ip()) == '192.0.2.3' and task:get_helo() == 'mx.example.org' and task:get_from('smtp')[1].addr == 'ada@example.org'
    end }\n`,
  );
  const suffixes = file('suffixes.dat', 'com\nexample\norg\n');
  const configuration = file(
    'rspamd.conf',
    `options { filters = ""; url_tld = "${suffixes}"; disable_hyperscan = true; tempdir = "${folder}"; dns { nameserver = ["127.0.0.1:1"]; timeout = 0.1s; retransmits = 1; } }
logging { type = "console"; level = "warning"; }
actions { reject = 15; add_header = 6; }
worker "normal" { bind_socket = "127.0.0.1:${port}"; count = 1; }
lua = "${rules}";\n`,
  );
  return start('rspamd', ['-f', '-i', '-c', configuration], folder, port);
}

async function start(command: string, args: string[], folder: string, port: number): Promise<Scanner> {
  const child = spawn(command, args, { stdio: ['ignore', 'pipe', 'pipe'] });
  const output: string[] = [];
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (chunk: Buffer) => output.push(chunk.toString()));
  try {
    await waitForPort(port, child, output);
  } catch (error) {
    await end(child, folder);
    throw error;
  }
  return { port, stop: () => end(child, folder) };
}

async function waitForPort(port: number, child: ChildProcess, output: readonly string[]): Promise<void> {
  for (let tries = 0; tries < 300; tries += 1) {
    if (child.exitCode !== null) break;
    if (await canConnect(port)) return;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  throw new Error(`${child.spawnfile} did not start: ${output.join('').slice(-2_000)}`);
}

function canConnect(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1');
    socket.on('connect', () => {
      socket.destroy();
      resolve(true);
    });
    socket.on('error', () => resolve(false));
  });
}

async function end(child: ChildProcess, folder: string): Promise<void> {
  if (child.exitCode === null && child.signalCode === null) {
    const ended = once(child, 'exit');
    // Send SIGTERM, on which rspamd stops its workers. SIGKILL would leave them running.
    child.kill('SIGTERM');
    const timer = setTimeout(() => child.kill('SIGKILL'), 10_000);
    await ended;
    clearTimeout(timer);
  }
  rmSync(folder, { recursive: true, force: true });
}

export async function findFreePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}
