/** Reads and raises the generation of identity: a counter that shows which revocations a copy of DIRECTORY includes. */
import { sql } from 'drizzle-orm';
import type { DrizzleD1Database } from 'drizzle-orm/d1';
import { drizzle } from 'drizzle-orm/d1';
import { readFirst, statement } from '../../shared/stores/statement.ts';
import { identityGeneration } from './schema.ts';

/** Statement that raises the generation. It is the last one in the batch of every change that takes rights away. */
export const raiseGeneration = (db: DrizzleD1Database) =>
  db
    .insert(identityGeneration)
    .values({ one: 1, generation: 1 })
    .onConflictDoUpdate({
      target: identityGeneration.one,
      set: { generation: sql`${identityGeneration.generation} + 1` },
    });

export const raiseGenerationOf = async (database: D1Database): Promise<void> =>
  void (await raiseGeneration(drizzle(database)));

const findGeneration = statement<Record<never, never>, { generation: number }>(
  'SELECT generation FROM identity_generation',
);

/** @returns the generation of identity; 0 before the first revocation. */
export const readGeneration = async (database: D1Database): Promise<number> =>
  (await readFirst(database, findGeneration, {}))?.generation ?? 0;

/** Raises the generation to at least this value. A shard is ahead of DIRECTORY only if DIRECTORY was restored from a snapshot. */
export async function raiseGenerationTo(database: D1Database, generation: number): Promise<void> {
  await drizzle(database)
    .insert(identityGeneration)
    .values({ one: 1, generation })
    .onConflictDoUpdate({
      target: identityGeneration.one,
      set: { generation: sql`max(${identityGeneration.generation}, ${generation})` },
    });
}
