/** Queries of single versions, and updates of attributes that change in place. */
import { ok, type Result } from '../../../shared/pure/result.ts';
import { prepare, statement } from '../../../shared/stores/statement.ts';
import { slotOf } from '../../domain/slots.ts';
import { fromVersionOrder, toVersionOrder } from '../../domain/version-order.ts';
import { databaseOf, type EngineContext } from '../model/context.ts';
import type { LockChange, StoredVersion, Unavailable, VersionFacts } from '../model/contract.ts';
import { NAME, SAFE_ORDER } from './commit-store.ts';
import { readRows, toHex } from './database.ts';
import { insertEventsSql, type NewEvent } from './event-store.ts';
import { changeSql, versionKeySql } from './journal-store.ts';
import { mayReplaceRetention } from './lock-sql.ts';
import { toLegalHold } from './version-sql.ts';

type NameKey = { bucketId: string; name: string };

const OF_NAME = `bucket = (SELECT n FROM bucket WHERE bucket_id = :bucketId) AND name = CAST(:name AS BLOB)`;

const findCommitted = statement<NameKey & { order: string }, { is_there: number }>(
  `SELECT 1 AS is_there FROM version WHERE ${OF_NAME} AND ord = unhex(:order)`,
);

export async function isCommitted(
  context: EngineContext,
  database: D1Database,
  bucketId: string,
  { name, versionId }: Pick<VersionFacts, 'name' | 'versionId'>,
): Promise<Result<boolean, Unavailable>> {
  const values = { bucketId, name, order: toVersionOrder(versionId) };
  const rows = await readRows(context, prepare(database, findCommitted, values));
  return rows.ok ? ok(rows.value.length === 1) : rows;
}

const findByObject = statement<NameKey & { objectId: string }, { ord: string }>(
  `SELECT hex(ord) AS ord FROM version WHERE ${OF_NAME} AND object_id = unhex(:objectId) ORDER BY version.ord LIMIT 1`,
);

/** Finds the version of a name with an object id. @returns its version id; null if it is gone. */
export async function findOwnVersion(
  context: EngineContext,
  database: D1Database,
  bucketId: string,
  { name, objectId }: Pick<VersionFacts, 'name' | 'objectId'>,
): Promise<Result<string | null, Unavailable>> {
  const values = { bucketId, name, objectId: toHex(objectId) };
  const rows = await readRows<{ ord: string }>(context, prepare(database, findByObject, values));
  if (!rows.ok) return rows;
  const order = rows.value[0]?.ord;
  return ok(order ? fromVersionOrder(order) : null);
}

/** Guard of a commit: refuses it if the newest version of the name has this object id already. */
export const refuseOwnVersion = (objectId: string) => ({
  sql: `WHEN (SELECT c.object_id FROM version c WHERE c.bucket = b.n AND c.name = ${NAME} ORDER BY c.ord LIMIT 1) = unhex(?6)
    THEN 'already_committed'`,
  parameters: [toHex(objectId)],
});

const findNewestOrder = statement<NameKey, { ord: string | null }>(
  `SELECT hex(min(ord)) AS ord FROM (SELECT newest AS ord FROM bucket WHERE bucket_id = :bucketId UNION ALL SELECT ${SAFE_ORDER}
   UNION ALL SELECT * FROM (SELECT ord FROM version WHERE ${OF_NAME} ORDER BY ord LIMIT 1))`,
);

/**
 * Finds the version id that a new version of this name must exceed: the name's newest version (delete markers included), the
 * newest version that was removed recently, or the database's clock.
 */
export async function findNewest(
  context: EngineContext,
  database: D1Database,
  bucketId: string,
  name: string,
): Promise<Result<string | null, Unavailable>> {
  const rows = await readRows<{ ord: string | null }>(context, prepare(database, findNewestOrder, { bucketId, name }));
  if (!rows.ok) return rows;
  const order = rows.value[0]?.ord;
  return ok(order ? fromVersionOrder(order) : null);
}

const findNull = statement<NameKey, { ord: string }>(
  `SELECT hex(ord) AS ord FROM version WHERE ${OF_NAME} AND is_null = 1`,
);

/** Finds the order of the name's `null` version; null when it has none. */
export async function findNullOrder(
  context: EngineContext,
  shard: number,
  bucketId: string,
  name: string,
): Promise<Result<string | null, Unavailable>> {
  const query = prepare(databaseOf(context, shard), findNull, { bucketId, name });
  const rows = await readRows<{ ord: string }>(context, query);
  return rows.ok ? ok(rows.value[0]?.ord ?? null) : rows;
}

