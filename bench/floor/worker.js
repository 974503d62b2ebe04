/**
 * The floor: for each thing that is measured, the least a Worker could do with the same bindings and the same round
 * trips, and no logic. A path a measurement.
 */
import { DurableObject } from 'cloudflare:workers';

/** One score: one upsert. */
export class LeaderboardShard extends DurableObject {
  constructor(ctx, env) {
    super(ctx, env);
    ctx.storage.sql.exec('CREATE TABLE IF NOT EXISTS player(user_id TEXT PRIMARY KEY, score INTEGER NOT NULL)');
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

const ROUTES = {
  /** A score behind the look-up of a credential in the directory, as ours has. */
  '/score': async (request, env) => {
    await env.DIRECTORY.prepare('SELECT 1').run();
    return score(request, env);
  },
  /** A score from anybody. */
  '/score-bare': score,
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

export default {
  async fetch(request, env) {
    const path = new URL(request.url).pathname;
    const route = ROUTES[path];
    return route ? route(request, env) : new Response('no such floor', { status: 404 });
  },
};
