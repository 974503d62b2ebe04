/**
 * Finds orphans: R2 blobs without a record in any shard, as a crash between the write to R2 and the commit leaves them, and early copies
 * that no version needs.
 * `collectors/orphan-rounds.ts` deletes them. All locations are walked, one after the other.
 *
 * Nothing is deleted while a shard is not trusted (`shard-trust.ts`). Objects younger than the grace period may belong
 * to an upload that is not committed yet.
 */

import { collectOrphans, type OrphanSource } from '../../shared/collectors/orphan-rounds.ts';
import type { Candidate } from '../../shared/collectors/store.ts';
import { count } from '../domain/counting.ts';
import { EARLY_PREFIX } from '../engine/blobs/early-copies.ts';
import { BLOB_PREFIX, isBlobKey, toBlobKey } from '../engine/blobs/locations.ts';
import type { EngineContext } from '../engine/model/context.ts';
import { findKnownBlobs } from '../engine/store/blob-store.ts';
import { findNeedingCopies } from '../engine/store/small-store.ts';
import { findStorageDoubt, openStorageCollector } from './shard-trust.ts';

/** Number of keys per page, the maximum of an R2 listing. */
const WALK_PAGE = 1000;

/** Counts that a walk for orphans adds to a report. */
export interface OrphanCounts {
  objects_scanned: number;
  orphans_found: number;
  /** Number of orphans removed from the first location. Their copies in other locations are removed a day later. */
  orphans_removed: number;
}

/** Scans one page of R2 for orphans. @returns false at the end of a round over all locations, or when nothing may be deleted. */
export async function walkOrphans(context: EngineContext, report: OrphanCounts): Promise<boolean> {
  const done = await collectOrphans(openStorageCollector(context), createSource(context), context.now());
  count(report, { objects_scanned: done.scanned });
  count(report, { orphans_found: done.found });
  count(report, { orphans_removed: done.removed });
  return !done.isRoundOver;
}

function createSource(context: EngineContext): OrphanSource {
  return {
    findDoubt: () => findStorageDoubt(context),
    scan: (cursor) => scanPage(context, cursor),
    async findOrphans(keys) {
      const [blobs, copies] = [keys.filter(({ key }) => !isEarly(key)), keys.filter(({ key }) => isEarly(key))];
      const known = await findKnownBlobs(
        context,
        blobs.map(({ key }) => key),
      );
      const orphans = blobs.filter(({ key }) => !known.has(key)).map((each) => ({ ...each, isGivenUp: false }));
      const needed = await findNeedingCopies(context, copies.map(orderOf));
      // An early copy is a further copy of what a database or a volume has, so many without a version are no sign of a fault.
      const unneeded = copies
        .filter((each) => !needed.has(orderOf(each)))
        .map((each) => ({ ...each, isGivenUp: true }));
      return { orphans: [...orphans, ...unneeded], unknown: [] };
    },
    async remove(blobIds, where) {
      const [first, ...others] = context.locations;
      if (blobIds.length === 0 || !first) return;
      const buckets = where === 'first' ? [first] : others;
      await Promise.all(buckets.map((bucket) => bucket.delete(blobIds.map(toKey))));
    },
  };
}

/** Candidates are ids of blobs, and keys of early copies. */
const isEarly = (key: string): boolean => key.startsWith(EARLY_PREFIX);
const orderOf = ({ key }: Pick<Candidate, 'key'>): string => key.slice(EARLY_PREFIX.length);
const toKey = (candidate: string): string => (isEarly(candidate) ? candidate : toBlobKey(candidate));

/**
 * Lists one page of blobs in a location, or after them of its early copies.
 * @param cursor `<location> <key>`, where the key is that of the last object; '' at the start.
 */
async function scanPage(context: EngineContext, cursor: string) {
  const [location = 0, after = ''] = cursor === '' ? [] : [Number.parseInt(cursor, 10), cursor.replace(/^\d+ /, '')];
  const bucket = context.locations[location];
  if (!bucket) return { keys: [], scanned: 0, next: null };
  const prefix = isEarly(after) ? EARLY_PREFIX : BLOB_PREFIX;
  const page = await bucket.list({
    prefix,
    limit: WALK_PAGE,
    ...(after === '' ? {} : { startAfter: after }),
  });
  // Ignores keys under the prefix that are not ids of blobs, because this service did not write them. fsck reports them.
  const keys = page.objects
    .filter(({ key }) => isBlobKey(key) || isEarly(key))
    .filter(({ uploaded }) => context.now() - uploaded.getTime() >= context.limits.graceMs)
    .map(
      ({ key, uploaded }): Candidate => ({
        key: isEarly(key) ? key : key.slice(BLOB_PREFIX.length),
        storedAt: uploaded.getTime(),
      }),
    );
  const last = page.objects.at(-1);
  const isAtEnd = !page.truncated || !last;
  if (isAtEnd && prefix === BLOB_PREFIX)
    return { keys, scanned: countOf(location, page), next: `${location} ${EARLY_PREFIX}` };
  const next = isAtEnd ? `${location + 1} ` : `${location} ${last.key}`;
  const scanned = prefix === BLOB_PREFIX ? countOf(location, page) : 0;
  return { keys, scanned, next: isAtEnd && location + 1 >= context.locations.length ? null : next };
}

/** A blob is in several locations, so only the listing of the first one counts it. */
const countOf = (location: number, page: R2Objects): number => (location === 0 ? page.objects.length : 0);
