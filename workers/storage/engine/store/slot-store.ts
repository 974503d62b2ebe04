/** Copies, compares and removes the rows of one slot of a bucket, for slot moves. */
import { createHash } from 'node:crypto';
import type { SlotState } from '../../domain/slots.ts';
import { databaseOf, type EngineContext } from '../model/context.ts';
import type { BucketRecord } from './bucket-store.ts';
import { batchNamed, type Row } from './database.ts';
import { changeSql } from './journal-store.ts';
import { slotChangeSql } from './quota-store.ts';
import { columnsOf, insertRows, toParameters } from './table-rows.ts';

const BUCKET = '(SELECT n FROM bucket WHERE bucket_id = ?1)';

/** Sets the state of a slot in a shard if it is one of `from`. @returns whether the state is now `to`. */
export async function setSlotState(
  context: EngineContext,
  shard: number,
  bucketId: string,
  slot: number,
  from: readonly SlotState[],
  to: SlotState,
): Promise<boolean> {
  const database = databaseOf(context, shard);
  // Only data in an open or sealed slot counts towards quotas, so a change from or to another state changes the counts.
  const isCountChanged = [...from, to].some((state) => state === 'i' || state === '-');
  const count = (change: 'before' | 'after') =>
    isCountChanged ? [database.prepare(slotChangeSql(change)).bind(bucketId, slot)] : [];
  const answers = await database.batch<{ state: string; seal: string | null }>([
    ...count('before'),
    database
      .prepare(
        `UPDATE bucket SET slots = substr(slots, 1, ?2) || ?4 || substr(slots, ?2 + 2)
         WHERE bucket_id = ?1 AND seal IS NULL AND instr(?3, substr(slots, ?2 + 1, 1)) > 0`,
      )
      .bind(bucketId, slot, from.join(''), to),
    ...count('after'),
    database
      .prepare('SELECT substr(slots, ?2 + 1, 1) AS state, seal FROM bucket WHERE bucket_id = ?1')
      .bind(bucketId, slot),
  ]);
  const [row] = answers.at(-1)?.results ?? [];
  return row?.state === to && row.seal === null;
}

/**
 * Registers the bucket in the target shard, with the slot as incoming. If an earlier mover opened the slot and died before it
 * switched the map, the slot has received no write and is set to incoming again. A shard that had no slot of the bucket may have
 * missed changes of it, so its generation becomes unknown.
 * @returns false when the bucket is being deleted.
 */
export async function prepareTarget(
  context: EngineContext,
  bucket: BucketRecord,
  slot: number,
  to: number,
): Promise<boolean> {
  const database = databaseOf(context, to);
  const introduced = database
    .prepare(
      `INSERT INTO bucket(bucket_id, name, versioning, versioning_seq, slots, owner_id, object_lock) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)
       ON CONFLICT(bucket_id) DO UPDATE SET versioning = excluded.versioning, versioning_seq = excluded.versioning_seq, object_lock = excluded.object_lock
         WHERE versioning_seq < excluded.versioning_seq`,
    )
    .bind(
      ...[bucket.bucketId, bucket.name, bucket.versioning, bucket.versioningSeq, '-'.repeat(256), bucket.ownerId],
      bucket.configuration.objectLock ?? null,
    );
  const forgotten = database
    .prepare("UPDATE bucket SET generation = NULL WHERE bucket_id = ?1 AND instr(slots, 'o') = 0")
    .bind(bucket.bucketId);
  await database.batch([introduced, forgotten]);
  return (
    (await unsealed(context, to, bucket.bucketId)) &&
    (await setSlotState(context, to, bucket.bucketId, slot, ['-', 'i', 'o'], 'i'))
  );
}

async function unsealed(context: EngineContext, shard: number, bucketId: string): Promise<boolean> {
  const row = await databaseOf(context, shard)
    .prepare('SELECT seal FROM bucket WHERE bucket_id = ?1')
    .bind(bucketId)
    .first<{ seal: string | null }>();
  return row !== null && row.seal === null;
}

/** Records in the journal that all its earlier entries about the slot are void. The copied rows get change records of their own. */
export async function recordEmptied(
  context: EngineContext,
  shard: number,
  bucketId: string,
  slot: number,
): Promise<void> {
  await databaseOf(context, shard)
    .prepare(changeSql(`SELECT ${BUCKET}, zeroblob(0), 's' || ?2`))
    .bind(bucketId, `${slot} ${Math.trunc(context.now())}`)
    .run();
}

/** SQL of a page of names. All rows of a name are copied together. Names that have uploads but no version are included. */
const NAMES = `SELECT name FROM (SELECT name FROM version WHERE bucket = ${BUCKET} AND slot = ?2 AND name > unhex(?3)
  UNION SELECT name FROM upload WHERE bucket = ${BUCKET} AND slot = ?2 AND name > unhex(?3)) ORDER BY name LIMIT ?4`;

