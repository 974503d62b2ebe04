/** The world of a history: users and a bucket, and user databases as eight regions see them. */
import { applyD1Migrations, createExecutionContext, env } from 'cloudflare:test';
import { createLoginStore } from '../../../workers/identity/store/login-store.ts';
import worker from '../../../workers/index.ts';
import { databaseNumberOf, mintUserId, userDatabaseOf } from '../../../workers/shared/stores/directories.ts';
import { type ReplicaFault, ReplicatedDatabase } from '../../support/replicas.ts';

export const REGIONS = ['syd', 'nrt', 'sin', 'bom', 'fra', 'iad', 'pdx', 'gru'] as const;
export type Region = (typeof REGIONS)[number];

/** Bugs that a test adds on purpose and that the check of histories must find. */
export type SeededBug =
  /** Serves the version that the region has read last, without looking up the newest one. */
  | 'no look-up'
  /** Accepts a replica's copy of a bucket without proof that the copy is current. */
  | 'no bucket proof'
  /** Accepts a replica's copy of a credential without proof that the copy is current. */
  | 'no identity proof'
  /** Accepts every further write of a request that the primary authorised, however long it waited. */
  | 'no proof after a renewal';

export const bindings = env as unknown as Env & Record<string, D1Database>;
const { MIGRATIONS } = env as unknown as {
  MIGRATIONS: Record<'directory', Parameters<typeof applyD1Migrations>[1]>;
};

/** Makes a generator of numbers from 0 to 1, reproducible by its seed (mulberry32). */
export function randomOf(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = Math.imul(state ^ (state >>> 15), state | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
}

const copyOf = (region: string): D1Database => bindings[`REPLICA_${region.toUpperCase()}`] as D1Database;

let tables: readonly string[] | null = null;

/** Numbers of the further user databases that have copies and users. */
const HOMES = [1, 2] as const;
/** The places that have copies of the further databases. Each region reads the copies in one of them. */
const HOME_PLACES = ['syd', 'fra'] as const;
const placeOf = (region: Region) => HOME_PLACES[REGIONS.indexOf(region) < 4 ? 0 : 1];
const homeAt = (home: number, place?: string): D1Database =>
  bindings[`HOME_${home}${place ? `_${place.toUpperCase()}` : ''}`] as D1Database;

/** Empties the user databases: the primaries and every replica. */
async function emptyDirectories(): Promise<void> {
  const homes = [1, 2, 3, 4].map((home) => homeAt(home));
  const homeCopies = HOMES.flatMap((home) => HOME_PLACES.map((place) => homeAt(home, place)));
  const databases = [bindings.DIRECTORY, ...REGIONS.map(copyOf), ...homes, ...homeCopies];
  if (tables === null) {
    for (const database of databases) await applyD1Migrations(database, MIGRATIONS.directory);
    const found = await bindings.DIRECTORY.prepare(
      `SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT GLOB '_cf_*' AND name NOT GLOB 'sqlite_*'
       AND name <> 'd1_migrations'`,
    ).all<{ name: string }>();
    tables = found.results.map(({ name }) => name);
  }
  const names = tables;
  await Promise.all(
    databases.map((database) =>
      database.batch([
        database.prepare('PRAGMA defer_foreign_keys = true'),
        ...names.map((name) => database.prepare(`DELETE FROM "${name}"`)),
      ]),
    ),
  );
}

/** The commit guard that each seeded bug removes, by the reason that the guard reports. */
const GUARDS: Readonly<Record<SeededBug, string>> = {
  'no look-up': '',
  'no bucket proof': "'stale_configuration'",
  'no identity proof': "'stale_identity'",
  'no proof after a renewal': '',
};

/** The guards of a request that the primary authorised. Unlike those of a copy, they accept a shard without generations. */
const PRIMARY_GUARD = /, 0\) THEN 'stale_/g;

/** Adds a seeded bug to the text of a statement. */
function withBug(sql: string, bug?: SeededBug): string {
  if (bug === undefined) return sql;
  if (bug === 'no proof after a renewal') return sql.replace(PRIMARY_GUARD, ", 0) AND 0 THEN 'stale_");
  return GUARDS[bug] === '' ? sql : sql.replace(GUARDS[bug], 'NULL');
}

