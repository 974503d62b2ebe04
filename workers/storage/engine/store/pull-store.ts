/** Rows that pulls need: the versions that a bucket has of the names of a page, and the sealed secrets of open pulls. */
import { prepare, readAll, statement } from '../../../shared/stores/statement.ts';
import type { HeldVersion, PulledFrom } from '../../domain/pulls.ts';
import { slotOf } from '../../domain/slots.ts';
import { fromVersionOrder } from '../../domain/version-order.ts';
import { databaseOf, type EngineContext } from '../model/context.ts';
import type { Bucket } from '../model/contract.ts';
import { nameHex } from './database.ts';

interface HeldRow {
  readonly name: string;
  readonly ord: string;
  readonly is_marker: number;
  readonly size: number;
  readonly etag: string;
  readonly pulled: string | null;
}

const COLUMNS = `hex(v.name) AS name, hex(v.ord) AS ord, v.is_marker, v.size, v.etag,
  json_extract(v.metadata, '$.extra.pulled') AS pulled`;

const selectHeld = statement<{ bucketId: string; names: string }, HeldRow>(
  `SELECT ${COLUMNS} FROM json_each(:names) a CROSS JOIN version v
   WHERE v.bucket = (SELECT n FROM bucket WHERE bucket_id = :bucketId) AND v.name = unhex(a.value) ORDER BY v.name, v.ord DESC`,
);

/** Finds all versions of names, the oldest first. @throws if a shard does not answer. */
export async function findHeld(
  context: EngineContext,
  { bucketId, placement }: Bucket,
  names: readonly string[],
): Promise<Map<string, HeldVersion[]>> {
  const held = new Map<string, HeldVersion[]>(names.map((name) => [name, []]));
  const byShard = Map.groupBy(names, (name) => placement.shards[slotOf(name)] ?? 0);
  for (const [shard, some] of byShard) {
    const values = { bucketId, names: JSON.stringify(some.map(nameHex)) };
    for (const row of await readAll(databaseOf(context, shard), selectHeld, values)) {
      held.get(Buffer.from(row.name, 'hex').toString())?.push({
        versionId: fromVersionOrder(row.ord.toLowerCase()),
        isMarker: row.is_marker === 1,
        size: row.size,
        etag: row.etag,
        pulled: row.pulled === null ? null : (JSON.parse(row.pulled) as PulledFrom),
      });
    }
  }
  return held;
}

const selectSealed = statement<{ after: string; limit: number }, { job_id: string; sealed: string }>(
  `SELECT job_id, json_extract(job, '$.order.sealed') AS sealed FROM storage_job
   WHERE ended_at IS NULL AND job_id > :after AND json_extract(job, '$.order.sealed') IS NOT NULL ORDER BY job_id LIMIT :limit`,
);

/** Lists the sealed secrets of open pulls, in the order of their jobs. */
export const listPullSecrets = (directory: D1Database, after: string, limit: number) =>
  readAll(directory, selectSealed, { after, limit });

const replaceSealed = statement<{ jobId: string; before: string; after: string }>(
  `UPDATE storage_job SET job = json_set(job, '$.order.sealed', :after)
   WHERE job_id = :jobId AND json_extract(job, '$.order.sealed') = :before`,
);

export const replacePullSecret = async (directory: D1Database, jobId: string, before: string, after: string) =>
  void (await prepare(directory, replaceSealed, { jobId, before, after }).run());
