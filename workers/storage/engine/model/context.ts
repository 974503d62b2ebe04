/** The context of all engine code: bindings in order, clock, isolate memory and limits. */

import { inTime } from '../../../shared/concurrency/in-time.ts';
import type { Clock } from '../../../shared/settings/clock.ts';
import { settingsOf } from '../../../shared/settings/settings.ts';
import { blobLocations, boundDirectories, shardDatabases, writeQuorum } from '../../../shared/stores/bindings.ts';
import {
  LATE_LOCATION_MS,
  LOCATION_TIMEOUT_MS,
  type Locations,
  silentLocationsMax,
} from '../../../shared/stores/quorum.ts';
import { VersionMint } from '../../domain/version-order.ts';
import type { Extent, Placement } from './contract.ts';

export interface EngineLimits {
  /** Maximum size in bytes of an object that is stored in D1 until it is packed. */
  readonly inlineBytesMax: number;
  /** Maximum size in bytes of one blob. A larger body is stored in several. */
  readonly blobBytesMax: number;
  /** Size of the blobs into which an upload of unknown length is cut, because R2 requires the length of a blob in advance. */
  readonly unknownLengthBlobBytes: number;
  /** Maximum size in bytes of a body of known length that is buffered before it is written. */
  readonly gatherBytesMax: number;
  readonly bucketsPerUserMax: number;
  /** Number of shards over which the slots of a new bucket are spread. */
  readonly bucketSpread: number;
  /** Blobs without references are kept this long, so that reads that began before the delete can finish. */
  readonly graceMs: number;
  readonly abandonedUploadMs: number;
  /** The row of a completed or aborted upload is kept this long, so that a repeated completion is answered. */
  readonly endedUploadMs: number;
  /** Small objects are packed when this many bytes of them are waiting, or when the oldest has waited `packAgeMaxMs`. */
  readonly packBytesMin: number;
  readonly packAgeMaxMs: number;
  /** Maximum size in bytes of a volume, which is built in memory. */
  readonly volumeBytesMax: number;
  /** A volume is compacted if a smaller share of its bytes is in use. */
  readonly volumeLiveShareMin: number;
  /** Time in which scrub checks every copy of a blob once. */
  readonly scrubCycleMs: number;
  /** Length of a day for lifecycle rules. Tests shorten it. */
  readonly lifecycleDayMs: number;
  /**
   * Number of versions and uploads that lifecycle rules examine per statement. The batch that deletes them needs up to 18 KB for
   * each.
   */
  readonly lifecyclePageRows: number;
  /** Number of names or versions that a job handles per step. */
  readonly jobPageRows: number;
  /** Number of rows that `fsck` and `stats` read per statement. */
  readonly checkPageRows: number;
  readonly databaseTimeoutMs: number;
  readonly locationTimeoutMs: number;
  /**
   * Time that a write waits for further locations once the quorum has a copy. Also the time that a read waits for a location if
   * another one has the bytes.
   */
  readonly lateLocationMs: number;
  /** Time that a read waits for bytes of the data centre's cache. */
  readonly edgeTimeoutMs: number;
  /** Time that an upload waits for its early copies once they failed. */
  readonly earlyCopyWaitMs: number;
  /** Time that a write waits for a bucket that is being deleted or a slot that is being moved. */
  readonly sealWaitMs: number;
  /** Age from which the seal of a bucket counts as left by a delete that died. */
  readonly sealAgeMaxMs: number;
}

