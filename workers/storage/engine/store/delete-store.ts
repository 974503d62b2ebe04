/**
 * Deletes any number of names of one shard in one batch.
 *
 * Each item is a JSON object. `n`: the name (hex). `s`: its slot. `b`: 1 to bypass the retention mode GOVERNANCE. `o`: order of the
 * version to remove (hex). `r`: 1 to remove the `null` version. `m`: order of the marker to write (hex). `mn`: 1 for a `null`
 * marker. `k`: the marker's metadata as text. `d`: the facts on which a lifecycle rule or a job based the delete. `e`: kind and facts of an event notification. If a
 * batch removes several versions of a name, `x` of the first item has the orders of all, and `y` of the other items is 1.
 *
 * A batch writes a receipt, and refuses to run if its receipt exists. It therefore takes effect once, however often it is sent and
 * however late it arrives.
 */
import { ok, type Result } from '../../../shared/pure/result.ts';
import { toVersionOrder } from '../../domain/version-order.ts';
import { databaseOf, type EngineContext } from '../model/context.ts';
import type { Condition, DeleteItem, DueVersion, ObjectMetadata, Unavailable, Versioning } from '../model/contract.ts';
import type { ProofGuard } from '../model/proof.ts';
import { bindNamed, bucketGuards, conditionGuards, guardSql, OLDEST_ORDER, proofGuards } from './commit-store.ts';
import { nameHex, type Row, readRows, toHex } from './database.ts';
import { isNotDue, toDueItem } from './due-sql.ts';
import { insertEventsSql, type NewEvent } from './event-store.ts';
import { changeSql, removedSql } from './journal-store.ts';
import { isLocked } from './lock-sql.ts';
import { addToQuotas, isObjectSql } from './quota-store.ts';
import { NEXT_ID } from './version-ids.ts';
import { isCurrent } from './version-sql.ts';

export interface Deletion {
  readonly name: string;
  readonly slot: number;
  /** Id of the version to remove, a TIMEUUID; null for a delete by name or of the `null` version. */
  readonly versionId: string | null;
  readonly removesNull: boolean;
  readonly markerId: string | null;
  readonly isNullMarker: boolean;
  /** Whether the delete may also remove a version that is retained in the mode GOVERNANCE. */
  readonly bypassesGovernance: boolean;
  readonly due: DueVersion | undefined;
  readonly markerExtra: DeleteItem['markerExtra'];
  readonly event: NewEvent | null;
}

export interface DeleteBatch {
  readonly bucketId: string;
  readonly receiptId: string;
  /** Versioning of the bucket on which the deletions depend; null if none depends on it. */
  readonly versioning: Versioning | null;
  readonly deletions: readonly Deletion[];
  readonly proof: ProofGuard | null;
  /** Condition of the request. Only a batch with a single deletion may have one. */
  readonly condition: Condition | undefined;
  readonly nowMs: number;
}

export interface RemovedVersion {
  /** Index in the batch of the deletion that removed the version. */
  readonly item: number;
  /** Order of the removed version, in hex. */
  readonly order: string;
  readonly isMarker: boolean;
  readonly isNull: boolean;
}

/** Index in the batch of the statement that returns the receipt. */
const RECEIPT_AT = 7;

const MILLISECOND_DIGITS = 12;

/**
 * Creates the id of a batch of deletes.
 * @param nowMs becomes the prefix of the id, so that old receipts are a range of the key. @returns the id as 32 hex digits.
 */
export const makeReceiptId = (nowMs: number): string =>
  Math.trunc(nowMs).toString(16).padStart(MILLISECOND_DIGITS, '0') +
  toHex(crypto.randomUUID()).slice(MILLISECOND_DIGITS);

/** Time for which receipts are kept. It is longer than any caller waits for an answer, including clock differences. */
const RECEIPT_AGE_MAX_MS = 3_600_000;

