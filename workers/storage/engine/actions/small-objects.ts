/**
 * Repairs small objects whose bytes do not match their CRC-32, in D1 or in a volume, from early copies, and pages of the journal and
 * of snapshots.
 *
 * The search is bounded. The row id of a version has the epoch of its commit, so its page is among the first pages of later epochs.
 * An id does not tell the epoch after a rebuild; the time of the version then does. A snapshot is sorted by key, so its page is
 * found by bisection. Both are removed in time: the journal reaches back to the oldest of three daily snapshots. Older bytes cannot
 * be found here.
 */
import { crc32 } from 'node:zlib';
import { logError, logInfo } from '../../../shared/telemetry/log.ts';
import { epochMsOfOrder } from '../../domain/version-order.ts';
import { findEarlyCopy } from '../blobs/early-copies.ts';
import {
  journalKeyAfter,
  journalPrefix,
  snapshotManifestKey,
  snapshotPageKey,
  snapshotPrefix,
} from '../blobs/metadata-keys.ts';
import { findMetadata, listMetadata, listMetadataAfter } from '../blobs/metadata-objects.ts';
import type { EngineContext } from '../model/context.ts';
import type { Row } from '../store/database.ts';
import {
  findBucketNumber,
  findSmall,
  fromCopiedRow,
  restoreData,
  type SmallRow,
  setAside,
} from '../store/small-store.ts';

/** Maximum number of journal pages that a search reads from each start. A busy shard writes a few a minute. */
const JOURNAL_PAGES_MAX = 32;
/** Time by which the clock of a Worker may be ahead of that of the database. */
const CLOCK_MARGIN_MS = 60_000;
/** Row ids per millisecond of an epoch (`version-ids.ts`). */
const IDS_PER_MS = 1000;

/** `unknown`: a location that does not answer may have the bytes. */
export type Recovery =
  | { readonly kind: 'found'; readonly data: string }
  | { readonly kind: 'lost' }
  | { readonly kind: 'unknown' };

/** Whether bytes in Base64 have this size and CRC-32. */
export function isIntact({ data, size, crc32: expected }: Pick<SmallRow, 'data' | 'size' | 'crc32'>): boolean {
  if (data === null) return false;
  const bytes = Buffer.from(data, 'base64');
  return bytes.length === size && crc32(bytes) === expected;
}

/** Searches early copies, journal and snapshots for intact bytes of a version. */
export async function findSmallBytes(context: EngineContext, shard: number, row: SmallRow): Promise<Recovery> {
  const early = await findEarlyCopy(context, row.order, (data) => isIntact({ ...row, data }));
  if (early.data !== null) return { kind: 'found', data: early.data };
  const search = new Search(context, shard, row, early.isSure);
  if (row.id > 0 && (await search.inJournal(Math.floor(row.id / IDS_PER_MS)))) return search.outcome();
  if (await search.inJournal(epochMsOfOrder(row.order) - CLOCK_MARGIN_MS)) return search.outcome();
  await search.inSnapshots();
  return search.outcome();
}

class Search {
  readonly #context: EngineContext;
  readonly #shard: number;
  readonly #wanted: SmallRow;
  readonly #seen = new Set<string>();
  #isSure: boolean;
  #data: string | null = null;

  constructor(context: EngineContext, shard: number, wanted: SmallRow, isSure: boolean) {
    this.#isSure = isSure;
    this.#context = context;
    this.#shard = shard;
    this.#wanted = wanted;
  }

