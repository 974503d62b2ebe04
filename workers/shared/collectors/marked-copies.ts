/**
 * Makes the missing copies that markers list. Writes of mail, journals and snapshots leave a marker for each location that lacks
 * the object (`workers/shared/stores/quorum.ts`). Blobs of storage have records in place of markers
 * (`storage/maintenance/missing-copies.ts`).
 */

import { inTime } from '../concurrency/in-time.ts';
import { locationsOf } from '../stores/bindings.ts';
import { type Locations, listMarkers, removeMarker } from '../stores/quorum.ts';
import { logInfo } from '../telemetry/log.ts';
import { copyObject } from './refill.ts';

const MARKERS_PER_RUN_MAX = 500;
const RUN_MS_MAX = 20_000;
const EACH_MINUTE = '* * * * *';
const PROBE_MS = 2_000;

/**
 * Makes missing copies; cron calls it each minute. If every write needs every location, once a day is enough: only markers from an
 * earlier configuration can exist.
 */
export async function runMarkedCopies({ cron }: Pick<ScheduledController, 'cron'>, env: Env): Promise<void> {
  const target = locationsOf(env);
  if (target.quorum >= target.locations.length && cron === EACH_MINUTE) return;
  const deadline = Date.now() + RUN_MS_MAX;
  const made = await makeMarkedCopies(target, () => Date.now() < deadline);
  if (made > 0) logInfo('marked_copies_made', { copies: made });
}

/** Makes the missing copies that markers list. @returns the number of copies made. */
export async function makeMarkedCopies(target: Locations, mayContinue: () => boolean): Promise<number> {
  const answering = await probe(target);
  const done = new Set<string>();
  let made = 0;
  for (const source of answering) {
    for (const { location, key } of await listMarkers(source, MARKERS_PER_RUN_MAX)) {
      const lacking = target.locations[location];
      const name = `${location} ${key}`;
      if (!lacking || !answering.has(lacking) || done.has(name)) continue;
      if (!mayContinue()) return made;
      const outcome = await makeCopy(target, lacking, key);
      if (outcome === 'failed') continue;
      if (outcome === 'made') made++;
      done.add(name);
      await removeMarker(target, location, key);
    }
  }
  return made;
}

async function probe({ locations }: Locations): Promise<ReadonlySet<R2Bucket>> {
  const isAnswering = async (bucket: R2Bucket) => {
    const head = bucket.head('health').then(
      () => true,
      () => false,
    );
    return inTime(head, PROBE_MS, false);
  };
  const answers = await Promise.all(locations.map(isAnswering));
  return new Set(locations.filter((_, location) => answers[location]));
}

/**
 * Copies an object into a location that lacks it.
 * @returns `needless` if the location has the object, or no location has it any more.
 */
async function makeCopy(target: Locations, lacking: R2Bucket, key: string): Promise<'made' | 'needless' | 'failed'> {
  let isSilent = false;
  for (const source of target.locations) {
    if (source === lacking) continue;
    try {
      if ((await source.head(key)) === null) continue;
      const copied = await copyObject(source, lacking, key);
      if (copied === 'failed') return 'failed';
      // If the source was deleted during the copy, its delete may have reached this location before the copy did, so the copy is
      // deleted too.
      if ((await source.head(key)) === null) await lacking.delete(key);
      return copied === null ? 'needless' : 'made';
    } catch {
      isSilent = true;
    }
  }
  return isSilent ? 'failed' : 'needless';
}

/** Part of the health check: one message for each location that lacks copies according to the markers. */
export async function findMarkedCopies(env: Env): Promise<{ name: string; message: string }[]> {
  const target = locationsOf(env);
  if (target.quorum >= target.locations.length) return [];
  const found = await Promise.all(
    target.locations.map((bucket) => inTime(listMarkers(bucket, 1), PROBE_MS, []).catch(() => [])),
  );
  const lacking = new Set(found.flatMap((markers) => markers.map(({ location }) => location)));
  return [...lacking].map((location) => ({
    name: location === 0 ? 'BLOBS' : `BLOBS_${location + 1}`,
    message: 'lacks copies of mail, journals or snapshots',
  }));
}
