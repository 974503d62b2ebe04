/** The mailbox as a whole: opening its database, reading and writing its one row in `mailbox`, and marking garbage. */

import { drizzle } from 'drizzle-orm/durable-sqlite';
import { migrate } from 'drizzle-orm/durable-sqlite/migrator';
import migrations from '../../../migrations/mailbox/migrations.js';
import type { Insert } from '../../../workers/shared/stores/insert-into.ts';
import { execute, type Parameters, type Statement } from '../../../workers/shared/stores/statement.ts';
import type { MailboxRow, MailboxSettings, NewMailbox } from '../contract/mailbox.ts';
import { createSearchIndex } from './search-index-store.ts';

export interface Database {
  readonly sql: SqlStorage;
  /** Runs work atomically: if it throws, everything is rolled back. */
  transaction<T>(work: () => T): T;
}

export type Row = Record<string, SqlStorageValue>;

/** Whether the object's storage has a database with tables. */
export const isDatabase = ({ sql }: DurableObjectStorage): boolean =>
  first(sql, "SELECT 1 AS one FROM sqlite_master WHERE type = 'table' AND name = 'mailbox'") !== null;

export async function openDatabase(storage: DurableObjectStorage): Promise<Database> {
  await migrate(drizzle(storage), migrations);
  createSearchIndex(storage.sql);
  return { sql: storage.sql, transaction: (work) => storage.transactionSync(work) };
}

/** @returns the first row of a query; null if there is none. */
export function first<T extends Row>(sql: SqlStorage, query: string, ...values: SqlStorageValue[]): T | null {
  for (const row of sql.exec<T>(query, ...values)) return row;
  return null;
}

/**
 * Reads the rows of a cursor one after another, as the cursor's own iterator does. That one creates the name of each column
 * again for every row, which takes half of its time, so queries of many or wide rows use this one.
 */
export function* readRows<T extends Row>(cursor: SqlStorageCursor<T>): Generator<T> {
  const names = cursor.columnNames;
  for (const values of cursor.raw()) {
    const row: Row = {};
    for (const [at, name] of names.entries()) row[name] = values[at] ?? null;
    yield row as T;
  }
}

/** Runs an insert. */
export function run(sql: SqlStorage, { text, values }: Insert): void {
  sql.exec(text, ...values);
}

/** @returns the first row of a statement; null if there is none. */
export function executeFirst<Values extends Parameters, Result extends Row>(
  sql: SqlStorage,
  query: Statement<Values, Result>,
  values: Values,
): Result | null {
  for (const row of execute(sql, query, values)) return row;
  return null;
}

const NO_SETTINGS: MailboxSettings = { signature: '', vacation: null, identities: [] };

/** @returns the row of the mailbox; null before the mailbox was created and after it was erased. */
export function readMailbox(sql: SqlStorage): MailboxRow | null {
  const row = first<{
    user_id: string;
    account_type: string;
    limit_bytes: number;
    used_bytes: number;
    settings: string;
  }>(
    sql,
    `SELECT user_id, account_type, limit_bytes, settings, (SELECT sum(bytes) FROM folder)
       + (SELECT coalesce(sum(size_bytes), 0) FROM upload) AS used_bytes FROM mailbox WHERE id = 1`,
  );
  if (!row) return null;
  return {
    userId: row.user_id,
    accountType: row.account_type,
    limitBytes: row.limit_bytes,
    usedBytes: row.used_bytes,
    settings: { ...NO_SETTINGS, ...(JSON.parse(row.settings) as Partial<MailboxSettings>) },
  };
}

/** Creates the row of the mailbox. If it exists, updates its type and limit. */
export function writeMailbox(sql: SqlStorage, mailbox: NewMailbox, now: number): void {
  sql.exec(
    `INSERT INTO mailbox (id, user_id, account_type, limit_bytes, created_at) VALUES (1, ?, ?, ?, ?)
     ON CONFLICT (id) DO UPDATE SET account_type = excluded.account_type, limit_bytes = excluded.limit_bytes`,
    mailbox.userId,
    mailbox.accountType,
    mailbox.limitBytes,
    now,
  );
}

export function writeSettings(sql: SqlStorage, settings: MailboxSettings): void {
  sql.exec('UPDATE mailbox SET settings = ? WHERE id = 1', JSON.stringify(settings));
}

/** Marks R2 objects for deletion. The wake `garbage` deletes them. */
export function addGarbage(sql: SqlStorage, keys: Iterable<string | null>, now: number): void {
  for (const key of keys)
    if (key !== null) sql.exec('INSERT OR IGNORE INTO garbage (r2_key, since) VALUES (?, ?)', key, now);
}

/** Garbage, without the raw bytes of a message that is still being sent, whose copy in Sent was erased. */
const DELETABLE = 'garbage WHERE r2_key NOT IN (SELECT raw_key FROM outbox WHERE next_attempt_at IS NOT NULL)';

export const listGarbage = (sql: SqlStorage, count: number): string[] =>
  [...sql.exec<{ r2_key: string }>(`SELECT r2_key FROM ${DELETABLE} LIMIT ?`, count)].map((row) => row.r2_key);

/** Query of when garbage is due: at once, if there is any. */
export const GARBAGE_DUE_AT = `SELECT 0 FROM ${DELETABLE} LIMIT 1`;

export function forgetGarbage(sql: SqlStorage, keys: readonly string[]): void {
  sql.exec('DELETE FROM garbage WHERE r2_key IN (SELECT value FROM json_each(?))', JSON.stringify(keys));
}
