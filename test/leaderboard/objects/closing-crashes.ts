/**
 * Closes a month while the power of the season object is cut at one chosen step. After the cut, reads return the same
 * standings as before. The schedule alone then finishes the closing: one archive, complete in every location, and no
 * other files.
 */
import { createExecutionContext, env, runDurableObjectAlarm, runInDurableObject } from 'cloudflare:test';
import { expect, vi } from 'vitest';
import { EVENT_RETENTION_MS } from '../../../durable-objects/leaderboard/protocol.ts';
import { SeasonClosing } from '../../../durable-objects/leaderboard/season/closing.ts';
import { LeaderboardSeason } from '../../../durable-objects/leaderboard/season/index.ts';
import { SeasonObjectStore } from '../../../durable-objects/leaderboard/season/store.ts';
import { parseSeason, seasonAt } from '../../../workers/leaderboard/domain/season-name.ts';
import type { RankedEntry } from '../../../workers/leaderboard/domain/standing.ts';
import { seasonStub, shardStub } from '../../../workers/leaderboard/objects.ts';
import {
  type ArchivedEntry,
  type ArchiveManifest,
  fromArchivedEntry,
  locationsOf,
  manifestKey,
  readWhole,
} from '../../../workers/leaderboard/records/archive-files.ts';
import { createSeasonStore } from '../../../workers/leaderboard/records/season-store.ts';
import { runLeaderboardSchedule } from '../../../workers/leaderboard/schedule.ts';
import { writeScores } from '../../../workers/leaderboard/score-writer.ts';
import { openStandings } from '../../../workers/leaderboard/standings/standings-opening.ts';
import { requestApi } from '../../support/json-api.ts';
import { type Cut, POWER_CUT, Power } from './closing-power.ts';

const SHARDS = 2;
const ROUND_MS = 60_000;
/** Limit of rounds of cron until the closing is done: one is cut, one finds a lost file, one finishes. More must not be needed. */
const ROUNDS_MAX = 5;

/** The list of players that `fill` creates, best player first. */
const MODEL: readonly (readonly [userId: string, score: number, rank: number])[] = [
  ['p5', 6, 1],
  ['p11', 6, 1],
  ['p4', 5, 3],
  ['p10', 5, 3],
  ['p3', 4, 5],
  ['p9', 4, 5],
  ['p0', 4, 5],
  ['p2', 3, 8],
  ['p8', 3, 8],
  ['p1', 2, 10],
  ['p7', 2, 10],
  ['p6', 1, 12],
];

function ignorePowerCut(error: unknown): void {
  if (!(error instanceof Error) || error.message !== POWER_CUT) throw error;
}

class Month {
  readonly season: string;
  readonly power: Power;
  readonly #cut: Cut;
  /** The list of the month as it was before closing, without players that were erased since. */
  #live: readonly RankedEntry[] = [];
  #archive: string | null = null;
  #erased = '';

  constructor(season: string, cut: Cut) {
    this.season = season;
    this.#cut = cut;
    this.power = new Power(cut);
  }