export async function forgetReceipts(context: EngineContext, shard: number): Promise<void> {
  await databaseOf(context, shard)
    .prepare('DELETE FROM receipt WHERE receipt_id < unhex(?1)')
    .bind(makeReceiptId(context.now() - RECEIPT_AGE_MAX_MS))
    .run();
}

/** Reads the removed versions from the answers of a batch. @param answers results of `deleteStatements`. */
export const toRemoved = (answers: readonly D1Result<Row>[]): RemovedVersion[] =>
  parseReceipt(answers[RECEIPT_AT]?.results[0]) ?? [];

/** Finds the versions that the batch with this receipt removed; null if the batch has not been committed. */
export async function findReceipt(
  context: EngineContext,
  database: D1Database,
  receiptId: string,
): Promise<Result<RemovedVersion[] | null, Unavailable>> {
  const rows = await readRows(
    context,
    database.prepare('SELECT removed FROM receipt WHERE receipt_id = unhex(?1)').bind(receiptId),
  );
  return rows.ok ? ok(parseReceipt(rows.value[0])) : rows;
}

function parseReceipt(row: Row | undefined): RemovedVersion[] | null {
  if (!row) return null;
  const removed = JSON.parse(String(row.removed)) as [number, string, number, number][];
  return removed.map(([item, order, isMarker, isNull]) => ({
    item,
    order,
    isMarker: isMarker === 1,
    isNull: isNull === 1,
  }));
}

const ITEM =
  "json_each(?2) a CROSS JOIN version v WHERE v.bucket = (SELECT n FROM bucket WHERE bucket_id = ?1) AND v.name = unhex(a.value->>'n')";

/**
 * SQL condition on versions `v` that an item removes: one version by its order, or the `null` one. The bounds let SQLite seek even
 * among thousands of versions.
 */
const OF_ITEM = `(a.value->>'o' IS NOT NULL OR a.value->>'r' = 1)
  AND v.ord >= COALESCE(unhex(a.value->>'o'), x'00') AND v.ord <= COALESCE(unhex(a.value->>'o'), x'ffffffffffffffffffffffffffffffffff')
  AND (a.value->>'o' IS NOT NULL OR v.is_null = 1)`;
const DOOMED = `${ITEM} AND ${OF_ITEM}`;

function toItems(batch: DeleteBatch): string {
  const orders = batch.deletions.map(({ versionId }) => (versionId === null ? null : toVersionOrder(versionId)));
  const ofName = new Map<string, string[]>();
  for (const [index, { name }] of batch.deletions.entries()) {
    const order = orders[index];
    if (order) ofName.set(name, [...(ofName.get(name) ?? []), order]);
  }
  const items = batch.deletions.map((deletion, index) => {
    const { name, slot, removesNull, markerId, isNullMarker, bypassesGovernance, due, markerExtra, event } = deletion;
    const order = orders[index] ?? null;
    const together = ofName.get(name) ?? [];
    return {
      n: nameHex(name),
      s: slot,
      o: order,
      r: removesNull ? 1 : 0,
      m: markerId === null ? null : toVersionOrder(markerId),
      mn: isNullMarker ? 1 : 0,
      b: bypassesGovernance ? 1 : 0,
      ...(together.length > 1 ? (order === together[0] ? { x: together } : { y: 1 }) : {}),
      ...(markerExtra ? { k: toMarkerMetadata(markerExtra) } : {}),
      ...(due ? { d: toDueItem(due) } : {}),
      ...(event ? { e: [event.kind, JSON.stringify(event.facts)] } : {}),
    };
  });
  return JSON.stringify(items);
}

const toMarkerMetadata = (extra: NonNullable<DeleteItem['markerExtra']>): string => {
  const metadata: ObjectMetadata = { headers: {}, user: {}, ownerId: null, extra };
  return JSON.stringify(metadata);
};

/** SQL of the versions to remove that Object Lock protects. */
const LOCKED = `${DOOMED} AND ${isLocked('v', '?3', "a.value->>'b'")}`;

const BUCKET_N = '(SELECT n FROM bucket WHERE bucket_id = ?1)';
const NOT_DUE = `json_each(?2) a WHERE ${isNotDue(BUCKET_N)}`;

