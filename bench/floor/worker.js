/**
 * The floor: for each thing that is measured, the least a Worker could do with the same bindings and the same round
 * trips, and no logic. A path a measurement.
 */
import { DurableObject } from 'cloudflare:workers';
import { crc32 } from 'node:zlib';

/** One score: one upsert. A batch: one statement for its scores, and one for its event ids. */
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

  /** @param scores JSON: an array of `[user_id, points]`. @param events JSON: of `[event_id, points]`. */
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

async function score(request, env) {
  const { user_id, points } = await request.json();
  let hash = 0;
  for (let i = 0; i < user_id.length; i++) hash = (hash * 31 + user_id.charCodeAt(i)) >>> 0;
  const shard = env.LEADERBOARD_SHARD.getByName(String(hash % Number(env.LEADERBOARD_SHARDS)));
  return Response.json({ user_id, score: (await shard.score(user_id, points)).score });
}

/** A batch of scores, all of one shard, with the event ids that make a retry safe. */
async function batch(request, env) {
  const { updates } = await request.json();
  const scores = JSON.stringify(updates.map(({ user_id, points }) => [user_id, points]));
  const events = JSON.stringify(updates.map(({ event_id, points }) => [event_id, points]));
  const sums = await env.LEADERBOARD_SHARD.getByName('0').scores(scores, events);
  return Response.json({ results: updates.map(({ user_id }, i) => ({ user_id, score: sums[i] })) });
}

const ROUTES = {
  /** A score behind the look-up of a credential in the directory, as ours has. */
  '/score': async (request, env) => {
    await env.DIRECTORY.prepare('SELECT 1').run();
    return score(request, env);
  },
  /** A score from anybody. */
  '/score-bare': score,
  /** A batch behind the look-up of a credential. */
  '/batch': async (request, env) => {
    await env.DIRECTORY.prepare('SELECT 1').run();
    return batch(request, env);
  },
  /** A batch from anybody. */
  '/batch-bare': batch,
  /** Raw bytes into both locations. */
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

/** Passes a blob on in pieces whose checksum was worked out first: the least that a read without a wrong byte can do. */
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
  // The load ends with requests under way: nobody reads on.
  pump().catch(() => {});
  return readable;
}

/** Object storage: `/storage/small|large/<bytes>/<n>`, and of what is large also `?checked`. */
async function serveStorageFloor(request, env, path, isChecked) {
  const [, , size] = path.split('/');
  if (size === 'setup') return setUpStorage(env);
  const who = env.DIRECTORY.prepare('SELECT v FROM floor WHERE k = ?1').bind('key').first();
  const where = env.DIRECTORY.prepare('SELECT v FROM floor WHERE k = ?1').bind('bucket').first();
  if (request.method === 'GET') {
    const what = env.OBJECTS_0.prepare('SELECT v, b FROM floor WHERE k = ?1').bind(path).first();
    const [, , row] = await Promise.all([who, where, what]);
    if (size === 'small') return new Response(Buffer.from(row.b, 'base64'));
    const blob = await env.BLOBS.get(row.v);
    return new Response(isChecked ? toChecked(blob) : blob.body);
  }
  await Promise.all([who, where]);
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
    // The load ends with requests under way: their bodies break off.
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
    return route ? route(request, env) : new Response('no such floor', { status: 404 });
  },
};
