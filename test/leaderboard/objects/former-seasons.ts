/** Seasons that 0.2.0 archived, which move into their shards while the power of the season object is cut at one chosen step. */
import { env } from 'cloudflare:test';
import { expect, vi } from 'vitest';
import { EVENT_RETENTION_MS } from '../../../durable-objects/leaderboard/protocol.ts';
import { LeaderboardSeason } from '../../../durable-objects/leaderboard/season/index.ts';
import { parseSeason, seasonAt } from '../../../workers/leaderboard/domain/season-name.ts';
import { shardOf } from '../../../workers/leaderboard/domain/shard-map.ts';
import { seasonStub, UnavailableError } from '../../../workers/leaderboard/objects.ts';
import { locationsOf } from '../../../workers/leaderboard/records/archive-files.ts';
import { createSeasonStore } from '../../../workers/leaderboard/records/season-store.ts';
import { writeScores } from '../../../workers/leaderboard/score-writer.ts';
import { forgetSeason } from '../../../workers/leaderboard/seasons/seasons.ts';
import { openStandings } from '../../../workers/leaderboard/standings/standings-opening.ts';
import { requestApi } from '../../support/json-api.ts';
import { type Cut, Power } from './closing-power.ts';
import { archiveAsFormerly } from './former-season.ts';

export const SHARDS = 2;
const PER_FILE = 4;
export const PLAYERS = Array.from({ length: 26 }, (_, i) => `p${i}`);
/** Players of one shard, who are corrected in one millisecond. */
const [A, B] = PLAYERS.slice(10).filter((userId) => shardOf(userId, SHARDS) === 1) as [string, string];
const ROUNDS_MAX = 5;
const ATTEMPTS_MAX = 5;

let months = 0;
let power: Power | undefined;

/** Installs the clock and the spies of a test. */
export function watchImports(): void {
  vi.useFakeTimers({ toFake: ['Date'] });
  vi.spyOn(console, 'error').mockImplementation(() => {});
  (env as unknown as Record<string, string>).LEADERBOARD_SHARDS = String(SHARDS);
  const { close } = LeaderboardSeason.prototype;
  vi.spyOn(LeaderboardSeason.prototype, 'close').mockImplementation(function (this: LeaderboardSeason, ...values) {
    const { ctx } = this as unknown as { ctx: DurableObjectState };
    power?.connect(ctx);
    Object.defineProperty(this, 'env', { value: power?.env ?? env, configurable: true });
    return close.apply(this, values);
  });
}

export class FormerSeason {
  readonly season: string;
  readonly archive: string;

  private constructor(season: string, archive: string) {
    this.season = season;
    this.archive = archive;
  }

  /** Plays a month and archives it as 0.2.0 did. Its objects are erased. */
  static async play(): Promise<FormerSeason> {
    vi.setSystemTime(Date.UTC(2061, months++, 20));
    const season = seasonAt(Date.now());
    const wins = PLAYERS.map((userId, i) => {
      return { userId, points: 1 + (i % 7), userName: i % 2 ? `Name ${i}` : null, eventId: null, season: undefined };
    });
    for (const result of await writeScores(env, wins)) expect(result.ok).toBe(true);
    vi.setSystemTime((parseSeason(season)?.endsAt ?? 0) + 60_000);
    const archive = await archiveAsFormerly(season, SHARDS, PER_FILE);
    vi.setSystemTime(Date.now() + EVENT_RETENTION_MS);
    const played = new FormerSeason(season, archive);
    await played.close();
    expect(await played.find()).toMatchObject({ archive, erasedAt: Date.now() });
    return played;
  }

  /** Changes the archive as operators did. Two players get one score in one moment, and three leave the list. */
  async change(): Promise<void> {
    for (const userId of [A, B]) expect(await this.correct(userId, { score: 5 })).toBe(200);
    expect(await this.correct('p3', { hidden: true })).toBe(200);
    expect(await this.request('DELETE', 'p4')).toBe(204);
    expect(await this.request('DELETE', 'p5')).toBe(204);
  }

  find() {
    return createSeasonStore(env.DIRECTORY).find(this.season);
  }

  close() {
    return seasonStub(env, this.season).close({ season: this.season, shards: SHARDS });
  }

  async request(method: 'DELETE' | 'PATCH', userId: string, body?: object): Promise<number> {
    const headers = { authorization: 'Bearer root-of-tests', 'content-type': 'application/json' };
    const path = `/v1/scores/${userId}?season=${this.season}`;
    return (await requestApi(env, path, { method, headers, ...(body && { body: JSON.stringify(body) }) })).status;
  }

  correct(userId: string, change: object): Promise<number> {
    return this.request('PATCH', userId, { ...change, reason: 'x' });
  }

  /** Reads the list in pages of one player, every player, and the histogram. On a busy machine, an object may be late. */
  async read() {
    for (let attempt = 1; ; attempt++) {
      try {
        return await this.#read();
      } catch (error) {
        if (!(error instanceof UnavailableError) || attempt === ATTEMPTS_MAX) throw error;
      }
    }
  }

  async #read() {
    forgetSeason(this.season);
    const opened = await openStandings(env, this.season);
    if (!opened.ok) throw new Error(opened.error.kind);
    const { reader } = opened.value;
    const list = [];
    for (let page = await reader.page(null, 1, true); ; page = await reader.page(page.next, 1, true)) {
      list.push(...page.entries);
      if (page.next === null || list.length > 2 * PLAYERS.length) break;
    }
    const { entries } = await reader.standings(PLAYERS, true);
    const { ranges, players } = await reader.distribution(10);
    return { list, entries, ranges, players };
  }

  /** Runs the import until the season is in its shards. */
  async importAll(): Promise<void> {
    for (let round = 1; (await this.find())?.archive !== null; round++) {
      if (round > ROUNDS_MAX) throw new Error('the season stays in its archive');
      await this.close();
    }
  }

  async listFiles(folder = 'leaderboard', name = ''): Promise<string[]> {
    const prefix = `${folder}/${this.season}/${name}`;
    const found = await Promise.all(locationsOf(env).map((bucket) => bucket.list({ prefix })));
    return found.flatMap(({ objects }) => objects.map(({ key }) => key));
  }
}

async function closeWith(season: FormerSeason, supply: Power): Promise<Power> {
  power = supply;
  await season.close().catch(() => {});
  power = undefined;
  return supply;
}

/** Moves one season with a cut. @returns the name of every step that was begun until then. */
export async function importWithCut(cut: Cut): Promise<readonly string[]> {
  const season = await FormerSeason.play();
  await season.change();
  const before = await season.read();
  const { steps } = await closeWith(season, new Power(cut));
  const where = `cut ${cut.side} step ${cut.at} (${steps[cut.at - 1]})`;
  expect(await season.read(), where).toEqual(before);
  await season.importAll();
  expect(await season.find(), where).toMatchObject({ archive: null, erasedAt: null });
  expect(await season.read(), where).toEqual(before);
  return steps;
}
