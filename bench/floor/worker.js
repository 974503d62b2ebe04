/**
 * The floor of the benchmarks: does the minimum of each measured operation with the same bindings and the same round trips,
 * without any logic. One path per measurement.
 */
import { DurableObject } from 'cloudflare:workers';
import { crc32 } from 'node:zlib';

/** A score is one upsert. A batch is one statement for its scores and one for its event ids. */
export class LeaderboardShard extends DurableObject {
  constructor(ctx, env) {
    super(ctx, env);
    const { sql } = ctx.storage;
    sql.exec('CREATE TABLE IF NOT EXISTS player(user_id TEXT PRIMARY KEY, score INTEGER NOT NULL)');
    sql.exec('CREATE TABLE IF NOT EXISTS event(id TEXT PRIMARY KEY, points INTEGER NOT NULL) WITHOUT ROWID');
  }

  score(userId, points) {
    return this.ctx.storage.sql
      .exec(
        'INSERT INTO player(user_id, score) VALUES (?, ?) ON CONFLICT DO UPDATE SET score = score + excluded.score RETURNING score',
        userId,
        points,
      )
      .one();
  }

  find(userId) {
    return this.ctx.storage.sql.exec('SELECT score FROM player WHERE user_id = ?', userId).toArray()[0] ?? null;
  }

  /** @param scores JSON array of `[user_id, points]`. @param events JSON array of `[event_id, points]`. */
  scores(scores, events) {
    const { sql } = this.ctx.storage;
    const rows = sql.exec(
      `INSERT INTO player(user_id, score) SELECT value->>0, value->>1 FROM json_each(?) WHERE true
       ON CONFLICT DO UPDATE SET score = score + excluded.score RETURNING score`,
      scores,
    );
    const sums = [...rows.raw()].map(([score]) => score);
    sql.exec('INSERT OR IGNORE INTO event(id, points) SELECT value->>0, value->>1 FROM json_each(?)', events);
    return sums;
  }
}
export class LeaderboardSeason extends DurableObject {}
export class Mailbox extends DurableObject {}

function shardOf(env, userId) {
  let hash = 0;
  for (let i = 0; i < userId.length; i++) hash = (hash * 31 + userId.charCodeAt(i)) >>> 0;
  return env.LEADERBOARD_SHARD.getByName(String(hash % Number(env.LEADERBOARD_SHARDS)));
}

async function score(request, env) {
  const { user_id, points } = await request.json();
  return Response.json({ user_id, score: (await shardOf(env, user_id).score(user_id, points)).score });
}

/** A batch of scores of one shard, with the event ids that make a retry safe. */
async function batch(request, env) {
  const { updates } = await request.json();
  const scores = JSON.stringify(updates.map(({ user_id, points }) => [user_id, points]));
  const events = JSON.stringify(updates.map(({ event_id, points }) => [event_id, points]));
  const sums = await env.LEADERBOARD_SHARD.getByName('0').scores(scores, events);
  return Response.json({ results: updates.map(({ user_id }, i) => ({ user_id, score: sums[i] })) });
}

const ROUTES = {
  /** Looks up a credential in the directory, as Tessera does, then adds a score. */
  '/score': async (request, env) => {
    await env.DIRECTORY.prepare('SELECT 1').run();
    return score(request, env);
  },
  /** Adds a score without a credential. */
  '/score-bare': score,
  /** Reads a score, with one call to an object. */
  '/player': async (request, env) => {
    const userId = new URL(request.url).searchParams.get('id');
    return Response.json({ user_id: userId, player: await shardOf(env, userId).find(userId) });
  },
  /** Looks up a credential, then adds a batch. */
  '/batch': async (request, env) => {
    await env.DIRECTORY.prepare('SELECT 1').run();
    return batch(request, env);
  },
  /** Adds a batch without a credential. */
  '/batch-bare': batch,
  /** Stores raw bytes in both locations. */
  '/store': async (request, env) => {
    const bytes = await request.arrayBuffer();
    const key = `mail/floor/${crypto.randomUUID()}`;
    await Promise.all([env.BLOBS.put(key, bytes), env.BLOBS_2.put(key, bytes)]);
    return new Response(null, { status: 202 });
  },
  '/health': async (_request, env) => {
    await Promise.all([
      env.DIRECTORY.prepare('SELECT 1').run(),
      env.OBJECTS_0.prepare('SELECT 1').run(),
      env.BLOBS.head('health'),
      env.BLOBS_2.head('health'),
    ]);
    return Response.json({ status: 'ok' });
  },
};

