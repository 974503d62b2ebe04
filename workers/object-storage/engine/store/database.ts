/** How the engine talks to D1: every call has a time limit, and every way it can fail has a name. */
import { err, ok, type Result } from '../../../shared/result.ts';
import { type EngineContext, inTime } from '../model/context.ts';
import type { Unavailable } from '../model/contract.ts';
import type { GuardReason } from './schema.ts';

/**
 * `guard`: the batch refused itself, nothing was written. `unknown`: no answer came, so it may or may not have happened.
 */
export type DatabaseFailure =
  | { readonly kind: 'guard'; readonly reason: GuardReason }
  | { readonly kind: 'unknown'; readonly reason: string };

export type Row = Readonly<Record<string, string | number | null>>;

const LATE = Symbol('late');

/**
 * While a shard is rebuilt its buckets' seals begin with this word, and to everybody else the shard does not know them:
 * what is half back must neither be shown nor be written to.
 */
export const REBUILD_SEAL = 'rebuild';
/** Of a bucket's row `b`. */
export const IS_BEING_REBUILT = `COALESCE(substr(b.seal, 1, ${REBUILD_SEAL.length}) = '${REBUILD_SEAL}', 0)`;

async function call<T>(context: EngineContext, work: () => Promise<T>): Promise<Result<T, DatabaseFailure>> {
  try {
    const value = await inTime(work(), context.limits.databaseTimeoutMs, LATE);
    if (value === LATE) return err({ kind: 'unknown', reason: 'the database did not answer in time' });
    return ok(value as T);
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    const reason = /CHECK constraint failed: (\w+)/.exec(message)?.[1];
    return err(
      reason === undefined ? { kind: 'unknown', reason: message } : { kind: 'guard', reason: reason as GuardReason },
    );
  }
}

/** Runs statements as one transaction, all or nothing. Asked once: the caller knows whether it may be repeated. */
export function runBatch(
  context: EngineContext,
  database: D1Database,
  statements: D1PreparedStatement[],
): Promise<Result<D1Result<Row>[], DatabaseFailure>> {
  return call(context, () => database.batch<Row>(statements));
}

/** Reads, and reads once more when no answer came. */
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

/** A write that may be repeated safely: tried three times. */
export async function runRepeatable(
  context: EngineContext,
  database: D1Database,
  statements: D1PreparedStatement[],
): Promise<Result<D1Result<Row>[], DatabaseFailure>> {
  for (let attempt = 0; ; attempt++) {
    const answer = await runBatch(context, database, statements);
    if (answer.ok || answer.error.kind === 'guard' || attempt === 2) return answer;
  }
}

export const toUnavailable = (failure: DatabaseFailure) => ({ kind: 'unavailable', reason: failure.reason }) as const;

/** The size of a database, which D1 reports with every answer. */
export async function measureDatabaseBytes(database: D1Database): Promise<number> {
  const answer = await database.prepare('SELECT 1').run();
  return answer.meta.size_after ?? 0;
}

/** UUID text to the 32 hex digits that `unhex()` takes, and back. */
export const toHex = (uuid: string): string => uuid.replaceAll('-', '');
export const fromHex = (hex: string): string => {
  const h = hex.toLowerCase();
  return `${h.slice(0, 8)}-${h.slice(8, 12)}-${h.slice(12, 16)}-${h.slice(16, 20)}-${h.slice(20)}`;
};
/** Names inside JSON parameters travel as hex: SQLite's JSON stops at NUL. */
export const nameHex = (name: string): string => Buffer.from(name).toString('hex');
