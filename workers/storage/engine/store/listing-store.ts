/**
 * Listings of one shard. A page takes one query, with two index seeks per name, regardless of the name's number of versions.
 *
 * A recursive query `hop` steps from the newest row of a name to the newest row of the next name. With a delimiter it steps from a
 * name below a common prefix directly to the first name after that prefix. SQLite allows the recursive table only once, directly in
 * FROM. Names are BLOBs, because TEXT functions stop at NUL, so results of `||` and `substr` are cast back to BLOB. * Parameters:
 * ?1 bucket id, ?2 prefix, ?3 from, ?4 end (null for none), ?5 delimiter (null for none), ?6 the successor of the delimiter, ?7
 * limit, ?8 slots.
 */
import { err, ok, type Result } from '../../../shared/pure/result.ts';
import { nameAfter, nameAfterPrefix } from '../../domain/name-order.ts';
import { databaseOf, type EngineContext } from '../model/context.ts';
import type { Unavailable } from '../model/contract.ts';
import type { ShardGenerations } from '../model/proof.ts';
import { bindNamed } from './commit-store.ts';
import {
  GENERATION_COLUMNS,
  IS_BEING_REBUILT,
  type Row,
  runRepeatable,
  toGenerations,
  toUnavailable,
} from './database.ts';
import { fromListedJson, LISTED, LOCK, listedColumns, listedJson } from './version-sql.ts';

/** How a shard finds a bucket: by its id, or by its name. By its name, it finds the newest one that is not sealed. */
export type BucketKey = { readonly bucketId: string } | { readonly bucketName: string };

export interface ListQuery {
  readonly bucket: BucketKey;
  readonly prefix: string;
  readonly delimiter: string;
  readonly from: string;
  readonly limit: number;
  /** Slots to list: 256 characters, `o` for each of them; null for all slots. Names of other slots are skipped one by one. */
  readonly only: string | null;
}

/**
 * A page of rows of one shard. `slots` has the shard's states of the bucket's slots. `slots`, `bucketId` and `generations` are null
 * if the shard does not know the bucket.
 */
export interface ShardPage {
  readonly rows: readonly Row[];
  readonly bucketId: string | null;
  readonly slots: string | null;
  readonly generations: ShardGenerations | null;
}

type Page = Promise<Result<ShardPage, Unavailable>>;

const BY_ID = 'b.bucket_id = ?1';
const BY_NAME = 'b.n = (SELECT MAX(n) FROM bucket WHERE name = ?1 AND seal IS NULL)';
const BUCKET_STATE = `SELECT b.bucket_id, b.slots, ${GENERATION_COLUMNS} FROM bucket b WHERE ${BY_ID} AND NOT ${IS_BEING_REBUILT}`;

/**
 * Reads a page. The shard's state of the bucket is read in the same transaction.
 * @param further the parameters from ?2 on; ?1 is the bucket's id or name.
 */
async function readPage(
  context: EngineContext,
  shard: number,
  bucket: BucketKey,
  sql: string,
  further: readonly unknown[],
): Page {
  const database = databaseOf(context, shard);
  const [key, find] = 'bucketId' in bucket ? [bucket.bucketId, BY_ID] : [bucket.bucketName, BY_NAME];
  const statements = [sql, BUCKET_STATE].map((each) =>
    bindNamed(database, each.replaceAll(BY_ID, find), [key, ...further]),
  );
  const answer = await runRepeatable(context, database, statements);
  if (!answer.ok) return err(toUnavailable(answer.error));
  const [page, states] = answer.value;
  const state = states?.results[0];
  return ok({
    rows: page?.results ?? [],
    bucketId: state ? String(state.bucket_id) : null,
    slots: state ? String(state.slots) : null,
    generations: state ? toGenerations(state) : null,
  });
}

const BUCKET = `(SELECT b.n FROM bucket b WHERE ${BY_ID} AND NOT ${IS_BEING_REBUILT})`;
/**
 * SQL of the end of the listed range. Without an end it is 0xFF, which is greater than all names, because UTF-8 has no such byte.
 */
const END = "COALESCE(CAST(?4 AS BLOB), x'ff')";

/** SQL of the part of a name after the prefix. */
const rest = (name: string) => `substr(${name}, length(CAST(?2 AS BLOB)) + 1)`;
const at = (name: string) => `COALESCE(instr(${rest(name)}, CAST(?5 AS BLOB)), 0)`;
/** SQL of the name up to the first delimiter after the prefix, without that delimiter. */
const stem = (name: string) => `substr(${name}, 1, length(CAST(?2 AS BLOB)) + ${at(name)} - 1)`;

