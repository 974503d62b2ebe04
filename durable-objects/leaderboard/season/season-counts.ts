/**
 * The counts and the top list of a season, merged from its shards. If a shard has not pushed its counts for a second, they are
 * pulled. A shard that does not answer is skipped for a while: its last counts stay, and their time is older.
 */

import { parseSeason } from '../../../workers/leaderboard/domain/season-name.ts';
import {
  mergeStandings,
  type RankedEntry,
  rankRun,
  type TopEntry,
} from '../../../workers/leaderboard/domain/standing.ts';
import { shardStub, within } from '../../../workers/leaderboard/objects.ts';
import { createSeasonStore } from '../../../workers/leaderboard/records/season-store.ts';
import { inTime } from '../../../workers/shared/concurrency/in-time.ts';
import { logError } from '../../../workers/shared/telemetry/log.ts';
import { MergedCounts } from '../domain/merged-counts.ts';
import type { CountReport } from '../domain/shard-counts.ts';
import {
  addressesOf,
  isStale,
  type PostMark,
  REFRESH_MS,
  type SeasonAddress,
  type ShardAddress,
  type ShardStatus,
  TOP_ENTRIES,
  type TopList,
  toShardName,
} from '../protocol.ts';
import type { SeasonObjectStore } from './store.ts';

/** Delay from a change of counts to the stored snapshot that includes it. */
const SNAPSHOT_AFTER_MS = 10_000;
const PULL_MS = 2_000;

interface Shard extends ShardAddress {
  top: readonly TopEntry[];
  /** Time of the last failed pull from the shard; 0 if the last pull succeeded. */
  failedAt: number;
  /** Time of the oldest change that the stored snapshot lacks; 0 if the snapshot has all changes. */
  changedAt: number;
  /** Whether the shard is sealed. Its counts are exact without a pull. */
  isSealed: boolean;
  pull: Promise<boolean> | undefined;
}

export class SeasonCounts {
  readonly merged: MergedCounts;
  readonly #env: Env;
  readonly #store: SeasonObjectStore;
  readonly #now: () => number;
  readonly #shards: Shard[];
  /** The merged top list, cached until the next change; null if it must be merged again. */
  #top: readonly RankedEntry[] | null = null;
  /** Timer of the next save. It keeps the object awake, so it ends with the last change. */
  #saveTimer: ReturnType<typeof setTimeout> | undefined;
  /** Whether the season is final. Shards that are not sealed then are left out, and are not asked any more. */
  #isFinal: boolean;
  /** User ids of players who are being erased. No list shows them. */
  readonly #erased: Set<string>;

