/**
 * The floor of `npm run bench -- processor`: a bare Worker that makes the calls of bindings of each operation (`bench -- globe --calls`
 * counts those), with rows of the same size. It checks no credential. One path per operation; `POST /setup` fills its stores.
 */
import { DurableObject } from 'cloudflare:workers';

const ROW = 'SELECT name, etag, size, modified, type, storage, owner, version, meta, data FROM floor WHERE name = ?1';

/** A board's shard, with the players by score. */
export class LeaderboardShard extends DurableObject {
  constructor(ctx, env) {
    super(ctx, env);
    ctx.storage.sql.exec(`CREATE TABLE IF NOT EXISTS player(user_id TEXT PRIMARY KEY, score INTEGER NOT NULL);
      CREATE INDEX IF NOT EXISTS player_score ON player(score);
      CREATE TABLE IF NOT EXISTS event(id TEXT PRIMARY KEY, points INTEGER NOT NULL) WITHOUT ROWID`);
  }

  fill(players) {
    this.ctx.storage.sql.exec(
      'INSERT INTO player(user_id, score) SELECT value->>0, value->>1 FROM json_each(?)',
      JSON.stringify(players),
    );
  }

  score(userId, points, eventId) {
    const { sql } = this.ctx.storage;
    sql.exec('INSERT OR IGNORE INTO event(id, points) VALUES (?, ?)', eventId, points);
    return sql
      .exec(
        `INSERT INTO player(user_id, score) VALUES (?, ?)
         ON CONFLICT DO UPDATE SET score = score + excluded.score RETURNING score`,
        userId,
        points,
      )
      .one();
  }

  find(userId) {
    return this.ctx.storage.sql.exec('SELECT user_id, score FROM player WHERE user_id = ?', userId).toArray()[0];
  }

  top() {
    return this.ctx.storage.sql.exec('SELECT user_id, score FROM player ORDER BY score DESC LIMIT 10').toArray();
  }

  around(score) {
    return this.ctx.storage.sql
      .exec('SELECT user_id, score FROM player WHERE score >= ? ORDER BY score LIMIT 5', score)
      .toArray();
  }
}
export class LeaderboardSeason extends DurableObject {}
export class LeaderboardView extends DurableObject {}

const MESSAGE = `position, message_id, folder, thread, origin, is_read, is_flagged, is_answered, is_forwarded, has_attachment,
  snoozed_until, size_bytes, received_at, sent_at, sender, to_list, cc_list, subject, preview, labels`;

/** A mailbox: the columns of a list, and a full-text index of the texts. */
export class Mailbox extends DurableObject {
  constructor(ctx, env) {
    super(ctx, env);
    ctx.storage.sql.exec(`CREATE TABLE IF NOT EXISTS message(position INTEGER PRIMARY KEY, ${MESSAGE.replace('position, ', '')});
      CREATE INDEX IF NOT EXISTS message_folder ON message(folder, position);
      CREATE TABLE IF NOT EXISTS content(position INTEGER PRIMARY KEY, text TEXT NOT NULL);
      CREATE TABLE IF NOT EXISTS folder(folder INTEGER PRIMARY KEY, name TEXT, total INTEGER, unread INTEGER);
      CREATE VIRTUAL TABLE IF NOT EXISTS search USING fts5(subject, text)`);
  }

  /** @param messages lists of the values of `MESSAGE`, each followed by the text. */
  fill(messages) {
    const { sql } = this.ctx.storage;
    for (let folder = 1; folder <= 7; folder++)
      sql.exec('INSERT INTO folder VALUES (?, ?, 0, 0)', folder, `folder ${folder}`);
    for (const values of messages) this.#insert(values);
  }

  #insert(values) {
    const { sql } = this.ctx.storage;
    const marks = values.slice(0, -1).map(() => '?');
    sql.exec(`INSERT OR REPLACE INTO message(${MESSAGE}) VALUES (${marks})`, ...values.slice(0, -1));
    sql.exec('INSERT OR REPLACE INTO content VALUES (?, ?)', values[0], values.at(-1));
    sql.exec('INSERT INTO search(rowid, subject, text) VALUES (?, ?, ?)', values[0], values[17], values.at(-1));
  }

  list(count) {
    return this.ctx.storage.sql
      .exec(`SELECT ${MESSAGE} FROM message WHERE folder = 1 ORDER BY position DESC LIMIT ?`, count)
      .toArray();
  }

  folders() {
    return this.ctx.storage.sql.exec('SELECT folder, name, total, unread FROM folder').toArray();
  }

  positions() {
    return this.ctx.storage.sql
      .exec('SELECT position FROM message WHERE folder = 1 ORDER BY position DESC LIMIT 50')
      .toArray();
  }

  /** Hits newest first: ranking by `bm25()` would read every message with the word. */
  search(word) {
    return this.ctx.storage.sql
      .exec(
        `SELECT ${MESSAGE.replace('position', 'm.position').replace('subject', 'm.subject')}, s.snippet
         FROM (SELECT rowid AS position, snippet(search, 1, '<b>', '</b>', '', 24) AS snippet
               FROM search WHERE search MATCH ? ORDER BY rowid DESC LIMIT 50) AS s CROSS JOIN message AS m ON m.position = s.position`,
        word,
      )
      .toArray();
  }

  /** Stores mail: a row of the message and one of its text. */
  deliver(position, key, text) {
    const { sql } = this.ctx.storage;
    sql.exec(
      'INSERT INTO message(message_id, folder, subject, preview) VALUES (?, 2, ?, ?)',
      key,
      key,
      text.slice(0, 200),
    );
    sql.exec('INSERT INTO content(text) VALUES (?)', text);
    return position;
  }
}

