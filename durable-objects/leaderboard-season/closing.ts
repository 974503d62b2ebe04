/**
 * Closes a season in steps, each of which can be interrupted and repeated: seal every shard; write the standings in
 * rank order; write the look-ups; read everything back and compare count and sum with the shards; publish; keep the
 * objects while they may get retries of events; erase them. A file is written before the row that records it.
 */

import { EVENT_RETENTION_MS, type ShardAddress, toShardName } from '../../workers/leaderboard/domain/board.ts';
import {
  addScores,
  decideAllRanges,
  RANGES_MAX,
  type ScoreRange,
} from '../../workers/leaderboard/domain/distribution.ts';
import {
  compareStandings,
  mergeStandings,
  type StandingKey,
  type TopEntry,
} from '../../workers/leaderboard/domain/standing.ts';
import {
  ARCHIVE_FILE_ENTRIES,
  type ArchivedEntry,
  type ArchivedKey,
  type ArchiveManifest,
  fromArchivedKey,
  locationsOf,
  lookupKey,
  manifestKey,
  readWhole,
  removeOtherAttempts,
  standingsKey,
  toArchivedEntry,
  writeFile,
} from '../../workers/leaderboard/records/archive-files.ts';
import { createSeasonStore } from '../../workers/leaderboard/records/season-store.ts';
import { logError } from '../../workers/shared/log.ts';
import { isArchived, isComplete } from './closing-checks.ts';
import type { Closing, ClosingProgress, ClosingStore } from './closing-store.ts';

const ERASE_AGAIN_MS = 60_000;
/** Sorts before every player. */
const START: StandingKey = { score: Number.MAX_SAFE_INTEGER, reached: 0, userId: '' };

export class SeasonClosing {
  readonly #env: Env;
  readonly #store: ClosingStore;
  readonly #now: () => number;
  readonly #fileEntries: number;
  /** Entries read from each shard and not yet written. Read again after a restart. */
  #ahead: { after: StandingKey; lists: TopEntry[][]; isAll: boolean[] } | undefined;

  /** @param fileEntries for tests: small values give several files with few players. */
  constructor(env: Env, store: ClosingStore, now: () => number, fileEntries = ARCHIVE_FILE_ENTRIES) {
    this.#env = env;
    this.#store = store;
    this.#now = now;
    this.#fileEntries = fileEntries;
  }

  /** Runs one step. @returns whether there is more to do now. */
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

  /** Called again only for an older copy of DIRECTORY. Restores the archive and the erasure in it. */
  async #markAgain(closing: Closing): Promise<false> {
    if (await isArchived(this.#env, closing, this.#now()))
      await createSeasonStore(this.#env.DIRECTORY).markErased(closing.season, this.#now());
    return false;
  }

  #addresses({ season, shards }: Closing): ShardAddress[] {
    return Array.from({ length: shards }, (_, shard) => ({ season, shard, shards }));
  }

  #stub(address: ShardAddress) {
    return this.#env.LEADERBOARD_SHARD.get(this.#env.LEADERBOARD_SHARD.idFromName(toShardName(address)));
  }

