/** Columns of `version` that queries select, and how rows become facts. */
import { epochMsOf, fromVersionOrder } from '../../domain/version-order.ts';
import type { Extent, ObjectMetadata, VersionFacts } from '../model/contract.ts';
import { fromHex, type Row } from './database.ts';

/** Columns of `v`. `name` comes as text, ids as hex. */
export const VERSION_COLUMNS = `CAST(v.name AS TEXT) AS name, hex(v.ord) AS ord, v.live, v.is_null, v.is_marker,
  hex(v.object_id) AS object_id, v.size, v.etag, hex(v.sha256) AS sha256, v.checksums, v.checksum_type, v.part_count,
  v.metadata, v.tags, v.acl, v.taken_down`;

/** Columns of listings, which need no tags and ACLs, and of the metadata only the owner. */
export const LISTED_COLUMNS = `hex(v.ord) AS ord, v.live, v.is_null, v.is_marker, hex(v.object_id) AS object_id, v.size, v.etag,
  NULL AS sha256, v.checksums, v.checksum_type, v.part_count, v.metadata, NULL AS tags, NULL AS acl`;

const NO_METADATA: ObjectMetadata = { headers: {}, user: {}, ownerId: null };
const parseOr = <T>(text: string | number | null | undefined, otherwise: T): T =>
  typeof text === 'string' ? (JSON.parse(text) as T) : otherwise;

/** @param isLatest whether it is the newest of its name; the row of a marker does not show it. */
export function toVersionFacts(row: Row, isLatest: boolean): VersionFacts {
  const versionId = fromVersionOrder(String(row.ord));
  const sha256 = String(row.sha256 ?? '').toLowerCase();
  return {
    name: String(row.name),
    versionId,
    isNull: row.is_null === 1,
    isMarker: row.is_marker === 1,
    isLatest,
    objectId: fromHex(String(row.object_id)),
    size: Number(row.size),
    etag: String(row.etag),
    modifiedAt: epochMsOf(versionId),
    sha256: sha256 === '' ? null : sha256,
    checksums: parseOr(row.checksums, {}),
    checksumType: row.checksum_type as VersionFacts['checksumType'],
    partCount: row.part_count as number | null,
    metadata: parseOr(row.metadata, NO_METADATA),
    tags: parseOr<Readonly<Record<string, string>> | null>(row.tags, null),
    acl: row.acl as string | null,
  };
}

/** An extent as one JSON array, of `e` and its blob `l`. */
export const EXTENT_JSON = `json_array(e.start, e.length, hex(e.blob_id), e.blob_start, l.size, e.crc32,
  CASE WHEN e.crc32 IS NULL THEN hex(l.segments) ELSE '' END, l.locations, l.is_lost)`;

export type ExtentRow = [number, number, string, number, number | null, number | null, string, number, number];

/** A missing blob record, which should never occur, reads as a lost blob. */
export const toExtent = (row: ExtentRow): Extent => ({
  start: row[0],
  length: row[1],
  blobId: fromHex(row[2]),
  blobStart: row[3],
  blobSize: row[4] ?? 0,
  crc32: row[5],
  segments: row[6],
  locations: row[7] ?? 0,
  isLost: row[4] === null || row[8] === 1,
});
