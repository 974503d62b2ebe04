/**
 * Calls of D1. Every call has a time limit, and each kind of failure has a name. A database that was put back to an earlier state
 * throws.
 */
import { err, ok, type Result } from '../../../shared/pure/result.ts';
import { findMisconfigured } from '../../../shared/settings/settings.ts';
import { type EngineContext, inTime } from '../model/context.ts';
import type { Unavailable } from '../model/contract.ts';
import type { ShardGenerations } from '../model/proof.ts';
import type { GuardReason } from './schema.ts';

/**
 * Why a batch failed. `guard`: a guard refused the batch, and nothing was written. `unknown`: no answer came, so the batch may have
 * been committed.
 */
export type DatabaseFailure =
  | { readonly kind: 'guard'; readonly reason: GuardReason }
  | { readonly kind: 'unknown'; readonly reason: string };

export type Row = Readonly<Record<string, string | number | null>>;

const LATE = Symbol('late');

/**
 * Prefix of the seals of all buckets in a shard that is being rebuilt. Other requests treat such buckets as unknown to the shard,
 * because partly restored data must be neither shown nor changed.
 */
export const REBUILD_SEAL = 'rebuild';
/** SQL that is 1 during a rebuild of the shard. `b` is a row of `bucket`. */
export const IS_BEING_REBUILT = `COALESCE(substr(b.seal, 1, ${REBUILD_SEAL.length}) = '${REBUILD_SEAL}', 0)`;

/** SQL columns of the shard's generations of a bucket and of identity. `b` is a row of `bucket`. */
export const GENERATION_COLUMNS = `b.generation, b.seal IS NOT NULL AS is_sealed,
  (SELECT json_group_array(json_array(one - 1, generation)) FROM identity) AS identities`;

export const toGenerations = (row: Row): ShardGenerations => ({
  generation: row.generation as number | null,
  identities: new Map(JSON.parse(String(row.identities)) as [number, number][]),
  isSealed: row.is_sealed === 1,
});

async function call<T>(context: EngineContext, work: () => Promise<T>): Promise<Result<T, DatabaseFailure>> {
  try {
    const value = await inTime(work(), context.limits.databaseTimeoutMs, LATE);
    if (value === LATE) return err({ kind: 'unknown', reason: 'the database did not answer in time' });
    return ok(value as T);
  } catch (error) {
    if (findMisconfigured(error)) throw error;
    const message = error instanceof Error ? error.message : String(error);
    const reason = /CHECK constraint failed: (\w+)/.exec(message)?.[1];
    return err(
      reason === undefined ? { kind: 'unknown', reason: message } : { kind: 'guard', reason: reason as GuardReason },
    );
  }
}

/** Runs statements as one transaction. Never retries: the caller knows whether the batch can be repeated. */
export function runBatch<R = Row>(
  context: EngineContext,
  database: D1Database,
  statements: D1PreparedStatement[],
): Promise<Result<D1Result<R>[], DatabaseFailure>> {
  return call(context, () => database.batch<R>(statements));
}

/** Runs a query. Retries it once if no answer came. */
export async function readRows<R = Row>(
  context: EngineContext,
  statement: D1PreparedStatement,
): Promise<Result<R[], Unavailable>> {
  for (let attempt = 0; ; attempt++) {
    const answer = await call(context, () => statement.all<R>());
    if (answer.ok) return ok(answer.value.results);
    if (attempt > 0) return err({ kind: 'unavailable', reason: answer.error.reason });
  }
}

/** Statements of one batch by name. They run in the order of the names. */
export type Named<Rows extends Record<string, object>> = { readonly [Name in keyof Rows]: D1PreparedStatement };
export type NamedResults<Rows extends Record<string, object>> = { readonly [Name in keyof Rows]: D1Result<Rows[Name]> };

function byName<Rows extends Record<string, object>>(
  statements: Named<Rows>,
  results: readonly D1Result<unknown>[],
): NamedResults<Rows> {
  return Object.fromEntries(Object.keys(statements).map((name, index) => [name, results[index]])) as NamedResults<Rows>;
}

/** Runs statements as one transaction. @returns the result of each statement by its name. @throws if the database fails. */
export async function batchNamed<Rows extends Record<string, object>>(
  database: D1Database,
  statements: Named<Rows>,
): Promise<NamedResults<Rows>> {
  return byName<Rows>(statements, await database.batch(Object.values(statements)));
}

/** Runs an idempotent batch like `runRepeatable`. @returns the result of each statement by its name. */
export async function runRepeatableNamed<Rows extends Record<string, object>>(
  context: EngineContext,
  database: D1Database,
  statements: Named<Rows>,
): Promise<Result<NamedResults<Rows>, DatabaseFailure>> {
  const answer = await runRepeatable<unknown>(context, database, Object.values(statements));
  return answer.ok ? ok(byName<Rows>(statements, answer.value)) : answer;
}

/** Runs an idempotent batch, with at most three attempts. */
export async function runRepeatable<R = Row>(
  context: EngineContext,
  database: D1Database,
  statements: D1PreparedStatement[],
): Promise<Result<D1Result<R>[], DatabaseFailure>> {
  for (let attempt = 0; ; attempt++) {
    const answer = await runBatch<R>(context, database, statements);
    if (answer.ok || answer.error.kind === 'guard' || attempt === 2) return answer;
  }
}

export const toUnavailable = (failure: DatabaseFailure) => ({ kind: 'unavailable', reason: failure.reason }) as const;

/** Reads the size of a database, which D1 reports with every answer. */
export async function measureDatabaseBytes(database: D1Database): Promise<number> {
  const answer = await database.prepare('SELECT 1').run();
  return answer.meta.size_after ?? 0;
}

/** Converts a UUID to the 32 hex digits that `unhex()` expects. `fromHex` converts back. */
export const toHex = (uuid: string): string => uuid.replaceAll('-', '');
export const fromHex = (hex: string): string => {
  const h = hex.toLowerCase();
  return `${h.slice(0, 8)}-${h.slice(8, 12)}-${h.slice(12, 16)}-${h.slice(16, 20)}-${h.slice(20)}`;
};
/** Converts a name to hex for use in a JSON parameter, because SQLite's JSON functions stop at NUL. */
export const nameHex = (name: string): string => Buffer.from(name).toString('hex');
