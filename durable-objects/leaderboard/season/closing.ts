/**
 * Ends a season: seals its shards, stores their counts, and records in DIRECTORY that the season is final. Every step can be cut and
 * repeated. A shard that does not answer is asked again by the next call; the others stay sealed.
 */

import { shardStub, within } from '../../../workers/leaderboard/objects.ts';
import { createSeasonEndStore } from '../../../workers/leaderboard/records/season-end-store.ts';
import { createSeasonStore } from '../../../workers/leaderboard/records/season-store.ts';
import { runInParallel } from '../../../workers/shared/concurrency/parallel.ts';
import { toPastCounts } from '../domain/past-counts.ts';
import { addressesOf, type SeasonAddress, type ShardAddress, toShardName } from '../protocol.ts';
import { isComplete } from './closing-checks.ts';
import type { SeasonCounts } from './season-counts.ts';
import type { SeasonEnd, SeasonObjectStore } from './store.ts';

/** Time limit of a call to a shard, which writes its whole list. */
const SEAL_MS = 60_000;
/** Each answer may have half a megabyte of counts. */
const SEALS_PARALLEL_MAX = 8;

export class SeasonClosing {
  readonly #env: Env;
  readonly #store: SeasonObjectStore;
  readonly #now: () => number;

  constructor(env: Env, store: SeasonObjectStore, now: () => number) {
    this.#env = env;
    this.#store = store;
    this.#now = now;
  }

  /**
   * Seals the shards that are not sealed. The season is final if all are, or if the others are in `without`.
   * @param without numbers of shards that may be left out if they do not answer
   */
  async advance(address: SeasonAddress, counts: SeasonCounts, without: readonly number[]): Promise<SeasonEnd> {
    const open = addressesOf(address).filter(({ shard }) => !counts.isSealed(shard));
    await runInParallel(open, SEALS_PARALLEL_MAX, (shard) => this.#seal(shard, counts));
    const missing = open.map(({ shard }) => shard).filter((shard) => !counts.isSealed(shard));
    const known = this.#store.readEnd();
    const allowed = [...without, ...(known?.without ?? [])];
    const { players } = counts.merged;
    const asOf = missing.length === 0 ? null : counts.asOf;
    const end = { finalAt: known?.finalAt ?? null, players, bits: counts.merged.total.bits, without: missing, asOf };
    if (missing.some((shard) => !allowed.includes(shard))) return { ...end, finalAt: null };
    if (end.finalAt === null && !(await isComplete(this.#env, address.season, players, this.#now())))
      return { ...end, finalAt: null };
    return this.#finish(address, counts, { ...end, finalAt: end.finalAt ?? this.#now() });
  }

  async #seal(address: ShardAddress, counts: SeasonCounts): Promise<void> {
    await counts.seal(address.shard, async () => {
      const { report } = await within(toShardName(address), SEAL_MS, shardStub(this.#env, address).seal(address));
      // Shards of 0.2.0 answer without a report. They are asked again once they run this release.
      if (report === undefined) throw new Error(`${toShardName(address)} runs the last release`);
      return report;
    });
  }

  /** Stores the merged counts again, after the counts of a shard changed. */
  storeCounts(counts: SeasonCounts): void {
    const end = this.#store.readEnd();
    if (end === null) return;
    const { players, total } = counts.merged;
    this.#store.writePast(toPastCounts(total.buckets, players));
    this.#store.writeEnd({ ...end, players, bits: total.bits });
  }

  async #finish(address: SeasonAddress, counts: SeasonCounts, end: SeasonEnd): Promise<SeasonEnd> {
    this.#store.writeEnd(end);
    this.storeCounts(counts);
    counts.finish();
    const { players, without } = end;
    // A copy of DIRECTORY from before the season began has no row of it.
    await createSeasonStore(this.#env.DIRECTORY).ensure(address.season, address.shards, this.#now());
    await createSeasonEndStore(this.#env.DIRECTORY).finish(
      address.season,
      players,
      without,
      end.finalAt ?? this.#now(),
    );
    return end;
  }
}
