/** Runs a server with data in every store, records all acknowledged data, and knows the files of the stores. */
import { createHash, randomBytes } from 'node:crypto';
import { readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'vitest';
import { awaitMessage, listFolder, type MailUser, postInbound, registerUser } from '../mail/mail.ts';
import { startServer, type TestServer } from '../server.ts';

const OBJECTS = 200;
const MESSAGES = 30;
const PLAYERS = 120;
const SHARDS = 4;
/**
 * Number of slots of a bucket. One invocation may make 1,000 queries and a move makes about 20, so it moves only `SLOTS_PER_MOVE`.
 */
const SLOTS = 256;
const SLOTS_PER_MOVE = 32;
const QUOTA = '/v1/storage/quotas/buckets/kept';
const SIZES = [0, 10, 4_096, 16_384, 16_385, 100_000, 1_500_000];
/** Wait in milliseconds after which the journal is written: cron runs each minute and writes it. */
const JOURNAL_MS = 75_000;

// biome-ignore lint/suspicious/noExplicitAny: answers of the API; each test asserts the members it needs
type Json = any;

const sha256 = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex');

export class World {
  readonly server: TestServer;
  /** SHA-256 of each acknowledged object, by path. */
  readonly objects = new Map<string, string>();
  #objectBytes = 0;
  readonly users: MailUser[] = [];
  /** SHA-256 of each raw message, by user. */
  readonly messages = new Map<string, string[]>();
  #objectToken = '';
  #scoreToken = '';
  #pastSeason = '';
  #pastCsv = '';
  #liveCsv = '';

  private constructor(server: TestServer) {
    this.server = server;
  }

  /** @param more further settings of the server. */
  static async open(more: Readonly<Record<string, string>> = {}): Promise<World> {
    const lastMonth = new Date();
    lastMonth.setUTCDate(1);
    lastMonth.setUTCHours(0, 0, 0, 0);
    const offset = Math.round((lastMonth.getTime() - 600_000 - Date.now()) / 1000);
    const vars = { LEADERBOARD_SHARDS: String(SHARDS), MAIL_HOLD_SECONDS: '0', ...more };
    const server = await startServer({ objectShards: 2, vars: { ...vars, CLOCK_OFFSET_SECONDS: String(offset) } });
    const world = new World(server);
    await world.#fillPastSeason(new Date(lastMonth.getTime() - 600_000).toISOString().slice(0, 7));
    await server.stop();
    await server.start({ CLOCK_OFFSET_SECONDS: '0' });
    await world.#closePastSeason();
    await world.#fillLiveSeason();
    await world.#fillObjects();
    await world.#fillMail();
    return world;
  }

  get headers() {
    return { authorization: `Bearer ${this.#objectToken}` };
  }

  async #post(path: string, body: object, token?: string): Promise<Json> {
    const answer = await this.server.call('POST', path, body, token);
    expect(answer.status, `${path}: ${JSON.stringify(answer.body)}`).toBeLessThan(300);
    return answer.body;
  }

  readonly operate = (path: string, body: object = {}): Promise<Json> => this.#post(path, body);

  async #fillPastSeason(season: string): Promise<void> {
    this.#pastSeason = season;
    const made = await this.#post('/v1/iam/tokens', { name: 'game', scopes: ['scores:write'] });
    this.#scoreToken = made.token;
    await this.postScores('past');
  }

  async postScores(name: string, players = PLAYERS): Promise<void> {
    const updates = Array.from({ length: players }, (_, i) => ({
      user_id: `${name}-${i}`,
      points: 1 + (i % 40),
      event_id: `${name}-${i}`,
    }));
    for (let at = 0; at < updates.length; at += 100)
      await this.#post('/v1/scores/batch', { updates: updates.slice(at, at + 100) }, this.#scoreToken);
  }

  async #closePastSeason(): Promise<void> {
    await expect
      .poll(async () => (await this.server.call('POST', `/v1/seasons/${this.#pastSeason}/close`)).body.state)
      .toBe('historical');
    this.#pastCsv = await this.exportSeason(this.#pastSeason);
    expect(this.#pastCsv.split('\r\n').length).toBeGreaterThan(PLAYERS);
  }

  async #fillLiveSeason(): Promise<void> {
    await this.postScores('live');
    await expect.poll(() => this.listLive()).toHaveLength(PLAYERS);
    this.#liveCsv = (await this.listLive()).join();
  }

  exportSeason = async (season: string): Promise<string> =>
    (await this.server.call('GET', `/v1/seasons/${season}/export`)).body;

  /** Lists every player with rank and score, from every shard. */
  async listLive(): Promise<string[]> {
    const all: string[] = [];
    for (let cursor: string | null = ''; cursor !== null; ) {
      const query: string = cursor === '' ? '' : `&cursor=${encodeURIComponent(cursor)}`;
      const { status, body } = await this.server.call('GET', `/v1/scores?limit=100&exact=1${query}`, undefined, null);
      expect(status, JSON.stringify(body)).toBe(200);
      all.push(...body.data.map((entry: Json) => `${entry.rank} ${entry.user_id} ${entry.score}`));
      cursor = body.next_cursor;
    }
    return all;
  }

  async #fillObjects(): Promise<void> {
    const { userId } = await this.server.createAccessKey('writer');
    const scopes = ['objects:read', 'objects:write'];
    this.#objectToken = (await this.#post('/v1/iam/tokens', { name: 'objects', user_id: userId, scopes })).token;
    expect((await fetch(`${this.server.url}/kept`, { method: 'PUT', headers: this.headers })).status).toBe(200);
    const quota = await this.server.call('PUT', QUOTA, { bytes: 1e12, objects: 1e6 });
    expect(quota.status).toBe(200);
    await this.putObjects('first', OBJECTS / 2);
    for (let slot = 0; slot < SLOTS / 2; slot += SLOTS_PER_MOVE) {
      const slots = Array.from({ length: SLOTS_PER_MOVE }, (_, i) => slot + i);
      await this.#post('/v1/storage/slots/move', { bucket: 'kept', to_shard: 1, slots });
    }
    await this.putObjects('second', OBJECTS / 2);
  }

  async putObjects(name: string, count: number): Promise<void> {
    for (let i = 0; i < count; i++) {
      const content = randomBytes(SIZES[i % SIZES.length] ?? 0);
      const path = `/kept/${name}-${i}`;
      const headers = this.headers;
      const { status } = await fetch(this.server.url + path, { method: 'PUT', headers, body: new Uint8Array(content) });
      expect(status, path).toBe(200);
      this.objects.set(path, sha256(content));
      this.#objectBytes += content.length;
    }
  }

  async #fillMail(): Promise<void> {
    for (const name of ['ann', 'bob']) this.users.push(await registerUser(this.server, name));
    const [ann, bob] = this.users as [MailUser, MailUser];
    for (let i = 0; i < MESSAGES; i++) {
      const file = randomBytes(i % 10 === 0 ? 2_000_000 : 5_000)
        .toString('base64')
        .replace(/.{76}/g, '$&\r\n');
      const raw = `From: Far <far@elsewhere.test>\r\nTo: ${ann.email}\r\nSubject: Message ${i}\r\nMessage-ID: <${i}@elsewhere.test>\r\nMIME-Version: 1.0\r\nContent-Type: multipart/mixed; boundary=b\r\n\r\n--b\r\n\r\nText ${i}\r\n--b\r\nContent-Type: application/pdf; name=a.pdf\r\nContent-Transfer-Encoding: base64\r\n\r\n${file}\r\n--b--\r\n`;
      const { status } = await postInbound(this.server, raw, { from: 'far@elsewhere.test', to: ann.email });
      expect(status).toBe(202);
    }
    await this.#post('/v1/messages', { to: [{ email: bob.email }], subject: 'To Bob', body: 'Hello' }, ann.token);
    await awaitMessage(this.server, bob, 'inbox', 'To Bob');
    await expect.poll(async () => (await listFolder(this.server, ann, 'all')).length).toBe(MESSAGES + 1);
    for (const user of this.users) this.messages.set(user.userId, await this.readMail(user));
  }

  /** If the mailbox was lost, its sessions are lost too, so log in again. */
  async logIn(): Promise<void> {
    for (const [n, { email, userId }] of this.users.entries()) {
      const { token } = await this.#post('/v1/auth/login', { email, password: 'correct horse battery' });
      this.users[n] = { userId, email, token };
    }
  }

  /** Lists the SHA-256 of every raw message of a user, sorted. */
  async readMail(user: MailUser): Promise<string[]> {
    const found: string[] = [];
    for (const { id } of await listFolder(this.server, user, 'all')) {
      const headers = { authorization: `Bearer ${user.token}` };
      const answer = await fetch(`${this.server.url}/v1/messages/${id}/raw`, { headers });
      expect(answer.status).toBe(200);
      found.push(sha256(new Uint8Array(await answer.arrayBuffer())));
    }
    return found.sort();
  }

  /** Erases players of each shard of the live season, so that each writes its copy a minute later. */
  async copyBoards(): Promise<void> {
    await this.postScores('erased', 40);
    for (let i = 0; i < 40; i++)
      expect((await this.server.call('DELETE', `/v1/scores/erased-${i}`)).status).toBeLessThan(300);
    await expect.poll(async () => (await this.listLive()).length).toBe(PLAYERS);
    this.#liveCsv = (await this.listLive()).join();
  }

  /** Removes every store of the server, which was killed. Only its secrets stay. */
  loseAll(): void {
    const kept = new Set(['dev.vars', 'server.log']);
    for (const name of readdirSync(this.server.directory))
      if (!kept.has(name)) rmSync(join(this.server.directory, name), { recursive: true });
  }

  /** Reads up to when the S3 location has everything, from the database of a server that was killed. */
  readThrough(): number {
    const sql = "SELECT cursor FROM collector WHERE name = 's3-location'";
    const [row] = this.#query(this.directoryFile()[0] ?? '', sql);
    return JSON.parse(row?.cursor ?? '{}').through ?? 0;
  }

  /** Writes the snapshots, then objects that only the journals have. */
  async backUp(): Promise<void> {
    await this.operate('/v1/storage/snapshot');
    await this.putObjects(`journal-${randomBytes(4).toString('hex')}`, 30);
    await sleep(JOURNAL_MS);
  }

  async expectObjects(): Promise<void> {
    for (const [path, expected] of this.objects) {
      const answer = await fetch(this.server.url + path, { headers: this.headers });
      expect([path, answer.status]).toEqual([path, 200]);
      expect([path, sha256(new Uint8Array(await answer.arrayBuffer()))]).toEqual([path, expected]);
    }
    const { body } = await this.server.call('GET', QUOTA);
    expect(body.used).toEqual({ bytes: this.#objectBytes, objects: this.objects.size });
  }

  async expectMail(): Promise<void> {
    for (const user of this.users) expect(await this.readMail(user)).toEqual(this.messages.get(user.userId));
  }

  async expectSeasons(): Promise<void> {
    expect(await this.exportSeason(this.#pastSeason)).toBe(this.#pastCsv);
    expect((await this.listLive()).join()).toBe(this.#liveCsv);
  }

  /** Expects that all acknowledged data is present and that every product accepts writes. */
  async expectAll(): Promise<void> {
    const { status, body } = await this.server.call('GET', '/v1/health');
    expect([status, body.status], JSON.stringify(body)).toEqual([200, 'ok']);
    await this.expectObjects();
    await this.expectMail();
    await this.expectSeasons();
    await this.putObjects(`later-${randomBytes(4).toString('hex')}`, 3);
  }

  /** Stops the server, removes files of its stores, and starts it. */
  async lose(files: readonly string[]): Promise<void> {
    expect(files.length).toBeGreaterThan(0);
    await this.server.stop();
    for (const file of files)
      for (const end of ['', '-shm', '-wal']) rmSync(file + end, { force: true, recursive: true });
    await this.server.start({ CLOCK_OFFSET_SECONDS: '0' });
  }

  #list(folder: string): string[] {
    const directory = join(this.server.directory, folder);
    const names = readdirSync(directory).filter((name) => name.endsWith('.sqlite') && name !== 'metadata.sqlite');
    return names.map((name) => join(directory, name));
  }

  #query(file: string, sql: string): Json[] {
    const database = new DatabaseSync(file);
    try {
      return database.prepare(sql).all();
    } catch {
      // The table does not exist: the file is a database of another kind.
      return [];
    } finally {
      database.close();
    }
  }

  #find(folder: string, sql: string): string[] {
    return this.#list(folder).filter((file) => this.#query(file, sql).length > 0);
  }

  /** Only DIRECTORY itself has seasons. */
  directoryFile = (): string[] => this.#find('d1/miniflare-D1DatabaseObject', 'SELECT 1 FROM season');
  shardFiles = (): string[] => this.#find('d1/miniflare-D1DatabaseObject', 'SELECT 1 FROM version');
  mailboxFile = ({ userId }: MailUser): string[] =>
    this.#find('do/tessera-Mailbox', `SELECT 1 FROM mailbox WHERE user_id = '${userId}'`);
  allMailboxFiles = (): string[] => this.#list('do/tessera-Mailbox');
  seasonFiles = (): string[] => this.#list('do/tessera-LeaderboardSeason');
  viewFiles = (): string[] => this.#list('do/tessera-LeaderboardView');

  /** Finds the database file of a shard that has players of the live season, and returns the players' ids. */
  scoreShard(): { file: string; players: string[] } {
    for (const file of this.#list('do/tessera-LeaderboardShard')) {
      const rows = this.#query(file, "SELECT user_id FROM player WHERE user_id LIKE 'live-%'");
      if (rows.length > 0) return { file, players: rows.map((row) => String(row.user_id)) };
    }
    throw new Error('no shard has players');
  }

  /** Lists the files of a location: its bytes, and the database of its keys. */
  locationFiles(bucket: string): string[] {
    const blobs = readdirSync(join(this.server.directory, 'r2', bucket, 'blobs'));
    const [some = ''] = blobs;
    const index = this.#find('r2/miniflare-R2BucketObject', `SELECT 1 FROM _mf_objects WHERE blob_id = '${some}'`);
    return [join(this.server.directory, 'r2', bucket, 'blobs'), ...index];
  }
}
