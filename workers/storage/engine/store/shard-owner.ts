/**
 * Checks that a shard's database is the one that its bytes in the locations belong to, and not an older copy.
 *
 * The database (`task`, name `owner`) and each location (`owners/objects-<shard>`) hold a random id; the location also
 * holds the epoch of the journal. Different ids mean that another database wrote the bytes: another Worker uses the
 * bucket, or the wrong database is bound. If a location has a later epoch than the database, the database is an older
 * copy that lacks objects acknowledged since. In both cases nothing is deleted, packed or journalled.
 */
import { putForwardInQuorum } from '../../../shared/stores/forward-object.ts';
import { OlderStoreError } from '../../../shared/stores/store-age.ts';
import { askEach, databaseOf, type EngineContext, locationCall, toLocations } from '../model/context.ts';
import { advanceEpochFrom } from './journal-store.ts';

interface ShardOwner {
  readonly id: string;
  /** Epoch of the journal that the location recorded. Without a fault it is at most the epoch of the database. */
  readonly epoch: number;
}

const OWNERS_PREFIX = 'owners/objects-';
const keyOf = (shard: number): string => `${OWNERS_PREFIX}${shard}`;

async function readTaskState(context: EngineContext, shard: number, name: string): Promise<string | null> {
  const sql = 'SELECT state FROM task WHERE name = ?1';
  return databaseOf(context, shard).prepare(sql).bind(name).first<string>('state');
}

export const readEpoch = async (context: EngineContext, shard: number): Promise<number> =>
  Number((await readTaskState(context, shard, 'journal')) ?? 0);

async function readOwnerObject(bucket: R2Bucket, shard: number): Promise<ShardOwner | null> {
  const object = await bucket.get(keyOf(shard));
  return object === null ? null : ((await object.json()) as ShardOwner);
}

/** Reads the database's owner id, and creates it if necessary. Does not claim the shard. */
async function ensureId(context: EngineContext, shard: number): Promise<string> {
  const database = databaseOf(context, shard);
  const [, found] = await database.batch<{ state: string }>([
    database
      .prepare(`INSERT OR IGNORE INTO task(name, state, updated_at) VALUES ('owner', ?1, ?2)`)
      .bind(crypto.randomUUID(), context.now()),
    database.prepare("SELECT state FROM task WHERE name = 'owner'"),
  ]);
  const id = found?.results[0]?.state;
  if (id === undefined) throw new Error(`the database of shard ${shard} keeps no owner id`);
  return id;
}

/**
 * Writes the id of the database to locations that have none, before the shard is claimed.
 * @returns false if a location has the id of another database.
 */
export async function claimLocations(context: EngineContext, shard: number): Promise<boolean> {
  const id = await ensureId(context, shard);
  const bytes = JSON.stringify({ id, epoch: 0 } satisfies ShardOwner);
  for (const bucket of context.locations) {
    // The put is conditional: if two new Workers share an R2 bucket, only the first one's owner id is stored.
    await bucket.put(keyOf(shard), bytes, { onlyIf: { etagDoesNotMatch: '*' } });
    if ((await readOwnerObject(bucket, shard))?.id !== id) return false;
  }
  return true;
}

/** Reads the latest epoch that the locations have. @returns 0 if they have none. */
export async function readOutsideEpoch(context: EngineContext, shard: number): Promise<number> {
  const answers = await askEach(context, (bucket) => locationCall(context, readOwnerObject(bucket, shard)));
  return Math.max(0, ...answers.map(({ answer }) => answer?.epoch ?? 0));
}

/**
 * Starts a new epoch of the journal, and records it in a quorum of the locations.
 * @returns its number. @throws OlderStoreError if the database has an earlier epoch than the locations.
 */
export async function beginEpoch(context: EngineContext, shard: number): Promise<number> {
  const epoch = await advanceEpochFrom(context, shard, await readOutsideEpoch(context, shard));
  if (epoch === null) throw new OlderStoreError(`OBJECTS_${shard}`);
  await recordEpoch(context, shard, epoch);
  return epoch;
}