/** Forwards a blob in chunks after computing the checksum of each: the minimum for a read that never sends a wrong byte. */
function toChecked(blob) {
  const { readable, writable } = new FixedLengthStream(blob.size);
  const pump = async () => {
    const reader = blob.body.getReader({ mode: 'byob' });
    const writer = writable.getWriter();
    for (let rest = blob.size; rest > 0; ) {
      const bytes = Math.min(256 * 1024, rest);
      const { value } = await reader.readAtLeast(bytes, new Uint8Array(bytes));
      crc32(value);
      await writer.write(value);
      rest -= value.length;
    }
    await writer.close();
  };
  // When the load ends, clients disconnect during requests in progress. That is not an error.
  pump().catch(() => {});
  return readable;
}

/** Object storage: `/storage/small|large/<bytes>/<n>`. Large objects also accept `?checked`. */
async function serveStorageFloor(request, env, path, isChecked) {
  const [, , size] = path.split('/');
  if (size === 'setup') return setUpStorage(env);
  const key = env.DIRECTORY.prepare('SELECT v FROM floor WHERE k = ?1').bind('key').first();
  const bucket = env.DIRECTORY.prepare('SELECT v FROM floor WHERE k = ?1').bind('bucket').first();
  if (request.method === 'GET') {
    const what = env.OBJECTS_0.prepare('SELECT v, b FROM floor WHERE k = ?1').bind(path).first();
    const [, , row] = await Promise.all([key, bucket, what]);
    if (size === 'small') return new Response(Buffer.from(row.b, 'base64'));
    const blob = await env.BLOBS.get(row.v);
    return new Response(isChecked ? toChecked(blob) : blob.body);
  }
  await Promise.all([key, bucket]);
  const insert = env.OBJECTS_0.prepare('INSERT OR REPLACE INTO floor (k, v, b) VALUES (?1, ?2, ?3)');
  if (size === 'small') {
    const bytes = Buffer.from(await request.arrayBuffer());
    await env.OBJECTS_0.batch([insert.bind(path, '', bytes.toString('base64')), insert.bind(`${path}+`, '', '')]);
    return new Response(null);
  }
  const name = crypto.randomUUID();
  const [one, two] = request.body.tee();
  try {
    await Promise.all([env.BLOBS.put(name, one), env.BLOBS_2.put(name, two)]);
  } catch {
    // When the load ends, clients break off the bodies of requests in progress.
    return new Response(null, { status: 400 });
  }
  await env.OBJECTS_0.batch([insert.bind(path, name, ''), insert.bind(`${path}+`, name, '')]);
  return new Response(null);
}

async function setUpStorage(env) {
  for (const database of [env.DIRECTORY, env.OBJECTS_0]) {
    await database.exec('CREATE TABLE floor (k TEXT PRIMARY KEY, v TEXT, b TEXT) WITHOUT ROWID');
  }
  const insert = env.DIRECTORY.prepare('INSERT INTO floor (k, v) VALUES (?1, ?2)');
  await env.DIRECTORY.batch([insert.bind('key', 'x'.repeat(200)), insert.bind('bucket', 'x'.repeat(600))]);
  return new Response(null);
}

export default {
  scheduled() {},
  async fetch(request, env) {
    const { pathname: path, search } = new URL(request.url);
    if (path.startsWith('/storage/')) return serveStorageFloor(request, env, path, search === '?checked');
    const route = ROUTES[path];
    return route ? route(request, env) : new Response('Unknown floor path', { status: 404 });
  },
};
