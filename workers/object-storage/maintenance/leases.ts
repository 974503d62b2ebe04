/** Where background work stands, kept in the shard it works on, and leases so that two runs do not do the same. */
import type { EngineContext } from '../engine/model/context.ts';

/** @returns null when there is none. */
export async function readTask<T>(context: EngineContext, shard: number, name: string): Promise<T | null> {
  const database = context.shards[shard] as D1Database;
  const state = await database.prepare('SELECT state FROM task WHERE name = ?1').bind(name).first<string>('state');
  return state === null ? null : (JSON.parse(state) as T);
}

export async function writeTask(context: EngineContext, shard: number, name: string, state: unknown): Promise<void> {
  const database = context.shards[shard] as D1Database;
  await database
    .prepare(
      `INSERT INTO task(name, state, updated_at) VALUES (?1, ?2, ?3)
       ON CONFLICT(name) DO UPDATE SET state = excluded.state, updated_at = excluded.updated_at`,
    )
    .bind(name, JSON.stringify(state), context.now())
    .run();
}

/** Runs work that only one may do at a time. A lease whose holder died ends by itself. @returns null when it is taken. */
export async function withLease<T>(
  context: EngineContext,
  shard: number,
  name: string,
  leaseMs: number,
  work: () => Promise<T>,
): Promise<T | null> {
  const database = context.shards[shard] as D1Database;
  const lease = `lease ${name}`;
  const holder = JSON.stringify(crypto.randomUUID());
  const now = context.now();
  const taken = await database
    .prepare(
      `INSERT INTO task(name, state, updated_at) VALUES (?1, ?2, ?3)
       ON CONFLICT(name) DO UPDATE SET state = excluded.state, updated_at = excluded.updated_at WHERE updated_at < ?4
       RETURNING state`,
    )
    .bind(lease, holder, now, now - leaseMs)
    .first<string>('state');
  if (taken !== holder) return null;
  try {
    return await work();
  } finally {
    await database.prepare('DELETE FROM task WHERE name = ?1 AND state = ?2').bind(lease, holder).run();
  }
}
