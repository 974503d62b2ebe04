/**
 * The commit of one new version: one guarded, atomic batch.
 *
 * If the commit must not happen, the first statement inserts the reason into a table that accepts no row, and the batch
 * fails with the name of the constraint. Parameters ?1…?4 are the same in every statement: bucket id, name, order of
 * the version, slot.
 */

import { slotOf } from '../../domain/slots.ts';
import { orderBoundsOfSecond, toVersionOrder } from '../../domain/version-order.ts';
import type { WrittenBlob } from '../blobs/write-body.ts';
import type { Bucket, Condition, StoredVersion, VersionFacts } from '../model/contract.ts';
import { type ProofGuard, proofGuardOf } from '../model/proof.ts';
import { IS_BEING_REBUILT, toHex } from './database.ts';
import { insertEventsSql, type NewEvent } from './event-store.ts';
import { removedSql } from './journal-store.ts';
import { addToQuotas, isObjectSql, partBytesSql, REFUSE_OVER_QUOTA } from './quota-store.ts';
import { NEXT_ID } from './version-ids.ts';
import { isCurrent, toLegalHold } from './version-sql.ts';

/** Where the data of the new version comes from. */
export type CommitData =
  | { readonly kind: 'none' }
  | { readonly kind: 'inline'; readonly data: string; readonly crc32: number }
  | { readonly kind: 'blobs'; readonly blobs: readonly WrittenBlob[] }
  | { readonly kind: 'reference'; readonly source: StoredVersion }
  | {
      readonly kind: 'upload';
      readonly uploadId: string;
      readonly statements: (prepare: Prepare) => D1PreparedStatement[];
    };

/** A version to commit. */
export interface Commit {
  readonly bucket: Bucket;
  readonly facts: VersionFacts;
  readonly data: CommitData;
  readonly condition: Condition | undefined;
  readonly nowMs: number;
  /** Event to store with the version; null if no notification rule of the bucket selects it. */
  readonly event: NewEvent | null;
  /** Further reasons to refuse the commit, as SQL arms of a CASE. */
  readonly furtherGuards?: { readonly sql: string; readonly parameters: readonly unknown[] } | undefined;
}

export type Prepare = (sql: string, ...further: unknown[]) => D1PreparedStatement;

export const BUCKET_N = '(SELECT n FROM bucket WHERE bucket_id = ?1)';
export const NAME = 'CAST(?2 AS BLOB)';

/**
 * The oldest time that a commit accepts for a version: a minute behind the database's clock. `bucket.newest` records the newest
 * version that was removed while it was younger than a minute. New versions of a name are therefore later than all earlier ones,
 * even if a version with a time in the future was removed. The SQL computes ticks of 100 ns since 1582 (RFC 9562), then version and
 * variant, all inverted.
 */
const orderBehind = (ms: number): string => `unhex(printf('%015x', 1152921504606846975 - 122192928000000000
  - (CAST(unixepoch('subsec') * 1000 AS INTEGER) - ${ms}) * 10000) || 'e7fffffffffffffff')`;
export const OLDEST_ORDER = orderBehind(60_000);
/**
 * Time that a version gets if the Worker's clock is too slow: 30 s behind the database's clock, so that another 30 s remain to
 * commit.
 */
export const SAFE_ORDER = orderBehind(30_000);

/** CASE arms that guard every write into a bucket. `b` is the bucket's row in the shard; its columns are NULL if there is none. */
export const bucketGuards = (slotParameter: string, versioningParameter: string | null): string => `
  WHEN b.n IS NULL OR ${IS_BEING_REBUILT} THEN 'no_bucket'
  WHEN b.seal IS NOT NULL THEN 'bucket_sealed'
  WHEN substr(b.slots, ${slotParameter} + 1, 1) = 's' THEN 'slot_sealed'
  WHEN substr(b.slots, ${slotParameter} + 1, 1) <> 'o' THEN 'slot_moved'
  ${versioningParameter === null ? '' : `WHEN b.versioning <> ${versioningParameter} THEN 'versioning_changed'`}`;

export const guardSql = (arms: string): string => `INSERT INTO guard(reason) SELECT reason FROM (
  SELECT CASE ${arms} END AS reason FROM (SELECT 1) LEFT JOIN bucket b ON b.bucket_id = ?1) WHERE reason IS NOT NULL`;

/**
 * CASE arms that check a condition of the request. `next` is the number of the first free parameter. `which` is SQL that selects
 * the version `c` to compare: the current one unless the request names another.
 */
