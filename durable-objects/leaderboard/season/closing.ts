/**
 * Closes a season in steps. Each step can be interrupted and repeated:
 * 1. seal every shard;
 * 2. write the standings in rank order;
 * 3. write the look-ups;
 * 4. read everything back and compare count and sum with the shards;
 * 5. publish the archive;
 * 6. keep the objects as long as events may be retried;
 * 7. erase the objects.
 * A file is written before the value that records it.
 */

import { RunMerger } from '../../../workers/leaderboard/domain/run-merger.ts';
import {
  compareStandings,
  rankRun,
  type StandingKey,
  type TopEntry,
} from '../../../workers/leaderboard/domain/standing.ts';
import { shardStub } from '../../../workers/leaderboard/objects.ts';
import {
  type ArchivedEntry,
  type ArchiveManifest,
  LOOKUP_FILE_ENTRIES,
  type LookupFile,
  locationsOf,
  lookupName,
  manifestKey,
  readWhole,
  removeOtherAttempts,
  STANDINGS_FILE_ENTRIES,
  type StandingsFile,
  standingsName,
  toArchivedEntry,
  toStandingKey,
  writeFile,
} from '../../../workers/leaderboard/records/archive-files.ts';
import { createSeasonStore } from '../../../workers/leaderboard/records/season-store.ts';
import { logError } from '../../../workers/shared/telemetry/log.ts';
import { addressesOf, EVENT_RETENTION_MS, LIST_START, type ShardAddress } from '../protocol.ts';
import { isArchived, isComplete } from './closing-checks.ts';
import type { Closing, ClosingProgress, SeasonObjectStore } from './store.ts';

const ERASE_AGAIN_MS = 60_000;

export class SeasonClosing {
  readonly #env: Env;
  readonly #store: SeasonObjectStore;
  readonly #now: () => number;
  readonly #entriesMax: number;
  /**
   * Merges the shards' entries in rank order. Holds entries that were read from a shard but not written yet; a restart reads them
   * again.
   */
  #merger: RunMerger<TopEntry> | undefined;

  /** @param entriesMax entries per standings file. Tests pass a small value to get several files with few players. */
  constructor(env: Env, store: SeasonObjectStore, now: () => number, entriesMax = STANDINGS_FILE_ENTRIES) {
    this.#env = env;
    this.#store = store;
    this.#now = now;
    this.#entriesMax = entriesMax;
  }

  /** Runs the current step of the closing. @returns whether there is more to do now. */
  async advance(closing: Closing): Promise<boolean> {
    switch (closing.step) {
      case 'seal':
        return this.#seal(closing);
      case 'standings':
        return this.#writeStandings(closing);
      case 'lookups':
        return this.#writeLookups(closing);
      case 'verify':
        return this.#verify(closing);
      case 'publish':
        return this.#publish(closing);
      case 'keep':
        return this.#erase(closing);
      case 'done':
        return this.#markAgain(closing);
    }
  }

