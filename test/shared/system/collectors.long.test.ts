/**
 * Tests that collectors never delete data because another store is empty. Each scenario copies a whole Tessera with mail, objects
 * and scores, and replaces one of its stores. Weeks pass with cron running, and no byte may be lost. After the right store is
 * restored, everything must read as before, and only then may the collectors continue.
 */
import { cpSync, mkdtempSync, renameSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { type LocalServer, startLocalServer } from '../../../dev/local/local-server.ts';

const DAY_SECONDS = 86_400;
/** Days of the collector rounds. The third is in another month. The last is past the retention of a sealed month. */
const ROUND_DAYS = [2, 4, 40, 43];
const PLAYERS = 30;
const MESSAGES = 4;
const OBJECTS = ['a', 'b', 'c'];
const LATER_OBJECTS = ['later-1', 'later-2'];
const USERS = ['ada', 'ben'];
const PASSWORD = 'correct horse battery';
const home = mkdtempSync(join(tmpdir(), 'tessera-collectors-'));

const contentOf = (name: string): string => name.repeat(60_000 / name.length);

interface Answer {
  readonly status: number;
  // biome-ignore lint/suspicious/noExplicitAny: JSON of any route; each use asserts the members it needs
  readonly body: any;
}

class World {
  readonly directory: string;
  #server: LocalServer | undefined;

  constructor(name: string) {
    this.directory = join(home, name);
  }

  get server(): LocalServer {
    if (!this.#server) throw new Error('The server is not running.');
    return this.#server;
  }

  async start(days = 0): Promise<void> {
    this.#server = await startLocalServer({
      host: '127.0.0.1',
      port: 0,
      stateDirectory: this.directory,
      vars: {
        ROOT_TOKEN: 'root',
        MASTER_KEY: Buffer.alloc(32, 1).toString('base64'),
        MAIL_DOMAINS: 'example.test',
        MAIL_TRANSPORT: 'smtp://127.0.0.1:9',
        REGISTRATION: 'open',
        LEADERBOARD_SHARDS: '2',
        CLOCK_OFFSET_SECONDS: String(days * DAY_SECONDS),
      },
    });
  }

  async stop(): Promise<void> {
    await this.#server?.stop();
    this.#server = undefined;
  }

  async call(method: string, path: string, body?: unknown, token = 'root'): Promise<Answer> {
    const isText = typeof body === 'string';
    const response = await fetch(this.server.url + path, {
      method,
      headers: { authorization: `Bearer ${token}`, ...(isText ? {} : { 'content-type': 'application/json' }) },
      ...(body === undefined ? {} : { body: isText ? body : JSON.stringify(body) }),
    });
    const text = await response.text();
    return {
      status: response.status,
      body: response.headers.get('content-type')?.includes('json') ? JSON.parse(text) : text,
    };
  }

  async runCron(cron = '* * * * *', minute = 0): Promise<void> {
    const time = Math.floor(Date.now() / 3_600_000) * 3_600_000 + minute * 60_000;
    const query = new URLSearchParams({ cron, time: String(time) });
    const path = `http://localhost/cdn-cgi/local/scheduled?${query}`;
    expect(await (await this.server.miniflare.dispatchFetch(path)).text()).toBe('ok');
  }

  /** Runs all background work until none is due. */
  async pass(days: number): Promise<void> {
    await this.start(days);
    for (const minute of [0, 23, 41]) await this.runCron('* * * * *', minute);
    await this.runCron('17 3 * * *');
    // Call storage tasks directly. In production they run from a queue; these calls do the same work and return when it is done.
    await this.call('POST', '/v1/storage/gc', { pack: true });
    await this.call('POST', '/v1/storage/fsck', { dry_run: false });
    await this.call('POST', '/v1/storage/snapshot');
    await new Promise((resolve) => setTimeout(resolve, 3_000));
    await this.runCron();
    await this.stop();
  }

  /** Lists the keys of the objects in both locations. */
  async listKeys(prefixes: readonly string[]): Promise<string[]> {
    const keys: string[] = [];
    for (const binding of ['BLOBS', 'BLOBS_2']) {
      const bucket = await this.server.miniflare.getR2Bucket(binding, 'tessera');
      for (const prefix of prefixes) {
        for (let cursor: string | undefined; ; ) {
          const page = await bucket.list({ prefix, ...(cursor ? { cursor } : {}) });
          keys.push(...page.objects.map(({ key }) => `${binding} ${key}`));
          if (!page.truncated) break;
          cursor = page.cursor;
        }
      }
    }
    return keys.sort();
  }

  /** Reads the alarms of the collectors. @returns the reason of each collector's alarm. */
  async readAlarms(): Promise<Record<string, string | undefined>> {
    const { body } = await this.call('GET', '/v1/collectors');
    const rows = body.data as { collector: string; alarm: { reason: string } | null }[];
    return Object.fromEntries(rows.map(({ collector, alarm }) => [collector, alarm?.reason]));
  }

  async register(name: string): Promise<string> {
    const email = `${name}@example.test`;
    const { status, body } = await this.call('POST', '/v1/auth/register', { email, password: PASSWORD, name });
    expect([status, body.code]).toEqual([201, undefined]);
    return body.token;
  }

  async login(name: string): Promise<string> {
    const { body } = await this.call('POST', '/v1/auth/login', { email: `${name}@example.test`, password: PASSWORD });
    return body.token;
  }

  async listMail(token: string, role: string): Promise<{ id: string; subject: string }[]> {
    const { body: folders } = await this.call('GET', '/v1/folders', undefined, token);
    const folder = folders.find((each: { role: string }) => each.role === role);
    return (await this.call('GET', `/v1/folders/${folder.id}/messages`, undefined, token)).body.data;
  }
}

