/** Counts the data that a bucket has in a shard, page by page. */
import { ok, type Result } from '../../../shared/pure/result.ts';
import { prepare, statement } from '../../../shared/stores/statement.ts';
import { nameAfterPrefix } from '../../domain/name-order.ts';
import { databaseOf, type EngineContext } from '../model/context.ts';
import type { Unavailable } from '../model/contract.ts';
import { claimShard } from './claims.ts';
import { readRows } from './database.ts';
import { IS_CLAIMED } from './journal-store.ts';
import { isCurrent } from './version-sql.ts';

export interface Usage {
  /** Size in bytes of all versions and of the parts of open uploads. */
  readonly bytes: number;
  /** Number of names whose current version is not a delete marker. */
  readonly objects: number;
  /** Number of versions, without delete markers. */
  readonly versions: number;
  readonly uploads: number;
}

export const NO_USAGE: Usage = { bytes: 0, objects: 0, versions: 0, uploads: 0 };

export const addUsage = (a: Usage, b: Usage): Usage => ({
  bytes: a.bytes + b.bytes,
  objects: a.objects + b.objects,
  versions: a.versions + b.versions,
  uploads: a.uploads + b.uploads,
});

const VERSIONS_PER_PAGE = 20_000;

type PageRow = {
  seen: number;
  bytes: number;
  objects: number;
  versions: number;
  name: string | null;
  ord: string | null;
  is_claimed: number;
};

const BUCKET_N = '(SELECT n FROM bucket WHERE bucket_id = :bucketId)';

const END = "COALESCE(CAST(:end AS BLOB), x'ff')";

type PageKey = { bucketId: string; prefix: string; end: string | null };

const countPage = statement<PageKey & { name: string; ord: string }, PageRow>(
  `WITH page AS (SELECT v.bucket, v.name, v.ord, v.size, v.is_marker FROM version v WHERE v.bucket = ${BUCKET_N}
     AND v.name >= CAST(:prefix AS BLOB) AND v.name < ${END}
     AND (v.name, v.ord) > (unhex(:name), unhex(:ord)) ORDER BY v.name, v.ord LIMIT ${VERSIONS_PER_PAGE})
   SELECT count(*) AS seen, COALESCE(sum(size), 0) AS bytes, COALESCE(sum(is_marker = 0), 0) AS versions,
     COALESCE(sum(${isCurrent('page')}), 0) AS objects,
     (SELECT hex(name) FROM page ORDER BY name DESC, ord DESC LIMIT 1) AS name,
     (SELECT hex(ord) FROM page ORDER BY name DESC, ord DESC LIMIT 1) AS ord, ${IS_CLAIMED} AS is_claimed FROM page`,
);

const countUploads = statement<PageKey, { uploads: number; bytes: number }>(
  `SELECT count(*) AS uploads, COALESCE(sum((SELECT sum(p.size) FROM part p WHERE p.upload_id = u.upload_id)), 0) AS bytes
   FROM upload u WHERE u.bucket = ${BUCKET_N} AND u.name >= CAST(:prefix AS BLOB) AND u.name < ${END} AND u.state = 'open'`,
);

/** The last version that was counted. Name and order are hex. */
export interface UsageCursor {
  readonly name: string;
  readonly ord: string;
}

export interface UsagePage {
  readonly usage: Usage;
  readonly seen: number;
  /** Cursor of the next page; null at the end. */
  readonly next: UsageCursor | null;
}

/**
 * Counts a page of a bucket's versions. The first page also counts the open uploads.
 * @param after cursor of the page; null for the first.
 */
export async function measurePage(
  context: EngineContext,
  shard: number,
  { bucketId, prefix }: { readonly bucketId: string; readonly prefix: string },
  after: UsageCursor | null,
): Promise<Result<UsagePage, Unavailable>> {
  const database = databaseOf(context, shard);
  const key = { bucketId, prefix, end: nameAfterPrefix(prefix) };
  let usage = NO_USAGE;
  if (after === null) {
    const open = await readRows<{ uploads: number; bytes: number }>(context, prepare(database, countUploads, key));
    if (!open.ok) return open;
    usage = { ...NO_USAGE, ...open.value[0] };
  }
  const { name, ord } = after ?? { name: '', ord: '' };
  const rows = await readRows<PageRow>(context, prepare(database, countPage, { ...key, name, ord }));
  if (!rows.ok) return rows;
  const [page] = rows.value;
  if (!page) return ok({ usage, seen: 0, next: null });
  if (page.is_claimed === 0) {
    // An unclaimed database may be empty because it replaced a lost one, or be in a rebuild. Then claiming fails, because the
    // counts would be wrong.
    const claimed = await claimShard(context, shard);
    if (!claimed.ok) return claimed;
  }
  usage = addUsage(usage, { bytes: page.bytes, objects: page.objects, versions: page.versions, uploads: 0 });
  const isEnd = page.seen < VERSIONS_PER_PAGE || page.name === null || page.ord === null;
  return ok({ usage, seen: page.seen, next: isEnd ? null : { name: page.name ?? '', ord: page.ord ?? '' } });
}

/** Counts a bucket's data in a shard page by page. Changes during the count may be missing from the result. */
export async function measureBucket(
  context: EngineContext,
  shard: number,
  bucketId: string,
): Promise<Result<Usage, Unavailable>> {
  let usage = NO_USAGE;
  let after: UsageCursor | null = null;
  do {
    const page: Result<UsagePage, Unavailable> = await measurePage(context, shard, { bucketId, prefix: '' }, after);
    if (!page.ok) return page;
    usage = addUsage(usage, page.value.usage);
    after = page.value.next;
  } while (after !== null);
  return ok(usage);
}