export const DEFAULT_LIMITS: EngineLimits = {
  inlineBytesMax: 16 * 1024,
  blobBytesMax: 1024 ** 3,
  unknownLengthBlobBytes: 8 * 1024 ** 2,
  gatherBytesMax: 1024 ** 2,
  bucketsPerUserMax: 1000,
  bucketSpread: 1,
  graceMs: 3_600_000,
  abandonedUploadMs: 7 * 86_400_000,
  endedUploadMs: 7 * 86_400_000,
  packBytesMin: 8 * 1024 ** 2,
  packAgeMaxMs: 86_400_000,
  volumeBytesMax: 16 * 1024 ** 2,
  volumeLiveShareMin: 0.7,
  scrubCycleMs: 30 * 86_400_000,
  lifecycleDayMs: 86_400_000,
  lifecyclePageRows: 100,
  jobPageRows: 200,
  checkPageRows: 20_000,
  databaseTimeoutMs: 15_000,
  locationTimeoutMs: LOCATION_TIMEOUT_MS,
  lateLocationMs: LATE_LOCATION_MS,
  edgeTimeoutMs: 1_000,
  earlyCopyWaitMs: 10_000,
  sealWaitMs: 20_000,
  sealAgeMaxMs: 10_000,
};

/** Each segment of this many bytes of a blob has a CRC-32, so a range is verified by reading little more than it. */
export const SEGMENT_BYTES = 256 * 1024;

/** State that an isolate keeps between requests. It is never trusted without a check. */
export interface IsolateMemory {
  readonly mint: VersionMint;
  readonly placements: Map<string, { readonly bucketId: string; readonly placement: Placement }>;
  /** Where the bytes of objects were when they were read, by bucket id and name. */
  readonly places: Map<string, Extent>;
  /** Time at which the page of a begun listing arrived and no request had used it. */
  listedInVainAt: number;
}

export const PLACEMENTS_MAX = 10_000;

export const createIsolateMemory = (): IsolateMemory => ({
  mint: new VersionMint((bytes) => crypto.getRandomValues(new Uint8Array(bytes))),
  placements: new Map(),
  places: new Map(),
  listedInVainAt: 0,
});

/** A range of bytes of a blob. */
export interface BlobRange {
  readonly blobId: string;
  readonly start: number;
  readonly length: number;
}

export interface EdgeBytes {
  /** Reads bytes from a cached entry. @returns null if the cache does not have them, fails, or takes too long. */
  match(entry: BlobRange, wanted: BlobRange): Promise<ReadableStream<Uint8Array> | null>;
  /** Opens a writer of an entry into the cache. @returns null if the isolate is already storing the maximum number of entries. */
  store(entry: BlobRange): EntryWriter | null;
  /** Removes an entry from the cache because its bytes are wrong. */
  remove(entry: BlobRange): void;
}

export interface EntryWriter {
  write(bytes: Uint8Array): void;
  /** Ends the entry. The cache does not store an incomplete entry. */
  end(isWhole: boolean): void;
}

/** Who or what causes the changes of a request, for event notifications. */
export interface Origin {
  readonly requestId: string;
  readonly sourceIp: string;
  /** User or service that makes the change; null for a request without a credential. */
  readonly principalId: string | null;
}

/** Destinations of event notifications that the deployment has. */
export interface EventDestinations {
  readonly queue: Queue | null;
  readonly mayCall: (url: string) => boolean;
  /** Derives the secret that signs the webhooks of a bucket. */
  readonly secretOf: (bucketId: string) => Uint8Array;
}

/** What pulls need of the deployment. */
export interface PullDoor {
  /** Whether requests may go to a URL: a public one, over HTTPS. */
  readonly mayCall: (url: string) => boolean;
  /** Opens the sealed secret of a job's source. @returns null if neither master key opens it. */
  readonly openSecret: (sealed: string, jobId: string) => string | null;
}