/** Creates a storage user with a token for objects, and a bucket of that user. */
async function makeBucket(world: World): Promise<string> {
  const { body: user } = await world.call('POST', '/v1/iam/users', { name: 'owner' });
  const scopes = ['objects:read', 'objects:write'];
  const { body } = await world.call('POST', '/v1/iam/tokens', { name: 't', user_id: user.user_id, scopes });
  expect((await world.call('PUT', '/things', '', body.token)).status).toBe(200);
  return body.token;
}

async function putObjects(world: World, token: string, names: readonly string[]): Promise<void> {
  for (const name of names)
    expect((await world.call('PUT', `/things/${name}`, contentOf(name), token)).status).toBe(200);
}

async function send(world: World, token: string, to: string, subject: string): Promise<void> {
  const message = { to: [{ email: to }], subject, body: `This is ${subject}.` };
  expect([201, 202]).toContain((await world.call('POST', '/v1/messages', message, token)).status);
}

async function awaitMail(world: World, token: string, count: number): Promise<void> {
  for (let attempt = 0; (await world.listMail(token, 'inbox')).length < count; attempt++) {
    if (attempt > 300) throw new Error('The mail did not arrive.');
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
}

let objectsToken = '';
const original = new World('original');
const BYTES = ['mail/', 'blobs/', 'leaderboard/'];
const METADATA = ['snapshots/', 'journal/'];

async function expectWhole(world: World, objects: readonly string[], messages: number): Promise<void> {
  for (const name of objects) {
    const { status, body } = await world.call('GET', `/things/${name}`, undefined, objectsToken);
    expect([name, status, body === contentOf(name)]).toEqual([name, 200, true]);
  }
  for (const [n, name] of USERS.entries()) {
    const token = await world.login(name);
    const mail = [...(await world.listMail(token, 'inbox')), ...(await world.listMail(token, 'sent'))];
    // Wait until both users have the other's message, so that each mailbox has sent and received mail.
    expect([n, mail.length]).toEqual([n, 2 * messages]);
    for (const { id, subject } of mail) {
      const raw = await world.call('GET', `/v1/messages/${id}/raw`, undefined, token);
      expect([raw.status, String(raw.body).includes(subject)]).toEqual([200, true]);
    }
  }
}

async function exchangeMail(world: World, from: number, to: number): Promise<void> {
  const tokens = [await world.login('ada'), await world.login('ben')];
  for (let n = from; n < to; n++) {
    await send(world, tokens[0] ?? '', 'ben@example.test', `letter ${n}`);
    await send(world, tokens[1] ?? '', 'ada@example.test', `answer ${n}`);
  }
  for (const token of tokens) await awaitMail(world, token, to);
}

let season = '';
const running: World[] = [];

/** Copies the original state. Each test changes its own copy. */
function copy(name: string): World {
  const world = new World(name);
  cpSync(original.directory, world.directory, { recursive: true });
  running.push(world);
  return world;
}

/** Lets the days of the scenario pass with cron running. @returns the keys before and after. */
async function passWeeks(world: World, prefixes: readonly string[], before: readonly string[]) {
  for (const days of ROUND_DAYS) await world.pass(days);
  await world.start(ROUND_DAYS.at(-1));
  const after = new Set(await world.listKeys(prefixes));
  const alarms = () => world.readAlarms();
  return { gone: before.filter((key) => !after.has(key)), alarms };
}

const replace = (world: World, store: string, by: World | null): void => {
  rmSync(join(world.directory, store), { recursive: true, force: true });
  if (by) cpSync(join(by.directory, store), join(world.directory, store), { recursive: true });
};

beforeAll(async () => {
  await original.start();
  objectsToken = await makeBucket(original);
  for (const name of USERS) await original.register(name);
  await putObjects(original, objectsToken, OBJECTS);
  await exchangeMail(original, 0, MESSAGES);
  const { body: game } = await original.call('POST', '/v1/iam/tokens', { name: 'game', scopes: ['scores:write'] });
  const updates = Array.from({ length: PLAYERS }, (_, n) => ({ user_id: `player-${n}`, points: n + 1 }));
  expect((await original.call('POST', '/v1/scores/batch', { updates }, game.token)).status).toBe(200);
  season = (await original.call('GET', '/v1/scores')).body.season;
  await original.runCron('* * * * *', 41);
  expect((await original.call('POST', '/v1/storage/snapshot')).status).toBe(200);
  await new Promise((resolve) => setTimeout(resolve, 3_000));
  await original.stop();
});
afterEach(async () => {
  for (const world of running) await world.stop();
});
afterAll(() => rmSync(home, { recursive: true, force: true }));

describe('the collectors', () => {
  it('delete nothing if a database is empty', async () => {
    const world = copy('empty-database');
    await world.start();
    const before = await world.listKeys([...BYTES, ...METADATA]);
    await world.stop();
    replace(world, 'd1', null);
    const { gone, alarms } = await passWeeks(world, [...BYTES, ...METADATA], before);
    expect(gone).toEqual([]);
    expect(await alarms()).toMatchObject({ storage: expect.stringContaining('lost'), directory: expect.any(String) });
    await world.stop();
    replace(world, 'd1', original);
    await world.start();
    await expectWhole(world, OBJECTS, MESSAGES);
  });

  it('delete nothing if the namespace of Durable Objects is empty, and archive no empty season', async () => {
    const world = copy('empty-namespace');
    await world.start();
    const before = await world.listKeys(BYTES);
    await world.stop();
    replace(world, 'do', null);
    const { gone, alarms } = await passWeeks(world, BYTES, before);
    expect(gone).toEqual([]);
    expect(await alarms()).toMatchObject({
      mail: expect.stringContaining('owner'),
      leaderboard: expect.stringContaining(`0 players, and ${PLAYERS} were seen`),
    });
    const { body: seasons } = await world.call('GET', '/v1/seasons');
    expect(seasons.data.find((each: { season: string }) => each.season === season)).toMatchObject({ state: 'closing' });
    await world.stop();

    replace(world, 'do', original);
    for (const days of [44, 47]) await world.pass(days);
    await world.start(47);
    const { body: standings } = await world.call('GET', `/v1/scores?season=${season}&limit=1`);
    expect(standings).toMatchObject({ players: PLAYERS, data: [{ user_id: `player-${PLAYERS - 1}`, rank: 1 }] });
    await expectWhole(world, OBJECTS, MESSAGES);
    expect((await world.readAlarms()).mail).toBeUndefined();
  });

  it('delete nothing that is newer than a restored backup of databases and Durable Objects', async () => {
    const world = copy('yesterday');
    await world.start();
    await putObjects(world, objectsToken, LATER_OBJECTS);
    await exchangeMail(world, MESSAGES, MESSAGES + 2);
    await world.runCron();
    await world.call('POST', '/v1/storage/snapshot');
    await new Promise((resolve) => setTimeout(resolve, 3_000));
    const before = await world.listKeys([...BYTES, ...METADATA]);
    await world.stop();
    const today = new World('today');
    cpSync(world.directory, today.directory, { recursive: true });
    for (const stores of [['d1'], ['d1', 'do']]) {
      for (const store of stores) replace(world, store, original);
      const { gone, alarms } = await passWeeks(world, [...BYTES, ...METADATA], before);
      expect([stores, gone]).toEqual([stores, []]);
      const older = expect.stringContaining('older copy');
      expect(await alarms()).toMatchObject({ storage: older, directory: older, ...(stores[1] ? { mail: older } : {}) });
      await world.stop();
      for (const store of ['d1', 'do']) replace(world, store, today);
    }
    await world.start();
    await expectWhole(world, [...OBJECTS, ...LATER_OBJECTS], MESSAGES + 2);
  });

  it('delete nothing of another Worker that uses the same buckets', async () => {
    const world = copy('first-worker');
    await world.start();
    const before = await world.listKeys([...BYTES, ...METADATA]);
    await world.stop();
    const other = new World('second-worker');
    running.push(other);
    await other.start();
    await other.stop();
    rmSync(join(other.directory, 'r2'), { recursive: true, force: true });
    renameSync(join(world.directory, 'r2'), join(other.directory, 'r2'));
    await other.start();
    const token = await other.register('eve');
    await send(other, token, 'eve@example.test', 'hello');
    await awaitMail(other, token, 1);
    await other.stop();
    const { gone, alarms } = await passWeeks(other, [...BYTES, ...METADATA], before);
    expect(gone).toEqual([]);
    expect(await alarms()).toMatchObject({ storage: expect.any(String), mail: expect.any(String) });
    await other.stop();
    renameSync(join(other.directory, 'r2'), join(world.directory, 'r2'));
    await world.start();
    await expectWhole(world, OBJECTS, MESSAGES);
  });

  it('delete orphans if all stores belong together', async () => {
    const world = copy('whole');
    await world.start();
    const userId = (await world.call('GET', '/v1/me', undefined, await world.login('ada'))).body.user_id;
    const orphans = [`mail/${userId}/in/orphan`, `blobs/${crypto.randomUUID()}`];
    for (const binding of ['BLOBS', 'BLOBS_2']) {
      const bucket = await world.server.miniflare.getR2Bucket(binding, 'tessera');
      for (const key of orphans) await bucket.put(key, 'left by a crash');
    }
    const before = await world.listKeys(BYTES);
    await world.stop();
    const { gone, alarms } = await passWeeks(world, BYTES, before);
    expect(gone).toEqual(['BLOBS', 'BLOBS_2'].flatMap((binding) => orphans.map((key) => `${binding} ${key}`).sort()));
    expect(Object.values(await alarms()).filter((alarm) => alarm !== undefined)).toEqual([]);
    await expectWhole(world, OBJECTS, MESSAGES);
  });
});