/** Wraps a shard's database. It may have a seeded bug, and its answers are sometimes lost after the commit. */
function shardOf(real: D1Database, isLost: () => boolean, bug?: SeededBug): D1Database {
  const inner = new WeakMap<object, D1PreparedStatement>();
  const cached = new Map<string, D1Result>();
  const forget = (answer: D1Result): D1Result => {
    for (const row of answer.results as Record<string, unknown>[]) {
      if (!('is_sealed' in row)) continue;
      if (bug === 'no bucket proof') row.generation = 0;
      if (bug === 'no identity proof') row.identities = '[[0,0],[1,0],[2,0]]';
    }
    return answer;
  };
  const wrap = (statement: D1PreparedStatement, sql: string, values: readonly unknown[]): D1PreparedStatement => {
    const isLookUp = sql.includes('AS slot_state');
    const all = async () => {
      const key = JSON.stringify(values);
      const known = isLookUp && bug === 'no look-up' ? cached.get(key) : undefined;
      if (known) return known;
      const answer = await statement.all();
      if (isLookUp) cached.set(key, answer);
      return forget(answer);
    };
    const wrapped = {
      bind: (...bound: unknown[]) => wrap(statement.bind(...bound), sql, bound),
      all,
      run: () => statement.run(),
      first: (...names: string[]) => statement.first(...(names as [string])),
      raw: () => statement.raw(),
    } as unknown as D1PreparedStatement;
    inner.set(wrapped, statement);
    return wrapped;
  };
  return {
    prepare: (sql: string) => wrap(real.prepare(withBug(sql, bug)), sql, []),
    async batch(statements: D1PreparedStatement[]) {
      const answers = await real.batch(statements.map((statement) => inner.get(statement) ?? statement));
      if (isLost()) throw new Error('Network connection lost (injected)');
      return answers.map(forget);
    },
  } as unknown as D1Database;
}

export interface Answer {
  readonly status: number;
  readonly text: string;
  readonly versionId: string | null;
}
type Headers = Readonly<Record<string, string>>;
/** Request body that arrives late: when it is read, it first runs `wait`, and its text follows when that has ended. */
export class LateBody {
  readonly text: string;
  readonly wait: () => Promise<unknown>;

  constructor(text: string, wait: () => Promise<unknown>) {
    this.text = text;
    this.wait = wait;
  }

  open(): ReadableStream<Uint8Array> {
    const pull = async (controller: ReadableStreamDefaultController<Uint8Array>) => {
      await this.wait();
      controller.enqueue(new TextEncoder().encode(this.text));
      controller.close();
    };
    return new ReadableStream({ pull }, { highWaterMark: 0 });
  }
}

/** Sends a request. `token` is empty for a request without a credential in a header. */
export type Send = (
  method: string,
  path: string,
  token: string,
  body?: string | object,
  headers?: Headers,
) => Promise<Answer>;

export function senderFrom(environment: Env): Send {
  return async (method, path, token, body, headers = {}) => {
    const isLate = body instanceof LateBody;
    const isJson = typeof body === 'object' && !isLate;
    const text = typeof body === 'string' ? body : isLate ? body.text : isJson ? JSON.stringify(body) : undefined;
    const request = new Request(`http://localhost${path}`, {
      method,
      headers: {
        ...headers,
        ...(token === '' ? {} : { authorization: `Bearer ${token}` }),
        ...(isJson ? { 'content-type': 'application/json' } : {}),
        ...(text === undefined ? {} : { 'content-length': String(Buffer.byteLength(text)) }),
      },
      ...(text === undefined ? {} : { body: isLate ? body.open() : text }),
    }) as Request<unknown, IncomingRequestCfProperties>;
    const answer = await worker.fetch(request, environment, createExecutionContext());
    return { status: answer.status, text: await answer.text(), versionId: answer.headers.get('x-amz-version-id') };
  };
}

/** Returns the text of an answer that must be a success. */
export async function must(answer: Promise<Answer>): Promise<string> {
  const { status, text } = await answer;
  if (status >= 300) throw new Error(`expected success, got ${status} ${text}`);
  return text;
}

/** Names of the objects that a history writes. */
export const NAMES = ['a', 'b', 'c'];
const ALLOW = { Version: '2012-10-17', Statement: [{ Effect: 'Allow', Action: 's3:*', Resource: '*' }] };

export interface User {
  readonly userId: string;
  readonly token: string;
}

export interface World {
  readonly directory: ReplicatedDatabase;
  /** Sets the fault of a region's copies of all user databases. */
  setFault(region: Region, fault: ReplicaFault): void;
  /** Brings all copies up to date. */
  catchUp(): Promise<void>;
  from(region: Region): Send;
  environmentOf(region: Region): Env;
  readonly root: string;
  readonly bucket: string;
  readonly owner: User;
  /** A user with no right except by the bucket's policy. */
  readonly guest: User;
  readonly reader: User;
  /** A user with all rights by an identity policy. */
  readonly suspect: User;
  /** Bucket policy that allows the guest to read, write, list and delete. */
  readonly policy: string;
  readonly allow: object;
}