  #continue(closing: Closing, step: Closing['step'], progress: Partial<ClosingProgress> = {}): true {
    this.#store.write({ ...closing, step, progress: { ...closing.progress, ...progress } });
    return true;
  }

  async #seal(closing: Closing): Promise<boolean> {
    const sealed = await Promise.all(this.#addresses(closing).map((address) => this.#stub(address).seal(address)));
    const players = sealed.reduce((sum, shard) => sum + shard.players, 0);
    const sum = sealed.reduce((total, shard) => total + BigInt(shard.sum), 0n);
    if (!(await isComplete(this.#env, closing.season, players, this.#now()))) return false;
    return this.#continue({ ...closing, sealedAt: this.#now() }, 'standings', {
      sealed: { players, sum: String(sum) },
    });
  }

  /** Writes one file: the next 4,096 players over all shards. */
  async #writeStandings(closing: Closing): Promise<boolean> {
    const { file, after, place, rank } = closing.progress.standings;
    const last = after === null ? START : fromArchivedKey(after);
    const entries = await this.#nextEntries(closing, last);
    const [first] = entries;
    if (first === undefined) return this.#continue(closing, 'lookups');
    const rows: ArchivedEntry[] = [];
    let [score, current] = [last.score, rank];
    for (const [i, entry] of entries.entries()) {
      if (entry.score !== score || current === 0) [score, current] = [entry.score, place + i + 1];
      rows.push(toArchivedEntry({ ...entry, rank: current }));
    }
    await writeFile(this.#env, standingsKey(closing.archive, file), rows);
    this.#store.recordFile('standings', 0, file, toKey(first));
    const end = entries.at(-1) ?? first;
    const standings = { file: file + 1, after: toKey(end), place: place + entries.length, rank: current };
    return this.#continue(closing, 'standings', { standings });
  }

  /** Merges the entries read from each shard. Reads more from a shard if its entries may run out. */
  async #nextEntries(closing: Closing, after: StandingKey): Promise<TopEntry[]> {
    if (this.#ahead === undefined || compareStandings(this.#ahead.after, after) !== 0) {
      const { shards } = closing;
      this.#ahead = { after, lists: Array.from({ length: shards }, () => []), isAll: new Array(shards).fill(false) };
    }
    const ahead = this.#ahead;
    await Promise.all(
      this.#addresses(closing).map(async (address) => {
        const list = ahead.lists[address.shard] ?? [];
        if (ahead.isAll[address.shard] || list.length >= this.#fileEntries) return;
        const run = await this.#stub(address).run(address, list.at(-1) ?? after, 0, this.#fileEntries);
        ahead.isAll[address.shard] = run.after.length < this.#fileEntries;
        ahead.lists[address.shard] = [...list, ...run.after];
      }),
    );
    const entries = mergeStandings(ahead.lists, this.#fileEntries);
    const end = entries.at(-1);
    if (end !== undefined) {
      ahead.after = end;
      ahead.lists = ahead.lists.map((list) => list.filter((entry) => compareStandings(entry, end) > 0));
    }
    return entries;
  }

  async #writeLookups(closing: Closing): Promise<boolean> {
    const { shard, file, after, players } = closing.progress.lookups;
    if (shard === closing.shards) return this.#continue(closing, 'verify');
    const address = { season: closing.season, shard, shards: closing.shards };
    const entries = await this.#stub(address).readByUserId(address, after, this.#fileEntries);
    const last = entries.at(-1);
    if (last === undefined) {
      return this.#continue(closing, 'lookups', { lookups: { shard: shard + 1, file: 0, after: '', players } });
    }
    const rows = entries.map(({ userId, score, reached }) => [userId, score, reached]);
    await writeFile(this.#env, lookupKey(closing.archive, shard, file), rows);
    this.#store.recordFile('lookup', shard, file, entries[0]?.userId ?? '');
    const lookups = { shard, file: file + 1, after: last.userId, players: players + entries.length };
    return this.#continue(closing, 'lookups', { lookups });
  }

  /** Reads one standings file back from one location. At the end, count and sum must equal those of the shards. */
  async #verify(closing: Closing): Promise<boolean> {
    const { sealed, standings, lookups, verify } = closing.progress;
    const bucket = locationsOf(this.#env)[verify.location];
    if (bucket === undefined) return this.#continue(closing, 'publish');
    if (verify.file === standings.file) {
      const isWhole = verify.players === sealed.players && verify.sum === sealed.sum;
      if (!isWhole || lookups.players !== sealed.players) return this.#restart(closing, 'count or sum differ');
      const { distributions } = verify;
      const next = { location: verify.location + 1, file: 0, players: 0, sum: '0', last: null, distributions };
      return this.#continue(closing, 'verify', { verify: next });
    }
    const read = await readWhole<ArchivedEntry[]>(bucket, standingsKey(closing.archive, verify.file));
    if (read === null) return this.#restart(closing, `file ${verify.file} is missing or damaged`);
    let { last } = verify;
    let sum = BigInt(verify.sum);
    for (const [userId, , score, reached] of read.value) {
      const key: ArchivedKey = [score, reached, userId];
      if (last !== null && compareStandings(fromArchivedKey(last), fromArchivedKey(key)) >= 0) {
        return this.#restart(closing, `file ${verify.file} is out of order`);
      }
      last = key;
      sum += BigInt(score);
    }
    const players = verify.players + read.value.length;
    const scores = read.value.map(([, , score]) => score);
    const isFirstReading = verify.location === 0;
    const distributions = isFirstReading
      ? this.#rangesOf(closing).map((ranges, i) => addScores(ranges, verify.distributions[i] ?? [], scores))
      : verify.distributions;
    const next = { ...verify, file: verify.file + 1, players, sum: String(sum), last, distributions };
    return this.#continue(closing, 'verify', { verify: next });
  }

  /** The ranges of the archive's distributions. */
  #rangesOf({ progress }: Closing): ScoreRange[][] {
    const [best] = this.#store.listFiles<ArchivedKey>('standings', 0);
    const { after } = progress.standings;
    return best === undefined || after === null ? [] : decideAllRanges(after[0], best[0], RANGES_MAX);
  }

  #restart(closing: Closing, reason: string): false {
    logError('leaderboard_archive_differs', new Error(reason), { season: closing.season, archive: closing.archive });
    this.#store.forgetFiles();
    this.#ahead = undefined;
    const again = beginClosing(closing.season, closing.shards, this.#now());
    this.#store.write({ ...again, sealedAt: closing.sealedAt });
    // The next call or the next minute tries again: a lasting fault must not become a busy loop.
    return false;
  }

  async #publish(closing: Closing): Promise<boolean> {
    const { season, archive, progress } = closing;
    const store = createSeasonStore(this.#env.DIRECTORY);
    const find = async () => (await store.find(season))?.archive;
    // After publication players may be erased from the manifest. Writing it again would restore them.
    if (!(await find())) {
      await writeFile(this.#env, manifestKey(archive), this.#makeManifest(closing));
      await store.publish(season, archive, progress.sealed.players, this.#now());
    }
    // The archive that DIRECTORY names must stay, even if this object has recorded another.
    const published = await find();
    if (published) await removeOtherAttempts(this.#env, season, published);
    return this.#continue(closing, 'keep');
  }

  #makeManifest(closing: Closing): ArchiveManifest {
    const { season, shards, sealedAt, progress } = closing;
    return {
      season,
      shards,
      players: progress.sealed.players,
      sum: progress.sealed.sum,
      sealedAt,
      standings: this.#store.listFiles<ArchivedKey>('standings', 0),
      lookups: this.#addresses(closing).map(({ shard }) => this.#store.listFiles<string>('lookup', shard)),
      distributions: this.#rangesOf(closing).map((ranges, list) =>
        ranges.map((range, i) => ({ ...range, players: progress.verify.distributions[list]?.[i] ?? 0 })),
      ),
    };
  }

  /** Erases the objects once retries of the month's last event have expired. */
  async #erase(closing: Closing): Promise<boolean> {
    if (!(await isArchived(this.#env, closing, this.#now()))) return false;
    if (this.#now() < closing.sealedAt + EVENT_RETENTION_MS) return false;
    // Cron skips a season that is marked. If erasing fails, the alarm repeats it.
    await this.#store.planAlarm(ERASE_AGAIN_MS);
    await createSeasonStore(this.#env.DIRECTORY).markErased(closing.season, this.#now());
    await Promise.all(this.#addresses(closing).map((address) => this.#stub(address).destroy()));
    this.#store.forgetFiles();
    this.#continue(closing, 'done');
    return false;
  }
}

/** @param now in milliseconds. It names the attempt. */
export function beginClosing(season: string, shards: number, now: number): Closing {
  const archive = `leaderboard/${season}/${now.toString(36)}`;
  return { season, shards, step: 'seal', archive, sealedAt: now, progress: START_PROGRESS };
}

const START_PROGRESS: ClosingProgress = {
  sealed: { players: 0, sum: '0' },
  standings: { file: 0, after: null, place: 0, rank: 0 },
  lookups: { shard: 0, file: 0, after: '', players: 0 },
  verify: { location: 0, file: 0, players: 0, sum: '0', last: null, distributions: [] },
};

const toKey = ({ score, reached, userId }: StandingKey): ArchivedKey => [score, reached, userId];
