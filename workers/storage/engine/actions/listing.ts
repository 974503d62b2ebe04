/** Listings over every shard of a bucket. Each shard returns an ordered page, and the pages are merged. */
import { err, ok, type Result } from '../../../shared/pure/result.ts';
import { commonPrefixOf, compareNames, nameAfter, nameAfterPrefix } from '../../domain/name-order.ts';
import { initialSlotStates, shardsOf, slotOf } from '../../domain/slots.ts';
import { epochMsOf, fromVersionOrder, newestOrderAt, toVersionOrder } from '../../domain/version-order.ts';
import { type EngineContext, pause } from '../model/context.ts';
import type {
  Bucket,
  CommonError,
  Engine,
  Listed,
  ListRequest,
  ListUploadsRequest,
  ListVersionsRequest,
  NameAt,
  Proven,
  UploadFacts,
} from '../model/contract.ts';
import { held, isCurrent, needsProof, REFUSED } from '../model/proof.ts';
import { introduceBucket } from '../store/claims.ts';
import type { Row } from '../store/database.ts';
import { type ShardPage, selectNamesAt, selectObjects, selectUploads, selectVersions } from '../store/listing-store.ts';
import { toUploadFacts, UPLOAD_COLUMNS } from '../store/upload-query-store.ts';
import { toListedVersion } from '../store/version-sql.ts';
import { findNullOrder } from '../store/version-store.ts';
import { refreshBucket } from './buckets.ts';

/**
 * Requests a page of a listing from one shard.
 * @param only slots whose rows the page may contain: 256 characters, `o` for each included slot; null for all slots.
 */
type Ask = (shard: number, only: string | null) => Promise<Result<ShardPage, CommonError>>;

/**
 * Requests a page from every shard and merges them. A common prefix of several shards appears once. DIRECTORY's map
 * alone decides whose rows count: while a slot moves, and for a while after an interrupted move, both shards have its
 * rows. If the shards are ahead of the map, the map is reloaded.
 */
async function mergePages(context: EngineContext, firstBucket: Bucket, ask: Ask): Promise<Proven<Row[], CommonError>> {
  let bucket = firstBucket;
  let isHeld = !needsProof(bucket);
  for (let attempt = 0; attempt < 10; attempt++) {
    const { shards: map } = bucket.placement;
    const shards = shardsOf(map);
    const pages = await Promise.all(shards.map((shard) => askOwned(ask, map, shard, shards.length === 1)));
    const found: ShardPage[] = [];
    for (const page of pages) {
      if (!page.ok) return page;
      found.push(page.value);
    }
    const areHere = found.every(({ slots }, i) => slots !== null && holdsItsOwn(slots, map, shards[i] ?? 0, 'os'));
    isHeld ||= found.every((page, i) => isProven(bucket, page, shards[i] ?? 0));
    if (!isHeld) return REFUSED;
    // A shard that does not know the bucket may be a new database in place of a lost one.
    for (const [i, page] of found.entries()) {
      if (page.slots !== null) continue;
      const fresh = await refreshBucket(context, bucket, isHeld);
      if (!fresh.ok) return fresh;
      const known = await introduceBucket(context, shards[i] ?? 0, fresh.value);
      if (!known.ok) return known;
    }
    if (areHere) return held(mergeRows(found));
    if (attempt > 0) await pause(20 * 2 ** attempt);
    const fresh = await refreshBucket(context, bucket, isHeld);
    if (!fresh.ok) return fresh;
    bucket = fresh.value;
  }
  return err({ kind: 'unavailable', reason: 'a slot is being moved' });
}

/**
 * A sealed slot proves nothing: DIRECTORY's map may already assign it to another shard, while this copy of the bucket has the old
 * map.
 */
function isProven(bucket: Bucket, { slots, generations }: ShardPage, shard: number): boolean {
  if (slots === null || generations === null) return false;
  const isOpen = holdsItsOwn(slots, bucket.placement.shards, shard, 'o');
  return isOpen && isCurrent(generations, bucket, bucket.proof?.identity ?? null);
}

/** A page rarely has rows of slots that belong to another shard. Only such a page is requested again, without those rows. */
async function askOwned(ask: Ask, map: Uint8Array, shard: number, isOnly: boolean): ReturnType<Ask> {
  const page = await ask(shard, null);
  if (!page.ok || isOnly || page.value.rows.every((row) => map[slotOf(String(row.name))] === shard)) return page;
  return await ask(shard, initialSlotStates(map, shard));
}