  get #where(): string {
    const { at, side, isFileLost } = this.#cut;
    return `${this.season}: cut ${side} step ${at} (${this.power.steps[at - 1]})${isFileLost ? ', a file lost' : ''}`;
  }

  /** Creates ties of two players with different times, and one player who joins a tie last. */
  async fill(): Promise<void> {
    const win = (n: number, points: number) => {
      const [userId, userName] = [`p${n}`, n % 3 === 0 ? `Player ${n}` : null];
      return { userId, points, userName, eventId: `${this.season}-${n}-${points}`, season: undefined };
    };
    const half = [0, 1, 2, 3, 4, 5];
    for (const wins of [half.map((n) => win(n, n + 1)), half.map((n) => win(n + 6, n + 1)), [win(0, 3)]]) {
      vi.setSystemTime(Date.now() + 1_000);
      for (const result of await writeScores(env, wins)) expect(result.ok).toBe(true);
    }
    this.#live = (await this.#open()).entries;
    expect(this.#live.map(({ userId, score, rank }) => [userId, score, rank])).toEqual(MODEL);
  }

  async #open() {
    const opened = await openStandings(env, this.season);
    if (!opened.ok) throw new Error(opened.error.kind);
    const { season, reader } = opened.value;
    return { archive: season.archive, reader, entries: (await reader.page(null, 100, true)).entries };
  }

  /** Expects the full list and each player, from the archive or from the shards. */
  async expectReadable(): Promise<void> {
    const { archive, reader, entries } = await this.#open();
    expect(entries, this.#where).toEqual(this.#live);
    const ids = [...this.#live.map(({ userId }) => userId), 'nobody'];
    const { entries: found } = await reader.standings(ids, true);
    expect(found, this.#where).toEqual([...this.#live, null]);
    // A published archive must never change.
    if (this.#archive !== null) expect(archive, this.#where).toBe(this.#archive);
    else if (archive !== null) {
      this.#archive = archive;
      await this.#eraseNamedPlayer(archive);
    }
  }

  /**
   * Erases the first player of one of the archive's files, once the archive exists. The manifest names that player, so it must
   * change too.
   */
  async #eraseNamedPlayer(archive: string): Promise<void> {
    const { standings } = await this.#readFile<ArchiveManifest>(env.BLOBS, manifestKey(archive));
    this.#erased = standings.at(-1)?.first.userId ?? '';
    const headers = { authorization: 'Bearer root-of-tests' };
    const { status } = await requestApi(env, `/v1/scores/${this.#erased}`, { method: 'DELETE', headers });
    expect(status, this.#where).toBe(204);
    this.#live = this.#live.filter(({ userId }) => userId !== this.#erased);
    await this.expectReadable();
  }

  async #readFile<T>(bucket: R2Bucket, key: string): Promise<T> {
    const read = await readWhole<T>(bucket, key);
    if (read === null) throw new Error(`${this.#where}: ${key} is missing or damaged`);
    return read.value;
  }

  /** Runs the work that cron runs each minute, once. */
  async runSchedule(): Promise<void> {
    vi.setSystemTime(Date.now() + ROUND_MS);
    await runLeaderboardSchedule({} as ScheduledController, env, createExecutionContext());
  }

  /** Runs the schedule until the closing waits for the retention period of the objects. */
  async close(): Promise<void> {
    vi.setSystemTime(parseSeason(this.season)?.endsAt ?? 0);
    for (const bucket of locationsOf(env))
      await bucket.put(`leaderboard/${this.season}/broken-off/manifest.json`, '{}');
    for (let round = 1; (await this.#readStep()) !== 'keep'; round++) {
      if (round > ROUNDS_MAX) throw new Error(`${this.#where}: the closing does not finish`);
      await this.runSchedule();
      await this.expectReadable();
    }
    await this.#expectOneArchive();
  }

  async #readStep(): Promise<unknown> {
    return await runInDurableObject(
      seasonStub(env, this.season) as DurableObjectStub,
      (_, { storage }) => new SeasonObjectStore(storage).readClosing()?.step,
    );
  }

  /** Expects every location to hold the published files, complete and correct, and no others. */
  async #expectOneArchive(): Promise<void> {
    const archive = this.#archive ?? '';
    for (const bucket of locationsOf(env)) {
      const manifest = await this.#readFile<ArchiveManifest>(bucket, manifestKey(archive));
      const standings = manifest.standings.map(({ name }) => `${archive}/${name}`);
      const lookups = manifest.lookups.flat().map(({ name }) => `${archive}/${name}`);
      const { objects } = await bucket.list({ prefix: `leaderboard/${this.season}/` });
      const keys = objects.map(({ key }) => key);
      expect(keys.sort(), this.#where).toEqual([...lookups, ...standings, manifestKey(archive)].sort());
      const sum = MODEL.reduce((total, [, score]) => total + score, 0);
      expect([manifest.players, manifest.sum], this.#where).toEqual([MODEL.length, String(sum)]);
      expect(JSON.stringify(manifest), this.#where).not.toContain(`"${this.#erased}"`);
      const lists = await Promise.all(standings.map((key) => this.#readFile<ArchivedEntry[]>(bucket, key)));
      const listed = lists.flat().filter(([userId]) => userId !== '');
      const entries = this.#live.map(({ rank: _, ...entry }) => entry);
      expect(listed.map(fromArchivedEntry), this.#where).toEqual(entries);
      const found = await Promise.all(lookups.map((key) => this.#readFile<ArchivedEntry[]>(bucket, key)));
      const rows = entries.map(({ userId, userName, score, reached }) => [userId, userName, score, reached]);
      expect(found.flat().sort(), this.#where).toEqual(rows.sort());
    }
  }

  /** Counts the players that the shards still store. */
  async #countRows(): Promise<number[]> {
    return await Promise.all(
      Array.from({ length: SHARDS }, (_, shard) =>
        runInDurableObject(
          shardStub(env, { season: this.season, shard, shards: SHARDS }) as DurableObjectStub,
          (_, { storage }) => {
            const tables = storage.sql.exec("SELECT 1 FROM sqlite_master WHERE name = 'player'").toArray();
            return tables.length === 0 ? 0 : Number(storage.sql.exec('SELECT count(*) AS n FROM player').one().n);
          },
        ),
      ),
    );
  }

  /**
   * Erases the season's objects, once retries of events are no longer possible. If the schedule planned the work for the alarm,
   * runs the alarm.
   */
  async erase(): Promise<void> {
    vi.setSystemTime(Date.now() + EVENT_RETENTION_MS - 2 * ROUNDS_MAX * ROUND_MS);
    await this.runSchedule();
    expect(Math.min(...(await this.#countRows())), this.#where).toBeGreaterThan(0);
    vi.setSystemTime(Date.now() + 2 * ROUNDS_MAX * ROUND_MS);
    for (let round = 1; (await this.#readStep()) !== 'done'; round++) {
      if (round > ROUNDS_MAX) throw new Error(`${this.#where}: its objects are never erased`);
      await this.runSchedule();
      // Run the alarm again: the platform repeats an alarm that a power cut ended.
      await runDurableObjectAlarm(seasonStub(env, this.season) as DurableObjectStub).catch(ignorePowerCut);
      await this.expectReadable();
    }
    expect(await this.#countRows(), this.#where).toEqual([0, 0]);
    const row = await createSeasonStore(env.DIRECTORY).find(this.season);
    expect(row?.erasedAt, this.#where).not.toBeNull();
    await this.#expectOneArchive();
  }

  /** Removes the season and its files, so that the next run starts clean. */
  async forget(): Promise<void> {
    await env.DIRECTORY.prepare('DELETE FROM season').run();
    for (const bucket of locationsOf(env)) {
      const { objects } = await bucket.list({ prefix: 'leaderboard/' });
      await bucket.delete(objects.map(({ key }) => key));
    }
  }
}

let power: Power | undefined;
/** Number of runs so far. Each run gets its own month from it. */
let months = 0;

/** Installs the spies of a run. Call it before each test. */
export function watchClosings(): void {
  vi.useFakeTimers({ toFake: ['Date'] });
  vi.spyOn(console, 'error').mockImplementation(() => {});
  (env as unknown as Record<string, string>).LEADERBOARD_SHARDS = String(SHARDS);
  const { close, alarm } = LeaderboardSeason.prototype;
  let storage: DurableObjectStorage;
  const connect = (season: LeaderboardSeason) => {
    const { ctx } = season as unknown as { ctx: DurableObjectState };
    storage = ctx.storage;
    power?.connect(ctx);
  };
  vi.spyOn(LeaderboardSeason.prototype, 'close').mockImplementation(function (this: LeaderboardSeason, address) {
    connect(this);
    return close.call(this, address);
  });
  vi.spyOn(LeaderboardSeason.prototype, 'alarm').mockImplementation(function (this: LeaderboardSeason) {
    connect(this);
    return alarm.call(this);
  });
  // Runs the closing with wrapped bindings. Small file sizes give a dozen players several files of each kind.
  const closings = new WeakMap<SeasonClosing, SeasonClosing>();
  const { advance } = SeasonClosing.prototype;
  vi.spyOn(SeasonClosing.prototype, 'advance').mockImplementation(async function (this: SeasonClosing, closing) {
    if (power === undefined) return await advance.call(this, closing);
    const own = closings.get(this) ?? new SeasonClosing(power.env, new SeasonObjectStore(storage), Date.now, 5);
    closings.set(this, own);
    return await advance.call(own, closing);
  });
  for (const name of ['writeClosing', 'recordFile', 'forgetFiles'] as const) {
    const write = SeasonObjectStore.prototype[name] as (...values: unknown[]) => void;
    vi.spyOn(SeasonObjectStore.prototype, name).mockImplementation(function (
      this: SeasonObjectStore,
      ...values: unknown[]
    ) {
      power?.write(`SeasonObjectStore.${name}`, () => write.apply(this, values));
    });
  }
  const { planAlarm } = SeasonObjectStore.prototype;
  vi.spyOn(SeasonObjectStore.prototype, 'planAlarm').mockImplementation(async function (
    this: SeasonObjectStore,
    afterMs,
  ) {
    await power?.call('SeasonObjectStore.planAlarm', () => planAlarm.call(this, afterMs));
  });
}

/** Runs one closing with a cut. @returns the name of every step that was begun, over all rounds. */
export async function runWithCut(cut: Cut): Promise<readonly string[]> {
  vi.setSystemTime(Date.UTC(2050, months++, 20));
  const month = new Month(seasonAt(Date.now()), cut);
  await month.fill();
  power = month.power;
  await month.close();
  await month.erase();
  power = undefined;
  await month.forget();
  // Expect that the closing resumed where it stopped: it abandons an attempt only if a file is lost, and once more if the power is
  // cut at that moment.
  const { steps } = month.power;
  const abandoned = steps
    .slice(0, steps.indexOf('SeasonObjectStore.planAlarm'))
    .filter((step) => step.endsWith('forgetFiles'));
  expect(abandoned.length, `${cut.side} step ${cut.at}`).toBeLessThanOrEqual(cut.isFileLost ? 2 : 0);
  return steps;
}
