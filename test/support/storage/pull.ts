/** Versions of a bucket as a client sees them, for tests that pull them to another server. */
import { createHash } from 'node:crypto';
import {
  GetObjectAclCommand,
  GetObjectCommand,
  GetObjectTaggingCommand,
  ListObjectVersionsCommand,
  type S3Client,
} from '@aws-sdk/client-s3';

export interface SeenVersion {
  readonly key: string;
  readonly id: string;
  readonly isMarker: boolean;
  readonly etag: string;
  readonly size: number;
}

/** The time in a version id of Tessera, as text that sorts. LastModified has whole seconds, and the SDK lists markers apart. */
const timeOf = (id: string): string => id.slice(15, 18) + id.slice(9, 13) + id.slice(0, 8);

/** Lists all versions and delete markers of a bucket of a Tessera, each name's newest first. */
export async function listSeen(s3: S3Client, Bucket: string): Promise<SeenVersion[]> {
  const seen: SeenVersion[] = [];
  let marker: { KeyMarker?: string; VersionIdMarker?: string } | null = {};
  while (marker !== null) {
    const page: import('@aws-sdk/client-s3').ListObjectVersionsCommandOutput = await s3.send(
      new ListObjectVersionsCommand({ Bucket, ...marker }),
    );
    for (const { Key = '', VersionId: id = '', ETag: etag = '', Size: size = 0 } of page.Versions ?? [])
      seen.push({ key: Key, id, isMarker: false, etag, size });
    for (const { Key = '', VersionId: id = '' } of page.DeleteMarkers ?? [])
      seen.push({ key: Key, id, isMarker: true, etag: '', size: 0 });
    const { NextKeyMarker: KeyMarker, NextVersionIdMarker: VersionIdMarker } = page;
    marker = page.IsTruncated && KeyMarker && VersionIdMarker ? { KeyMarker, VersionIdMarker } : null;
  }
  return seen.sort((a, b) => {
    if (a.key !== b.key) return a.key < b.key ? -1 : 1;
    return timeOf(a.id) < timeOf(b.id) ? 1 : -1;
  });
}

/** What pulled versions must have in common with those of the source, in order. */
export const comparable = (versions: readonly SeenVersion[]) =>
  versions.map(({ key, isMarker, etag, size }) => ({ key, isMarker, etag, size }));

/** Reads everything about a version that a pull keeps. */
export async function readSeen(s3: S3Client, Bucket: string, { key: Key, id: VersionId }: SeenVersion) {
  const named = { Bucket, Key, VersionId };
  const object = await s3.send(new GetObjectCommand(named));
  const bytes = (await object.Body?.transformToByteArray()) ?? new Uint8Array();
  const { TagSet } = await s3.send(new GetObjectTaggingCommand(named));
  const { Grants } = await s3.send(new GetObjectAclCommand(named));
  return {
    sha256: createHash('sha256').update(bytes).digest('hex'),
    metadata: object.Metadata,
    type: object.ContentType,
    encoding: object.ContentEncoding,
    cache: object.CacheControl,
    checksum: object.ChecksumCRC32,
    lock: [object.ObjectLockMode, Number(object.ObjectLockRetainUntilDate), object.ObjectLockLegalHoldStatus],
    tags: TagSet,
    groups: Grants?.flatMap(({ Grantee, Permission }) => (Grantee?.URI ? [[Grantee.URI, Permission]] : [])),
  };
}