/** Whether the shard holds every slot that the map assigns to it, each in one of `states`. */
const holdsItsOwn = (slots: string, map: Uint8Array, shard: number, states: string): boolean =>
  map.every((holder, slot) => holder !== shard || states.includes(slots[slot] ?? ' '));

function mergeRows(pages: readonly ShardPage[]): Row[] {
  const keyOf = (row: Row) => String(row.common_prefix ?? row.name);
  const rows = pages.flatMap((page) => page.rows);
  // The sort is stable, so the rows of a name keep the order of their shard. All of them come from one shard.
  if (pages.length > 1) rows.sort((a, b) => compareNames(keyOf(a), keyOf(b)));
  return rows.filter((row, i) => {
    const before = rows[i - 1];
    return row.common_prefix === null || !before || keyOf(before) !== keyOf(row);
  });
}

/** An empty page, for which no shard was asked. */
const unasked = <T>(page: T) => ({ ok: true, value: page, proof: 'open' }) as const;

/** The range of names that a listing returns. */
type Names = Omit<ListRequest, 'bucket'>;

const startOf = (request: Pick<Names, 'prefix' | 'from'>): string =>
  compareNames(request.from, request.prefix) > 0 ? request.from : request.prefix;

/** The lower bound of the rows after this one: names after its name, or after all names below its common prefix. */
const pastRow = (row: Row): string | null =>
  row.common_prefix === null ? nameAfter(String(row.name)) : nameAfterPrefix(String(row.common_prefix));

const toQuery = ({ prefix, delimiter, limit, ...request }: Names) => ({
  prefix,
  delimiter,
  from: startOf({ prefix, ...request }),
  limit: limit + 1,
});

/**
 * After an early page that no request used, an isolate requests none for this time. Callers without rights thus cannot make it
 * read rows again and again.
 */
const IN_VAIN_MS = 60_000;

/** The first page of a listing, requested by the bucket's name before caller and bucket are known. */
export interface BegunListing {
  /** Returns the page, at most once. @returns null if it was already taken, or if the names are other ones. */
  take(request: Names): ReturnType<Ask> | null;
}

/**
 * Requests the first page of a listing by the bucket's name.
 * @returns null if the bucket may be in several shards, and for a minute after an early page that no request used.
 */
export function beginListing(context: EngineContext, bucketName: string, names: Names): BegunListing | null {
  const { memory, now } = context;
  if (context.shards.length > 1 || Math.abs(now() - memory.listedInVainAt) < IN_VAIN_MS) return null;
  const query = toQuery(names);
  const page = selectObjects(context, 0, { ...query, bucket: { bucketName }, only: null });
  let isTaken = false;
  const note = () => {
    if (!isTaken) memory.listedInVainAt = now();
  };
  context.waitUntil(page.then(note, note));
  return {
    take(request) {
      if (isTaken || JSON.stringify(toQuery(request)) !== JSON.stringify(query)) return null;
      isTaken = true;
      // The page may have arrived before this call.
      memory.listedInVainAt = 0;
      return page;
    },
  };
}

export async function listObjects(
  context: EngineContext,
  request: ListRequest,
  begun: BegunListing | null = null,
): ReturnType<Engine['listObjects']> {
  const { bucket } = request;
  if (request.limit <= 0) return unasked({ entries: [], next: null });
  const rows = await mergePages(context, bucket, async (shard, only) => {
    const early = await begun?.take(request);
    if (early?.ok && early.value.bucketId === bucket.bucketId) return early;
    return selectObjects(context, shard, { ...toQuery(request), bucket, only });
  });
  if (!rows.ok) return rows;
  const page = rows.value.slice(0, request.limit);
  const last = page.at(-1);
  return held({
    entries: page.map((row) => toListed(row, () => toListedVersion(row, true))),
    next: rows.value.length > request.limit && last ? pastRow(last) : null,
  });
}

/** Lists names, including deleted ones, with their present state and their state at an earlier time. */
export async function listNamesAt(
  context: EngineContext,
  request: Omit<ListRequest, 'delimiter'> & { readonly atMs: number },
): Promise<Result<{ readonly names: readonly NameAt[]; readonly next: string | null }, CommonError>> {
  const { bucket, prefix, limit, atMs } = request;
  const from = startOf(request);
  const query = { bucket, prefix, from, limit: limit + 1, at: newestOrderAt(atMs) };
  const rows = await mergePages(context, bucket, (shard, only) => selectNamesAt(context, shard, { ...query, only }));
  if (!rows.ok) return rows;
  const names = rows.value.slice(0, limit).map(toNameAt);
  const last = names.at(-1);
  return ok({ names, next: rows.value.length > limit && last ? nameAfter(last.name) : null });
}