export function conditionGuards(
  condition: Condition | undefined,
  next: number,
  which = isCurrent('c'),
): { readonly sql: string; readonly parameters: readonly unknown[] } {
  if (!condition) return { sql: '', parameters: [] };
  const parameters: unknown[] = [];
  const bind = (value: unknown) => `?${next + parameters.push(value) - 1}`;
  const current = (test: string) =>
    `EXISTS (SELECT 1 FROM version c WHERE c.bucket = b.n AND c.name = ${NAME} AND ${which} ${test})`;
  const arms: string[] = [];
  const { absent, etags, notEtags, modifiedAtSeconds, size, newest } = condition;
  if (absent) arms.push(`WHEN ${current('')} THEN 'precondition_failed'`);
  if (etags || modifiedAtSeconds !== undefined || size !== undefined) {
    arms.push(`WHEN NOT ${current('')} THEN 'no_such_key'`);
  }
  if (etags && !etags.includes('*')) {
    const list = bind(JSON.stringify(etags));
    arms.push(`WHEN NOT ${current(`AND c.etag IN (SELECT value FROM json_each(${list}))`)} THEN 'precondition_failed'`);
  }
  if (notEtags) {
    const list = bind(JSON.stringify(notEtags));
    const test = notEtags.includes('*') ? '' : `AND c.etag IN (SELECT value FROM json_each(${list}))`;
    arms.push(`WHEN ${current(test)} THEN 'precondition_failed'`);
  }
  if (modifiedAtSeconds !== undefined) {
    const { min, max } = orderBoundsOfSecond(modifiedAtSeconds);
    const test = `AND c.ord BETWEEN unhex(${bind(min)}) AND unhex(${bind(max)})`;
    arms.push(`WHEN NOT ${current(test)} THEN 'precondition_failed'`);
  }
  if (size !== undefined) arms.push(`WHEN NOT ${current(`AND c.size = ${bind(size)}`)} THEN 'precondition_failed'`);
  if (newest !== undefined) {
    arms.push(`WHEN (SELECT c.ord FROM version c WHERE c.bucket = b.n AND c.name = ${NAME} ORDER BY c.ord LIMIT 1)
      IS NOT unhex(${bind(newest === null ? null : toVersionOrder(newest))}) THEN 'precondition_failed'`);
  }
  return { sql: arms.join('\n'), parameters };
}

const INSERT_EVENT = insertEventsSql(
  { key: '0', name: NAME, kind: '?5', facts: '?6' },
  'bucket b WHERE b.bucket_id = ?1',
);

export function commitStatements(database: D1Database, commit: Commit): D1PreparedStatement[] {
  const { bucket, facts, data } = commit;
  const head = [bucket.bucketId, facts.name, toVersionOrder(facts.versionId), slotOf(facts.name)];
  const prepare: Prepare = (sql, ...further) => bindNamed(database, sql, [...head, ...further]);
  return [
    guardStatement(prepare, commit),
    countStatement(prepare, facts, data),
    prepare(REFUSE_OVER_QUOTA),
    insertVersion(prepare, facts, data),
    ...dataStatements(prepare, commit),
    // A `null` version replaces the previous one. The removal comes last, because the removed version may be the source of the
    // copy.
    ...(facts.isNull ? removeNullStatements(prepare, commit.nowMs) : []),
    ...(commit.event ? [prepare(INSERT_EVENT, commit.event.kind, JSON.stringify(commit.event.facts))] : []),
  ];
}

/** Greatest parameter number per statement text. The map stays small, because values are parameters and never part of a text. */
const greatestNamed = new Map<string, number>();
const STATEMENTS_MAX = 1000;

/**
 * Binds numbered parameters. D1 rejects parameters that the statement does not use, so only those up to its greatest number are
 * bound.
 */
export function bindNamed(database: D1Database, sql: string, parameters: readonly unknown[]): D1PreparedStatement {
  let greatest = greatestNamed.get(sql);
  if (greatest === undefined) {
    greatest = Math.max(0, ...Array.from(sql.matchAll(/\?(\d+)/g), (match) => Number(match[1])));
    if (greatestNamed.size >= STATEMENTS_MAX) greatestNamed.clear();
    greatestNamed.set(sql, greatest);
  }
  return database.prepare(sql).bind(...parameters.slice(0, greatest));
}

/**
 * CASE arms for a write with a proof: they refuse it if the shard knows a later generation, or none and the proof refuses that.
 * @param next number of the first free parameter.
 */