// SQL of a guard that refuses changes of a version in a slot that is being moved, because the copied rows would lack them.
const refuseMovingSlot = statement<{ bucketId: string; slot: number }>(
  `INSERT INTO guard(reason) SELECT CASE WHEN substr(slots, :slot + 1, 1) = 's' THEN 'slot_sealed' ELSE 'slot_moved' END
   FROM bucket WHERE bucket_id = :bucketId AND substr(slots, :slot + 1, 1) <> 'o'`,
);

const recordVersion = statement<NameKey & { order: string }>(
  changeSql(`SELECT v.bucket, v.name, ${versionKeySql('v.is_null', 'v.ord')} FROM version v
    WHERE v.bucket = (SELECT n FROM bucket WHERE bucket_id = :bucketId) AND v.name = CAST(:name AS BLOB) AND v.ord = unhex(:order)`),
);

const setAttribute = (column: 'tags' | 'acl' | 'taken_down') =>
  statement<NameKey & { order: string; value: string | null }>(
    `UPDATE version SET ${column} = :value WHERE ${OF_NAME} AND ord = unhex(:order)`,
  );
const refuseLockChange = statement<NameKey & { order: string } & Retention & { now: number }>(
  `INSERT INTO guard(reason) SELECT 'object_locked' FROM version v WHERE v.bucket = (SELECT n FROM bucket WHERE bucket_id = :bucketId)
   AND v.name = CAST(:name AS BLOB) AND v.ord = unhex(:order) AND NOT ${mayReplaceRetention('v', ':now')}`,
);
const setRetention = statement<NameKey & { order: string; mode: string | null; until: number | null }>(
  `UPDATE version SET lock_mode = :mode, retain_until = :until WHERE ${OF_NAME} AND ord = unhex(:order)`,
);
const setLegalHold = statement<NameKey & { order: string; isHeld: number }>(
  `UPDATE version SET legal_hold = :isHeld WHERE ${OF_NAME} AND ord = unhex(:order)`,
);
type Retention = { mode: string | null; until: number | null; bypasses: number };

/**
 * Statements that change retention or legal hold of a version. Like `attributeStatements`, with a guard that refuses changes which
 * Object Lock forbids.
 */
export function lockStatements(
  database: D1Database,
  version: StoredVersion,
  change: LockChange,
  now: number,
): D1PreparedStatement[] {
  const { name, handle } = version;
  const key = { bucketId: handle.bucketId, name, order: toVersionOrder(version.versionId) };
  const first = prepare(database, refuseMovingSlot, { bucketId: handle.bucketId, slot: slotOf(name) });
  const record = prepare(database, recordVersion, key);
  if ('isHeld' in change) {
    return [first, record, prepare(database, setLegalHold, { ...key, isHeld: toLegalHold(change.isHeld) })];
  }
  const { mode, retainUntilMs: until } = change;
  const bypasses = change.bypassesGovernance ? 1 : 0;
  const guard = prepare(database, refuseLockChange, { ...key, mode, until, bypasses, now: Math.trunc(now) });
  return [first, guard, record, prepare(database, setRetention, { ...key, mode, until })];
}

const SET_ATTRIBUTE = {
  tags: setAttribute('tags'),
  acl: setAttribute('acl'),
  taken_down: setAttribute('taken_down'),
} as const;

const insertEvent = statement<NameKey & { order: string; kind: string; facts: string }>(
  insertEventsSql(
    { key: '0', name: 'CAST(:name AS BLOB)', kind: ':kind', facts: ':facts' },
    `bucket b WHERE b.bucket_id = :bucketId AND EXISTS (SELECT 1 FROM version v WHERE v.bucket = b.n
       AND v.name = CAST(:name AS BLOB) AND v.ord = unhex(:order))`,
  ),
);

/** Statements that change an attribute of a version. The last one changes one row, or none when the version is gone. */
export function attributeStatements(
  database: D1Database,
  version: StoredVersion,
  attribute: keyof typeof SET_ATTRIBUTE,
  value: string | null,
  event: NewEvent | null,
): D1PreparedStatement[] {
  const { name, handle } = version;
  const key = { bucketId: handle.bucketId, name, order: toVersionOrder(version.versionId) };
  return [
    prepare(database, refuseMovingSlot, { bucketId: handle.bucketId, slot: slotOf(name) }),
    prepare(database, recordVersion, key),
    ...(event === null
      ? []
      : [prepare(database, insertEvent, { ...key, kind: event.kind, facts: JSON.stringify(event.facts) })]),
    prepare(database, SET_ATTRIBUTE[attribute], { ...key, value }),
  ];
}
