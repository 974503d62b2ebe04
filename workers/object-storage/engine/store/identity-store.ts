/** Reads and raises the generation of identity in a shard: the latest revocation that the shard has received. */
import { prepare, statement } from '../../../shared/statement.ts';

const raise = statement<{ generation: number }>(
  `INSERT INTO identity(one, generation) VALUES (1, :generation)
   ON CONFLICT(one) DO UPDATE SET generation = excluded.generation WHERE generation < excluded.generation`,
);
const find = statement<Record<never, never>, { generation: number }>('SELECT generation FROM identity');

const ATTEMPTS_MAX = 3;

/**
 * Raises the shard's generation of identity to at least this value. Idempotent.
 * @returns the resulting generation.
 * @throws if the shard does not answer.
 */
export async function raiseIdentityGeneration(database: D1Database, generation: number): Promise<number> {
  for (let attempt = 1; ; attempt++) {
    try {
      const [, found] = await database.batch<{ generation: number }>([
        prepare(database, raise, { generation }),
        prepare(database, find, {}),
      ]);
      return found?.results[0]?.generation ?? generation;
    } catch (error) {
      if (attempt === ATTEMPTS_MAX) throw error;
    }
  }
}