export function proofGuards(proof: ProofGuard | null, next: number) {
  if (proof === null) return { sql: '', parameters: [] };
  const ifUnknown = proof.refusesUnknown ? 1 : 0;
  const isIdentityStale = `COALESCE((SELECT generation > ?${next + 1} FROM identity WHERE one = ?${next + 2}), ${ifUnknown})`;
  return {
    sql: `WHEN COALESCE(b.generation > ?${next}, ${ifUnknown}) THEN 'stale_configuration'
      WHEN ?${next + 1} IS NOT NULL AND ${isIdentityStale} THEN 'stale_identity'`,
    parameters: [proof.generation, proof.identity?.generation ?? null, (proof.identity?.home ?? 0) + 1],
  };
}

function guardStatement(prepare: Prepare, commit: Commit): D1PreparedStatement {
  const further = commit.furtherGuards ?? { sql: '', parameters: [] };
  const proof = proofGuards(proofGuardOf(commit.bucket), 6 + further.parameters.length);
  const condition = conditionGuards(commit.condition, 6 + further.parameters.length + proof.parameters.length);
  const same = `c.bucket = b.n AND c.name = ${NAME}`;
  const source = commit.data.kind === 'reference' ? commit.data.source : null;
  const parameters: unknown[] = [
    ...[commit.bucket.versioning, ...further.parameters],
    ...[...proof.parameters, ...condition.parameters],
  ];
  let sourceArm = '';
  if (source) {
    const at = 4 + parameters.push(source.handle.bucketId, source.name, toVersionOrder(source.versionId)) - 2;
    sourceArm = `WHEN NOT EXISTS (SELECT 1 FROM version s WHERE s.bucket = (SELECT n FROM bucket WHERE bucket_id = ?${at})
      AND s.name = CAST(?${at + 1} AS BLOB) AND s.ord = unhex(?${at + 2})) THEN 'source_gone'`;
  }
  return prepare(
    guardSql(`
      WHEN EXISTS (SELECT 1 FROM version c WHERE ${same} AND c.ord = unhex(?3)) THEN 'already_committed'
      ${bucketGuards('?4', '?5')}
      ${proof.sql}
      ${further.sql}
      ${condition.sql}
      ${sourceArm}
      WHEN EXISTS (SELECT 1 FROM version c WHERE ${same} AND c.ord <= unhex(?3)) THEN 'order_lost'
      WHEN b.newest <= unhex(?3) OR unhex(?3) > ${OLDEST_ORDER} THEN 'order_lost'`),
    ...parameters,
  );
}

/** Adds a new version to the quotas. The amounts account for the `null` version or the parts of an upload that it replaces. */
const COUNT_VERSION = addToQuotas(
  `?5 - CASE ?6 WHEN 1 THEN COALESCE((SELECT sum(c.size) FROM version c WHERE c.bucket = ${BUCKET_N} AND c.name = ${NAME}
    AND c.is_null = 1), 0) ELSE 0 END - ${partBytesSql('?7')}`,
  `1 - ${isObjectSql(BUCKET_N, NAME)}`,
);

const countStatement = (prepare: Prepare, facts: VersionFacts, data: CommitData): D1PreparedStatement =>
  prepare(COUNT_VERSION, facts.size, facts.isNull ? 1 : 0, data.kind === 'upload' ? data.uploadId : null);

/**
 * Inserts the records of blobs and extents. The version's own row has the data of a small object, and the place of an object in a
 * single blob.
 */
function dataStatements(prepare: Prepare, { facts, data, nowMs }: Commit): D1PreparedStatement[] {
  const objectId = toHex(facts.objectId);
  switch (data.kind) {
    case 'none':
    case 'inline':
      return [];
    case 'blobs': {
      const blobs = JSON.stringify(toBlobRows(data.blobs));
      const inserted = prepare(insertBlobsSql('?5', '?6', 'object'), blobs, nowMs);
      if (data.blobs.length === 1) return [inserted];
      return [
        inserted,
        prepare(
          `INSERT INTO extent(object_id, start, length, blob_id, blob_start)
           SELECT unhex(?5), a.value->>'start', a.value->>'size', unhex(a.value->>'id'), 0 FROM json_each(?6) a`,
          objectId,
          blobs,
        ),
      ];
    }
    case 'reference':
      return [
        prepare(
          `INSERT INTO extent(object_id, start, length, blob_id, blob_start, crc32, part, part_facts)
           SELECT unhex(?5), start, length, blob_id, blob_start, crc32, iif(?7, part, NULL), iif(?7, part_facts, NULL)
           FROM extent WHERE object_id = unhex(?6)`,
          objectId,
          toHex(data.source.objectId),
          facts.partCount === null ? 0 : 1,
        ),
      ];
    case 'upload':
      return data.statements(prepare);
  }
}