/** SQL condition that restricts rows to the slots of `only`. It is omitted for all slots, because the index lacks the column. */
const inSlots = (row: string, only: string | null, parameter: string) =>
  only === null ? '' : `AND substr(${parameter}, ${row}.slot + 1, 1) = 'o'`;

/** SQL of the row id of the newest version of the first name that meets `bound`. */
const firstRow = (bound: string, slots: string | null): string => `(SELECT h.id FROM version h
  WHERE h.bucket = ${BUCKET} ${inSlots('h', slots, '?8')} AND h.name ${bound} AND h.name < ${END}
  ORDER BY h.bucket, h.name, h.ord LIMIT 1)`;
const FIRST = '>= CAST(?3 AS BLOB)';
const NEXT = '> hop.name';
/**
 * SQL of the lower bound of the next name.
 * @param passes SQL about `hop`: whether to skip the other names below the row's common prefix.
 */
const nextAfter = (passes: string) => `>= CASE WHEN ${passes} AND ${at('hop.name')} > 0
  THEN CAST(${stem('hop.name')} || CAST(?6 AS BLOB) AS BLOB) ELSE CAST(hop.name || x'00' AS BLOB) END`;

const ROW = LISTED.map((name) => `v.${name}`).join(', ');
/** SQL that steps from name to name, so that each name costs one seek for all its versions. Visits at most ?7 names. */
const hop = (next: string, slots: string | null) => `WITH RECURSIVE hop(name, ${LISTED.join(', ')}) AS (
    SELECT v.name, ${ROW} FROM version v WHERE v.id = ${firstRow(FIRST, slots)}
    UNION ALL
    SELECT v.name, ${ROW} FROM hop CROSS JOIN version v ON v.id = ${firstRow(next, slots)}
    LIMIT ?7
  )`;

const COMMON_PREFIX = `CASE WHEN ${at('hop.name')} > 0
  THEN CAST(${stem('hop.name')} || CAST(?5 AS BLOB) AS TEXT) END`;

/**
 * Maximum number of names that one query examines. Names whose newest version is a delete marker are examined but not returned.
 */
const HOPS_MAX = 10_000;

/**
 * SQL of a listing without a delimiter. A bucket that was never versioned has one row per name, so its listing is a scan of the
 * key.
 */
const flatSql = (slots: string | null): string => {
  const isPlain = `(SELECT b.versioning = 'never' FROM bucket b WHERE ${BY_ID})`;
  return `${hop(NEXT, slots).replaceAll(BUCKET, `CASE WHEN NOT ${isPlain} THEN ${BUCKET} END`)}
    SELECT * FROM (SELECT ${listedJson('v')} FROM version v
      WHERE v.bucket = CASE WHEN ${isPlain} THEN ${BUCKET} END AND v.name ${FIRST} AND v.name < ${END} ${inSlots('v', slots, '?8')}
      ORDER BY v.bucket, v.name, v.ord LIMIT ?7)
    UNION ALL SELECT ${listedJson('hop')} FROM hop`;
};

/**
 * Lists current objects. A deleted name alone does not make its common prefix appear, so after one the query continues with the
 * next name below the prefix.
 */
export async function selectObjects(context: EngineContext, shard: number, query: ListQuery): Page {
  const { bucket, prefix, delimiter, limit, only } = query;
  const sql =
    delimiter === ''
      ? flatSql(only)
      : `${hop(nextAfter('hop.is_marker = 0'), only)} SELECT ${listedJson('hop', COMMON_PREFIX)} FROM hop`;
  const successor = delimiter === '' ? null : nameAfterPrefix(delimiter);
  const rows: Row[] = [];
  let [from, hops, first]: [string, number, ShardPage | null] = [query.from, limit, null];
  for (;;) {
    const parameters = [prefix, from, nameAfterPrefix(prefix), delimiter || null, successor, hops, only];
    const page = await readPage(context, shard, bucket, sql, parameters);
    if (!page.ok) return page;
    first ??= page.value;
    const isSame = first.bucketId === page.value.bucketId && first.slots === page.value.slots;
    if (!isSame) return await selectObjects(context, shard, query);
    const hopped = fromListedJson(page.value.rows);
    for (const row of hopped) if (row.is_marker === 0) rows.push(row);
    const last = hopped.at(-1);
    if (rows.length >= limit || hopped.length < hops || !last) {
      return ok({ ...first, rows: rows.slice(0, limit) });
    }
    const next =
      last.common_prefix === null || last.is_marker === 1
        ? nameAfter(String(last.name))
        : nameAfterPrefix(String(last.common_prefix));
    if (next === null) return ok({ ...first, rows });
    from = next;
    hops = Math.min(HOPS_MAX, hops * 4);
  }
}

