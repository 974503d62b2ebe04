import { env, runInDurableObject } from 'cloudflare:test';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { StandingKey } from '../../../workers/leaderboard/domain/standing.ts';
import { seasonStub, shardStub } from '../../../workers/leaderboard/objects.ts';
import { writeScores } from '../../../workers/leaderboard/score-writer.ts';
import { openStandings } from '../../../workers/leaderboard/standings/standings-opening.ts';
import type { WriteResult } from '../../../workers/leaderboard/write-results.ts';
import { announceSeed, createRandom } from '../unit/random.ts';

const SHARDS = 3;

interface Win {
  readonly userId: string;
  readonly points: number;
  readonly userName: null;
  readonly eventId: string;
  readonly season: undefined;
}

/** The first acknowledged answer to each event. Every later answer must equal it. */
type Acknowledged = Map<string, { season: string; score: number; rank: number }>;

class World {
  readonly random = createRandom(announceSeed());
  readonly wins: Win[] = [];
  readonly acknowledged: Acknowledged = new Map();
  crashes = 0;

  newWin(): Win {
    const win = {
      userId: `p${Math.floor(this.random() ** 2 * 40)}`,
      points: 1 + Math.floor(this.random() * 3),
      userName: null,
      eventId: `e${this.wins.length}`,
      season: undefined,
    };
    this.wins.push(win);
    return win;
  }

  /** Sends wins as one call. The answer may be lost, or an object may crash during the call. */
  async send(wins: readonly Win[]): Promise<void> {
    const results = await writeScores(env, wins);
    if (this.random() < 0.2) return;
    for (const [i, result] of results.entries()) this.note(wins[i] as Win, result);
  }

  note(win: Win, result: WriteResult): void {
    if (!result.ok) {
      expect(result.error.kind).toBe('unavailable');
      return;
    }
    const { season, score, rank } = result.value;
    const first = this.acknowledged.get(win.eventId);
    if (first === undefined) this.acknowledged.set(win.eventId, { season, score, rank });
    else expect({ season, score, rank }).toEqual(first);
  }

  /** Crashes a random object of a season, which loses everything in memory. */
  async crash(season: string): Promise<void> {
    this.crashes++;
    const shard = Math.floor(this.random() * (SHARDS + 1));
    const stub = shard === SHARDS ? seasonStub(env, season) : shardStub(env, { season, shard, shards: SHARDS });
    await runInDurableObject(stub as DurableObjectStub, (_, state) => state.abort('the power is cut')).catch(() => {});
  }

  /** Repeats every win without an acknowledgement until it has one. */
  async retryAll(): Promise<void> {
    for (let attempt = 0; attempt < 50; attempt++) {
      const unacknowledged = this.wins.filter(({ eventId }) => !this.acknowledged.has(eventId));
      if (unacknowledged.length === 0) return;
      await this.send(unacknowledged);
    }
    throw new Error('some wins were not acknowledged');
  }

  async readAll(season: string) {
    const opened = await openStandings(env, season);
    if (!opened.ok) throw new Error(opened.error.kind);
    const entries = [];
    for (let after: StandingKey | null = null; ; ) {
      const page = await opened.value.reader.page(after, 17, true);
      entries.push(...page.entries);
      after = page.next;
      if (after === null) return { state: opened.value.season.state, entries };
    }
  }

  /** Expects every acknowledged event to count once, in the season of its answer, and ranks to follow from the sums. */
  async expectCorrect(season: string): Promise<void> {
    const sums = new Map<string, number>();
    for (const { userId, points, eventId } of this.wins) {
      if (this.acknowledged.get(eventId)?.season === season) sums.set(userId, (sums.get(userId) ?? 0) + points);
    }
    const { entries } = await this.readAll(season);
    expect(new Map(entries.map(({ userId, score }) => [userId, score]))).toEqual(sums);
    expect(entries).toHaveLength(sums.size);
    const scores = [...sums.values()];
    for (const { userId, score, rank } of entries) {
      expect([userId, rank]).toEqual([userId, 1 + scores.filter((other) => other > score).length]);
    }
  }
}

describe('a month of lost, repeated and reordered calls, and of power cuts', () => {
  beforeEach(() => {
    vi.useFakeTimers({ toFake: ['Date'], now: Date.parse('2031-05-31T22:00:00Z') });
    (env as unknown as Record<string, string>).LEADERBOARD_SHARDS = String(SHARDS);
  });
  afterEach(() => {
    vi.useRealTimers();
  });

  it('counts every accepted event once, across the end of the month and after it', async () => {
    const world = new World();
    const { random } = world;
    let season = '2031-05';
    for (let step = 0; step < 240; step++) {
      vi.setSystemTime(Date.now() + Math.floor(random() * 2_000));
      if (step === 120) {
        // End the month while some answers are missing and their calls are still to be repeated.
        vi.setSystemTime(Date.parse('2031-06-01T00:00:00.500Z'));
        season = '2031-06';
      }
      const wins = Array.from({ length: 1 + Math.floor(random() * 6) }, () => world.newWin());
      const repeats = world.wins.filter(() => random() < 0.02);
      const calls = [wins, repeats, ...(random() < 0.3 ? [wins] : [])].filter((call) => call.length > 0);
      calls.sort(() => random() - 0.5);
      const sent = calls.map((call) => world.send(call));
      if (random() < 0.15) await world.crash(season);
      if (step > 120 && random() < 0.1) await world.crash('2031-05');
      // Close the month by repeated requests that are interrupted at random points.
      if (step > 130 && random() < 0.2) {
        const close = seasonStub(env, '2031-05').close({ season: '2031-05', shards: SHARDS });
        sent.push(
          close.then(
            () => {},
            () => {},
          ),
        );
      }
      await Promise.all(sent);
    }
    await world.retryAll();
    await seasonStub(env, '2031-05').close({ season: '2031-05', shards: SHARDS });
    expect((await world.readAll('2031-05')).state).toBe('historical');
    expect(world.crashes).toBeGreaterThan(20);
    await world.expectCorrect('2031-05');
    await world.expectCorrect('2031-06');
    const seasons = new Set([...world.acknowledged.values()].map((answer) => answer.season));
    expect(seasons).toEqual(new Set(['2031-05', '2031-06']));
  });
});