/** Guard reasons that concern single deletions of a batch, with the SQL that finds those deletions. */
const REFUSED = { object_locked: LOCKED, precondition_failed: NOT_DUE } as const;

/**
 * Finds the deletions of a batch that are refused for this reason: protected by Object Lock, or no longer due.
 * @returns their indexes.
 */
export async function findRefused(
  context: EngineContext,
  database: D1Database,
  batch: DeleteBatch,
  reason: keyof typeof REFUSED,
): Promise<Result<number[], Unavailable>> {
  const sql = `SELECT DISTINCT a.key AS item FROM ${REFUSED[reason]}`;
  const query = bindNamed(database, sql, [batch.bucketId, toItems(batch), Math.trunc(batch.nowMs)]);
  const rows = await readRows<{ item: number }>(context, query);
  return rows.ok ? ok(rows.value.map(({ item }) => item)) : rows;
}

/** Inserts the events of a batch. A delete of a version that does not exist sends none. */
const INSERT_EVENTS = insertEventsSql(
  { key: 'a.key', name: "unhex(a.value->>'n')", kind: "a.value->'e'->>0", facts: "a.value->'e'->>1" },
  `json_each(?2) a CROSS JOIN bucket b WHERE b.bucket_id = ?1 AND a.value->'e' IS NOT NULL
     AND (a.value->>'m' IS NOT NULL OR EXISTS (SELECT 1 FROM version v WHERE v.bucket = b.n AND v.name = unhex(a.value->>'n') AND ${OF_ITEM}))`,
);

const ITEM_NAME = "unhex(a.value->>'n')";
const IS_DOOMED = `c.ord IS unhex(a.value->>'o') OR (a.value->>'r' = 1 AND c.is_null = 1)
  OR (a.value->'x' IS NOT NULL AND c.ord IN (SELECT unhex(x.value) FROM json_each(a.value->'x') x))`;
const IS_OBJECT_AFTER = `CASE WHEN a.value->>'m' IS NULL THEN ${isObjectSql(BUCKET_N, ITEM_NAME, IS_DOOMED)} ELSE 0 END`;
const COUNT_DELETIONS = addToQuotas(
  `-COALESCE((SELECT sum(v.size) FROM ${DOOMED}), 0)`,
  `COALESCE((SELECT sum(${IS_OBJECT_AFTER} - ${isObjectSql(BUCKET_N, ITEM_NAME)}) FROM json_each(?2) a WHERE a.value->>'y' IS NULL), 0)`,
);

