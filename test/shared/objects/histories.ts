/**
 * Random operations from eight regions at once, on the whole Worker: objects are written, read and deleted while a bucket
 * policy, an identity policy and a suspension are switched. Replicas of DIRECTORY lag, are stuck or are cut off, and answers of
 * the shards are lost after their commit. Every name and every right must be linearizable: a read sees each change that was
 * acknowledged before it began.
 */
import { applyD1Migrations, createExecutionContext, env } from 'cloudflare:test';
import worker from '../../../workers/index.ts';
import { findViolation, type RegisterEvent } from '../../support/linearizability.ts';
import { type ReplicaFault, ReplicatedDatabase } from '../../support/replicas.ts';

export const REGIONS = ['syd', 'nrt', 'sin', 'bom', 'fra', 'iad', 'pdx', 'gru'] as const;
type Region = (typeof REGIONS)[number];

/** Bugs that a test adds on purpose and that the check of histories must find. */
export type SeededBug =
  /** Serves the version that the region has read last, without looking up the newest one. */
  | 'no look-up'
  /** Accepts a replica's copy of a bucket without proof that the copy is current. */
  | 'no bucket proof'
  /** Accepts a replica's copy of a credential without proof that the copy is current. */
  | 'no identity proof';

export interface HistoryOptions {
  readonly seed: number;
  /** Number of operations that each region makes in a history. */
  readonly operations: number;
  readonly bug?: SeededBug;
}

const bindings = env as unknown as Env & Record<string, D1Database>;
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

/** Empties the DIRECTORY databases: the primary and every replica. */
async function emptyDirectories(): Promise<void> {
  const databases = [bindings.DIRECTORY, ...REGIONS.map(copyOf)];
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
};

