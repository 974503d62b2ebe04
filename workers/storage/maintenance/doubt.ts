/**
 * Raises the number of a database at once, before an operator puts it back to an earlier state. Without that, a restore to less than a
 * minute ago would find the number that the locations have, and nobody would notice it. What the journal lacks is written first.
 */
import { directoryNameOf } from '../../shared/collectors/owner-store.ts';
import { OlderStoreError } from '../../shared/stores/store-age.ts';
import { atDirectory, type EngineContext } from '../engine/model/context.ts';
import { claimShard } from '../engine/store/claims.ts';
import { isClaimed } from '../engine/store/journal-store.ts';
import { beginEpoch } from '../engine/store/shard-owner.ts';
import { raiseDirectoryAge } from './directory-age.ts';
import { writeDirectoryJournal } from './directory-journal.ts';
import { writeJournal } from './journal.ts';
import { withLease } from './leases.ts';

export interface RaisedStore {
  readonly name: string;
  /** The new number; null if the database is already older than the locations say, or empty. */
  readonly number: number | null;
}

const LEASE_MS = 300_000;

async function raiseShard(context: EngineContext, shard: number): Promise<number | null> {
  // Cron may not have claimed a new database yet.
  if (!(await isClaimed(context, shard)) && !(await claimShard(context, shard)).ok) return null;
  try {
    // If cron is writing the journal, it has what this would write.
    await withLease(context, shard, 'maintain', LEASE_MS, () => writeJournal(context, shard));
    return await beginEpoch(context, shard);
  } catch (error) {
    if (error instanceof OlderStoreError) return null;
    throw error;
  }
}

async function raiseDirectory(context: EngineContext): Promise<number | null> {
  const number = await raiseDirectoryAge(context);
  if (number !== null) await writeDirectoryJournal(context, number);
  return number;
}

/** Raises the number of every database. @param names of the databases, or null for all. */
export async function raiseStores(context: EngineContext, names: readonly string[] | null): Promise<RaisedStore[]> {
  const isWanted = (name: string) => names === null || names.includes(name);
  const raised: RaisedStore[] = [];
  for (const number of context.directories.keys()) {
    const name = directoryNameOf(number);
    if (isWanted(name)) raised.push({ name, number: await raiseDirectory(atDirectory(context, number)) });
  }
  for (const shard of context.shards.keys()) {
    const name = `OBJECTS_${shard}`;
    if (isWanted(name)) raised.push({ name, number: await raiseShard(context, shard) });
  }
  return raised;
}