/**
 * Records the present epoch of the journal in a quorum of the locations, before a page of the epoch is written. An earlier epoch in
 * another location raises no doubt. The epoch of a location never falls, so that it shows that a database is older.
 */
async function recordEpoch(context: EngineContext, shard: number, epoch: number): Promise<void> {
  await recordOwner(context, shard, epoch, () => true);
}

/** @param mayReplace whether the record of another owner may be replaced. */
async function recordOwner(
  context: EngineContext,
  shard: number,
  epoch: number,
  mayReplace: (present: ShardOwner) => boolean,
): Promise<void> {
  const owner: ShardOwner = { id: await ensureId(context, shard), epoch };
  await putForwardInQuorum(toLocations(context), keyOf(shard), owner, (present) =>
    present.id === owner.id ? present.epoch >= epoch : !mayReplace(present),
  );
}

/**
 * Makes the database the owner of the shard's bytes, at the end of a rebuild or on an operator's order. An owner that was recorded
 * meanwhile stays, because a worker that is late must not replace the one that took its place.
 * @returns the latest epoch of the locations. The database must continue above it.
 */
export async function takeOverLocations(context: EngineContext, shard: number): Promise<number> {
  const before = await Promise.all(context.locations.map((bucket) => readOwnerObject(bucket, shard)));
  const epoch = Math.max(0, ...before.map((owner) => owner?.epoch ?? 0));
  await databaseOf(context, shard)
    .prepare(`INSERT OR REPLACE INTO task(name, state, updated_at) VALUES ('owner', ?1, ?2)`)
    .bind(crypto.randomUUID(), context.now())
    .run();
  await recordOwner(context, shard, epoch, ({ id }) => before.some((owner) => owner?.id === id));
  return epoch;
}

async function holdsBytes(bucket: R2Bucket, shard: number): Promise<boolean> {
  const prefixes = ['blobs/', `journal/${shard}/`, `snapshots/${shard}/`];
  const pages = await Promise.all(prefixes.map((prefix) => bucket.list({ prefix, limit: 1 })));
  return pages.some(({ objects }) => objects.length > 0);
}

/**
 * Compares the database with its owner records in the locations.
 * @returns the reason not to trust the database, or null.
 * @throws if a store does not answer.
 */
export async function findShardDoubt(context: EngineContext, shard: number): Promise<string | null> {
  // The locations are read first. The database's epoch, which is read later, is then at least theirs unless the database is an
  // older copy.
  const locations = await askEach(context, (bucket) => locationCall(context, readOwnerObject(bucket, shard)));
  const [id, epoch] = [await readTaskState(context, shard, 'owner'), await readEpoch(context, shard)];
  if (id === null) return `the database of shard ${shard} has no owner id: it is new, or it was lost`;
  for (const { bucket, answer: owner } of locations) {
    if (owner === null) {
      if (await holdsBytes(bucket, shard)) return `a location with bytes has no owner id for shard ${shard}`;
      await bucket.put(keyOf(shard), JSON.stringify({ id, epoch: 0 }), { onlyIf: { etagDoesNotMatch: '*' } });
    } else if (owner.id !== id) return `the bytes of shard ${shard} belong to another database`;
    else if (owner.epoch > epoch) return `the database of shard ${shard} is an older copy than its journal`;
  }
  return null;
}

/** Finds a shard that has bytes in a location but no bound database. @returns its number, or null. */
export async function findUnboundShard(context: EngineContext): Promise<number | null> {
  for (const { answer } of await askEach(context, (bucket) => bucket.list({ prefix: OWNERS_PREFIX }))) {
    const { objects } = answer;
    const numbers = objects.map(({ key }) => Number(key.slice(OWNERS_PREFIX.length)));
    const unbound = numbers.find((shard) => shard >= context.shards.length);
    if (unbound !== undefined) return unbound;
  }
  return null;
}
