/**
 * Quotas in a shard. A row of `quota` counts exactly what a bucket or a user has stored there: the batch of every write also
 * changes the count. The row also has the share of the limit that is leased to the shard. Buckets and users without a quota have no
 * row, so their writes are not counted.
 *
 * Every claimed shard has a row for each quota, so that every write is counted. Data in a slot that is being copied in, or that has
 * moved away, is not counted.
 */
import type { Result } from '../../../shared/pure/result.ts';
import { prepare, readAll, statement } from '../../../shared/stores/statement.ts';
import { databaseOf, type EngineContext } from '../model/context.ts';
import type { Unavailable } from '../model/contract.ts';
import { type DatabaseFailure, readRows, runRepeatable, runRepeatableNamed } from './database.ts';
import { IS_CLAIMED } from './journal-store.ts';
import { toParameters } from './table-rows.ts';
import { isCurrent } from './version-sql.ts';

export interface QuotaSubject {
  readonly kind: 'bucket' | 'user';
  /** Id of the bucket or of the user that the quota limits. */
  readonly subject: string;
}

/** SQL condition of the quotas to which a bucket's data counts: its own and its owner's. @param bucketId SQL of the bucket's id. */
const rowsOf = (bucketId: string): string => `(kind, subject) IN (SELECT 'bucket', b.bucket_id FROM bucket b
  WHERE b.bucket_id = ${bucketId} UNION ALL SELECT 'user', b.owner_id FROM bucket b WHERE b.bucket_id = ${bucketId})`;

/** SQL that adds to the counts of a bucket's quotas. The amounts are SQL that is evaluated before the write. */
export const addToQuotas = (bytes: string, objects: string, bucketId = '?1'): string =>
  `UPDATE quota SET bytes_used = bytes_used + (${bytes}), objects_used = objects_used + (${objects}) WHERE ${rowsOf(bucketId)}`;

/** SQL of a guard that refuses a batch over its quota. In a batch that adds data it follows `addToQuotas`. */
export const REFUSE_OVER_QUOTA = `INSERT INTO guard(reason) SELECT 'quota_exceeded' FROM quota WHERE ${rowsOf('?1')}
  AND (bytes_used > bytes_share OR objects_used > objects_share)`;

/** SQL that is 1 if the newest version of a name is an object. @param except SQL condition of versions `c` to ignore. */
export const isObjectSql = (bucket: string, name: string, except = '0'): string => `COALESCE((SELECT c.is_marker = 0
  FROM version c WHERE c.bucket = ${bucket} AND c.name = ${name} AND NOT (${except}) ORDER BY c.ord LIMIT 1), 0)`;

/** SQL of the size of all parts of an upload. @param uploadId SQL of the upload's id. */
export const partBytesSql = (uploadId: string): string =>
  `COALESCE((SELECT sum(p.size) FROM part p WHERE p.upload_id = ${uploadId}), 0)`;

/** SQL of whether the data in a slot of the bucket `b` counts towards quotas. */
export const isCountedSlot = (slot: string): string => `substr(b.slots, ${slot} + 1, 1) IN ('o', 's')`;

/** SQL of the bytes and objects in the buckets `b` that meet a condition. @param rows further condition on the rows `r`. */
function usedSql(buckets: string, rows = 'true') {
  const from = (table: string) => `FROM bucket b JOIN ${table} r ON r.bucket = b.n`;
  const where = `WHERE ${buckets} AND ${isCountedSlot('r.slot')} AND ${rows}`;
  return {
    bytes: `COALESCE((SELECT sum(r.size) ${from('version')} ${where}), 0)
      + COALESCE((SELECT sum(${partBytesSql('r.upload_id')}) ${from('upload')} ${where} AND r.state = 'open'), 0)`,
    objects: `(SELECT count(*) ${from('version')} ${where} AND ${isCurrent('r')})`,
  };
}

/** SQL of the bytes and objects that count in slot ?2 of the bucket ?1. */
const OF_SLOT = usedSql('b.bucket_id = ?1', 'r.slot = ?2');

/**
 * SQL that adjusts the quotas before and after the statement that changes a slot's state. A slot that leaves the shard takes its
 * share along: the other shard then has its rows, and requests a share when it needs one.
 */
export const slotChangeSql = (change: 'before' | 'after'): string =>
  change === 'after'
    ? addToQuotas(OF_SLOT.bytes, OF_SLOT.objects)
    : `UPDATE quota SET bytes_used = bytes_used - (${OF_SLOT.bytes}), bytes_share = bytes_share - (${OF_SLOT.bytes}),
        objects_used = objects_used - ${OF_SLOT.objects}, objects_share = objects_share - ${OF_SLOT.objects} WHERE ${rowsOf('?1')}`;

const IS_OF_ITEM = "CASE a.value->>0 WHEN 'bucket' THEN b.bucket_id ELSE b.owner_id END = a.value->>1";
const OF_ITEM = usedSql(IS_OF_ITEM);

/** SQL that adds missing quota rows; their share is set to the use afterwards. ?1 is a JSON array of kinds and subjects. */
const insertSql = (condition: string): string =>
  `INSERT INTO quota(kind, subject, bytes_used, objects_used, lease)
   SELECT a.value->>0, a.value->>1, ${OF_ITEM.bytes}, ${OF_ITEM.objects}, 0 FROM json_each(?1) a WHERE ${condition}
     AND NOT EXISTS (SELECT 1 FROM quota q WHERE q.kind = a.value->>0 AND q.subject = a.value->>1)`;