export interface EngineContext {
  /** DIRECTORY, or the user database that `atDirectory` selected. */
  readonly directory: D1Database;
  /** Number of `directory`. */
  readonly directoryNumber: number;
  /** The user databases in order: `DIRECTORY`, `DIRECTORY_1`, … */
  readonly directories: readonly D1Database[];
  /** D1 databases of the shards in order: `OBJECTS_0`, `OBJECTS_1`, … */
  readonly shards: readonly D1Database[];
  /** R2 buckets in order: `BLOBS`, `BLOBS_2`, …. Bit n of a blob's `locations` stands for the n-th. */
  readonly locations: readonly R2Bucket[];
  /** Numbers of the locations, in the order in which reads try them. */
  readonly nearest: readonly number[];
  /** Number of locations that must have a copy before an upload is acknowledged. */
  readonly quorum: number;
  /** Whether a small object is in a quorum of the locations before its upload is acknowledged (`blobs/early-copies.ts`). */
  readonly hasEarlyCopies: boolean;
  readonly tasks: Queue | null;
  readonly events: EventDestinations;
  readonly pulls: PullDoor;
  readonly origin: Origin;
  /** The cache of the data centre. Null for work that must read the locations, and on a server without a cache. */
  readonly edge: EdgeBytes | null;
  readonly now: Clock;
  readonly limits: EngineLimits;
  readonly memory: IsolateMemory;
  /** Keeps background work alive after the answer. */
  readonly waitUntil: (work: Promise<unknown>) => void;
}

export { inTime };

type Bindings = Pick<
  EngineContext,
  'directory' | 'directoryNumber' | 'directories' | 'shards' | 'locations' | 'quorum' | 'hasEarlyCopies' | 'tasks'
>;

/** The context of the snapshots and the rebuild of a user database. */
export function atDirectory(context: EngineContext, number: number): EngineContext {
  const directory = context.directories[number];
  if (!directory) throw new Error(`DIRECTORY_${number} is not bound`);
  return { ...context, directory, directoryNumber: number };
}

/** The bound shards and locations, in order. @throws MisconfiguredError if a number is missing. */
export function findBindings(env: Env): Bindings {
  return {
    directory: env.DIRECTORY,
    directoryNumber: 0,
    directories: boundDirectories(env),
    shards: shardDatabases(env),
    locations: blobLocations(env),
    quorum: writeQuorum(env),
    hasEarlyCopies: settingsOf(env).SMALL_COPIES === 'now',
    tasks: env.STORAGE_TASKS ?? null,
  };
}

/** The database of a shard. @throws if no shard with this number is bound. */
export function databaseOf(context: EngineContext, shard: number): D1Database {
  const database = context.shards[shard];
  if (!database) throw new Error(`shard ${shard} is not bound`);
  return database;
}

/** The R2 bucket of a location. @throws if no location with this number is bound. */
export function locationOf(context: EngineContext, location: number): R2Bucket {
  const bucket = context.locations[location];
  if (!bucket) throw new Error(`location ${location} is not bound`);
  return bucket;
}

/**
 * Sends the same call to every location.
 * @returns the answers of those that answered.
 * @throws if so many do not answer that an object stored in a quorum could be missed.
 */
export async function askEach<T>(
  context: EngineContext,
  ask: (bucket: R2Bucket) => Promise<T>,
): Promise<{ readonly bucket: R2Bucket; readonly answer: T }[]> {
  const outcomes = await Promise.allSettled(
    context.locations.map(async (bucket) => ({ bucket, answer: await ask(bucket) })),
  );
  const silent = outcomes.filter((outcome) => outcome.status === 'rejected');
  if (silent.length > silentLocationsMax(context)) throw silent[0]?.reason;
  return outcomes.flatMap((outcome) => (outcome.status === 'fulfilled' ? [outcome.value] : []));
}

const LATE = Symbol('late');

/** Waits for the answer of a location. @throws if it takes too long. */
export async function locationCall<T>(context: EngineContext, call: Promise<T>): Promise<T> {
  const answer = await inTime(call, context.limits.locationTimeoutMs, LATE);
  if (answer === LATE) throw new Error('a location did not answer in time');
  return answer as T;
}

/** The locations with the quorum and timeout for writes of metadata. */
export const toLocations = ({ locations, quorum, limits }: EngineContext): Locations => ({
  locations,
  quorum,
  timeoutMs: limits.locationTimeoutMs,
  lateMs: limits.lateLocationMs,
});

/** Bit mask of all bound locations. */
export const allLocations = (context: EngineContext): number => 2 ** context.locations.length - 1;

export const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));
