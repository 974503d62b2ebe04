/**
 * Gauges of the copies for disasters: how much would be lost with a database now, how old its snapshot is, which copies are missing and
 * how long the scrub has been under way.
 */
import { directoryNameOf } from '../../shared/collectors/owner-store.ts';
import { inTime } from '../../shared/concurrency/in-time.ts';
import { createClock } from '../../shared/settings/clock.ts';
import { createEngineContext } from '../engine/index.ts';
import { atDirectory, type EngineContext } from '../engine/model/context.ts';
import { countMissing } from '../engine/store/blob-store.ts';
import { hasChanges } from '../engine/store/journal-store.ts';
import { readEpoch } from '../engine/store/shard-owner.ts';
import { readTask } from '../engine/store/task-store.ts';
import { findOldestChange } from './directory-journal.ts';
import { findDirectorySnapshot } from './directory-snapshot.ts';
import { readScrubState } from './scrub.ts';
import { findSnapshot } from './snapshot.ts';

const PROBE_MS = 2_000;
const MINUTE_MS = 60_000;
const COUNT_MAX = 1_000;

interface Gauge {
  readonly name: string;
  readonly help: string;
  /** Reads the value of a shard, or of a user database. Null: there is none. */
  readonly ofShard?: (context: EngineContext, shard: number) => Promise<number | null>;
  readonly ofDirectory?: (context: EngineContext) => Promise<number | null>;
}

const GAUGES: readonly Gauge[] = [
  {
    name: 'tessera_journal_lag_seconds',
    help: 'Time since the oldest change that is in no journal: what would be lost with the database now. 0: nothing.',
    ofShard: readShardLag,
    ofDirectory: readDirectoryLag,
  },
  {
    name: 'tessera_snapshot_age_seconds',
    help: 'Time since the newest snapshot of the database was finished.',
    ofShard: async (context, shard) => ageOf(context, (await findSnapshot(context, shard))?.manifest.finished_at),
    ofDirectory: async (context) => ageOf(context, (await findDirectorySnapshot(context))?.manifest.finished_at),
  },
  {
    name: 'tessera_copies_missing',
    help: 'Blobs of the shard that lack a copy in a location; counted up to 1,000.',
    ofShard: (context, shard) => countMissing(context, shard, COUNT_MAX),
  },
  {
    name: 'tessera_scrub_age_seconds',
    help: 'Time since the present round of the scrub began. Every copy is read again within SCRUB_DAYS.',
    ofShard: async (context, shard) => ageOf(context, (await readScrubState(context, shard))?.startedAt),
  },
];

const ageOf = (context: EngineContext, since: number | undefined): number | null =>
  since === undefined ? null : Math.max(0, context.now() - since) / 1000;

/** Changes of a shard since the journal was last written. Its epoch is the time of that. */
async function readShardLag(context: EngineContext, shard: number): Promise<number> {
  const flushed = (await readTask<number>(context, shard, 'journal flushed')) ?? 0;
  if (!(await hasChanges(context, shard, flushed))) return 0;
  return ageOf(context, await readEpoch(context, shard)) ?? 0;
}

/** Numbers of a user database rise once a minute, and the journal is written after that. */
async function readDirectoryLag(context: EngineContext): Promise<number> {
  const { oldest, present } = await findOldestChange(context);
  return oldest === null ? 0 : ((present - oldest) * MINUTE_MS) / 1000;
}

/** Reads the gauges. A database that does not answer has none. */
export async function readBackupGauges(env: Env) {
  const context = createEngineContext(env, createClock(env), { waitUntil: () => undefined });
  const readSafely = (read: Promise<number | null> | undefined) =>
    read === undefined ? null : inTime(read, PROBE_MS, null).catch(() => null);
  return Promise.all(
    GAUGES.map(async ({ name, help, ofShard, ofDirectory }) => {
      const values = await Promise.all([
        ...context.directories.map(async (_, number) => ({
          database: directoryNameOf(number),
          value: await readSafely(ofDirectory?.(atDirectory(context, number))),
        })),
        ...context.shards.map(async (_, shard) => ({
          database: `OBJECTS_${shard}`,
          value: await readSafely(ofShard?.(context, shard)),
        })),
      ]);
      const samples = values.flatMap(({ database, value }) =>
        value === null ? [] : [{ labels: { database }, value }],
      );
      return { name, type: 'gauge' as const, help, samples };
    }),
  );
}
