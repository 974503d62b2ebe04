/**
 * Writes multipart uploads and their parts. The extents of a part have an object id of their own. The completion inserts them again
 * under the id of the new object, and background work removes the part's rows.
 */
import type { WrittenBlob } from '../blobs/write-body.ts';
import type { Extent, PartFacts, UploadFacts } from '../model/contract.ts';
import type { ProofGuard } from '../model/proof.ts';
import { bucketGuards, guardSql, insertBlobsSql, type Prepare, proofGuards, toBlobRows } from './commit-store.ts';
import { toHex } from './database.ts';
import { changeSql } from './journal-store.ts';
import { addToQuotas, partBytesSql, REFUSE_OVER_QUOTA } from './quota-store.ts';
import { toLegalHold } from './version-sql.ts';

interface NewUpload {
  readonly bucketId: string;
  readonly proof: ProofGuard | null;
  readonly slot: number;
  readonly upload: UploadFacts;
  readonly dueAt: number;
}

/** SQL of an upload's change record. ?1 is the bucket id, ?2 the name; `uploadId` is the parameter of the upload's id. */
const uploadChangeSql = (uploadId: string): string =>
  changeSql(`SELECT n, CAST(?2 AS BLOB), 'u' || ${uploadId} FROM bucket WHERE bucket_id = ?1`);

export function insertUploadStatements(
  database: D1Database,
  { bucketId, proof, slot, upload, dueAt }: NewUpload,
): D1PreparedStatement[] {
  const proven = proofGuards(proof, 3);
  return [
    database.prepare(guardSql(`${bucketGuards('?2', null)} ${proven.sql}`)).bind(bucketId, slot, ...proven.parameters),
    database
      .prepare(
        `INSERT INTO upload(bucket, name, upload_id, slot, initiated_at, metadata, tags, acl, checksum_algorithm, checksum_type, state, due_at,
           lock_mode, retain_until, legal_hold)
         SELECT n, CAST(?2 AS BLOB), ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, 'open', ?11, ?12, ?13, ?14 FROM bucket WHERE bucket_id = ?1
         ON CONFLICT DO NOTHING`,
      )
      .bind(
        bucketId,
        upload.name,
        upload.uploadId,
        slot,
        upload.initiatedAt,
        JSON.stringify(upload.metadata),
        upload.tags === null ? null : JSON.stringify(upload.tags),
        upload.acl,
        upload.checksumAlgorithm,
        upload.checksumType,
        dueAt,
        upload.lock.mode,
        upload.lock.retainUntilMs,
        toLegalHold(upload.lock.isHeld),
      ),
    database.prepare(uploadChangeSql('?3')).bind(bucketId, upload.name, upload.uploadId),
  ];
}

const OPEN_UPLOAD = `SELECT 1 FROM upload u WHERE u.bucket = b.n AND u.name = CAST(?2 AS BLOB) AND u.upload_id = ?3 AND u.state = 'open'`;

const REPLACED = 'SELECT object_id FROM part WHERE upload_id = ?3 AND part_number = ?4 AND object_id <> unhex(?5)';

/**
 * Statements that remove an earlier part with the same number and marks its blobs for reclamation. ?4 is the part number, ?5 the
 * new part's id, ?6 the time.
 */
const REPLACE_PART = [
  `INSERT INTO reclaim(blob_id, since) SELECT blob_id, ?6 FROM extent WHERE object_id IN (${REPLACED})
     ON CONFLICT(blob_id) DO UPDATE SET since = excluded.since`,
  `DELETE FROM extent WHERE object_id IN (${REPLACED})`,
];

const COUNT_PART = addToQuotas(
  '?6 - COALESCE((SELECT size FROM part WHERE upload_id = ?3 AND part_number = ?4), 0)',
  '0',
);

