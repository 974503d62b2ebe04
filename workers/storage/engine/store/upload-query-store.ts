/** Queries of multipart uploads and their parts. */
import { ok, type Result } from '../../../shared/pure/result.ts';
import { prepare, statement } from '../../../shared/stores/statement.ts';
import { fromVersionOrder } from '../../domain/version-order.ts';
import { databaseOf, type EngineContext } from '../model/context.ts';
import type { Checksums, PartFacts, Unavailable, UploadFacts } from '../model/contract.ts';
import type { ShardGenerations } from '../model/proof.ts';
import { GENERATION_COLUMNS, type Row, readRows, toGenerations } from './database.ts';
import { chosenPartsSql } from './upload-store.ts';
import { toLock } from './version-sql.ts';

export const UPLOAD_COLUMNS = `CAST(u.name AS TEXT) AS name, u.upload_id, u.initiated_at, u.metadata, u.tags, u.acl,
  u.checksum_algorithm, u.checksum_type, u.state, hex(u.request_sha256) AS request_sha256, hex(u.ord) AS ord,
  u.lock_mode, u.retain_until, u.legal_hold`;

export function toUploadFacts(row: Row): UploadFacts {
  return {
    uploadId: String(row.upload_id),
    name: String(row.name),
    initiatedAt: Number(row.initiated_at),
    metadata: JSON.parse(String(row.metadata)),
    tags: row.tags === null ? null : JSON.parse(String(row.tags)),
    acl: row.acl as string | null,
    lock: toLock(row),
    checksumAlgorithm: row.checksum_algorithm as UploadFacts['checksumAlgorithm'],
    checksumType: row.checksum_type as UploadFacts['checksumType'],
  };
}

export interface UploadRow {
  readonly facts: UploadFacts;
  readonly state: 'open' | 'completed' | 'aborted';
  /** SHA-256 (hex) of the list of parts that completed the upload; empty until then. */
  readonly requestSha256: string;
  /** Id of the version that the completion created; null until then. */
  readonly versionId: string | null;
  /** Whether the slot of the upload's name is open in the shard. */
  readonly isOpen: boolean;
  readonly generations: ShardGenerations;
}

type UploadKey = { readonly bucketId: string; readonly slot: number; readonly name: string; readonly uploadId: string };

const findUpload = statement<UploadKey, Row>(
  `SELECT substr(b.slots, :slot + 1, 1) = 'o' AS is_open, ${GENERATION_COLUMNS}, ${UPLOAD_COLUMNS} FROM bucket b
   CROSS JOIN upload u ON u.bucket = b.n AND u.name = CAST(:name AS BLOB) AND u.upload_id = :uploadId WHERE b.bucket_id = :bucketId`,
);

/** Finds an upload, including completed and aborted ones that still have a row. @returns null when there is none. */
export async function selectUpload(
  context: EngineContext,
  shard: number,
  key: UploadKey,
): Promise<Result<UploadRow | null, Unavailable>> {
  const rows = await readRows(context, prepare(databaseOf(context, shard), findUpload, key));
  if (!rows.ok) return rows;
  const row = rows.value[0];
  if (!row) return ok(null);
  return ok({
    facts: toUploadFacts(row),
    state: row.state as UploadRow['state'],
    requestSha256: String(row.request_sha256 ?? '').toLowerCase(),
    versionId: row.ord ? fromVersionOrder(String(row.ord)) : null,
    isOpen: row.is_open === 1,
    generations: toGenerations(row),
  });
}

type PartRow = Row & Readonly<Record<'part_number' | 'size' | 'modified_at', number>>;

const PART_COLUMNS = 'p.part_number, p.size, p.etag, p.modified_at, p.checksums';

const toPartFacts = (row: PartRow): PartFacts => ({
  partNumber: row.part_number,
  size: row.size,
  etag: String(row.etag),
  modifiedAt: row.modified_at,
  checksums: row.checksums === null ? {} : (JSON.parse(String(row.checksums)) as Checksums),
});

const listParts = statement<{ uploadId: string; after: number; limit: number }, PartRow>(
  `SELECT ${PART_COLUMNS} FROM part p WHERE p.upload_id = :uploadId AND p.part_number > :after
   ORDER BY p.part_number LIMIT :limit`,
);

export async function selectParts(
  context: EngineContext,
  shard: number,
  page: { readonly uploadId: string; readonly after: number; readonly limit: number },
): Promise<Result<PartFacts[], Unavailable>> {
  const rows = await readRows<PartRow>(context, prepare(databaseOf(context, shard), listParts, page));
  return rows.ok ? ok(rows.value.map(toPartFacts)) : rows;
}

export interface ChosenPart extends PartFacts {
  readonly partId: string;
}

const findChosenParts = statement<{ uploadId: string; list: string }, PartRow>(
  `SELECT ${PART_COLUMNS}, hex(p.object_id) AS part_id FROM ${chosenPartsSql(':list', ':uploadId')}`,
);

/** Reads the parts that a completion request lists, by their numbers. Skips a part whose ETag differs. */
export async function selectChosenParts(
  context: EngineContext,
  shard: number,
  uploadId: string,
  parts: readonly { readonly partNumber: number; readonly etag: string }[],
): Promise<Result<Map<number, ChosenPart>, Unavailable>> {
  const list = JSON.stringify(parts.map((part) => [part.partNumber, part.etag]));
  const query = prepare(databaseOf(context, shard), findChosenParts, { uploadId, list });
  const rows = await readRows<PartRow>(context, query);
  if (!rows.ok) return rows;
  return ok(new Map(rows.value.map((row) => [row.part_number, { ...toPartFacts(row), partId: String(row.part_id) }])));
}