export interface SlotCopy {
  readonly from: number;
  readonly to: number;
  readonly bucketId: string;
  readonly slot: number;
  /** Maximum number of names per page. */
  readonly limit: number;
  /** Repairs damaged inline bytes in rows of the source. */
  readonly mend: (rows: readonly Row[]) => Promise<readonly Row[]>;
}

/** The rows of a page of names. */
type SlotPage = Record<
  'names' | 'versions' | 'uploads' | 'parts' | 'extents' | 'blobs' | 'bucket' | 'shared',
  Record<string, string | number | null>
>;

/**
 * Copies a page of names with all their rows, and compares the inline bytes that the target stored with those that were sent.
 * @returns the last name (hex), or null at the end.
 * @throws if the target has other bytes.
 */
export async function copyNames(context: EngineContext, copy: SlotCopy, after: string): Promise<string | null> {
  const { from, to, bucketId, slot, limit } = copy;
  const source = databaseOf(context, from);
  const bound = [bucketId, slot, after, limit];
  const of = (sql: string) => source.prepare(sql).bind(...bound);
  const versions = `version v WHERE v.bucket = ${BUCKET} AND v.slot = ?2 AND v.name IN (${NAMES})`;
  const uploads = `upload u WHERE u.bucket = ${BUCKET} AND u.slot = ?2 AND u.name IN (${NAMES})`;
  const parts = `part p WHERE p.upload_id IN (SELECT u.upload_id FROM ${uploads})`;
  const objects = `SELECT v.object_id FROM ${versions} UNION ALL SELECT p.object_id FROM ${parts}`;
  const extents = `extent e WHERE e.object_id IN (${objects})`;
  const blobs = `SELECT e.blob_id FROM ${extents} UNION SELECT v.blob_id FROM ${versions}`;
  const page = await batchNamed<SlotPage>(source, {
    names: of(`SELECT hex(name) AS name FROM (${NAMES})`),
    versions: of(`SELECT ${columnsOf('version', 'v', true)} FROM ${versions}`),
    uploads: of(`SELECT ${columnsOf('upload', 'u', true)} FROM ${uploads}`),
    parts: of(`SELECT ${columnsOf('part', 'p', true)} FROM ${parts}`),
    extents: of(`SELECT ${columnsOf('extent', 'e', true)} FROM ${extents}`),
    blobs: of(`SELECT ${columnsOf('blob', 'l', true)} FROM blob l WHERE l.blob_id IN (${blobs})`),
    bucket: source.prepare('SELECT versioning, versioning_seq FROM bucket WHERE bucket_id = ?1').bind(bucketId),
    shared: of(`UPDATE blob SET is_shared = 1 WHERE is_shared = 0 AND blob_id IN (${blobs})`),
  });
  const names = page.names.results;
  if (names.length === 0) return null;
  const target = databaseOf(context, to);
  const [bucket] = page.bucket.results;
  const mended = await copy.mend(page.versions.results);
  // The target's journal must include the copied rows. Versions are their own change records; uploads get `[name, key]`.
  const changes = page.uploads.results.map((row) => [row.name, `u${row.upload_id}`]);
  await target.batch<Row>([
    // This guard refuses a copy that arrives late, when the slot is already in use.
    target
      .prepare(
        `INSERT INTO guard(reason) SELECT 'slot_moved' FROM bucket WHERE bucket_id = ?1 AND substr(slots, ?2 + 1, 1) <> 'i'`,
      )
      .bind(bucketId, slot),
    // The bucket may have been switched to versioning since the move read it. This guard refuses such a copy, because listings of a
    // bucket without versions rely on one row per name.
    target
      .prepare('UPDATE bucket SET versioning = ?2, versioning_seq = ?3 WHERE bucket_id = ?1 AND versioning_seq < ?3')
      .bind(bucketId, bucket?.versioning, bucket?.versioning_seq),
    ...insertRows(target, 'blob', page.blobs.results, {
      changed: { is_shared: '1' },
      onConflict: 'UPDATE SET is_shared = 1',
    }),
    ...insertRows(target, 'version', mended),
    ...insertRows(target, 'upload', page.uploads.results),
    ...insertRows(target, 'part', page.parts.results),
    ...insertRows(target, 'extent', page.extents.results),
    ...toParameters(changes).map((parameter) =>
      target
        .prepare(changeSql(`SELECT ${BUCKET}, unhex(a.value->>0), a.value->>1 FROM json_each(?2) a`))
        .bind(bucketId, parameter),
    ),
  ]);
  await compareInline(target, bucketId, mended);
  return String(names.at(-1)?.name);
}