const SHARE_WHAT_IS_USED =
  'UPDATE quota SET bytes_share = bytes_used, objects_share = objects_used WHERE lease = 0 AND bytes_share IS NULL';

const toItem = ({ kind, subject }: QuotaSubject) => [kind, subject];

/** Adds the rows of these quotas and counts the stored data. Belongs to the batch that puts a shard into use. */
export const quotaStatements = (database: D1Database, subjects: readonly QuotaSubject[]): D1PreparedStatement[] => [
  ...toParameters(subjects.map(toItem)).map((items) => database.prepare(insertSql('true')).bind(items)),
  database.prepare(SHARE_WHAT_IS_USED),
];

export interface QuotaRow {
  readonly kind: 'bucket' | 'user';
  readonly bytes_used: number;
  readonly objects_used: number;
  readonly bytes_share: number | null;
  readonly objects_share: number | null;
  readonly lease: number;
  /** 1 if a bucket that the quota covers has open slots in this shard. */
  readonly is_in_use: number;
}

type Key = { kind: string; subject: string };
const keyOf = ({ kind, subject }: QuotaSubject): Key => ({ kind, subject });
const IS_THIS = 'kind = :kind AND subject = :subject';
const findRow = statement<Key, QuotaRow>(
  `SELECT kind, bytes_used, objects_used, bytes_share, objects_share, lease, EXISTS (SELECT 1 FROM bucket b
     WHERE CASE :kind WHEN 'bucket' THEN b.bucket_id ELSE b.owner_id END = :subject AND instr(b.slots, 'o') > 0) AS is_in_use
   FROM quota WHERE ${IS_THIS}`,
);

export const findQuotaRow = (
  context: EngineContext,
  shard: number,
  subject: QuotaSubject,
): Promise<Result<QuotaRow[], Unavailable>> =>
  readRows<QuotaRow>(context, prepare(databaseOf(context, shard), findRow, keyOf(subject)));

/** Freezes a share at the use. This also applies to an unlimited share. */
const freeze = statement<Key & { lease: number }>(
  `UPDATE quota SET bytes_share = MIN(bytes_used, COALESCE(bytes_share, bytes_used)),
     objects_share = MIN(objects_used, COALESCE(objects_share, objects_used)), lease = :lease WHERE ${IS_THIS} AND lease < :lease`,
);

/**
 * Freezes a quota's share in a shard at what is used there, and adds the row if the shard has none. Has no effect if the shard
 * already has a later lease, which the returned row shows. Returns no row if the shard is not claimed.
 */
export async function freezeShare(
  context: EngineContext,
  shard: number,
  subject: QuotaSubject,
  lease: number,
): Promise<Result<QuotaRow | null, DatabaseFailure>> {
  const database = databaseOf(context, shard);
  const key = keyOf(subject);
  const done = await runRepeatableNamed<{ inserted: object; frozen: object; share: QuotaRow }>(context, database, {
    inserted: database.prepare(insertSql(IS_CLAIMED)).bind(JSON.stringify([toItem(subject)])),
    frozen: prepare(database, freeze, { ...key, lease }),
    share: prepare(database, findRow, key),
  });
  return done.ok ? { ok: true, value: done.value.share.results[0] ?? null } : done;
}

export interface Share {
  readonly bytes: number | null;
  readonly objects: number | null;
}

const grant = statement<Key & { lease: number; bytes: number | null; objects: number | null } & Frozen>(
  `UPDATE quota SET bytes_share = :bytes, objects_share = :objects WHERE ${IS_THIS} AND lease = :lease
     AND bytes_share = :frozenBytes AND objects_share = :frozenObjects`,
);
type Frozen = { frozenBytes: number | null; frozenObjects: number | null };

/** Grants a new share of a quota to a shard. Has no effect if the share has changed since it was frozen. */
export function grantShare(
  context: EngineContext,
  shard: number,
  subject: QuotaSubject,
  frozen: QuotaRow,
  share: Share,
) {
  const database = databaseOf(context, shard);
  const { lease, bytes_share: frozenBytes, objects_share: frozenObjects } = frozen;
  const values = { ...keyOf(subject), lease, frozenBytes, frozenObjects, bytes: share.bytes, objects: share.objects };
  return runRepeatable(context, database, [prepare(database, grant, values)]);
}

const remove = statement<Key & { lease: number }>(`DELETE FROM quota WHERE ${IS_THIS} AND lease <= :lease`);

export function removeQuotaRow(context: EngineContext, shard: number, subject: QuotaSubject, lease: number) {
  const database = databaseOf(context, shard);
  return runRepeatable(context, database, [prepare(database, remove, { ...keyOf(subject), lease })]);
}

const OF_ROW = usedSql("CASE q.kind WHEN 'bucket' THEN b.bucket_id ELSE b.owner_id END = q.subject");
const IS_WRONG = `(q.bytes_used, q.objects_used) <> (${OF_ROW.bytes}, ${OF_ROW.objects})`;
const listWrong = statement<Record<never, never>, Key>(`SELECT kind, subject FROM quota q WHERE ${IS_WRONG}`);
const COUNT_AGAIN = `UPDATE quota AS q SET bytes_used = ${OF_ROW.bytes}, objects_used = ${OF_ROW.objects} WHERE ${IS_WRONG}`;

/** Lists the quotas whose counts differ from the stored data. @param repairs whether to recount them. */
export async function findWrongQuotas(context: EngineContext, shard: number, repairs: boolean): Promise<Key[]> {
  const database = databaseOf(context, shard);
  const wrong = await readAll(database, listWrong, {});
  if (repairs && wrong.length > 0) await database.prepare(COUNT_AGAIN).run();
  return wrong;
}
