/**
 * Listings: one query per page and shard, and one index seek per result.
 *
 * With a delimiter, a recursive query hops from a name below a common prefix straight to the first name after that
 * prefix. The recursive table occurs once, directly in FROM. Names are BLOBs, so results of `||` and `substr` are cast
 * back (TEXT functions stop at NUL). Parameters: ?1 bucket id, ?2 prefix, ?3 from, ?4 end (null: none), ?5 delimiter,
 * ?6 its successor, ?7 limit, ?8 slots.
 */
import { err, ok, type Result } from '../../../shared/result.ts';
import { nameAfterPrefix } from '../../domain/name-order.ts';
import { databaseOf, type EngineContext } from '../model/context.ts';
import type { Unavailable } from '../model/contract.ts';
import { bindNamed } from './commit-store.ts';
import { IS_BEING_REBUILT, type Row, readRows, runRepeatable, toUnavailable } from './database.ts';
import { LISTED_COLUMNS } from './version-sql.ts';

export interface ListQuery {
  readonly bucketId: string;
  readonly prefix: string;
  readonly delimiter: string;
  readonly from: string;
  readonly limit: number;
  /** 256 characters, `o` for each slot to list; null: all. Names of other slots are skipped one by one. */
  readonly only: string | null;
}

type Page = Promise<Result<{ readonly rows: readonly Row[]; readonly slots: string | null }, Unavailable>>;

/**
 * With several shards, the shard's state of the bucket's slots is read in the same transaction as the page.
 * @param parameters the first is the bucket id.
 */
async function readPage(context: EngineContext, shard: number, sql: string, parameters: readonly unknown[]): Page {
  const database = databaseOf(context, shard);
  const statement = bindNamed(database, sql, parameters);
  if (context.shards.length === 1) {
    const rows = await readRows(context, statement);
    return rows.ok ? ok({ rows: rows.value, slots: null }) : rows;
  }
  const slotsSql = `SELECT slots FROM bucket b WHERE bucket_id = ?1 AND NOT ${IS_BEING_REBUILT}`;
  const answer = await runRepeatable(context, database, [statement, bindNamed(database, slotsSql, parameters)]);
  if (!answer.ok) return err(toUnavailable(answer.error));
  const slots = answer.value[1]?.results[0]?.slots;
  return ok({ rows: answer.value[0]?.results ?? [], slots: slots === undefined ? null : String(slots) });
}

const BUCKET = `(SELECT b.n FROM bucket b WHERE b.bucket_id = ?1 AND NOT ${IS_BEING_REBUILT})`;
/** Greater than all names: UTF-8 has no byte 0xFF. */
const END = "COALESCE(CAST(?4 AS BLOB), x'ff')";

/** The rest of a name after the prefix. */
const rest = (name: string) => `substr(${name}, length(CAST(?2 AS BLOB)) + 1)`;
const at = (name: string) => `instr(${rest(name)}, CAST(?5 AS BLOB))`;
/** The name up to its first delimiter after the prefix, without it. */
const stem = (name: string) => `substr(${name}, 1, length(CAST(?2 AS BLOB)) + ${at(name)} - 1)`;

/** Without `only`, the column is not mentioned, because the index of current objects lacks it. */
const inSlots = (row: string, only: string | null, parameter: string) =>
  only === null ? '' : `AND substr(${parameter}, ${row}.slot + 1, 1) = 'o'`;

/** @param live lists current objects only, by their index. */
// One name more than the page, because no version of the first name may be left to list.
const hop = (live: boolean, slots: string | null) => {
  const only = `${live ? 'AND h.live = 1' : ''} ${inSlots('h', slots, '?8')}`;
  return `WITH RECURSIVE hop(name) AS (
    SELECT (SELECT h.name FROM version h WHERE h.bucket = ${BUCKET} ${only} AND h.name >= CAST(?3 AS BLOB) AND h.name < ${END}
            ORDER BY h.bucket, h.name LIMIT 1)
    UNION ALL
    SELECT (SELECT h.name FROM version h WHERE h.bucket = ${BUCKET} ${only}
              AND h.name >= CASE WHEN ${at('hop.name')} > 0
                THEN CAST(${stem('hop.name')} || CAST(?6 AS BLOB) AS BLOB)
                ELSE CAST(hop.name || x'00' AS BLOB) END
              AND h.name < ${END} ORDER BY h.bucket, h.name LIMIT 1)
    FROM hop WHERE hop.name IS NOT NULL LIMIT ?7 + 1
  )`;
};