export const toBlobRows = (blobs: readonly WrittenBlob[]) => {
  let start = 0;
  return blobs.map((blob) => {
    const { blobId, size, sha256, segments, locations, missing } = blob;
    const row = { id: toHex(blobId), start, size, sha256, segments, locations, missing };
    start += size;
    return row;
  });
};

export const insertBlobsSql = (rows: string, now: string, kind: 'object' | 'part' | 'volume') =>
  `INSERT INTO blob(blob_id, kind, size, sha256, segments, locations, missing, created_at)
   SELECT unhex(a.value->>'id'), '${kind}', a.value->>'size', unhex(a.value->>'sha256'), unhex(a.value->>'segments'),
     a.value->>'locations', a.value->>'missing', ${now}
   FROM json_each(${rows}) a`;

/** Removes the name's earlier `null` version with its data, and marks its blobs for reclamation. */
function removeNullStatements(prepare: Prepare, nowMs: number): D1PreparedStatement[] {
  const removed = `version v WHERE v.bucket = ${BUCKET_N} AND v.name = ${NAME} AND v.is_null = 1 AND v.ord > unhex(?3)`;
  const objects = `SELECT v.object_id FROM ${removed}`;
  return [
    prepare(
      `INSERT INTO reclaim(blob_id, since) SELECT v.blob_id, ?5 FROM ${removed} AND v.blob_id IS NOT NULL
       UNION SELECT blob_id, ?5 FROM extent WHERE object_id IN (${objects})
       ON CONFLICT(blob_id) DO UPDATE SET since = excluded.since`,
      Math.trunc(nowMs),
    ),
    prepare(`DELETE FROM extent WHERE object_id IN (${objects})`),
    prepare(removedSql(removed)),
    prepare(`DELETE FROM version WHERE id IN (SELECT v.id FROM ${removed})`),
  ];
}

const FACT_COLUMNS = [
  'id, bucket, name, ord, slot, is_null, is_marker, object_id, size, etag, sha256, checksums, checksum_type, part_count',
  'metadata, tags, acl, lock_mode, retain_until, legal_hold',
].join(', ');
const FACTS = `${NEXT_ID}, b.n, ${NAME}, unhex(?3), ?4, ?5, ?6, unhex(?7), ?8, ?9, unhex(?10), ?11, ?12, ?13, ?14, ?15, ?16,
  ?17, ?18, ?19`;

function insertVersion(prepare: Prepare, facts: VersionFacts, data: CommitData): D1PreparedStatement {
  const place = placeOf(data);
  return prepare(
    `INSERT INTO version(${FACT_COLUMNS}, blob_id, blob_start, crc32, data)
     SELECT ${FACTS}, ${place.sql} FROM bucket b ${place.from ?? ''} WHERE b.bucket_id = ?1`,
    facts.isNull ? 1 : 0,
    facts.isMarker ? 1 : 0,
    toHex(facts.objectId),
    facts.size,
    facts.etag,
    facts.sha256,
    Object.keys(facts.checksums).length === 0 ? null : JSON.stringify(facts.checksums),
    facts.checksumType,
    facts.partCount,
    JSON.stringify(facts.metadata),
    facts.tags === null ? null : JSON.stringify(facts.tags),
    facts.acl,
    facts.lock.mode,
    facts.lock.retainUntilMs,
    toLegalHold(facts.lock.isHeld),
    ...place.parameters,
  );
}

interface Place {
  readonly sql: string;
  readonly from?: string;
  readonly parameters: readonly unknown[];
}

/** SQL values of the columns `blob_id, blob_start, crc32, data` of a new version. */
function placeOf(data: CommitData): Place {
  if (data.kind === 'inline') return { sql: 'NULL, NULL, ?20, ?21', parameters: [data.crc32, data.data] };
  const only = data.kind === 'blobs' && data.blobs.length === 1 ? data.blobs[0] : undefined;
  if (only) return { sql: 'unhex(?20), 0, NULL, NULL', parameters: [toHex(only.blobId)] };
  if (data.kind !== 'reference') return { sql: 'NULL, NULL, NULL, NULL', parameters: [] };
  // A copy reads the place from the source's present row, because the source may have been packed since it was loaded. No bytes are
  // copied.
  const { handle, name, versionId } = data.source;
  return {
    sql: 's.blob_id, s.blob_start, s.crc32, s.data',
    from: `JOIN version s ON s.bucket = (SELECT n FROM bucket WHERE bucket_id = ?20)
      AND s.name = CAST(?21 AS BLOB) AND s.ord = unhex(?22)`,
    parameters: [handle.bucketId, name, toVersionOrder(versionId)],
  };
}