  outcome(): Recovery {
    if (this.#data !== null) return { kind: 'found', data: this.#data };
    return { kind: this.#isSure ? 'lost' : 'unknown' };
  }

  /** Reads the pages that follow an epoch. @returns whether one of them has the bytes. */
  async inJournal(epoch: number): Promise<boolean> {
    const after = journalKeyAfter(this.#shard, Math.max(0, Math.floor(epoch)));
    const { keys, isSure } = await listMetadataAfter(
      this.#context,
      journalPrefix(this.#shard),
      after,
      JOURNAL_PAGES_MAX,
    );
    this.#isSure &&= isSure;
    for (const key of keys) {
      if (this.#seen.has(key)) continue;
      this.#seen.add(key);
      const page = await this.#read<{ rows: { version: readonly Row[] } }>(key);
      if (page && this.#take(page.rows.version)) return true;
    }
    return false;
  }

  async inSnapshots(): Promise<boolean> {
    const folders = await listMetadata(this.#context, snapshotPrefix(this.#shard), '/').catch(() => null);
    this.#isSure &&= folders !== null;
    for (const folder of (folders ?? []).reverse()) {
      const manifest = await this.#read<{ pages: Readonly<Record<string, number>> }>(snapshotManifestKey(folder));
      if (manifest && (await this.#inSnapshot(folder, manifest.pages.version ?? 0))) return true;
    }
    return false;
  }

  async #inSnapshot(folder: string, pages: number): Promise<boolean> {
    const { bucket, nameHex, order } = this.#wanted;
    for (let [low, high] = [0, pages]; low < high; ) {
      const middle = Math.floor((low + high) / 2);
      const rows = await this.#read<readonly Row[]>(snapshotPageKey(folder, 'version', middle));
      const [first, last] = [rows?.[0], rows?.at(-1)];
      if (!rows || !first || !last) return false;
      const compare = (row: Row) =>
        bucket - Number(row.bucket) || compareText(nameHex, String(row.name)) || compareText(order, String(row.ord));
      if (compare(first) < 0) high = middle;
      else if (compare(last) > 0) low = middle + 1;
      else return this.#take(rows);
    }
    return false;
  }

  async #read<T>(key: string): Promise<T | null> {
    const { value, isSure } = await findMetadata<T>(this.#context, key);
    if (value === null) this.#isSure &&= isSure;
    return value;
  }

  #take(rows: readonly Row[]): boolean {
    const { nameHex, order, objectId, size, crc32: expected } = this.#wanted;
    for (const row of rows) {
      if (row.name !== nameHex || row.ord !== order || typeof row.data !== 'string') continue;
      const { data, objectId: found } = fromCopiedRow(row);
      if (found !== objectId || !isIntact({ data, size, crc32: expected })) continue;
      this.#data = data;
      return true;
    }
    return false;
  }
}

const compareText = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);

/** Reports a version without an intact copy, in the log and by setting its row aside. The event pages an operator. */
export async function reportDamaged(context: EngineContext, shard: number, row: SmallRow): Promise<void> {
  const event = row.blobHex === '' ? 'inline_damaged' : 'packed_damaged';
  logError(event, 'no intact copy of a small object is left', { object_id: row.objectId, shard });
  await setAside(context, shard, row);
}

/**
 * Repairs a damaged version in its row. If no intact copy is left, it is reported and set aside.
 * @param row the version as it was read from the shard.
 */
export async function mendSmall(context: EngineContext, shard: number, row: SmallRow): Promise<Recovery> {
  const found = await findSmallBytes(context, shard, row);
  if (found.kind === 'found') {
    await restoreData(context, shard, row, found.data);
    logInfo('small_object_repaired', { object_id: row.objectId, shard });
  } else if (found.kind === 'lost') await reportDamaged(context, shard, row);
  return found;
}

const isDamaged = (row: Row): boolean =>
  typeof row.data === 'string' && row.crc32 !== null && !isIntact(fromCopiedRow(row));

/**
 * Replaces damaged inline bytes in rows of `version` that leave the shard, and repairs their rows in the shard. Bytes that are lost
 * stay as they are: the receiver finds them damaged too.
 */
export async function mendRows(context: EngineContext, shard: number, rows: readonly Row[]): Promise<readonly Row[]> {
  if (!rows.some(isDamaged)) return rows;
  const mended: Row[] = [];
  for (const row of rows) {
    const key = { bucket: row.bucket_id ?? row.bucket ?? 0, nameHex: String(row.name), order: String(row.ord) };
    const small = isDamaged(row) ? await findSmall(context, shard, key) : null;
    // Only the scrub searches for the bytes of a version that is set aside.
    const isMendable = small !== null && small.id > 0 && small.objectId === fromCopiedRow(row).objectId;
    const found = isMendable ? await mendSmall(context, shard, small) : null;
    mended.push(found?.kind === 'found' ? { ...row, data: found.data } : row);
  }
  return mended;
}

const toSmallRow = async (context: EngineContext, shard: number, row: Row): Promise<SmallRow> => {
  const small = fromCopiedRow(row);
  return typeof row.bucket_id === 'string'
    ? { ...small, bucket: await findBucketNumber(context, shard, row.bucket_id) }
    : small;
};

/** Replaces damaged inline bytes in rows that a rebuild restores. */
export async function recoverRows(
  context: EngineContext,
  shard: number,
  rows: readonly Row[],
): Promise<readonly Row[]> {
  if (!rows.some(isDamaged)) return rows;
  const recovered: Row[] = [];
  for (const row of rows) {
    const found = isDamaged(row) ? await findSmallBytes(context, shard, await toSmallRow(context, shard, row)) : null;
    if (found?.kind === 'unknown')
      throw new Error('a location that may have intact bytes of an object does not answer');
    recovered.push(found?.kind === 'found' ? { ...row, data: found.data } : row);
  }
  return recovered;
}