const COMMON_PREFIX = `CASE WHEN ${at('hop.name')} > 0
  THEN CAST(${stem('hop.name')} || CAST(?5 AS BLOB) AS TEXT) END AS common_prefix`;

export function selectObjects(context: EngineContext, shard: number, query: ListQuery): Page {
  const { bucketId, prefix, delimiter, from, limit, only } = query;
  const end = nameAfterPrefix(prefix);
  if (delimiter === '') {
    return readPage(
      context,
      shard,
      `SELECT NULL AS common_prefix, CAST(v.name AS TEXT) AS name, ${LISTED_COLUMNS} FROM version v
       WHERE v.bucket = ${BUCKET} AND v.live = 1 AND v.name >= CAST(?2 AS BLOB) AND v.name < COALESCE(CAST(?3 AS BLOB), x'ff')
         ${inSlots('v', only, '?5')} ORDER BY v.bucket, v.name LIMIT ?4`,
      [bucketId, from, end, limit, only],
    );
  }
  return readPage(
    context,
    shard,
    `${hop(true, only)}
     SELECT ${COMMON_PREFIX}, CAST(hop.name AS TEXT) AS name, ${LISTED_COLUMNS}
     FROM hop LEFT JOIN version v ON ${at('hop.name')} = 0 AND v.bucket = ${BUCKET} AND v.name = hop.name AND v.live = 1
     WHERE hop.name IS NOT NULL LIMIT ?7`,
    [bucketId, prefix, from, end, delimiter, nameAfterPrefix(delimiter), limit, only],
  );
}

/** @param olderThan order of a version of the name `from`: of that name, only later rows are listed. */
export function selectVersions(
  context: EngineContext,
  shard: number,
  query: ListQuery & { readonly olderThan: string | null },
): Page {
  const { bucketId, prefix, delimiter, from, limit, only, olderThan } = query;
  const end = nameAfterPrefix(prefix);
  // A version is the newest if no version of its name comes before it.
  const isLatest = (name: string) =>
    `(SELECT x.ord FROM version x WHERE x.bucket = v.bucket AND x.name = ${name} ORDER BY x.ord LIMIT 1) = v.ord AS is_latest`;
  if (delimiter === '') {
    return readPage(
      context,
      shard,
      `SELECT NULL AS common_prefix, CAST(v.name AS TEXT) AS name, ${isLatest('v.name')}, ${LISTED_COLUMNS} FROM version v
       WHERE v.bucket = ${BUCKET} AND v.name < COALESCE(CAST(?3 AS BLOB), x'ff')
         AND (v.name, v.ord) > (CAST(?2 AS BLOB), COALESCE(unhex(?5), x'')) ${inSlots('v', only, '?6')}
       ORDER BY v.bucket, v.name, v.ord LIMIT ?4`,
      [bucketId, from, end, limit, olderThan, only],
    );
  }
  return readPage(
    context,
    shard,
    `${hop(false, only)}
     SELECT ${COMMON_PREFIX}, CAST(hop.name AS TEXT) AS name, ${isLatest('hop.name')}, ${LISTED_COLUMNS}
     FROM hop LEFT JOIN version v ON ${at('hop.name')} = 0 AND v.bucket = ${BUCKET} AND v.name = hop.name
       AND v.ord > CASE WHEN hop.name = CAST(?3 AS BLOB) THEN COALESCE(unhex(?9), x'') ELSE x'' END
     WHERE hop.name IS NOT NULL AND (${at('hop.name')} > 0 OR v.ord IS NOT NULL) LIMIT ?7`,
    [bucketId, prefix, from, end, delimiter, nameAfterPrefix(delimiter), limit, only, olderThan],
  );
}

/** Open uploads ordered by name, then by creation. The caller groups them by delimiter. */
export function selectUploads(
  context: EngineContext,
  shard: number,
  query: Omit<ListQuery, 'delimiter'> & { readonly after: string },
  columns: string,
): Page {
  return readPage(
    context,
    shard,
    `SELECT ${columns} FROM upload u WHERE u.bucket = ${BUCKET} AND u.state = 'open'
       AND (u.name, u.upload_id) > (CAST(?2 AS BLOB), ?5) AND u.name < COALESCE(CAST(?3 AS BLOB), x'ff')
       ${inSlots('u', query.only, '?6')} ORDER BY u.bucket, u.name, u.upload_id LIMIT ?4`,
    [query.bucketId, query.from, nameAfterPrefix(query.prefix), query.limit, query.after, query.only],
  );
}
