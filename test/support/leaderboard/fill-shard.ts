/**
 * Writes many small objects into the database file of a shard while no server runs, in the state that a PUT leaves. Uploading them
 * would take hours.
 */
import { createHash, randomBytes, randomUUID } from 'node:crypto';
import { DatabaseSync } from 'node:sqlite';
import { crc32 } from 'node:zlib';
import { formatTimeuuid, toTicks } from '../../../workers/shared/pure/timeuuid.ts';
import { slotOf } from '../../../workers/storage/domain/slots.ts';
import { toVersionOrder } from '../../../workers/storage/domain/version-order.ts';
import { NEXT_ID } from '../../../workers/storage/engine/store/version-ids.ts';

export interface FilledObject {
  readonly name: string;
  readonly content: Uint8Array;
}

/** Inserts objects into a bucket with versioning enabled. @returns the version ids, in order. */
export function fillShard(file: string, bucket: string, objects: Iterable<FilledObject>): string[] {
  const database = new DatabaseSync(file);
  const row = database.prepare('SELECT n, owner_id FROM bucket WHERE name = ?').get(bucket);
  if (!row) throw new Error(`Bucket ${bucket} not found in ${file}.`);
  const bucketNumber = Number(row.n);
  const metadata = JSON.stringify({ headers: {}, user: {}, ownerId: row.owner_id });
  const version = database.prepare(
    `INSERT INTO version(id, bucket, name, ord, slot, is_null, is_marker, object_id, size, etag, sha256, metadata, crc32, data)
     VALUES (${NEXT_ID}, ?, ?, ?, ?, 0, 0, ?, ?, ?, ?, ?, ?, ?)`,
  );
  const versionIds: string[] = [];
  const began = toTicks(Date.now());
  database.exec('BEGIN');
  for (const { name, content } of objects) {
    const versionId = formatTimeuuid(began + BigInt(versionIds.length), randomBytes(8));
    const order = Buffer.from(toVersionOrder(versionId), 'hex');
    const objectId = Buffer.from(randomUUID().replaceAll('-', ''), 'hex');
    const nameBytes = Buffer.from(name);
    const md5 = createHash('md5').update(content).digest('hex');
    const sha256 = createHash('sha256').update(content).digest();
    const data = Buffer.from(content).toString('base64');
    const key = [bucketNumber, nameBytes, order, slotOf(name)] as const;
    version.run(...key, objectId, content.length, md5, sha256, metadata, crc32(content), data);
    versionIds.push(versionId);
  }
  database.exec('COMMIT');
  database.close();
  return versionIds;
}