  #continue(closing: Closing, step: Closing['step'], progress: Partial<ClosingProgress> = {}): true {
    this.#store.writeClosing({ ...closing, step, progress: { ...closing.progress, ...progress } });
    return true;
  }

  async #seal(closing: Closing): Promise<boolean> {
    const sealed = await Promise.all(addressesOf(closing).map((each) => shardStub(this.#env, each).seal(each)));
    const players = sealed.reduce((sum, shard) => sum + shard.players, 0);
    const sum = String(sealed.reduce((total, shard) => total + BigInt(shard.sum), 0n));
    if (!(await isComplete(this.#env, closing.season, players, this.#now()))) return false;
    return this.#continue({ ...closing, sealedAt: this.#now() }, 'standings', { sealed: { players, sum } });
  }

  /** Writes the next standings file, with the next players of all shards in rank order. */
  async #writeStandings(closing: Closing): Promise<boolean> {
    const { file, after, place, rank } = closing.progress.standings;
    const entries = await this.#open(closing, after ?? LIST_START).take(this.#entriesMax);
    const [first] = entries;
    if (first === undefined) return this.#continue(closing, 'lookups');
    const firstRank = first.score === after?.score ? rank : place + 1;
    await this.#write(closing, entries, {
      name: standingsName(file),
      first: toStandingKey(first),
      place,
      rank: firstRank,
    });
    const last = rankRun(entries, place, firstRank).at(-1) ?? { ...first, rank: firstRank };
    const next = { file: file + 1, after: toStandingKey(last), place: place + entries.length, rank: last.rank };
    return this.#continue(closing, 'standings', { standings: next });
  }

  #open(closing: Closing, after: StandingKey): RunMerger<TopEntry> {
    if (this.#merger === undefined || compareStandings(this.#merger.after, after) !== 0) {
      const addresses = addressesOf(closing);
      const read = async (shard: number, key: StandingKey, limit: number) => {
        const address = addresses[shard] as ShardAddress;
        return (await shardStub(this.#env, address).run(address, key, 0, limit)).after;
      };
      this.#merger = new RunMerger(closing.shards, read, after);
    }
    return this.#merger;
  }

  async #writeLookups(closing: Closing): Promise<boolean> {
    const { shard, file, after, players } = closing.progress.lookups;
    if (shard === closing.shards) return this.#continue(closing, 'verify');
    const address = { season: closing.season, shard, shards: closing.shards };
    const limit = Math.min(this.#entriesMax, LOOKUP_FILE_ENTRIES);
    const entries = await shardStub(this.#env, address).readByUserId(address, after, limit);
    const [first, last] = [entries[0], entries.at(-1)];
    if (first === undefined || last === undefined) {
      return this.#continue(closing, 'lookups', { lookups: { shard: shard + 1, file: 0, after: '', players } });
    }
    await this.#write(closing, entries, { name: lookupName(shard, file), first: first.userId });
    const lookups = { shard, file: file + 1, after: last.userId, players: players + entries.length };
    return this.#continue(closing, 'lookups', { lookups });
  }

  async #write({ archive }: Closing, entries: readonly TopEntry[], file: StandingsFile | LookupFile): Promise<void> {
    await writeFile(this.#env, `${archive}/${file.name}`, entries.map(toArchivedEntry));
    this.#store.recordFile(file);
  }

  /** Reads one standings file back from one location. After the last file, count and sum must equal those of the shards. */
  async #verify(closing: Closing): Promise<boolean> {
    const { sealed, standings, lookups, verify } = closing.progress;
    const bucket = locationsOf(this.#env)[verify.location];
    if (bucket === undefined) return this.#continue(closing, 'publish');
    if (verify.file === standings.file) {
      const isWhole = verify.players === sealed.players && verify.sum === sealed.sum;
      if (!isWhole || lookups.players !== sealed.players) return this.#restart(closing, 'count or sum differ');
      return this.#continue(closing, 'verify', { verify: { ...START.verify, location: verify.location + 1 } });
    }
    const read = await readWhole<ArchivedEntry[]>(bucket, `${closing.archive}/${standingsName(verify.file)}`);
    if (read === null) return this.#restart(closing, `file ${verify.file} is missing or damaged`);
    let { last } = verify;
    let sum = BigInt(verify.sum);
    for (const [userId, , score, reached] of read.value) {
      const key = { userId, score, reached };
      if (last !== null && compareStandings(last, key) >= 0) {
        return this.#restart(closing, `file ${verify.file} is out of order`);
      }
      last = key;
      sum += BigInt(score);
    }
    const players = verify.players + read.value.length;
    const next = { ...verify, file: verify.file + 1, players, sum: String(sum), last };
    return this.#continue(closing, 'verify', { verify: next });
  }

  #restart(closing: Closing, reason: string): false {
    logError('leaderboard_archive_differs', new Error(reason), { season: closing.season, archive: closing.archive });
    this.#store.forgetFiles();
    this.#merger = undefined;
    const again = beginClosing(closing.season, closing.shards, this.#now());
    this.#store.writeClosing({ ...again, sealedAt: closing.sealedAt });
    // The next call, or the cron run of the next minute, tries again. Retrying at once would make a busy loop of a permanent fault.
    return false;
  }

  async #publish(closing: Closing): Promise<boolean> {
    const { season, shards, archive, sealedAt, progress } = closing;
    const store = createSeasonStore(this.#env.DIRECTORY);
    const find = async () => (await store.find(season))?.archive;
    // Does not rewrite a published manifest: players may have been erased from it since, and would be restored.
    if (!(await find())) {
      const manifest: ArchiveManifest = {
        ...progress.sealed,
        ...{ season, shards, sealedAt, revision: 0, obsolete: [] },
        standings: this.#store.listFiles('standings'),
        lookups: addressesOf(closing).map(({ shard }) => this.#store.listFiles(`lookups/${shard}`)),
      };
      await writeFile(this.#env, manifestKey(archive), manifest);
      await store.publish(season, archive, progress.sealed.players, this.#now());
    }
    // The archive that DIRECTORY names must stay, even if this object has recorded another.
    const published = await find();
    if (published) await removeOtherAttempts(this.#env, season, published);
    this.#store.forgetSnapshots();
    return this.#continue(closing, 'keep');
  }

  /** Erases the season's objects once retries of the month's last event have expired. */
  async #erase(closing: Closing): Promise<boolean> {
    if (!(await isArchived(this.#env, closing, this.#now()))) return false;
    const store = createSeasonStore(this.#env.DIRECTORY);
    const eraseAt = closing.sealedAt + EVENT_RETENTION_MS;
    if (this.#now() < eraseAt) {
      await store.setDue(closing.season, eraseAt);
      return false;
    }
    // Cron skips a season that is marked as erased. So the alarm is set before, to try again if erasing fails.
    await this.#store.planAlarm(ERASE_AGAIN_MS);
    await store.markErased(closing.season, this.#now());
    await Promise.all(addressesOf(closing).map((address) => shardStub(this.#env, address).destroy()));
    this.#store.forgetFiles();
    this.#continue(closing, 'done');
    return false;
  }

  /** Marks the season as archived and its objects as erased once more, because DIRECTORY was restored to an earlier time. */
  async #markAgain(closing: Closing): Promise<false> {
    if (await isArchived(this.#env, closing, this.#now()))
      await createSeasonStore(this.#env.DIRECTORY).markErased(closing.season, this.#now());
    return false;
  }
}

/** @param now milliseconds since 1970. The name of the archive attempt contains it. */
export function beginClosing(season: string, shards: number, now: number): Closing {
  const archive = `leaderboard/${season}/${now.toString(36)}`;
  return { season, shards, step: 'seal', archive, sealedAt: now, progress: START };
}

const START: ClosingProgress = {
  sealed: { players: 0, sum: '0' },
  standings: { file: 0, after: null, place: 0, rank: 0 },
  lookups: { shard: 0, file: 0, after: '', players: 0 },
  verify: { location: 0, file: 0, players: 0, sum: '0', last: null },
};
