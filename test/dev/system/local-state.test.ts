/** Tests `npm start` and `npm run dev` on a clean clone, and with local state of another version. */
import { type ChildProcess, execFileSync, spawn, spawnSync } from 'node:child_process';
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { connect, createServer, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { readCommit } from '../../../dev/local/commit.ts';
import { readMigrations } from '../../../dev/local/local-state.ts';
import { freePorts, startServer } from '../../support/server.ts';

const ROOT = join(import.meta.dirname, '../../..');
const scratch = mkdtempSync(join(tmpdir(), 'tessera-clone-'));
afterAll(() => rmSync(scratch, { recursive: true, force: true }));

const DEFAULT_PORTS = [8787, 2525, 1025];
const holders: Server[] = [];
/** Takes the default ports of `npm start`, as a first one would. If another process has one, it is taken already. */
beforeAll(async () => {
  for (const port of DEFAULT_PORTS) {
    const holder = createServer();
    holders.push(holder);
    await new Promise<void>((resolve) => holder.once('error', () => resolve()).listen(port, '127.0.0.1', resolve));
  }
});
afterAll(() => {
  for (const holder of holders) holder.close();
});

/** Copies the files that a clone has, and links the installed packages. */
function cloneInto(folder: string): void {
  const listed = execFileSync('git', ['ls-files', '-co', '--exclude-standard'], { cwd: ROOT, encoding: 'utf8' });
  for (const path of listed.split('\n').filter((line) => line !== '' && existsSync(join(ROOT, line)))) {
    if (/^(?:test|docs|bench|clients)\//.test(path)) continue;
    mkdirSync(join(folder, dirname(path)), { recursive: true });
    cpSync(join(ROOT, path), join(folder, path));
  }
  symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'));
}

/** Waits until a process prints a text or exits. */
function untilPrinted(child: ChildProcess, text: string): Promise<string> {
  let output = '';
  return new Promise((resolve, reject) => {
    const read = (chunk: Buffer) => {
      output += chunk;
      if (output.includes(text)) resolve(output);
    };
    child.stdout?.on('data', read);
    child.stderr?.on('data', read);
    child.once('exit', (status) => reject(new Error(`exited with ${status}:\n${output}`)));
  });
}

it('`npm run dev` serves every product from a clean clone', async () => {
  const clone = join(scratch, 'clone');
  cloneInto(clone);
  const { PORT: port } = await freePorts();
  const { TESSERA_PREBUILT: _, ...environment } = process.env;
  const child = spawn(process.execPath, ['dev/local/dev.ts', '--port', port, '--inspector-port', '0'], {
    cwd: clone,
    env: { ...environment, WRANGLER_SEND_METRICS: 'false' },
  });
  try {
    await untilPrinted(child, 'Ready on');
    const get = async (path: string) => {
      const response = await fetch(`http://localhost:${port}${path}`);
      return { status: response.status, text: await response.text() };
    };
    expect(JSON.parse((await get('/v1/health')).text)).toMatchObject({ status: 'ok', warnings: [] });
    expect((await get('/v1/scores')).status).toBe(200);
    expect((await get('/_/mail')).status).toBe(200);
    // This answer needs a query, because only DIRECTORY knows that there is no such key or bucket. So its tables exist.
    expect((await get('/no-bucket/key')).text).toContain('<Code>NoSuchBucket</Code>');
    const registration = await fetch(`http://localhost:${port}/v1/auth/register`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ email: 'me@example.test', password: 'correct horse battery', name: 'Me' }),
    });
    expect(registration.status).toBe(201);
  } finally {
    const exited = new Promise((resolve) => child.once('exit', resolve));
    child.kill();
    await exited;
  }
});

describe('beside a running `npm start`', () => {
  it('another one names the port that is in use, and how to choose another', () => {
    const env = { ...process.env, STATE_DIR: join(scratch, 'never'), DEV_VARS: join(scratch, 'never.vars') };
    const { status, stderr } = spawnSync(process.execPath, ['dev/local/start.ts'], {
      cwd: ROOT,
      env,
      encoding: 'utf8',
    });
    expect([status, stderr.trim()]).toEqual([
      1,
      '127.0.0.1:8787 is in use. Set PORT to another port, for example PORT=18787 npm start',
    ]);
  });

  /** Reads the first line that an SMTP server sends. */
  const greeting = (port: number) =>
    new Promise<string>((resolve, reject) => {
      const socket = connect(port, '127.0.0.1').once('error', reject);
      socket.once('data', (line) => {
        resolve(line.toString());
        socket.destroy();
      });
    });

  it('the server of a test serves HTTP and mail on ports of its own', async () => {
    await using server = await startServer();
    expect((await server.call('GET', '/v1/health', undefined, null)).body).toMatchObject({
      status: 'ok',
      commit: readCommit(),
      version_id: 'local',
    });
    expect(await greeting(server.smtpPort)).toMatch(/^220 /);
    expect(await greeting(server.sinkPort)).toMatch(/^220 /);
    const ports = [Number(new URL(server.url).port), server.smtpPort, server.sinkPort];
    expect(new Set([...ports, ...DEFAULT_PORTS]).size).toBe(6);
  });
});

