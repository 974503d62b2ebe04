/**
 * Recovers small versions from their early copies (`SMALL_COPIES=now`), which describe them: those that were acknowledged after the last
 * journal of a lost shard.
 */
import { createHash } from 'node:crypto';
import { crc32 } from 'node:zlib';
import { runInParallel } from '../../shared/concurrency/parallel.ts';
import { logError } from '../../shared/telemetry/log.ts';
import { count } from '../domain/counting.ts';
import { slotOf } from '../domain/slots.ts';
import { fromVersionOrder, isTimeuuid } from '../domain/version-order.ts';
import { EARLY_PREFIX } from '../engine/blobs/early-copies.ts';
import { type EngineContext, locationOf } from '../engine/model/context.ts';
import { NO_LOCK } from '../engine/model/versions.ts';
import { nameHex } from '../engine/store/database.ts';
import { findBuckets, findPresent, insertRecovered, type RecoveredVersion } from '../engine/store/recover-store.ts';
import { toLock } from '../engine/store/version-sql.ts';
import { type RecoveryReport, toDescribed } from './recover-blobs.ts';

const LIST_PAGE = 500;
const READS_AT_ONCE = 6;

/** Recovers the versions that one page of a location's early copies has and the shard lacks. @returns the last key; null at the end. */
export async function recoverEarlyCopies(
  context: EngineContext,
  shard: number,
  at: { readonly location: number; readonly after: string; readonly since: number },
  report: RecoveryReport,
): Promise<string | null> {
  const bucket = locationOf(context, at.location);
  const page = await bucket.list({
    prefix: EARLY_PREFIX,
    limit: LIST_PAGE,
    include: ['customMetadata'],
    ...(at.after === '' ? {} : { startAfter: at.after }),
  });
  const described = page.objects
    .filter(({ uploaded }) => uploaded.getTime() >= at.since)
    .map((object) => ({ object, order: object.key.slice(EARLY_PREFIX.length), ...toDescribed(object.customMetadata) }));
  const buckets = await findBuckets(
    context,
    described.map(({ bucketId }) => bucketId),
  );
  const here = described.filter(
    ({ bucketId, name, order }) =>
      buckets.get(bucketId)?.placement.shards[slotOf(name)] === shard && isTimeuuid(fromVersionOrder(order)),
  );
  const present = await findPresent(
    context,
    shard,
    here.map(({ bucketId, name, order }) => [bucketId, nameHex(name), order]),
  );
  const versions: RecoveredVersion[] = [];
  await runInParallel(
    here.filter(({ order }) => !present.has(order)),
    READS_AT_ONCE,
    async ({ object, bucketId, name, order }) => {
      const noMetadata = JSON.stringify({ headers: {}, user: {}, ownerId: buckets.get(bucketId)?.ownerId ?? '' });
      const read = await bucket.get(object.key);
      const version = read && (await toVersion(read, { bucketId, name, order, noMetadata }));
      if (version) versions.push(version);
      else logError('copy_unreadable', 'a location has no good early copy', { key: object.key, location: at.location });
    },
  );
  const versions_recovered = await insertRecovered(context, shard, versions);
  count(report, { versions_recovered });
  return page.truncated ? (page.objects.at(-1)?.key ?? null) : null;
}

async function toVersion(
  object: R2ObjectBody,
  of: { readonly bucketId: string; readonly name: string; readonly order: string; readonly noMetadata: string },
): Promise<RecoveredVersion | null> {
  const bytes = new Uint8Array(await object.arrayBuffer());
  const md5 = createHash('md5').update(bytes).digest('hex');
  // If R2 receives an object in one piece, the ETag is the MD5 of what it received.
  if (md5 !== object.etag) return null;
  const { is_null: isNull, object_id: objectId = '', metadata, lock } = object.customMetadata ?? {};
  return {
    bucketId: of.bucketId,
    name: of.name,
    versionId: fromVersionOrder(of.order),
    isNull: isNull === '1',
    objectId,
    size: bytes.length,
    etag: md5,
    sha256: createHash('sha256').update(bytes).digest('hex'),
    checksums: null,
    checksumType: null,
    partCount: null,
    metadata: metadata ? Buffer.from(metadata, 'base64url').toString() : of.noMetadata,
    tags: null,
    acl: null,
    lock: lock ? toLock(JSON.parse(lock)) : NO_LOCK,
    describedAt: object.uploaded.getTime(),
    extents: [],
    inline: { data: Buffer.from(bytes).toString('base64'), crc32: crc32(bytes) },
  };
}