  constructor(env: Env, store: SeasonObjectStore, { season, shards }: SeasonAddress, now: () => number) {
    this.#env = env;
    this.#store = store;
    this.#now = now;
    this.merged = new MergedCounts(shards, crypto.randomUUID(), parseSeason(season)?.startsAt);
    this.#shards = addressesOf({ season, shards }).map((address) => {
      return { ...address, top: [], failedAt: 0, changedAt: 0, isSealed: false, pull: undefined };
    });
    this.#isFinal = (store.readEnd()?.finalAt ?? null) !== null;
    this.#erased = new Set(store.readErased());
    for (const { isSealed = false, ...snapshot } of store.readSnapshots()) {
      const report = { ...snapshot, boot: 'snapshot', number: 1, generation: '', isFull: true, since: 0 };
      this.apply(report, { isSaved: true });
      (this.#shards[snapshot.shard] as Shard).isSealed = isSealed;
    }
  }

  /** Applies a report. A shard that lost players counts as one that does not answer. @param isSaved whether a snapshot has it */
  apply(report: CountReport, { isSaved = false, isLossAccepted = false } = {}): ReturnType<MergedCounts['apply']> {
    const outcome = this.merged.apply(report, isLossAccepted);
    const shard = this.#shards[report.shard] as Shard;
    if (outcome === 'lost') this.#noteSilent(shard, this.#now());
    if (outcome === 'applied' || outcome === 'repeated') shard.failedAt = 0;
    if (outcome !== 'applied') return outcome;
    if (report.top !== null) {
      shard.top = report.top;
      this.#top = null;
    }
    if (!isSaved && (report.buckets ?? report.top) !== null) this.#planSave(shard);
    if (shard.changedAt !== 0 && Math.abs(this.#now() - shard.changedAt) > SNAPSHOT_AFTER_MS) this.#save(shard);
    return outcome;
  }

  /** The top list without erased players, whose place in the list of a sealed season has no id. */
  top(): TopList {
    const shown = this.#ranked().filter(({ userId }) => userId !== '' && !this.#erased.has(userId));
    return { entries: shown, players: this.merged.players, asOf: this.asOf };
  }

  /** The best score, which may be that of an erased player; null without players. */
  get best(): number | null {
    return this.#ranked()[0]?.score ?? null;
  }

  /** Time in milliseconds at which, or after which, the counts of every shard were exact. Those of sealed shards are. */
  get asOf(): number {
    const open = this.#shards.filter(({ isSealed }) => !isSealed);
    return Math.min(this.#now(), ...open.map(({ shard }) => this.merged.countedAt(shard)));
  }

  #ranked(): readonly RankedEntry[] {
    const lists = this.#shards.map(({ top }) => top);
    this.#top ??= rankRun(mergeStandings(lists, TOP_ENTRIES), 0, 1);
    return this.#top;
  }

  isSealed(shard: number): boolean {
    return this.#shards[shard]?.isSealed ?? false;
  }

  /**
   * Applies and stores the last counts of a shard that was sealed. A shard that does not answer, or that lost players, stays open.
   * @param seal seals the shard. @returns its report.
   */
  async seal(number: number, seal: () => Promise<CountReport>): Promise<void> {
    const shard = this.#shards[number] as Shard;
    try {
      this.takeSealed(await seal());
    } catch (error) {
      logError('leaderboard_shard_unavailable', error, { season: shard.season, shard: shard.shard });
      this.#noteSilent(shard, this.#now());
    }
  }

  /** Applies and stores the counts of a sealed shard. @throws if it lost players. */
  takeSealed(report: CountReport): void {
    const shard = this.#shards[report.shard] as Shard;
    if (this.apply(report) === 'lost') throw new Error(`${toShardName(shard)} has lost players`);
    shard.isSealed = true;
    shard.failedAt = 0;
    this.#save(shard);
  }

  /** From now on no shard is asked. Stores the last counts of those that are left out. */
  finish(): void {
    this.#isFinal = true;
    this.#saveChanged();
  }

  /** Hides a player from lists, or ends that. */
  setErased(userId: string, isErased: boolean): void {
    if (isErased) {
      this.#store.addErased(userId);
      this.#erased.add(userId);
    } else {
      this.#store.removeErased(userId);
      this.#erased.delete(userId);
    }
  }

  status(): ShardStatus[] {
    return this.#shards.map(({ shard, failedAt, isSealed }) => ({
      shard,
      players: this.merged.playersOf(shard),
      asOf: this.merged.countedAt(shard),
      isAvailable: failedAt === 0 && (isSealed || !this.#isFinal),
    }));
  }

  /**
   * Pulls the counts of shards whose counts are over a second old, or older than a given time or post. Waits for the answers, but
   * only a short time.
   */
  async pullStale(except: number | null = null, minAsOf = 0, marks: readonly PostMark[] = []): Promise<void> {
    const now = this.#now();
    const postedAt = new Map(marks.map(({ shard, writtenAt }) => [shard, writtenAt]));
    if (this.#isFinal) return;
    const stale = this.#shards.filter(({ shard, failedAt, isSealed }) => {
      if (isSealed) return false;
      const at = this.merged.countedAt(shard);
      const isSkipped = shard === except || (failedAt !== 0 && !isStale(failedAt, now));
      return !isSkipped && (isStale(at, now) || at < Math.max(minAsOf, postedAt.get(shard) ?? 0));
    });
    if (stale.length === 0) return;
    await inTime(Promise.all(stale.map((shard) => this.#pull(shard))), REFRESH_MS, null);
    for (const shard of stale) if (shard.pull !== undefined) this.#noteSilent(shard, now);
  }

  /**
   * Pulls and saves the counts of one shard. First waits for a pull in progress, whose answer may still include a player erased
   * since.
   * @throws if the shard does not answer.
   */
  async reload(number: number): Promise<void> {
    const shard = this.#shards[number];
    if (shard === undefined) return;
    await shard.pull;
    if (!(await this.#pull(shard))) throw new Error(`${toShardName(shard)} does not answer`);
    this.#save(shard);
  }

  /**
   * Continues with the players that a shard still has, after it lost others.
   * @returns their number. @throws UnavailableError if the shard does not answer.
   */
  async acceptLoss(number: number): Promise<number> {
    const shard = this.#shards[number] as Shard;
    this.apply(await this.#askReport(shard), { isLossAccepted: true });
    this.#save(shard);
    return this.merged.playersOf(number);
  }

  /** Pulls the counts of a shard. @returns whether the shard answered. */
  #pull(shard: Shard): Promise<boolean> {
    shard.pull ??= this.#requestReport(shard).finally(() => {
      shard.pull = undefined;
    });
    return shard.pull;
  }

  async #requestReport(shard: Shard): Promise<boolean> {
    try {
      const outcome = this.apply(await this.#askReport(shard));
      return outcome !== 'lost';
    } catch (error) {
      logError('leaderboard_shard_unavailable', error, { season: shard.season, shard: shard.shard });
      if (shard.failedAt === 0) this.#save(shard);
      this.#noteSilent(shard, this.#now());
      return false;
    }
  }

  #askReport({ season, shards, shard }: Shard): Promise<CountReport> {
    const address = { season, shard, shards };
    return within(toShardName(address), PULL_MS, shardStub(this.#env, address).report(address, this.merged.generation));
  }

  /**
   * Marks a shard that did not answer, so that it is skipped for a while. Records the first failure in DIRECTORY, for the health
   * check.
   */
  #noteSilent(shard: Shard, now: number): void {
    const isFirst = shard.failedAt === 0;
    shard.failedAt = now;
    if (!isFirst) return;
    createSeasonStore(this.#env.DIRECTORY)
      .setSilent(shard.season, now)
      .catch((error: unknown) => logError('leaderboard_silence_not_recorded', error, { season: shard.season }));
  }

  #planSave(shard: Shard): void {
    if (shard.changedAt === 0) shard.changedAt = this.#now();
    this.#saveTimer ??= setTimeout(() => {
      this.#saveTimer = undefined;
      this.#saveChanged();
    }, SNAPSHOT_AFTER_MS);
  }

  #saveChanged(): void {
    for (const shard of this.#shards) if (shard.changedAt !== 0) this.#save(shard);
  }

  #save(shard: Shard): void {
    shard.changedAt = 0;
    if (this.#shards.every(({ changedAt }) => changedAt === 0)) {
      clearTimeout(this.#saveTimer);
      this.#saveTimer = undefined;
    }
    const at = this.merged.countedAt(shard.shard);
    const { isSealed, top } = shard;
    this.#store.writeSnapshot({ ...this.merged.bucketsOf(shard.shard), shard: shard.shard, at, top, isSealed });
  }
}