export interface NewPart {
  readonly bucketId: string;
  readonly proof: ProofGuard | null;
  readonly name: string;
  readonly slot: number;
  readonly uploadId: string;
  readonly partId: string;
  readonly facts: PartFacts;
  readonly data:
    | { readonly kind: 'blobs'; readonly blobs: readonly WrittenBlob[] }
    | {
        readonly kind: 'reference';
        readonly extents: readonly Pick<Extent, 'start' | 'length' | 'blobId' | 'blobStart' | 'crc32'>[];
        /**
         * Source of a copied part. It must still exist when the part is committed, because its blobs are kept only as long as it
         * exists.
         */
        readonly source: { readonly bucketId: string; readonly name: string; readonly order: string };
      };
  readonly nowMs: number;
}

/** Statements that store one part. Idempotent, because a repeat has the same part id. */
export function putPartStatements(database: D1Database, part: NewPart): D1PreparedStatement[] {
  const { facts, data } = part;
  const head = [part.bucketId, part.name, part.uploadId, facts.partNumber, toHex(part.partId)];
  const prepare: Prepare = (sql, ...further) => {
    const greatest = Math.max(0, ...Array.from(sql.matchAll(/\?(\d+)/g), (match) => Number(match[1])));
    return database.prepare(sql).bind(...[...head, ...further].slice(0, greatest));
  };
  const isSource = data.kind === 'reference';
  const source = isSource ? [data.source.bucketId, data.source.name, data.source.order] : [];
  const proven = proofGuards(part.proof, 7 + source.length);
  const guard = guardSql(`
    WHEN EXISTS (SELECT 1 FROM part WHERE upload_id = ?3 AND part_number = ?4 AND object_id = unhex(?5)) THEN 'already_committed'
    ${bucketGuards('?6', null)}
    ${proven.sql}
    WHEN NOT EXISTS (${OPEN_UPLOAD}) THEN 'no_such_upload'
    ${
      isSource
        ? `WHEN NOT EXISTS (SELECT 1 FROM version s WHERE s.bucket = (SELECT n FROM bucket WHERE bucket_id = ?7)
             AND s.name = CAST(?8 AS BLOB) AND s.ord = unhex(?9)) THEN 'source_gone'`
        : ''
    }`);
  const statements = [
    prepare(guard, part.slot, ...source, ...proven.parameters),
    prepare(COUNT_PART, facts.size),
    prepare(REFUSE_OVER_QUOTA),
  ];
  if (data.kind === 'blobs') {
    const blobs = JSON.stringify(toBlobRows(data.blobs));
    statements.push(
      prepare(insertBlobsSql('?6', '?7', 'part'), blobs, part.nowMs),
      prepare(
        `INSERT INTO extent(object_id, start, length, blob_id, blob_start)
         SELECT unhex(?5), a.value->>'start', a.value->>'size', unhex(a.value->>'id'), 0 FROM json_each(?6) a`,
        blobs,
      ),
    );
  } else {
    const extents = data.extents.map((extent) => ({ ...extent, blobId: toHex(extent.blobId) }));
    statements.push(
      prepare(
        `INSERT INTO extent(object_id, start, length, blob_id, blob_start, crc32)
         SELECT unhex(?5), a.value->>'start', a.value->>'length', unhex(a.value->>'blobId'), a.value->>'blobStart', a.value->>'crc32'
         FROM json_each(?6) a`,
        JSON.stringify(extents),
      ),
    );
  }
  statements.push(
    prepare(uploadChangeSql('?3')),
    ...REPLACE_PART.map((sql) => prepare(sql, part.nowMs)),
    prepare(
      `INSERT INTO part(upload_id, part_number, object_id, size, etag, checksums, modified_at)
       VALUES (?3, ?4, unhex(?5), ?6, ?7, ?8, ?9)
       ON CONFLICT(upload_id, part_number) DO UPDATE SET object_id = excluded.object_id, size = excluded.size,
         etag = excluded.etag, checksums = excluded.checksums, modified_at = excluded.modified_at`,
      facts.size,
      facts.etag,
      Object.keys(facts.checksums).length === 0 ? null : JSON.stringify(facts.checksums),
      facts.modifiedAt,
    ),
  );
  return statements;
}