export function deleteStatements(database: D1Database, batch: DeleteBatch): D1PreparedStatement[] {
  const items = toItems(batch);
  const both = (sql: string) =>
    bindNamed(database, sql, [batch.bucketId, items, Math.trunc(batch.nowMs), batch.receiptId]);
  return [
    conditionStatement(database, batch),
    // Guards: every slot must be open in this shard, and every marker must be newer than the versions of its name.
    both(`INSERT INTO guard(reason) SELECT CASE substr(b.slots, a.value->>'s' + 1, 1) WHEN 's' THEN 'slot_sealed' ELSE 'slot_moved' END
      FROM json_each(?2) a CROSS JOIN bucket b WHERE b.bucket_id = ?1 AND substr(b.slots, a.value->>'s' + 1, 1) <> 'o'`),
    both(`INSERT INTO guard(reason) SELECT 'order_lost' FROM ${ITEM} AND v.ord <= unhex(a.value->>'m')`),
    both(`INSERT INTO guard(reason) SELECT 'object_locked' FROM ${LOCKED}`),
    both(`INSERT INTO guard(reason) SELECT 'order_lost' FROM json_each(?2) a CROSS JOIN bucket b WHERE b.bucket_id = ?1
      AND a.value->>'m' IS NOT NULL AND (b.newest <= unhex(a.value->>'m') OR unhex(a.value->>'m') > ${OLDEST_ORDER})`),
    both(`INSERT INTO reclaim(blob_id, since) SELECT v.blob_id, ?3 FROM ${DOOMED} AND v.blob_id IS NOT NULL
      UNION SELECT e.blob_id, ?3 FROM extent e WHERE e.object_id IN (SELECT v.object_id FROM ${DOOMED})
      ON CONFLICT(blob_id) DO UPDATE SET since = excluded.since`),
    both(`DELETE FROM extent WHERE object_id IN (SELECT v.object_id FROM ${DOOMED})`),
    both(`INSERT INTO receipt(receipt_id, removed)
      SELECT unhex(?4), json_group_array(json_array(a.key, hex(v.ord), v.is_marker, v.is_null)) FROM ${DOOMED} RETURNING removed`),
    ...(batch.deletions.some(({ due }) => due)
      ? [both(`INSERT INTO guard(reason) SELECT 'precondition_failed' FROM ${NOT_DUE}`)]
      : []),
    // The condition includes the object id, because a blob may carry another version id than the one that was committed.
    both(
      changeSql(`SELECT v.bucket, v.name, CASE v.is_null WHEN 1 THEN 'n' || hex(v.ord)
        ELSE 'v' || hex(v.ord) || ' ' || hex(v.object_id) END FROM ${DOOMED}`),
    ),
    both(removedSql(`${DOOMED} AND v.is_null = 1`)),
    both(`UPDATE bucket SET newest = d.ord FROM (SELECT min(v.ord) AS ord FROM ${DOOMED} AND a.value->>'m' IS NULL
        AND v.ord < ${OLDEST_ORDER} AND NOT EXISTS (SELECT 1 FROM version x WHERE x.bucket = v.bucket AND x.name = v.name AND x.ord < v.ord)) d
      WHERE bucket_id = ?1 AND d.ord IS NOT NULL AND (newest IS NULL OR newest > d.ord)`),
    ...(batch.deletions.some(({ event }) => event) ? [both(INSERT_EVENTS)] : []),
    both(COUNT_DELETIONS),
    both(`DELETE FROM version WHERE id IN (SELECT v.id FROM ${DOOMED})`),
    both(`INSERT INTO version(id, bucket, name, ord, slot, is_null, is_marker, object_id, size, etag, metadata)
      SELECT ${NEXT_ID} + a.key, ${BUCKET_N}, unhex(a.value->>'n'), unhex(a.value->>'m'), a.value->>'s', a.value->>'mn', 1,
        zeroblob(16), 0, '', a.value->>'k' FROM json_each(?2) a WHERE a.value->>'m' IS NOT NULL`),
  ];
}

function conditionStatement(database: D1Database, batch: DeleteBatch): D1PreparedStatement {
  const [only] = batch.deletions;
  const order = only?.versionId ? toVersionOrder(only.versionId) : '';
  const proof = proofGuards(batch.proof, 7);
  const condition = conditionGuards(batch.condition, 7 + proof.parameters.length, whichVersion(only));
  const parameters = [
    batch.bucketId,
    only?.name ?? '',
    batch.versioning ?? '',
    only?.slot ?? 0,
    order,
    batch.receiptId,
  ];
  const sql = guardSql(`
    WHEN EXISTS (SELECT 1 FROM receipt WHERE receipt_id = unhex(?6)) THEN 'already_committed'
    ${bucketGuards('?4', batch.versioning === null ? null : '?3')}
    ${proof.sql}
    ${condition.sql}`);
  return bindNamed(database, sql, [...parameters, ...proof.parameters, ...condition.parameters]);
}

/**
 * SQL that selects the version `c` to which a condition applies: the one that the request names, else the current one. Deletion
 * markers never match a condition.
 */
function whichVersion(deletion: Deletion | undefined): string {
  if (deletion?.versionId) return 'c.ord = unhex(?5) AND c.is_marker = 0';
  if (deletion?.removesNull && deletion.markerId === null) return 'c.is_null = 1 AND c.is_marker = 0';
  return isCurrent('c');
}