/** Compares the inline bytes of copied rows with those in a database. @throws if they differ. */
async function compareInline(database: D1Database, bucketId: string, sent: readonly Row[]): Promise<void> {
  const inline = sent.filter(({ data }) => data !== null);
  const stored = new Map<string, string | null>();
  for (const parameter of toParameters(inline.map(({ name, ord }) => [name, ord]))) {
    const { results } = await database
      .prepare(
        `SELECT hex(v.object_id) AS object_id, v.data FROM json_each(?2) a CROSS JOIN version v
         WHERE v.bucket = ${BUCKET} AND v.name = unhex(a.value->>0) AND v.ord = unhex(a.value->>1)`,
      )
      .bind(bucketId, parameter)
      .all<{ object_id: string; data: string | null }>();
    for (const row of results) stored.set(row.object_id, row.data);
  }
  if (inline.some(({ object_id, data }) => stored.get(String(object_id)) !== data)) {
    throw new Error('the inline bytes of the copied rows differ');
  }
}

export interface CopiedCounts {
  readonly versions: number;
  readonly uploads: number;
  readonly bytes: number;
  /** Digest of all versions of the slot, with the lengths of their data, and of all parts. */
  readonly digest: string;
}

export async function countSlot(
  context: EngineContext,
  shard: number,
  bucketId: string,
  slot: number,
): Promise<CopiedCounts> {
  const database = databaseOf(context, shard);
  const hash = createHash('sha256');
  let versions = 0;
  let bytes = 0;
  let after = ['', ''];
  for (;;) {
    const { results } = await database
      .prepare(
        `SELECT hex(v.name) AS name, hex(v.ord) AS ord, hex(v.object_id) AS object_id, v.is_null, v.is_marker, v.size, v.etag,
           v.metadata, v.tags, v.acl, v.lock_mode, v.retain_until, v.legal_hold,
           CASE WHEN v.data IS NOT NULL OR v.blob_id IS NOT NULL THEN v.size
             ELSE (SELECT sum(length) FROM extent e WHERE e.object_id = v.object_id) END AS held
         FROM version v WHERE v.bucket = ${BUCKET} AND v.slot = ?2 AND (v.name, v.ord) > (unhex(?3), unhex(?4))
         ORDER BY v.bucket, v.name, v.ord LIMIT 1000`,
      )
      .bind(bucketId, slot, ...after)
      .all<Row>();
    for (const row of results) {
      hash.update(JSON.stringify(Object.values(row)));
      versions++;
      bytes += Number(row.size);
    }
    const last = results.at(-1);
    if (results.length < 1000 || !last) break;
    after = [String(last.name), String(last.ord)];
  }
  const { results: uploads } = await database
    .prepare(
      `SELECT u.upload_id, u.state, (SELECT json_group_array(hex(p.object_id) || p.size) FROM part p WHERE p.upload_id = u.upload_id) AS parts
       FROM upload u WHERE u.bucket = ${BUCKET} AND u.slot = ?2 ORDER BY u.upload_id`,
    )
    .bind(bucketId, slot)
    .all<Row>();
  hash.update(JSON.stringify(uploads));
  return { versions, uploads: uploads.length, bytes, digest: hash.digest('hex') };
}

/**
 * Removes a page of names with their rows if the slot is in the given state, and marks blobs that lose a reference for reclamation.
 * @returns false at the end, or when the slot is in another state.
 */
export async function removeSlotNames(
  context: EngineContext,
  shard: number,
  bucketId: string,
  slot: number,
  state: SlotState,
  limit: number,
): Promise<boolean> {
  const database = databaseOf(context, shard);
  const isInState = `EXISTS (SELECT 1 FROM bucket WHERE bucket_id = ?1 AND substr(slots, ?2 + 1, 1) = '${state}')`;
  const page = await database
    .prepare(`SELECT hex(name) AS name FROM (${NAMES}) WHERE ${isInState}`)
    .bind(bucketId, slot, '', limit)
    .all<{ name: string }>();
  if (page.results.length === 0) return false;
  const names = JSON.stringify(page.results.map((row) => row.name));
  const of = (sql: string) => database.prepare(sql).bind(bucketId, slot, names);
  const which = `bucket = ${BUCKET} AND slot = ?2 AND name IN (SELECT unhex(value) FROM json_each(?3)) AND ${isInState}`;
  const ids = `SELECT upload_id FROM upload WHERE ${which}`;
  const now = Math.trunc(context.now());
  const objects = `SELECT object_id FROM version WHERE ${which} UNION ALL SELECT object_id FROM part WHERE upload_id IN (${ids})`;
  await database.batch([
    of(`INSERT INTO reclaim(blob_id, since) SELECT blob_id, ${now} FROM version WHERE blob_id IS NOT NULL AND ${which}
      UNION SELECT blob_id, ${now} FROM extent WHERE object_id IN (${objects})
      ON CONFLICT(blob_id) DO UPDATE SET since = excluded.since`),
    of(`DELETE FROM extent WHERE object_id IN (${objects})`),
    of(`DELETE FROM part WHERE upload_id IN (${ids})`),
    of(`DELETE FROM version WHERE ${which}`),
    of(`DELETE FROM upload WHERE ${which}`),
  ]);
  return true;
}