/** Lists names with their newest version, and with the version that was the newest at an earlier time (`at`, an order). */
export function selectNamesAt(
  context: EngineContext,
  shard: number,
  query: Omit<ListQuery, 'delimiter'> & { readonly at: string },
): Page {
  const { bucket, prefix, from, limit, only, at: order } = query;
  const same = ['etag', 'size', 'tags', 'checksums', 'part_count'].map((name) => `c.${name} IS t.${name}`);
  for (const part of ['headers', 'user']) same.push(`c.metadata->'${part}' IS t.metadata->'${part}'`);
  return readPage(
    context,
    shard,
    bucket,
    `${hop(NEXT, only)} SELECT NULL AS common_prefix, CAST(hop.name AS TEXT) AS name, hex(hop.ord) AS ord, hop.is_marker,
       hop.size, hex(t.ord) AS earlier_ord, t.size AS earlier_size, COALESCE(t.is_marker, 1) AS earlier_marker,
       (${same.join(' AND ')}) AS is_same
     FROM hop JOIN version c ON c.bucket = ${BUCKET} AND c.name = hop.name AND c.ord = hop.ord
     LEFT JOIN version t ON t.id = (SELECT x.id FROM version x WHERE x.bucket = ${BUCKET} AND x.name = hop.name
       AND x.ord >= unhex(?9) ORDER BY x.ord LIMIT 1)`,
    [prefix, from, nameAfterPrefix(prefix), null, null, limit, only, order],
  );
}

/**
 * Lists versions and delete markers.
 * @param olderThan order of a version of the name `from`. Of that name, only older versions are listed.
 */
export function selectVersions(
  context: EngineContext,
  shard: number,
  query: ListQuery & { readonly olderThan: string | null },
): Page {
  const { bucket, prefix, delimiter, from, limit, only, olderThan } = query;
  const end = nameAfterPrefix(prefix);
  // SQL of whether a version is the newest: it comes first in the key order of its name.
  const isLatest = (name: string) =>
    `(SELECT x.ord FROM version x WHERE x.bucket = v.bucket AND x.name = ${name} ORDER BY x.ord LIMIT 1) = v.ord AS is_latest`;
  if (delimiter === '') {
    return readPage(
      context,
      shard,
      bucket,
      `SELECT NULL AS common_prefix, CAST(v.name AS TEXT) AS name, ${isLatest('v.name')}, ${listedColumns('v', LOCK)} FROM version v
       WHERE v.bucket = ${BUCKET} AND v.name < COALESCE(CAST(?3 AS BLOB), x'ff')
         AND (v.name, v.ord) > (CAST(?2 AS BLOB), COALESCE(unhex(?5), x'')) ${inSlots('v', only, '?6')}
       ORDER BY v.bucket, v.name, v.ord LIMIT ?4`,
      [from, end, limit, olderThan, only],
    );
  }
  return readPage(
    context,
    shard,
    bucket,
    `${hop(nextAfter('true'), only).replace('?7', '?7 + 1')}
     SELECT ${COMMON_PREFIX} AS common_prefix, CAST(hop.name AS TEXT) AS name, ${isLatest('hop.name')}, ${listedColumns('v')}
     FROM hop LEFT JOIN version v ON ${at('hop.name')} = 0 AND v.bucket = ${BUCKET} AND v.name = hop.name
       AND v.ord > CASE WHEN hop.name = CAST(?3 AS BLOB) THEN COALESCE(unhex(?9), x'') ELSE x'' END
     WHERE ${at('hop.name')} > 0 OR v.ord IS NOT NULL LIMIT ?7`,
    [prefix, from, end, delimiter, nameAfterPrefix(delimiter), limit, only, olderThan],
  );
}

/** Lists open uploads by name, then by time of creation. The caller groups them by delimiter. */
export function selectUploads(
  context: EngineContext,
  shard: number,
  query: Omit<ListQuery, 'delimiter'> & { readonly after: string },
  columns: string,
): Page {
  return readPage(
    context,
    shard,
    query.bucket,
    `SELECT ${columns} FROM upload u WHERE u.bucket = ${BUCKET} AND u.state = 'open'
       AND (u.name, u.upload_id) > (CAST(?2 AS BLOB), ?5) AND u.name < COALESCE(CAST(?3 AS BLOB), x'ff')
       ${inSlots('u', query.only, '?6')} ORDER BY u.bucket, u.name, u.upload_id LIMIT ?4`,
    [query.from, nameAfterPrefix(query.prefix), query.limit, query.after, query.only],
  );
}
