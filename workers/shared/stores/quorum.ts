/**
 * Waits for writes to several locations: until a quorum of them succeeded, then briefly for the others. If a location was late or
 * failed, later writes do not wait for it for a while, so that an outage does not slow every write.
 */

import { inTime } from '../concurrency/in-time.ts';

export const LOCATION_TIMEOUT_MS = 20_000;
export const LATE_LOCATION_MS = 2_000;

/** The bound R2 buckets, in order, and the number of them that must store a write. */
export interface Locations {
  readonly locations: readonly R2Bucket[];
  readonly quorum: number;
  /** Time limit in milliseconds for a call of a location. */
  readonly timeoutMs: number;
  /** Time in milliseconds to wait for further locations once the quorum has a copy. */
  readonly lateMs: number;
}

/**
 * Maximum number of locations that may not answer while a reader still finds every immutable object that a quorum stored. The
 * others then include at least one location of every quorum, and are a quorum themselves.
 */
export const silentLocationsMax = ({ locations, quorum }: Pick<Locations, 'locations' | 'quorum'>): number =>
  Math.min(locations.length - quorum, quorum - 1);

/** Time after a failure for which writes to a location are sent but not awaited, unless one succeeds earlier. */
const SUSPECTED_MS = 30_000;
const suspectedUntil = new WeakMap<R2Bucket, number>();

export const isSuspected = (bucket: R2Bucket): boolean => (suspectedUntil.get(bucket) ?? 0) > Date.now();

export function noteOutcome(bucket: R2Bucket, isGood: boolean): void {
  if (isGood) suspectedUntil.delete(bucket);
  else suspectedUntil.set(bucket, Date.now() + SUSPECTED_MS);
}

/**
 * Waits until a quorum of the writes has succeeded, then for a limited time for the others.
 * @param writes writes in the order of the locations; they never reject. Null if a location gets no write.
 * @param patienceMs time to wait for further locations once the quorum has succeeded.
 * @returns `held`: the bits of the locations that succeeded. If they are fewer than the quorum, every write has ended. `waitedMs`: the time
 * that was spent waiting for further locations.
 */
export async function settleQuorum(
  buckets: readonly R2Bucket[],
  writes: readonly (Promise<boolean> | null)[],
  quorum: number,
  patienceMs: number,
): Promise<{ readonly held: number; readonly waitedMs: number }> {
  let held = 0;
  let heldCount = 0;
  let waitedMs = 0;
  const open = new Set<number>();
  let notify = (): void => {};
  for (const [location, write] of writes.entries()) {
    const bucket = buckets[location];
    if (!write || !bucket) continue;
    open.add(location);
    void write.then((isGood) => {
      open.delete(location);
      noteOutcome(bucket, isGood);
      if (isGood) {
        held |= 1 << location;
        heldCount++;
      }
      notify();
    });
  }
  const until = (isReached: () => boolean): Promise<void> =>
    new Promise((resolve) => {
      notify = () => isReached() && resolve();
      notify();
    });
  await until(() => heldCount >= quorum || open.size === 0);
  const isWaitOver = () => [...open].every((location) => isSuspected(buckets[location] as R2Bucket));
  if (!isWaitOver()) {
    const since = Date.now();
    let timer: ReturnType<typeof setTimeout> | undefined;
    const limit = new Promise<void>((resolve) => {
      timer = setTimeout(resolve, patienceMs);
    });
    await Promise.race([until(isWaitOver), limit]);
    clearTimeout(timer);
    waitedMs = Date.now() - since;
    for (const location of open) noteOutcome(buckets[location] as R2Bucket, false);
  }
  return { held, waitedMs };
}

/** Counts the locations in a bit mask. */
export const countLocations = (bits: number): number => bits.toString(2).replaceAll('0', '').length;

const MARKERS = 'missing/';

/** Key of the marker that says that a location lacks a copy of an object. Each location that has the object gets the marker. */
const markerOf = (location: number, key: string): string => `${MARKERS}${location}/${key}`;

/**
 * Writes an object to every location. A durable marker records each missing copy.
 * @throws if fewer locations than the quorum store the object.
 */
export async function putInQuorum(target: Locations, key: string, value: Uint8Array | string): Promise<void> {
  const failures: unknown[] = [];
  const writes = target.locations.map((bucket) => putInTime(target, bucket, key, value, failures));
  const { held } = await settleQuorum(target.locations, writes, target.quorum, target.lateMs);
  if (countLocations(held) < target.quorum) throw failures[0];
  await markMissing(target, key, held);
}

async function putInTime(
  { timeoutMs }: Locations,
  bucket: R2Bucket,
  key: string,
  value: Uint8Array | string,
  failures: unknown[],
): Promise<boolean> {
  try {
    if ((await inTime(bucket.put(key, value), timeoutMs, 'late')) !== 'late') return true;
    failures.push(new Error(`a location did not store ${key} in time`));
  } catch (error) {
    failures.push(error);
  }
  return false;
}

/**
 * Writes markers for the missing copies of an object, before its write is acknowledged. @param held bit mask of the locations that
 * have the object.
 * @throws if a quorum does not store a marker.
 */
export async function markMissing(target: Locations, key: string, held: number): Promise<void> {
  const { locations, quorum, lateMs } = target;
  const failures: unknown[] = [];
  for (let location = 0; location < locations.length; location++) {
    if ((held >> location) & 1) continue;
    const marker = markerOf(location, key);
    const writes = locations.map((bucket, n) =>
      (held >> n) & 1 ? putInTime(target, bucket, marker, '', failures) : null,
    );
    const marked = await settleQuorum(locations, writes, quorum, lateMs);
    if (countLocations(marked.held) < quorum) throw failures[0];
  }
}

/** Lists the markers that one location has. */
export async function listMarkers(bucket: R2Bucket, limit: number): Promise<{ location: number; key: string }[]> {
  const page = await bucket.list({ prefix: MARKERS, limit });
  return page.objects.map((object) => {
    const [, location = '', key = ''] = /^missing\/(\d+)\/(.*)$/s.exec(object.key) ?? [];
    return { location: Number(location), key };
  });
}

export const removeMarker = async ({ locations }: Locations, location: number, key: string): Promise<void> => {
  await Promise.all(locations.map((bucket) => bucket.delete(markerOf(location, key)).catch(() => {})));
};
