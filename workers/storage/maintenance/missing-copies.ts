/**
 * Makes the copies that a write left missing: uploads are acknowledged when a quorum of the locations has them.
 *
 * The batch that commits a version also inserts the records of its blobs, with the missing copies in the column `blob.missing`. A
 * crash therefore cannot lose the task. Snapshots, journals and slot moves include that column. Each run continues after the last
 * record of the previous one, so copies that cannot be made do not block the others.
 */
import { createClock } from '../../shared/settings/clock.ts';
import { logInfo } from '../../shared/telemetry/log.ts';
import { askLocation } from '../engine/blobs/locations.ts';
import { createEngineContext } from '../engine/index.ts';
import { type EngineContext, inTime } from '../engine/model/context.ts';
import { type BlobRow, isAnyMissing, selectMissing } from '../engine/store/blob-store.ts';
import { readTask, writeTask } from '../engine/store/task-store.ts';
import { scrubBlob } from './scrub.ts';
import { emptyScrubReport } from './scrub-report.ts';

const PAGE = 50;
const TASK = 'missing copies';
const PROBE_MS = 2_000;

/** Asks all locations. @returns the bit mask of those that answer. */
async function probeLocations(context: EngineContext): Promise<number> {
  const answers = await Promise.all(
    context.locations.map((bucket, location) => askLocation(context, location, () => bucket.head('health'), PROBE_MS)),
  );
  return answers.reduce((bits, answer, location) => (answer.ok ? bits | (1 << location) : bits), 0);
}

/**
 * Makes missing copies in the locations that answer, until none is left or `mayContinue` returns false.
 * @returns the number of copies made.
 */
export async function copyMissing(
  context: EngineContext,
  shard: number,
  mayContinue: () => boolean = () => true,
): Promise<number> {
  if (!(await isAnyMissing(context, shard))) return 0;
  const locations = await probeLocations(context);
  const report = emptyScrubReport();
  let after = (await readTask<string>(context, shard, TASK)) ?? '';
  for (let isEnd = false; !isEnd && mayContinue(); ) {
    const page: BlobRow[] = await selectMissing(context, shard, { after, locations }, PAGE);
    for (const blob of page) {
      if (!mayContinue()) break;
      await scrubBlob(context, shard, blob, report);
      after = blob.blobId;
    }
    isEnd = page.length < PAGE && after === (page.at(-1)?.blobId ?? after);
    await writeTask(context, shard, TASK, isEnd ? '' : after);
  }
  logInfo('copies_made', { shard, copies: report.repaired_copies, bytes: report.bytes });
  return report.repaired_copies;
}

/**
 * Part of the health check.
 * @returns a sentence about each shard with missing copies. A shard that does not answer is reported by another check.
 */
export async function findMissingCopies(env: Env): Promise<{ name: string; message: string }[]> {
  const context = createEngineContext(env, createClock(env), { waitUntil: () => undefined });
  const found = await Promise.all(
    context.shards.map((_, shard) => inTime(isAnyMissing(context, shard), PROBE_MS, false).catch(() => false)),
  );
  return found.flatMap((isAny, shard) =>
    isAny ? [{ name: `OBJECTS_${shard}`, message: 'has blobs that lack a copy in a location' }] : [],
  );
}
