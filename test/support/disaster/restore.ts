/**
 * Puts databases of a running service back to an earlier state, as D1's Time Travel does: their files are copied while the server is
 * stopped, and put back later. Records everything that was acknowledged in between.
 */
import { createHash, randomBytes } from 'node:crypto';
import { cpSync, existsSync, mkdirSync, readdirSync, rmSync } from 'node:fs';
import { basename, join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { expect } from 'vitest';
import { type MailUser, registerUser } from '../mail/mail.ts';
import { startServer, type TestServer } from '../server.ts';

/** Sizes for each place of bytes: empty, in the row, and blobs in R2. */
const SIZES = [0, 4_000, 20_000, 1_200_000];
const FOLDER = 'd1/miniflare-D1DatabaseObject';
const LOCATIONS = 'r2';
const ENDS = ['', '-shm', '-wal'];
const SLOTS_PER_MOVE = 32;

// biome-ignore lint/suspicious/noExplicitAny: answers of the API; each test asserts the members it needs
type Json = any;

/** What a read may find: the hash of the bytes, or null for no object. */
type Expected = string | null;

const sha256 = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex');

export type StoreFile = 'directory' | 'directory 1' | 'shard 0' | 'shard 1';

/** The binding of each database, which health and refusals name. */
export const NAME_OF: Readonly<Record<StoreFile, string>> = {
  directory: 'DIRECTORY',
  'directory 1': 'DIRECTORY_1',
  'shard 0': 'OBJECTS_0',
  'shard 1': 'OBJECTS_1',
};

/** With one more set of user databases, new people are in one of these. */
const DIRECTORIES = 5;
const REGISTRATIONS_MAX = 40;
/** Whether a user is in DIRECTORY_1: `databaseNumberOf` in workers/shared/stores/directories.ts. */
const isInFirst = ({ userId }: MailUser): boolean => userId[14] === '8' && userId.endsWith('0001');

export class RestoredService {
  readonly server: TestServer;
  /** The last acknowledged state of each name. */
  readonly names = new Map<string, Expected>();
  readonly #token: string;
  readonly #userId: string;
  #people: number;
  /** Files of the databases. The shard of number 0 has the first half of the slots of the bucket. */
  readonly #files: Readonly<Record<StoreFile, string>>;

  private constructor(
    server: TestServer,
    { token, userId, people }: { token: string; userId: string; people: number },
    files: Record<StoreFile, string>,
  ) {
    this.server = server;
    this.#people = people;
    this.#token = token;
    this.#userId = userId;
    this.#files = files;
  }

  static async open(): Promise<RestoredService> {
    const server = await startServer({ objectShards: 2, directories: DIRECTORIES });
    const { userId } = await server.createAccessKey('writer');
    const scopes = ['objects:read', 'objects:write'];
    const made = await server.call('POST', '/v1/iam/tokens', { name: 'objects', user_id: userId, scopes });
    const headers = { authorization: `Bearer ${made.body.token}` };
    expect((await fetch(`${server.url}/kept`, { method: 'PUT', headers })).status).toBe(200);
    expect((await fetch(`${server.url}/kept/first`, { method: 'PUT', headers, body: 'x' })).status).toBe(200);
    const [first = '', ...more] = findFiles(server, 'SELECT 1 FROM version');
    expect(more).toEqual([]);
    for (let slot = 128; slot < 256; slot += SLOTS_PER_MOVE) {
      const slots = Array.from({ length: SLOTS_PER_MOVE }, (_, i) => slot + i);
      const moved = await server.call('POST', '/v1/storage/slots/move', { bucket: 'kept', to_shard: 1, slots });
      expect(moved.status, JSON.stringify(moved.body)).toBe(200);
    }
    const [second = ''] = findFiles(server, 'SELECT slots FROM bucket WHERE seal IS NULL').filter(
      (file) => file !== first && query(file, 'SELECT 1 FROM access_key').length === 0,
    );
    const [directory = ''] = findFiles(server, 'SELECT 1 FROM access_key');
    const { person, people } = await registerInFirst(server);
    const [directory1 = ''] = findFiles(server, `SELECT 1 FROM user WHERE user_id = '${person.userId}'`);
    const files = { directory, 'directory 1': directory1, 'shard 0': first, 'shard 1': second };
    expect(Object.values(files)).not.toContain('');
    expect(new Set(Object.values(files)).size).toBe(Object.keys(files).length);
    return new RestoredService(server, { token: made.body.token, userId, people }, files);
  }

  get headers() {
    return { authorization: `Bearer ${this.#token}` };
  }

  async put(name: string, size = SIZES[this.names.size % SIZES.length] ?? 0): Promise<number> {
    const body = new Uint8Array(randomBytes(size));
    const url = `${this.server.url}/kept/${name}`;
    const { status } = await fetch(url, { method: 'PUT', headers: this.headers, body });
    if (status === 200) this.names.set(name, sha256(body));
    return status;
  }

  async remove(name: string): Promise<number> {
    const { status } = await fetch(`${this.server.url}/kept/${name}`, { method: 'DELETE', headers: this.headers });
    if (status === 204) this.names.set(name, null);
    return status;
  }

  /** Reads a name. @returns 503, or whether the answer is what was acknowledged last. */
  async read(name: string): Promise<'503' | 'right' | string> {
    const answer = await fetch(`${this.server.url}/kept/${name}`, { headers: this.headers });
    const bytes = new Uint8Array(await answer.arrayBuffer());
    if (answer.status === 503) return '503';
    const found = answer.status === 200 ? sha256(bytes) : answer.status === 404 ? null : String(answer.status);
    return found === this.names.get(name) ? 'right' : `${name}: ${answer.status}`;
  }

  async readAll(): Promise<Map<string, number>> {
    const counts = new Map<string, number>();
    for (const name of this.names.keys()) {
      const found = await this.read(name);
      counts.set(found, (counts.get(found) ?? 0) + 1);
    }
    return counts;
  }

  /** Registers a person whose rows are in DIRECTORY_1. */
  async register(): Promise<MailUser> {
    const { person, people } = await registerInFirst(this.server, this.#people);
    this.#people = people;
    return person;
  }

  registerAgain = ({ email }: MailUser): Promise<{ status: number; body: Json }> =>
    this.server.call('POST', '/v1/auth/register', { email, password: 'correct horse battery', name: 'B' }, null);

  async makeToken(): Promise<{ id: string; token: string }> {
    const request = { name: 't', user_id: this.#userId, scopes: ['objects:read'] };
    const { status, body } = await this.server.call('POST', '/v1/iam/tokens', request);
    expect(status, JSON.stringify(body)).toBe(201);
    return { id: body.token_id, token: body.token };
  }

  /** Sends the request before a restore, which also writes the journals. */
  async doubt(): Promise<void> {
    const { status, body } = await this.server.call('POST', '/v1/storage/doubt', {});
    expect(status, JSON.stringify(body)).toBe(200);
    for (const { name, number } of body.stores) expect([name, typeof number]).toEqual([name, 'number']);
  }

  /** Copies the files of all databases. @returns the folder of the copies. */
  async copy(): Promise<string> {
    await this.server.stop();
    const folder = join(this.server.directory, `copy-${randomBytes(4).toString('hex')}`);
    mkdirSync(folder);
    for (const file of Object.values(this.#files))
      for (const end of ENDS) if (existsSync(file + end)) cpSync(file + end, join(folder, basename(file) + end));
    await this.server.start();
    return folder;
  }

  /** Copies the locations, with the numbers of the databases. @returns the folder of the copy. */
  async copyLocations(): Promise<string> {
    await this.server.stop();
    const folder = join(this.server.directory, `locations-${randomBytes(4).toString('hex')}`);
    cpSync(join(this.server.directory, LOCATIONS), folder, { recursive: true });
    await this.server.start();
    return folder;
  }

  /** Stops the server and puts the locations back, which no code can find out. The next `putBack` starts it. */
  async putLocationsBack(folder: string): Promise<void> {
    await this.server.stop();
    rmSync(join(this.server.directory, LOCATIONS), { recursive: true });
    cpSync(folder, join(this.server.directory, LOCATIONS), { recursive: true });
    await this.server.start();
  }

  /** Stops the server, puts databases back, and starts it. */
  async putBack(folder: string, stores: readonly StoreFile[], kill = false): Promise<void> {
    await (kill ? this.server.kill9() : this.server.stop());
    for (const store of stores) {
      const file = this.#files[store];
      for (const end of ENDS) {
        rmSync(file + end, { force: true });
        const copy = join(folder, basename(file) + end);
        if (existsSync(copy)) cpSync(copy, file + end);
      }
    }
    await this.server.start();
  }

  async health(): Promise<Json> {
    return (await this.server.call('GET', '/v1/health')).body;
  }

  /** Follows the runbook: DIRECTORY first, then the shards. @param seconds limit of a request. */
  async replay(seconds = 20): Promise<void> {
    const until = async (path: string, body: object) => {
      for (;;) {
        const answer = await this.server.call('POST', path, { ...body, max_seconds: seconds });
        expect(answer.status, JSON.stringify(answer.body)).toBe(200);
        if (answer.body.finished) return;
      }
    };
    for (const number of [0, 1]) await until(`/v1/storage/directory/replay?database=${number}`, {});
    for (const shard of [0, 1]) await until('/v1/storage/replay', { shard });
  }
}

/** Registers people until one is in DIRECTORY_1. @param from number of the first one. @returns that one, and the next number. */
async function registerInFirst(server: TestServer, from = 0): Promise<{ person: MailUser; people: number }> {
  for (let people = from; people < from + REGISTRATIONS_MAX; people++) {
    const person = await registerUser(server, `person${people}`);
    if (isInFirst(person)) return { person, people: people + 1 };
  }
  throw new Error('nobody is in DIRECTORY_1');
}

function query(file: string, sql: string): Json[] {
  const database = new DatabaseSync(file, { readOnly: true });
  try {
    return database.prepare(sql).all();
  } catch {
    // The table does not exist: the file is a database of another kind.
    return [];
  } finally {
    database.close();
  }
}

/** Finds the database files of a server in which a query has rows. */
export function findFiles(server: TestServer, sql: string): string[] {
  const folder = join(server.directory, FOLDER);
  const names = readdirSync(folder).filter((name) => name.endsWith('.sqlite') && name !== 'metadata.sqlite');
  return names.map((name) => join(folder, name)).filter((file) => query(file, sql).length > 0);
}
