/**
 * The floor of an operation on the simulated globe: makes only the calls of bindings that the operation needs, through the same
 * wrappers. It checks no signature, policy or checksum and does not query DIRECTORY.
 */

/** Names of the floors. Each name is a route below `FLOOR_PATH`. */
export const FLOORS = [
  'read-row',
  'read-rows',
  'read-row-and-blob',
  'read-row-and-cache',
  'read-cache',
  'write-batch',
  'read-then-write',
  'put-twice-then-write',
  'call-object',
  'call-object-twice',
  'call-near-object',
] as const;
export type Floor = (typeof FLOORS)[number];

export const FLOOR_PATH = '/__globe/floor/';
/** Prepares the data that the floors read: a table, rows, a blob and cached answers. */
export const PREPARE_PATH = `${FLOOR_PATH}prepare`;

const ROWS = 1_000;
const SMALL_BYTES = 4 * 1024;
const MEDIUM_BYTES = 1024 ** 2;
/** Size up to which an upload gathers the body in memory (`gatherBytesMax` of the engine). */
const GATHERED_BYTES_MAX = 1024 ** 2;
const BLOB_KEY = 'floor/blob';
const TABLE = 'globe_floor';
const CREATE = `CREATE TABLE IF NOT EXISTS ${TABLE} (name TEXT PRIMARY KEY, etag TEXT, size INTEGER, data TEXT) WITHOUT ROWID`;

interface FloorObject {
  floor(): Promise<number>;
}

const cacheKey = (bytes: number): string => `https://floor.invalid/${bytes}`;

async function prepare(env: Env): Promise<Response> {
  const insert = env.OBJECTS_0.prepare(`INSERT OR IGNORE INTO ${TABLE} VALUES (?1, ?2, ?3, ?4)`);
  const rows = Array.from({ length: ROWS }, (_, at) =>
    insert.bind(`n-${at}`, crypto.randomUUID(), SMALL_BYTES, at === 0 ? 'x'.repeat(SMALL_BYTES) : null),
  );
  await env.OBJECTS_0.prepare(CREATE).run();
  await env.OBJECTS_0.batch(rows);
  await env.BLOBS.put(BLOB_KEY, new Uint8Array(MEDIUM_BYTES));
  for (const bytes of [SMALL_BYTES, MEDIUM_BYTES]) {
    const headers = { 'cache-control': 'public, max-age=3600' };
    await caches.default.put(cacheKey(bytes), new Response(new Uint8Array(bytes), { headers }));
  }
  return new Response(null);
}

const readRow = async (env: Env): Promise<string> => {
  const row = await env.OBJECTS_0.prepare(`SELECT name, etag, size, data FROM ${TABLE} WHERE name = ?1`)
    .bind('n-0')
    .first<{ data: string }>();
  return row?.data ?? '';
};

async function readRows(env: Env): Promise<Response> {
  const { results } = await env.OBJECTS_0.prepare(`SELECT name, etag, size FROM ${TABLE} ORDER BY name LIMIT ?1`)
    .bind(ROWS)
    .all<{ name: string; etag: string; size: number }>();
  return new Response(results.map(({ name, etag, size }) => `${name} ${etag} ${size}\n`).join(''));
}

const readCache = async (bytes: number): Promise<Response> =>
  (await caches.default.match(cacheKey(bytes))) ?? new Response('missing', { status: 500 });

const writeBatch = (env: Env, data: string) =>
  env.OBJECTS_0.batch([
    env.OBJECTS_0.prepare(`INSERT INTO ${TABLE} VALUES (?1, ?2, ?3, ?4)`).bind(
      crypto.randomUUID(),
      'etag',
      data.length,
      data,
    ),
  ]);

/**
 * Writes the body to both buckets, a large one while it arrives: a floor that waits for the whole of it first would be slower than an
 * upload. A small one is in memory, because streams have costs of their own.
 */
async function putTwice(env: Env, request: Request): Promise<void> {
  const { body, headers } = request;
  if (!body) throw new Error('the floor of an upload needs a body');
  const key = `floor/${crypto.randomUUID()}`;
  const sizeBytes = Number(headers.get('content-length'));
  if (sizeBytes <= GATHERED_BYTES_MAX) {
    const bytes = await request.arrayBuffer();
    await Promise.all([env.BLOBS.put(key, bytes), env.BLOBS_2.put(key, bytes)]);
    return;
  }
  const put = async (bucket: R2Bucket, copy: ReadableStream<Uint8Array>) => {
    const { readable, writable } = new FixedLengthStream(sizeBytes);
    await Promise.all([copy.pipeTo(writable), bucket.put(key, readable)]);
  };
  const [first, second] = body.tee();
  await Promise.all([put(env.BLOBS, first), put(env.BLOBS_2, second)]);
}

async function callObject(env: Env, name: string, locationHint: DurableObjectLocationHint): Promise<void> {
  const namespace = env.LEADERBOARD_SHARD;
  const stub = namespace.get(namespace.idFromName(name), { locationHint });
  await (stub as unknown as FloorObject).floor();
}

export async function answerFloor(name: string, request: Request, env: Env): Promise<Response> {
  const done = (work: unknown) => new Response(work === undefined ? '' : null);
  switch (name) {
    case 'prepare':
      return prepare(env);
    case 'read-row':
      return new Response(await readRow(env));
    case 'read-rows':
      return readRows(env);
    case 'read-row-and-blob':
      await readRow(env);
      return new Response((await env.BLOBS.get(BLOB_KEY))?.body);
    case 'read-row-and-cache':
      return (await Promise.all([readCache(MEDIUM_BYTES), readRow(env)]))[0];
    case 'read-cache':
      return readCache(SMALL_BYTES);
    case 'write-batch':
      return done(await writeBatch(env, await request.text()));
    case 'read-then-write':
      return done(await writeBatch(env, await readRow(env)));
    case 'put-twice-then-write':
      await putTwice(env, request);
      return done(await writeBatch(env, ''));
    case 'call-object':
      return done(await callObject(env, 'floor', 'enam'));
    case 'call-object-twice':
      await callObject(env, 'floor', 'enam');
      return done(await callObject(env, 'floor', 'enam'));
    case 'call-near-object':
      return done(await callObject(env, 'near-floor', 'oc'));
    default:
      return new Response('unknown floor', { status: 404 });
  }
}
