/**
 * The age of a database: a number that rises with each minute in which something may have changed. The locations have a copy of it
 * (`store-age.ts`). A database with a lower number than its copy was put back to an earlier state.
 *
 * The number of a shard of objects is the epoch of its journal, which every commit reads anyway. A user database has a row in `age`.
 */
import { readFirst, statement } from './statement.ts';

export type AgeKind = 'objects' | 'directory';

/** SQL of the number of a database of each kind. */
export const AGE_NUMBERS = {
  objects: "SELECT CAST(state AS INTEGER) AS number FROM task WHERE name = 'journal'",
  // A database with data and without a number was put back to before its first number.
  directory: `SELECT COALESCE((SELECT number FROM age WHERE one = 1), 0) AS number
    WHERE EXISTS (SELECT 1 FROM age WHERE one = 1) OR EXISTS (SELECT 1 FROM user) OR EXISTS (SELECT 1 FROM bucket)`,
} as const;

const findNumber = {
  objects: statement<Record<never, never>, { number: number }>(AGE_NUMBERS.objects),
  directory: statement<Record<never, never>, { number: number }>(AGE_NUMBERS.directory),
};

/** Reads the number of a database. @returns null if it has none: it is empty, or a shard that is being rebuilt. */
export const readNumber = async (database: D1Database, kind: AgeKind): Promise<number | null> =>
  (await readFirst(database, findNumber[kind], {}))?.number ?? null;

/**
 * A statement that fails its batch if the number is below `atLeast`, because a column that must not be NULL would be. It writes
 * nothing.
 */
export const refuseOlder = (database: D1Database, kind: AgeKind, atLeast: number): D1PreparedStatement =>
  database
    .prepare(
      kind === 'objects'
        ? `INSERT INTO task(name, state, updated_at) SELECT 'older', NULL, 0 FROM (${AGE_NUMBERS.objects}) WHERE number < ?1`
        : `INSERT INTO age(one, number) SELECT 0, NULL FROM (${AGE_NUMBERS.directory}) WHERE number < ?1`,
    )
    .bind(atLeast);

/** Whether a batch failed because of `refuseOlder`. No other statement sets one of these columns to NULL. */
export const isRefusedAsOlder = (error: unknown): boolean =>
  error instanceof Error && /NOT NULL constraint failed: (?:task\.state|age\.number)/.test(error.message);

const raise = statement<{ outside: number }, { number: number }>(
  `INSERT INTO age(one, number) SELECT 1, 1 WHERE :outside = 0 OR EXISTS (SELECT 1 FROM age WHERE one = 1)
   ON CONFLICT(one) DO UPDATE SET number = number + 1 WHERE number >= :outside RETURNING number`,
);

/**
 * Raises the number of a user database by one, unless it is below the number outside.
 * @param outside the number in the locations; 0 if there is none.
 * @returns the new number. Null if the database is older, or if it is empty although the locations have a number.
 */
export const raiseNumber = async (database: D1Database, outside: number): Promise<number | null> =>
  (await readFirst(database, raise, { outside }))?.number ?? null;

const setTo = statement<{ number: number }>(
  `INSERT INTO age(one, number) VALUES (1, :number)
   ON CONFLICT(one) DO UPDATE SET number = excluded.number WHERE number < excluded.number`,
);

/** Statement that sets the number of a user database to at least this, once it has everything that it lacked. */
export const levelNumber = (database: D1Database, number: number): D1PreparedStatement =>
  database.prepare(setTo.text).bind(...setTo.toValues({ number }));