const row = (env, name) => env.OBJECTS_0.prepare(ROW).bind(name).first();
const shardOf = (env, number) => env.LEADERBOARD_SHARD.getByName(String(number % 4));
const mailbox = (env) => env.MAILBOX.getByName('floor');
const numberOf = (name) => Number(name.split('-').at(-1));

async function setUp(request, env) {
  const { small, listed, players, messages } = await request.json();
  await env.OBJECTS_0.exec(
    'CREATE TABLE floor (name TEXT PRIMARY KEY, etag TEXT, size INTEGER, modified TEXT, type TEXT, storage TEXT, owner TEXT, version TEXT, meta TEXT, data TEXT) WITHOUT ROWID',
  );
  const insert = env.OBJECTS_0.prepare('INSERT INTO floor VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)');
  const bind = (name, data) =>
    insert.bind(name, 'e'.repeat(32), 4096, '2026-01-01', 'text/plain', 'STANDARD', 'o'.repeat(36), 'null', '{}', data);
  await env.OBJECTS_0.batch([bind('small', small), bind('head', null), bind('large', null)]);
  await env.OBJECTS_0.batch(Array.from({ length: listed }, (_, at) => bind(`z-${String(at).padStart(5, '0')}`, null)));
  await env.BLOBS.put('large', new Uint8Array(1024 ** 2));
  for (let shard = 0; shard < 4; shard++)
    await shardOf(env, shard).fill(players.filter(([name]) => numberOf(name) % 4 === shard));
  if (messages.length > 0) await mailbox(env).fill(messages);
  return new Response(null);
}

const ROUTES = {
  '/setup': setUp,
  '/get-4k': async (_, env) => new Response(Buffer.from((await row(env, 'small')).data, 'base64')),
  '/head': async (_, env) => new Response(null, { headers: { etag: (await row(env, 'head')).etag } }),
  '/get-1m': async (_, env) => {
    await row(env, 'large');
    return new Response((await env.BLOBS.get('large')).body);
  },
  '/put-4k': async (request, env) => {
    const data = Buffer.from(await request.arrayBuffer()).toString('base64');
    const insert = env.OBJECTS_0.prepare(
      'INSERT OR REPLACE INTO floor(name, etag, size, data) VALUES (?1, ?2, ?3, ?4)',
    );
    await env.OBJECTS_0.batch([
      insert.bind('put', 'e'.repeat(32), 4096, data),
      insert.bind('put+', 'e'.repeat(32), 4096, null),
    ]);
    return new Response(null);
  },
  '/list': async (_, env) => {
    const query = `${ROW.replace('name = ?1', "name > 'y'")} ORDER BY name LIMIT 1001`;
    const { results } = await env.OBJECTS_0.prepare(query).all();
    return new Response(
      results.map(({ name, etag, size, modified }) => `${name} ${etag} ${size} ${modified}\n`).join(''),
    );
  },
  '/score': async (request, env) => {
    const { user_id, points, event_id } = await request.json();
    const { score } = await shardOf(env, numberOf(user_id)).score(user_id, points, event_id);
    return Response.json({ user_id, score });
  },
  '/top': async (_, env) => Response.json(await shardOf(env, 0).top()),
  '/rank': async (request, env) => {
    const name = new URL(request.url).searchParams.get('id');
    return Response.json(await shardOf(env, numberOf(name)).find(name));
  },
  '/neighbors': async (request, env) => {
    const name = new URL(request.url).searchParams.get('id');
    const { score } = await shardOf(env, numberOf(name)).find(name);
    return Response.json((await Promise.all([0, 1, 2, 3].map((shard) => shardOf(env, shard).around(score)))).flat());
  },
  '/mail-list': async (_, env) => Response.json(await mailbox(env).list(51)),
  '/jmap': async (request, env) => {
    await request.json();
    const [folders, ids] = [await mailbox(env).folders(), await mailbox(env).positions()];
    return Response.json([folders, ids, await mailbox(env).list(50)]);
  },
  '/search': async (request, env) =>
    Response.json(await mailbox(env).search(new URL(request.url).searchParams.get('q'))),
  '/mail-in': async (request, env) => {
    const text = await request.text();
    const key = `mail/floor/${crypto.randomUUID()}`;
    await Promise.all([env.BLOBS.put(key, text), env.BLOBS_2.put(key, text)]);
    await mailbox(env).deliver(0, key, text);
    return new Response(null, { status: 202 });
  },
  '/v1/scores': async () => Response.json([]),
};

export default {
  scheduled() {},
  async fetch(request, env) {
    const route = ROUTES[new URL(request.url).pathname];
    return route ? route(request, env) : new Response('Unknown floor path', { status: 404 });
  },
};
