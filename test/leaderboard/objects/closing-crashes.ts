/**
 * Ends a month while the power of the season object is cut at one chosen step. After the cut, reads return the same standings as before.
 * The schedule alone then ends the month: every shard is sealed, the counts are stored once, and one notice waits.
 */
import { createExecutionContext, env, evictDurableObject, runInDurableObject } from 'cloudflare:test';
import { expect, vi } from 'vitest';
import { SeasonClosing } from '../../../durable-objects/leaderboard/season/closing.ts';
import { LeaderboardSeason } from '../../../durable-objects/leaderboard/season/index.ts';
import { SeasonObjectStore } from '../../../durable-objects/leaderboard/season/store.ts';
import { parseSeason, seasonAt } from '../../../workers/leaderboard/domain/season-name.ts';
import type { RankedEntry } from '../../../workers/leaderboard/domain/standing.ts';
import { seasonStub, shardStub } from '../../../workers/leaderboard/objects.ts';
import { createSeasonStore } from '../../../workers/leaderboard/records/season-store.ts';
import { runLeaderboardSchedule } from '../../../workers/leaderboard/schedule.ts';
import { writeScores } from '../../../workers/leaderboard/score-writer.ts';
import { openStandings } from '../../../workers/leaderboard/standings/standings-opening.ts';
import { requestApi } from '../../support/json-api.ts';
import { type Cut, Power } from './closing-power.ts';

const SHARDS = 2;
const ROUND_MS = 60_000;
/** Limit of rounds of cron until the month has ended: one is cut, one finishes. */
const ROUNDS_MAX = 3;

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

class Month {
  readonly season: string;
  readonly power: Power;
  readonly #cut: Cut;
  /** The list of the month as it was before its end. */
  #live: readonly RankedEntry[] = [];

  constructor(season: string, cut: Cut) {
    this.season = season;
    this.#cut = cut;
    this.power = new Power(cut);
  }

  get #where(): string {
    const { at, side } = this.#cut;
    return `${this.season}: cut ${side} step ${at} (${this.power.steps[at - 1]})`;
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
    const { reader } = opened.value;
    return { reader, entries: (await reader.page(null, 100, true)).entries };
  }

  /** Expects the full list and each player. */
  async expectReadable(): Promise<void> {
    const { reader, entries } = await this.#open();
    expect(entries, this.#where).toEqual(this.#live);
    const ids = [...this.#live.map(({ userId }) => userId), 'nobody'];
    for (const isExact of [true, false]) {
      const { entries: found } = await reader.standings(ids, isExact);
      expect(found, this.#where).toEqual([...this.#live, null]);
    }
  }

  /** Runs the work that cron runs each minute, once. */
  async runSchedule(): Promise<void> {
    vi.setSystemTime(Date.now() + ROUND_MS);
    await runLeaderboardSchedule({} as ScheduledController, env, createExecutionContext());
  }

  /** Runs the schedule until the month has ended. */
  async close(): Promise<void> {
    vi.setSystemTime(parseSeason(this.season)?.endsAt ?? 0);
    const find = async () => (await createSeasonStore(env.DIRECTORY).find(this.season))?.closedAt ?? null;
    for (let round = 1; (await find()) === null; round++) {
      if (round > ROUNDS_MAX) throw new Error(`${this.#where}: the month does not end`);
      await this.runSchedule();
      await this.expectReadable();
    }
  }

  /** Expects what a month that has ended has, after its objects were evicted. Then erases a player. */
  async expectFinal(): Promise<void> {
    const row = await createSeasonStore(env.DIRECTORY).find(this.season);
    expect(row, this.#where).toMatchObject({ players: MODEL.length, without: null, dueAt: null, archive: null });
    const notices = await env.DIRECTORY.prepare('SELECT season FROM season_notice').all();
    expect(notices.results, this.#where).toEqual([{ season: this.season }]);
    for (let shard = 0; shard < SHARDS; shard++) {
      const stub = shardStub(env, { season: this.season, shard, shards: SHARDS }) as DurableObjectStub;
      const [board] = await runInDurableObject(stub, (_, { storage }) =>
        storage.sql.exec('SELECT sealed_at, sealed_players FROM board').toArray(),
      );
      expect(board, this.#where).toEqual({ sealed_at: expect.any(Number), sealed_players: expect.any(Number) });
      await evictDurableObject(stub);
    }
    await evictDurableObject(seasonStub(env, this.season) as DurableObjectStub);
    await this.expectReadable();
    const [erased] = this.#live.slice(-1);
    const headers = { authorization: 'Bearer root-of-tests' };
    const { status } = await requestApi(env, `/v1/scores/${erased?.userId}`, { method: 'DELETE', headers });
    expect(status, this.#where).toBe(204);
    this.#live = this.#live.slice(0, -1);
    await this.expectReadable();
  }

  /** Removes the season, so that the next run starts clean. */
  async forget(): Promise<void> {
    await env.DIRECTORY.prepare('DELETE FROM season').run();
    await env.DIRECTORY.prepare('DELETE FROM season_notice').run();
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
  const { close } = LeaderboardSeason.prototype;
  let storage: DurableObjectStorage;
  vi.spyOn(LeaderboardSeason.prototype, 'close').mockImplementation(function (this: LeaderboardSeason, ...values) {
    const { ctx } = this as unknown as { ctx: DurableObjectState };
    storage = ctx.storage;
    power?.connect(ctx);
    return close.apply(this, values);
  });
  // Ends the season with wrapped bindings.
  const closings = new WeakMap<SeasonClosing, SeasonClosing>();
  const { advance } = SeasonClosing.prototype;
  vi.spyOn(SeasonClosing.prototype, 'advance').mockImplementation(async function (this: SeasonClosing, ...values) {
    if (power === undefined) return await advance.apply(this, values);
    const own = closings.get(this) ?? new SeasonClosing(power.env, new SeasonObjectStore(storage), Date.now);
    closings.set(this, own);
    return await advance.apply(own, values);
  });
  for (const name of ['writeEnd', 'writePast', 'writeSnapshot'] as const) {
    const write = SeasonObjectStore.prototype[name] as (...values: unknown[]) => void;
    vi.spyOn(SeasonObjectStore.prototype, name).mockImplementation(function (
      this: SeasonObjectStore,
      ...values: unknown[]
    ) {
      if (power?.isOn) power.write(`SeasonObjectStore.${name}`, () => write.apply(this, values));
      else write.apply(this, values);
    });
  }
}

/** Ends one month with a cut. @returns the name of every step that was begun, over all rounds. */
export async function runWithCut(cut: Cut): Promise<readonly string[]> {
  vi.setSystemTime(Date.UTC(2050, months++, 20));
  await env.DIRECTORY.prepare(
    "INSERT OR IGNORE INTO board_webhook(board, url, secrets_sealed, created_at) VALUES ('default', 'https://game.example.com/', '', 0)",
  ).run();
  const month = new Month(seasonAt(Date.now()), cut);
  await month.fill();
  power = month.power;
  await month.close();
  power = undefined;
  await month.expectFinal();
  await month.forget();
  return month.power.steps;
}