describe('DIRECTORIES', () => {
  it('is refused unless it is 1, 5, 21 or 85', async () => {
    const env = { ...process.env, DIRECTORIES: '3' };
    const { status, stderr } = spawnSync(process.execPath, ['dev/local/start.ts'], {
      cwd: ROOT,
      env,
      encoding: 'utf8',
    });
    expect([status, stderr.trim()]).toEqual([2, 'DIRECTORIES must be one of 1, 5, 21, 85.']);
  });

  /** Counts the database files with the tables of DIRECTORY. */
  function countDirectories(state: string): number {
    const folder = join(state, 'd1/miniflare-D1DatabaseObject');
    const files = readdirSync(folder).filter((name) => name.endsWith('.sqlite') && name !== 'metadata.sqlite');
    return files.filter((name) => {
      const database = new DatabaseSync(join(folder, name), { readOnly: true });
      const table = database.prepare("SELECT 1 FROM sqlite_master WHERE name = 'mail_account'").get();
      database.close();
      return table !== undefined;
    }).length;
  }

  it('adds user databases to local state that had one, with their tables', async () => {
    await using server = await startServer({ directories: 1 });
    await server.stop();
    await server.start({}, 21);
    expect(countDirectories(server.directory)).toBe(21);
    expect((await server.call('GET', '/v1/health', undefined, null)).body).toMatchObject({
      status: 'ok',
      warnings: [],
    });
  });
});

describe('local state of another version', () => {
  /**
   * Writes state of another version, and starts this one on it.
   * @param record content of the file beside the state, or null for none.
   * @param maker content of the file that names the other version, or null for none.
   */
  function start(record: string | null, script = 'dev/local/start.ts', maker: object | null = null) {
    const state = mkdtempSync(join(scratch, 'state-'));
    const stores = script === 'dev/local/dev.ts' ? join(state, 'v3') : state;
    mkdirSync(join(stores, 'd1'), { recursive: true });
    if (record !== null) writeFileSync(join(stores, 'migrations.json'), record);
    if (maker !== null) writeFileSync(join(stores, 'version.json'), JSON.stringify(maker));
    return new Promise<{ status: number | null; output: string; stores: string }>((resolve, reject) => {
      const env = { ...process.env, STATE_DIR: state, DEV_VARS: join(state, 'dev.vars') };
      freePorts().then((ports) => {
        const child = spawn(process.execPath, [script], { cwd: ROOT, env: { ...env, ...ports } });
        let output = '';
        for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk: Buffer) => (output += chunk));
        child.once('exit', (status) => resolve({ status, output, stores }));
      }, reject);
    });
  }

  it.each(['dev/local/start.ts', 'dev/local/dev.ts'])(
    'is refused by %s with a sentence that says what to do',
    async (script) => {
      const { status, output, stores } = await start(null, script);
      expect([status, output.trim()]).toEqual([
        1,
        `The local state in ${stores} is from before 0.2.0. It was left as it is. Move it away (mv '${stores}' '${stores}-old'), or set STATE_DIR to another folder.`,
      ]);
    },
  );

  it('is refused if one of its migrations was rewritten or is unknown, and is left unchanged', async () => {
    const record = JSON.stringify({ 'directory/0000_initial.sql': 'another hash', 'mailbox/0007_later.sql': 'a hash' });
    const { status, output, stores } = await start(record);
    expect(status).toBe(1);
    expect(output).toContain('(directory/0000_initial.sql, mailbox/0007_later.sql)');
    expect(output).not.toContain('rm -r');
    expect(readFileSync(join(stores, 'migrations.json'), 'utf8')).toBe(record);
  });

  it('is refused if it is of a newer version, with the commit that can open it, and nothing is lost', async () => {
    const record = JSON.stringify({ ...readMigrations(), 'mailbox/9999_later.sql': 'a hash' });
    const maker = { version: '9.0.0', commit: '0123456789ab' };
    const { status, output, stores } = await start(record, 'dev/local/start.ts', maker);
    expect([status, output.trim()]).toEqual([
      1,
      `The local state in ${stores} is of a newer version than this checkout: it has the migrations mailbox/9999_later.sql. It was left as it is. Start it with 9.0.0 (git checkout 0123456789ab), or set STATE_DIR to another folder.`,
    ]);
    expect(readFileSync(join(stores, 'migrations.json'), 'utf8')).toBe(record);
    expect(JSON.parse(readFileSync(join(stores, 'version.json'), 'utf8'))).toEqual(maker);
  });
});