/** Wraps a shard's database. It may have a seeded bug, and its answers are sometimes lost after the commit. */
function shardOf(real: D1Database, isLost: () => boolean, bug?: SeededBug): D1Database {
  const guard = bug === undefined ? '' : GUARDS[bug];
  const inner = new WeakMap<object, D1PreparedStatement>();
  const cached = new Map<string, D1Result>();
  const forget = (answer: D1Result): D1Result => {
    for (const row of answer.results as Record<string, unknown>[]) {
      if (!('is_sealed' in row)) continue;
      if (bug === 'no bucket proof') row.generation = 0;
      if (bug === 'no identity proof') row.identity_generation = 0;
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
    prepare: (sql: string) => wrap(real.prepare(guard === '' ? sql : sql.replace(guard, 'NULL')), sql, []),
    async batch(statements: D1PreparedStatement[]) {
      const answers = await real.batch(statements.map((statement) => inner.get(statement) ?? statement));
      if (isLost()) throw new Error('Network connection lost (injected)');
      return answers.map(forget);
    },
  } as unknown as D1Database;
}

interface Answer {
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

const NAMES = ['a', 'b', 'c'];
const FAULTS: readonly ReplicaFault[] = ['lags', 'lags', 'lags', 'stuck', 'stuck', 'cut off'];
const ALLOW = { Version: '2012-10-17', Statement: [{ Effect: 'Allow', Action: 's3:*', Resource: '*' }] };

/** Requests that need a right and change no object whose history is checked. `source` is the name to copy. */
const USES: readonly (readonly [method: string, path: string, body?: string | undefined, source?: string])[] = [
  ['GET', '/fixed'],
  ['GET', '/fixed'],
  ['GET', '?list-type=2&prefix=fixed'],
  ['PUT', '/spare', 'small'],
  ['PUT', '/spare', 'large'.repeat(5_000)],
  ['PUT', '/spare', undefined, 'fixed'],
  ['DELETE', '/spare'],
];

interface User {
  readonly userId: string;
  readonly token: string;
}

export interface World {
  readonly directory: ReplicatedDatabase;
  from(region: Region): Send;
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
  const environmentOf = (region: Region): Env => ({
    ...bindings,
    LOG_SAMPLE_PERCENT: '0',
    DIRECTORY: directory.viewFrom(region),
    OBJECTS_0: shardOf(bindings.OBJECTS_0, isLost, bug),
  });
  const senders = new Map(REGIONS.map((region) => [region, senderFrom(environmentOf(region))]));
  const from = (region: Region): Send => senders.get(region) as Send;
  const root = bindings.ROOT_TOKEN;
  const setUp = from('iad');
  const bucket = `histories-${seed}`;
  const makeUser = async (name: string): Promise<User> => {
    const { user_id: userId } = JSON.parse(
      await must(setUp('POST', '/v1/iam/users', root, { name: `${name}-${seed}` })),
    );
    const token = { name, user_id: userId, scopes: ['objects:read', 'objects:write'] };
    return { userId, token: JSON.parse(await must(setUp('POST', '/v1/iam/tokens', root, token))).token as string };
  };
  const [owner, guest] = [await makeUser('owner'), await makeUser('guest')];
  const [reader, suspect] = [await makeUser('reader'), await makeUser('suspect')];
  await must(setUp('PUT', `/${bucket}`, owner.token));
  await must(setUp('PUT', `/v1/iam/users/${suspect.userId}/policies/all`, root, ALLOW));
  for (const name of [...NAMES, 'fixed']) await must(setUp('PUT', `/${bucket}/${name}`, owner.token, 'first'));
  await directory.catchUp();
  const Resource = [`arn:aws:s3:::${bucket}`, `arn:aws:s3:::${bucket}/*`];
  const Action = ['s3:GetObject', 's3:PutObject', 's3:ListBucket', 's3:DeleteObject'];
  const statement = { Effect: 'Allow', Principal: { AWS: guest.userId }, Action, Resource };
  const policy = JSON.stringify({ Version: '2012-10-17', Statement: [statement] });
  return { directory, from, root, bucket, owner, guest, reader, suspect, policy, allow: ALLOW };
}

/** Plays one history. @returns a sentence for each register whose history is not linearizable. */
export async function playHistory({ seed, operations, bug }: HistoryOptions): Promise<string[]> {
  const random = randomOf(seed);
  const pick = <T>(list: readonly T[]): T => list[Math.floor(random() * list.length)] as T;
  let isSetUp = false;
  const isLost = () => isSetUp && random() < 0.04;
  const world = await makeWorld({ seed, isLost, ...(bug ? { bug } : {}) });
  const { directory, from, root, bucket, owner, guest, reader, suspect, policy } = world;
  // To show bugs of rights at once, rights are only removed, and replicas are stuck: they still have the removed rights.
  const isOfRights = bug === 'no bucket proof' || bug === 'no identity proof';
  if (isOfRights) await must(from('iad')('PUT', `/${bucket}?policy`, owner.token, policy));
  if (isOfRights) await directory.catchUp();
  const faults: readonly ReplicaFault[] = isOfRights ? ['stuck'] : FAULTS;
  for (const region of REGIONS) directory.setFault(region, pick(faults));
  isSetUp = true;

  // Counter that orders all events. Inside an isolate, only calls of stores run in parallel, so a counter is enough.
  let clock = 0;
  const histories = new Map<string, RegisterEvent[]>();
  const record = async (
    register: string,
    kind: RegisterEvent['kind'],
    call: () => Promise<Answer>,
    /** Returns the register's value that the answer shows; null if it shows none. */
    toValue: (answer: Answer) => string | null,
  ) => {
    const start = clock++;
    const answer = await call();
    const events = histories.get(register) ?? [];
    histories.set(register, events);
    const value = toValue(answer);
    if (kind === 'write')
      events.push({ kind, value: value ?? '', start, end: answer.status >= 500 ? Infinity : clock++ });
    else if (value !== null) events.push({ kind, value, start, end: clock++ });
  };

  let written = 0;
  const toContent = ({ status, text }: Answer) => (status === 200 ? text : status === 404 ? 'none' : null);
  const toRight = ({ status, text }: Answer) => {
    if (status === 200 || status === 204) return 'allowed';
    return status === 401 || status === 403 ? 'refused' : status >= 500 ? null : `${status} ${text}`;
  };
  const readObject = (send: Send) => {
    const name = pick(NAMES);
    return record(name, 'read', () => send('GET', `/${bucket}/${name}`, owner.token), toContent);
  };
  const writeObject = (send: Send) => {
    const name = pick(NAMES);
    const value = `${name}-${written++}`;
    return record(
      name,
      'write',
      () => send('PUT', `/${bucket}/${name}`, owner.token, value),
      () => value,
    );
  };
  const deleteObject = (send: Send) => {
    const name = pick(NAMES);
    return record(
      name,
      'write',
      () => send('DELETE', `/${bucket}/${name}`, owner.token),
      () => 'none',
    );
  };
  const exerciseRight = (send: Send) => {
    const [register, { token }] = pick([
      ['bucket policy', guest],
      ['identity policy', reader],
      ['suspension', suspect],
    ] as const);
    const [method, path, body, source] = pick(USES);
    const headers = source === undefined ? {} : { 'x-amz-copy-source': `/${bucket}/${source}` };
    return record(register, 'read', () => send(method, `/${bucket}${path}`, token, body, headers), toRight);
  };
  const change = async (send: Send) => {
    const isAllowed = !isOfRights && random() < 0.5;
    const value = isAllowed ? 'allowed' : 'refused';
    const calls: Record<string, () => Promise<Answer>> = {
      'bucket policy': () =>
        isAllowed
          ? send('PUT', `/${bucket}?policy`, owner.token, policy)
          : send('DELETE', `/${bucket}?policy`, owner.token),
      'identity policy': () =>
        isAllowed
          ? send('PUT', `/v1/iam/users/${reader.userId}/policies/all`, root, ALLOW)
          : send('DELETE', `/v1/iam/users/${reader.userId}/policies/all`, root),
      suspension: () =>
        isAllowed
          ? send('DELETE', `/v1/accounts/${suspect.userId}/suspension`, root)
          : send('PUT', `/v1/accounts/${suspect.userId}/suspension`, root, { reason: 'histories' }),
    };
    const register = pick(Object.keys(calls));
    await record(register, 'write', calls[register] as () => Promise<Answer>, () => value);
  };

  await Promise.all(
    REGIONS.map(async (region) => {
      const send = from(region);
      for (let at = 0; at < operations; at++) {
        if (random() < 0.1) directory.setFault(region, pick(faults));
        const dice = isOfRights ? (random() < 0.1 ? 0.95 : 0.5) : random();
        if (dice < 0.3) await readObject(send);
        else if (dice < 0.75) await exerciseRight(send);
        else if (dice < 0.83) await writeObject(send);
        else if (dice < 0.87) await deleteObject(send);
        else await change(send);
      }
    }),
  );

  const initial: Readonly<Record<string, string>> = {
    'bucket policy': isOfRights ? 'allowed' : 'refused',
    'identity policy': 'refused',
    suspension: 'allowed',
  };
  return [...histories].flatMap(([register, events]) => {
    const left = findViolation(initial[register] ?? 'first', events);
    return left === null ? [] : [`${register} (seed ${seed}): no order explains ${JSON.stringify(left.slice(0, 3))}`];
  });
}

/** Plays histories with a seeded bug until one shows it. @returns whether one did. */
export async function findsBug(bug: SeededBug, most: { histories: number; operations: number }): Promise<boolean> {
  for (let seed = 1; seed <= most.histories; seed++) {
    if ((await playHistory({ seed, operations: most.operations, bug })).length > 0) return true;
  }
  return false;
}