interface WorldOptions {
  readonly seed: number;
  readonly bug?: SeededBug;
  /** Whether the answer of a shard to the current call is lost. */
  readonly isLost?: () => boolean;
}

/** Creates users, and a bucket with objects. Every replica is up to date when it returns. */
export async function makeWorld({ seed, bug, isLost = () => false }: WorldOptions): Promise<World> {
  await emptyDirectories();
  const directory = new ReplicatedDatabase(
    bindings.DIRECTORY,
    Object.fromEntries(REGIONS.map((region) => [region, copyOf(region)])),
    randomOf(seed + 1),
  );
  const homes = HOMES.map(
    (home) =>
      new ReplicatedDatabase(
        homeAt(home),
        Object.fromEntries(HOME_PLACES.map((place) => [place, homeAt(home, place)])),
        randomOf(seed + 1 + home),
      ),
  );
  const shards = ['OBJECTS_0', 'OBJECTS_1', 'OBJECTS_2'].map((name) => [
    name,
    shardOf(bindings[name] as D1Database, isLost, bug),
  ]);
  const environmentOf = (region: Region): Env => ({
    ...bindings,
    LOG_SAMPLE_PERCENT: '0',
    DIRECTORY: directory.viewFrom(region),
    ...Object.fromEntries(homes.map((home, at) => [`DIRECTORY_${at + 1}`, home.viewFrom(placeOf(region))])),
    ...{ DIRECTORY_3: homeAt(3), DIRECTORY_4: homeAt(4) },
    ...Object.fromEntries(shards),
  });
  const environments = new Map(REGIONS.map((region) => [region, environmentOf(region)]));
  const senders = new Map([...environments].map(([region, environment]) => [region, senderFrom(environment)]));
  const setFault = (region: Region, fault: ReplicaFault) => {
    directory.setFault(region, fault);
    for (const home of homes) home.setFault(placeOf(region), fault);
  };
  const catchUp = async () => void (await Promise.all([directory, ...homes].map((each) => each.catchUp())));
  const from = (region: Region): Send => senders.get(region) as Send;
  const root = bindings.ROOT_TOKEN;
  const setUp = from('iad');
  const bucket = `histories-${seed}`;
  const makeUser = async (name: string, home = 0): Promise<User> => {
    const userId =
      home === 0
        ? JSON.parse(await must(setUp('POST', '/v1/iam/users', root, { name: `${name}-${seed}` }))).user_id
        : await insertUser(environments.get('iad') as Env, `${name}-${seed}`, home);
    const token = { name, user_id: userId, scopes: ['objects:read', 'objects:write'] };
    return { userId, token: JSON.parse(await must(setUp('POST', '/v1/iam/tokens', root, token))).token as string };
  };
  const [owner, guest] = [await makeUser('owner'), await makeUser('guest')];
  const [reader, suspect] = [await makeUser('reader', 1), await makeUser('suspect', 2)];
  await must(setUp('PUT', `/${bucket}`, owner.token));
  await must(setUp('PUT', `/v1/iam/users/${suspect.userId}/policies/all`, root, ALLOW));
  for (const name of [...NAMES, 'fixed']) await must(setUp('PUT', `/${bucket}/${name}`, owner.token, 'first'));
  await catchUp();
  const Resource = [`arn:aws:s3:::${bucket}`, `arn:aws:s3:::${bucket}/*`];
  const Action = ['s3:GetObject', 's3:PutObject', 's3:ListBucket', 's3:DeleteObject'];
  const statement = { Effect: 'Allow', Principal: { AWS: guest.userId }, Action, Resource };
  const policy = JSON.stringify({ Version: '2012-10-17', Statement: [statement] });
  const users = { owner, guest, reader, suspect };
  return { ...users, directory, setFault, catchUp, from, environmentOf, root, bucket, policy, allow: ALLOW };
}

/** Stores a user in a further user database, as a registration does. Only users with mail register there. */
async function insertUser(environment: Env, name: string, home: number): Promise<string> {
  for (let at = 0; ; at++) {
    const email = `${name}-${at}@example.test`;
    const userId = mintUserId(environment, email);
    if (databaseNumberOf(userId) !== home) continue;
    const user = { userId, userName: name, name, email, createdAt: Date.now() };
    const isInserted = await createLoginStore(userDatabaseOf(environment, userId)).insertUserWithPassword(user, 'none');
    if (!isInserted) throw new Error(`the email ${email} is taken`);
    return userId;
  }
}
