/** SQL of the columns of `version` that queries select, and the conversion of rows to facts. */
import { epochMsOfOrder, fromVersionOrder } from '../../domain/version-order.ts';
import type { Checksums, Extent, ListedVersion, ObjectLock, ObjectMetadata, VersionFacts } from '../model/contract.ts';
import { NO_LOCK } from '../model/versions.ts';
import { fromHex, type Row } from './database.ts';

/** SQL of the columns of a version `v`. The name is selected as text, ids as hex. */
export const VERSION_COLUMNS = `CAST(v.name AS TEXT) AS name, hex(v.ord) AS ord, v.is_null, v.is_marker,
  hex(v.object_id) AS object_id, v.size, v.etag, hex(v.sha256) AS sha256, v.checksums, v.checksum_type, v.part_count,
  v.metadata, v.tags, v.acl, v.taken_down, v.lock_mode, v.retain_until, v.legal_hold`;

/** Columns from which a `ListedVersion` is made, without those of Object Lock. */
export const LISTED = ['ord', 'is_null', 'is_marker', 'size', 'etag', 'checksums', 'checksum_type', 'metadata'];
/** SQL of the Object Lock columns of a version `v`. */
export const LOCK = 'v.lock_mode, v.retain_until, v.legal_hold';
/**
 * SQL of the columns from which a `ListedVersion` is made.
 * @param from alias of the row.
 * @param lock the lock columns, if the caller needs them.
 */
export const listedColumns = (from: string, lock?: typeof LOCK): string =>
  [...LISTED.map((name) => (name === 'ord' ? `hex(${from}.ord) AS ord` : `${from}.${name}`)), lock ?? []]
    .flat()
    .join(', ');

/**
 * SQL of one JSON object with the columns from which a `ListedVersion` is made, because D1 converts each value of each row.
 * `fromListedJson` reads it.
 * @param from alias of the row. @param commonPrefix SQL of the column `common_prefix`.
 */
export const listedJson = (from: string, commonPrefix = 'NULL'): string =>
  `json_object('common_prefix', ${commonPrefix}, 'name', CAST(${from}.name AS TEXT), ${LISTED.map(
    (name) => `'${name}', ${name === 'ord' ? `hex(${from}.ord)` : `${from}.${name}`}`,
  ).join(', ')}) AS listed`;

/** Reads rows of `listedJson`. */
export const fromListedJson = (rows: readonly Row[]): Row[] =>
  JSON.parse(`[${rows.map(({ listed }) => listed).join(',')}]`) as Row[];

const NO_METADATA: ObjectMetadata = { headers: {}, user: {}, ownerId: null };

/** Returns a parser of a JSON column. It caches the last text, because rows of one listing often have the same one. */
function createParser<T>(otherwise: T): (text: unknown) => T {
  let [last, parsed]: [unknown, T] = [null, otherwise];
  return (text) => {
    if (typeof text !== 'string') return otherwise;
    if (text !== last) [last, parsed] = [text, JSON.parse(text) as T];
    return parsed;
  };
}
const parseChecksums = createParser<Checksums>({});
const parseMetadata = createParser<ObjectMetadata>(NO_METADATA);
const parseTags = createParser<Readonly<Record<string, string>> | null>(null);

/**
 * Converts a row to a `ListedVersion`.
 * @param isLatest whether the version is the newest of its name. The row of a delete marker does not show it.
 */
export function toListedVersion(row: Row, isLatest: boolean): ListedVersion {
  const order = String(row.ord);
  return {
    name: String(row.name),
    // Not computed for a listing that does not show it.
    get versionId() {
      return fromVersionOrder(order);
    },
    isNull: row.is_null === 1,
    isMarker: row.is_marker === 1,
    isLatest,
    size: Number(row.size),
    etag: String(row.etag),
    modifiedAt: epochMsOfOrder(order),
    checksums: parseChecksums(row.checksums),
    checksumType: row.checksum_type as VersionFacts['checksumType'],
    metadata: parseMetadata(row.metadata),
    lock: row.lock_mode === undefined ? NO_LOCK : toLock(row),
  };
}

/** Converts a row to all facts of a version. @param isLatest whether the version is the newest of its name. */
export function toVersionFacts(row: Row, isLatest: boolean): VersionFacts {
  const sha256 = String(row.sha256 ?? '').toLowerCase();
  return {
    ...toListedVersion(row, isLatest),
    objectId: fromHex(String(row.object_id)),
    sha256: sha256 === '' ? null : sha256,
    partCount: row.part_count as number | null,
    tags: parseTags(row.tags),
    acl: row.acl as string | null,
  };
}

/** Reads the Object Lock from a row of `version` or `upload`. */
export const toLock = (row: Row): ObjectLock => ({
  mode: row.lock_mode as ObjectLock['mode'],
  retainUntilMs: row.retain_until as number | null,
  isHeld: row.legal_hold === 0 ? null : row.legal_hold === 1,
});

/** Converts a legal hold to the value of the column `legal_hold`. */
export const toLegalHold = (isHeld: boolean | null): number => (isHeld === null ? 0 : isHeld ? 1 : 2);

export const toLockRow = ({ mode, retainUntilMs, isHeld }: ObjectLock) => ({
  lock_mode: mode,
  retain_until: retainUntilMs,
  legal_hold: toLegalHold(isHeld),
});

/** SQL that is true for the newest version of a name, unless that is a delete marker. @param alias of a row of `version`. */
export const isCurrent = (alias: string): string => `${isNewest(alias)} AND ${alias}.is_marker = 0`;
export const isNewest = (alias: string): string =>
  `${alias}.ord = (SELECT x.ord FROM version x WHERE x.bucket = ${alias}.bucket AND x.name = ${alias}.name ORDER BY x.ord LIMIT 1)`;

/** SQL of whether any object or part uses a blob. @param blob SQL of the blob's id. */
export const isReferenced = (blob: string): string => `(EXISTS (SELECT 1 FROM version v WHERE v.blob_id = ${blob})
  OR EXISTS (SELECT 1 FROM extent e WHERE e.blob_id = ${blob}))`;

/**
 * SQL of a JSON array that describes an extent `e`, or a version `v` that is a range of one blob. `l` is the alias of the blob
 * record.
 */
const pieceJson = (
  alias: string,
  range: string,
): string => `json_array(${range}, hex(${alias}.blob_id), ${alias}.blob_start,
  l.size, ${alias}.crc32, CASE WHEN ${alias}.crc32 IS NULL THEN hex(l.segments) ELSE '' END, l.locations, l.is_lost)`;

/** SQL of the place of a version's data (`v`) as a JSON array of at most `limit` extents. */
export const extentsJson = (limit: number): string => `CASE
  WHEN v.data IS NOT NULL OR v.size = 0 THEN '[]'
  WHEN v.blob_id IS NOT NULL THEN
    (SELECT json_array(${pieceJson('v', '0, v.size')}) FROM (SELECT 1) LEFT JOIN blob l ON l.blob_id = v.blob_id)
  ELSE (SELECT json_group_array(json(j)) FROM (SELECT ${pieceJson('e', 'e.start, e.length')} AS j FROM extent e
    LEFT JOIN blob l ON l.blob_id = e.blob_id WHERE e.object_id = v.object_id ORDER BY e.start LIMIT ${limit})) END`;

export type ExtentRow = [number, number, string, number, number | null, number | null, string, number, number];

/** Converts a row to an extent. A missing blob record, which should never occur, is treated as a lost blob. */
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
