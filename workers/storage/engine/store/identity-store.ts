/** Reads and raises a shard's generations of identity: for each user database, the latest revocation that the shard knows. */
import { prepare, statement } from '../../../shared/stores/statement.ts';
import type { IdentityProof } from '../model/versions.ts';

/** `identity.one` is the number of the user database plus 1. */
const raise = statement<{ one: number; generation: number }>(
  `INSERT INTO identity(one, generation) VALUES (:one, :generation)
   ON CONFLICT(one) DO UPDATE SET generation = excluded.generation WHERE generation < excluded.generation`,
);
const findAll = statement<Record<never, never>, { one: number; generation: number }>(
  'SELECT one, generation FROM identity',
);

const ATTEMPTS_MAX = 3;

/**
 * Raises the shard's generations of identity to at least these values. Idempotent.
 * @returns the resulting generations, in the same order.
 * @throws if the shard does not answer.
 */
export async function raiseIdentityGenerations(
  database: D1Database,
  generations: readonly IdentityProof[],
): Promise<number[]> {
  const statements = generations.map(({ home, generation }) => prepare(database, raise, { one: home + 1, generation }));
  for (let attempt = 1; ; attempt++) {
    try {
      const answers = await database.batch<{ one: number; generation: number }>([
        ...statements,
        prepare(database, findAll, {}),
      ]);
      const found = new Map(answers.at(-1)?.results.map(({ one, generation }) => [one - 1, generation]));
      return generations.map(({ home, generation }) => found.get(home) ?? generation);
    } catch (error) {
      if (attempt === ATTEMPTS_MAX) throw error;
    }
  }
}
