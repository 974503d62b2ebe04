/**
 * Puts the storage of an object back to an earlier state. Only the code of an object can ask for that.
 * https://developers.cloudflare.com/durable-objects/api/sqlite-storage-api/#pitr-point-in-time-recovery-api
 *
 * Not tried in production: workerd has no point-in-time recovery, so a local server uses a stand-in. It keeps copies of the rows in the
 * object itself, one for each bookmark that was read. After it put rows back, nothing is in the search index until the mailbox is
 * rebuilt.
 */
import { settingsOf } from '../../../workers/shared/settings/settings.ts';
import { createSearchIndex } from './search-index-store.ts';
import type { Row } from './store.ts';
import { insertWholeRow, readWholeRows } from './whole-row-store.ts';

export interface PointInTime {
  /** Reads the bookmark of the present state. */
  readonly readBookmark: () => Promise<string>;
  /** Finds the bookmark of the state at a time, at most 30 days ago. @throws if there is none. */
  readonly findBookmark: (time: number) => Promise<string>;
  /** Puts everything back. The object must be started again afterwards. @throws if the bookmark is unknown. */
  readonly putBack: (bookmark: string) => Promise<void>;
}

/** Calls of the platform that its published types lack. */
interface Recoverable {
  getCurrentBookmark(): Promise<string>;
  getBookmarkForTime(time: number): Promise<string>;
  onNextSessionRestoreBookmark(bookmark: string): Promise<string>;
}

export function createPointInTime(storage: DurableObjectStorage, env: Env): PointInTime {
  if (settingsOf(env).LOCAL === '1') return createStandIn(storage);
  const platform = storage as unknown as Recoverable;
  return {
    readBookmark: () => platform.getCurrentBookmark(),
    findBookmark: (time) => platform.getBookmarkForTime(time),
    putBack: async (bookmark) => void (await platform.onNextSessionRestoreBookmark(bookmark)),
  };
}

interface Copy {
  readonly tables: Readonly<Record<string, readonly Row[]>>;
  readonly values: readonly (readonly [key: string, value: unknown])[];
}

const COPIES = 'local_copy';
const BOOKMARK_DIGITS = 15;
const toBookmark = (time: number): string => String(time).padStart(BOOKMARK_DIGITS, '0');

/** Names of the tables of rows. The search index is a virtual table, whose rows cannot be written. */
function listTables(sql: SqlStorage): string[] {
  const rows = sql.exec<{ name: string }>(
    `SELECT name FROM sqlite_master WHERE type = 'table' AND name <> '${COPIES}' AND substr(name, 1, 7) <> 'sqlite_'
     AND substr(name, 1, 4) <> '_cf_' AND substr(name, 1, 14) <> 'message_search'`,
  );
  return [...rows].map(({ name }) => name);
}

const toJson = (_: string, value: unknown): unknown =>
  value instanceof ArrayBuffer ? { hex: Buffer.from(value).toString('hex') } : value;
const fromJson = (_: string, value: unknown): unknown =>
  typeof value === 'object' && value !== null && 'hex' in value && Object.keys(value).length === 1
    ? Uint8Array.from(Buffer.from(String(value.hex), 'hex')).buffer
    : value;

function createStandIn(storage: DurableObjectStorage): PointInTime {
  const { sql, kv } = storage;
  const find = (where: string, bookmark: string) => {
    sql.exec(`CREATE TABLE IF NOT EXISTS ${COPIES} (bookmark TEXT PRIMARY KEY, body TEXT NOT NULL)`);
    const [row] = sql.exec<{ bookmark: string; body: string }>(
      `SELECT bookmark, body FROM ${COPIES} WHERE ${where} ORDER BY bookmark DESC LIMIT 1`,
      bookmark,
    );
    if (row === undefined) throw new Error('no copy of this mailbox was kept at that time');
    return row;
  };
  return {
    async readBookmark() {
      const tables = listTables(sql).map((table) => [table, readWholeRows(sql, table)] as const);
      const copy: Copy = { tables: Object.fromEntries(tables), values: [...kv.list()] };
      const bookmark = toBookmark(Date.now());
      sql.exec(`CREATE TABLE IF NOT EXISTS ${COPIES} (bookmark TEXT PRIMARY KEY, body TEXT NOT NULL)`);
      sql.exec(`INSERT OR REPLACE INTO ${COPIES} VALUES (?, ?)`, bookmark, JSON.stringify(copy, toJson));
      return bookmark;
    },
    findBookmark: async (time) => find('bookmark <= ?', toBookmark(time)).bookmark,
    async putBack(bookmark) {
      const { tables, values }: Copy = JSON.parse(find('bookmark = ?', bookmark).body, fromJson);
      storage.transactionSync(() => {
        for (const table of listTables(sql)) sql.exec(`DELETE FROM "${table}"`);
        for (const [table, rows] of Object.entries(tables)) for (const row of rows) insertWholeRow(sql, table, row);
        sql.exec('DROP TABLE IF EXISTS message_search');
        createSearchIndex(sql);
        for (const [key] of [...kv.list()]) kv.delete(key);
        for (const [key, value] of values) kv.put(key, value);
      });
    },
  };
}