function toNameAt(row: Row): NameAt {
  const versionId = fromVersionOrder(String(row.ord));
  return {
    name: String(row.name),
    versionId,
    modifiedAt: epochMsOf(versionId),
    isMarker: row.is_marker === 1,
    size: Number(row.size),
    earlier:
      row.earlier_marker === 1
        ? null
        : {
            versionId: fromVersionOrder(String(row.earlier_ord)),
            size: Number(row.earlier_size),
            isSame: row.is_same === 1,
          },
  };
}

const toListed = <T>(row: Row, toItem: () => T): Listed<T> =>
  row.common_prefix === null ? { kind: 'item', item: toItem() } : { kind: 'prefix', prefix: String(row.common_prefix) };

export async function listVersions(
  context: EngineContext,
  request: ListVersionsRequest,
): ReturnType<Engine['listVersions']> {
  if (request.limit <= 0) return unasked({ entries: [], next: null, nextVersion: null });
  const olderThan = await findMarkerOrder(context, request);
  if (!olderThan.ok) return olderThan;
  const query = { ...toQuery(request), bucket: request.bucket, olderThan: olderThan.value };
  const rows = await mergePages(context, request.bucket, (shard, only) =>
    selectVersions(context, shard, { ...query, only }),
  );
  if (!rows.ok) return rows;
  const page = rows.value.slice(0, request.limit);
  const last = page.at(-1);
  const entries = page.map((row) => toListed(row, () => toListedVersion(row, row.is_latest === 1)));
  if (rows.value.length <= request.limit || !last) return held({ entries, next: null, nextVersion: null });
  if (last.common_prefix !== null) return held({ entries, next: pastRow(last), nextVersion: null });
  const lastEntry = entries.at(-1);
  const nextVersion = lastEntry?.kind === 'item' ? lastEntry.item.versionId : null;
  return held({ entries, next: String(last.name), nextVersion });
}

/** The order of the version after which a page begins. `null` is looked up; a removed version still has its place in the order. */
async function findMarkerOrder(
  context: EngineContext,
  request: ListVersionsRequest,
): Promise<Result<string | null, CommonError>> {
  const { versionsAfter, bucket, from } = request;
  if (versionsAfter === undefined || startOf(request) !== from) return ok(null);
  if (versionsAfter !== 'null') return ok(toVersionOrder(versionsAfter));
  const shard = bucket.placement.shards[slotOf(from)] ?? 0;
  return await findNullOrder(context, shard, bucket.bucketId, from);
}

export async function listUploads(
  context: EngineContext,
  request: ListUploadsRequest,
): ReturnType<Engine['listUploads']> {
  const { bucket, prefix, delimiter, limit } = request;
  if (limit <= 0) return unasked({ entries: [], next: null, nextUpload: null });
  const entries: Listed<UploadFacts>[] = [];
  let from: string | null = startOf(request);
  let after = request.uploadsAfter ?? '';
  while (from !== null) {
    const query = { bucket, prefix, from, after, limit: limit + 1 };
    const rows = await mergePages(context, bucket, (shard, only) =>
      selectUploads(context, shard, { ...query, only }, `${UPLOAD_COLUMNS}, NULL AS common_prefix`),
    );
    if (!rows.ok) return rows;
    let skipTo: string | null = null;
    for (const row of rows.value) {
      const common = commonPrefixOf(String(row.name), prefix, delimiter);
      if (entries.length === limit) {
        const last = entries.at(-1);
        if (last?.kind === 'prefix') return held({ entries, next: nameAfterPrefix(last.prefix), nextUpload: null });
        return held({ entries, next: last?.item.name ?? '', nextUpload: last?.item.uploadId ?? '' });
      }
      if (common !== null) {
        entries.push({ kind: 'prefix', prefix: common });
        skipTo = nameAfterPrefix(common);
        break;
      }
      entries.push({ kind: 'item', item: toUploadFacts(row) });
    }
    if (skipTo === null) {
      const last = rows.value.at(-1);
      if (rows.value.length <= limit || !last) break;
      from = String(last.name);
      after = String(last.upload_id);
      continue;
    }
    from = skipTo;
    after = '';
  }
  return held({ entries, next: null, nextUpload: null });
}