/**
 * SQL of the parts that a completion lists as `[[number, etag], …]`. CROSS JOIN fixes the order of the join: the list is the outer
 * loop, with one seek per item.
 */
export const chosenPartsSql = (list: string, uploadId: string): string =>
  `json_each(${list}) a CROSS JOIN part p WHERE p.upload_id = ${uploadId} AND p.part_number = a.value->>0 AND p.etag = a.value->>1`;

/**
 * Statements that a completion adds to the commit of its version. They insert the extents of all chosen parts, end to end, and end
 * the upload. Parameters ?1…?4 are those of the commit.
 */
export function completeStatements(
  prepare: Prepare,
  complete: {
    readonly uploadId: string;
    readonly list: string;
    readonly objectId: string;
    readonly requestSha256: string;
    readonly nowMs: number;
  },
): D1PreparedStatement[] {
  return [
    prepare(uploadChangeSql('?5'), complete.uploadId),
    prepare(
      `INSERT INTO extent(object_id, start, length, blob_id, blob_start, crc32, part, part_facts)
       SELECT unhex(?5), o.at + e.start, e.length, e.blob_id, e.blob_start, e.crc32, o.number,
         CASE WHEN e.start = 0 THEN o.facts END
       FROM (SELECT p.object_id, p.part_number AS number, json_object('etag', p.etag, 'checksums', json(p.checksums)) AS facts,
               sum(p.size) OVER (ORDER BY a.key ROWS UNBOUNDED PRECEDING) - p.size AS at
             FROM ${chosenPartsSql('?6', '?7')}) o
       CROSS JOIN extent e WHERE e.object_id = o.object_id`,
      toHex(complete.objectId),
      complete.list,
      complete.uploadId,
    ),
    prepare(
      `UPDATE upload SET state = 'completed', request_sha256 = unhex(?6), ord = unhex(?3), ended_at = ?7, due_at = ?7
       WHERE bucket = (SELECT n FROM bucket WHERE bucket_id = ?1) AND name = CAST(?2 AS BLOB) AND upload_id = ?5`,
      complete.uploadId,
      complete.requestSha256,
      complete.nowMs,
    ),
  ];
}

/**
 * SQL of a guard that refuses a completion if the upload has ended, or if its parts have changed since they were checked. ?6 is the
 * upload, ?7 the list, ?8 the count.
 */
export const COMPLETE_GUARDS = `
  WHEN NOT EXISTS (SELECT 1 FROM upload u WHERE u.bucket = b.n AND u.name = CAST(?2 AS BLOB) AND u.upload_id = ?6 AND u.state = 'open')
    THEN 'no_such_upload'
  WHEN (SELECT count(*) FROM ${chosenPartsSql('?7', '?6')} AND p.object_id = unhex(a.value->>2)) <> ?8 THEN 'parts_changed'`;

export function abortStatements(
  database: D1Database,
  request: {
    readonly bucketId: string;
    readonly proof: ProofGuard | null;
    readonly name: string;
    readonly slot: number;
    readonly uploadId: string;
    readonly nowMs: number;
  },
): D1PreparedStatement[] {
  const proven = proofGuards(request.proof, 5);
  const arms = `${bucketGuards('?4', null)} ${proven.sql} WHEN NOT EXISTS (${OPEN_UPLOAD}) THEN 'no_such_upload'`;
  return [
    database
      .prepare(guardSql(arms))
      .bind(request.bucketId, request.name, request.uploadId, request.slot, ...proven.parameters),
    database.prepare(addToQuotas(`-${partBytesSql('?2')}`, '0')).bind(request.bucketId, request.uploadId),
    database
      .prepare(
        `UPDATE upload SET state = 'aborted', ended_at = ?4, due_at = ?4 WHERE bucket = (SELECT n FROM bucket WHERE bucket_id = ?1)
         AND name = CAST(?2 AS BLOB) AND upload_id = ?3`,
      )
      .bind(request.bucketId, request.name, request.uploadId, request.nowMs),
    database.prepare(uploadChangeSql('?3')).bind(request.bucketId, request.name, request.uploadId),
  ];
}
