import { describe, expect, it } from 'vitest';
import { EventPage, hashEvent, type PlayerEvent } from '../../../durable-objects/leaderboard/domain/event-page.ts';
import { EVENT_RETENTION_MS, isStale, toShardName } from '../../../durable-objects/leaderboard/protocol.ts';
import { RunMerger } from '../../../workers/leaderboard/domain/run-merger.ts';
import { parseSeason, previousSeason, seasonAt } from '../../../workers/leaderboard/domain/season-name.ts';
import { shardOf } from '../../../workers/leaderboard/domain/shard-map.ts';
import { compareStandings, mergeStandings, rankRun } from '../../../workers/leaderboard/domain/standing.ts';
import { announceSeed, createRandom } from './random.ts';

describe('a season', () => {
  it('is one UTC month', () => {
    expect(parseSeason('2026-01')).toMatchObject({ startsAt: Date.UTC(2026, 0), endsAt: Date.UTC(2026, 1) });
    expect(parseSeason('2026-12')).toMatchObject({ startsAt: Date.UTC(2026, 11), endsAt: Date.UTC(2027, 0) });
    for (const name of ['2026-00', '2026-13', '2026-1', '26-01', '2026-01-01', ''])
      expect(parseSeason(name)).toBeNull();
  });
  it('is found from a time, and has a successor', () => {
    expect([seasonAt(Date.UTC(2026, 1) - 1), seasonAt(Date.UTC(2026, 1))]).toEqual(['2026-01', '2026-02']);
    expect([previousSeason('2026-02'), previousSeason('2026-01')]).toEqual(['2026-01', '2025-12']);
    expect(() => previousSeason('now')).toThrow('now');
  });
});

describe('a shard', () => {
  it('keeps its players, because their hash is stored data', () => {
    const shards = ['', 'a', 'player-1', 'player-2', 'ü', '𝒂'].map((userId) => shardOf(userId, 1_000_003));
    expect(shards).toEqual([930_269, 565_266, 390_987, 603_963, 967_995, 428_279]);
    expect(new Set(Array.from({ length: 200 }, (_, i) => shardOf(`u${i}`, 7)))).toEqual(new Set([0, 1, 2, 3, 4, 5, 6]));
    expect(toShardName({ season: '2026-01', shard: 3, shards: 8 })).toBe('2026-01:3');
  });
});

describe('a time', () => {
  it('is stale if it is more than a second old or ahead', () => {
    expect([1000, 1001, -1000, -1001].map((age) => isStale(5_000_000 - age, 5_000_000))).toEqual([
      false,
      true,
      false,
      true,
    ]);
    expect(EVENT_RETENTION_MS).toBe(49 * 60 * 60 * 1000);
  });
});

describe('standings', () => {
  const entry = (userId: string, score: number, reached: number) => ({ userId, userName: userId, score, reached });
  it('are ordered by score, then by time, then by user id', () => {
    const list = [entry('b', 5, 1), entry('a', 5, 2), entry('b', 5, 2), entry('c', 4, 0)];
    for (const [i, a] of list.entries())
      for (const [j, b] of list.entries()) expect(Math.sign(compareStandings(a, b))).toBe(Math.sign(i - j));
    expect(mergeStandings([[list[1], list[3]] as typeof list, [list[0], list[2]] as typeof list], 3)).toEqual(
      list.slice(0, 3),
    );
  });
  it('have competition ranks: equal scores share a rank, and the next rank is the place', () => {
    const ranks = (place: number, first: number, ...scores: number[]) =>
      rankRun(
        scores.map((score, i) => entry(String(i), score, i)),
        place,
        first,
      ).map(({ rank }) => rank);
    expect(ranks(0, 1, 9, 9, 8, 7, 7)).toEqual([1, 1, 3, 4, 4]);
    // In a part of the list that starts inside a tie, the first entries have the rank of the tie.
    expect(ranks(10, 8, 5, 5, 4)).toEqual([8, 8, 13]);
    expect(ranks(0, 1)).toEqual([]);
  });
  it.each([1, 3, 300])('of %i shards are merged with few entries read ahead', async (shards) => {
    const random = createRandom(announceSeed());
    const all = Array.from({ length: 9_000 }, (_, i) => entry(`u${i}`, Math.floor(random() * 40), i));
    const lists = Array.from({ length: shards }, (_, shard) =>
      all.filter((_, i) => i % shards === shard).sort(compareStandings),
    );
    const sorted = all.toSorted(compareStandings);
    const ahead = new Array<number>(shards).fill(0);
    let most = 0;
    const merger = new RunMerger(shards, async (shard, after, limit) => {
      const run = (lists[shard] ?? []).filter((each) => compareStandings(each, after) > 0).slice(0, limit);
      ahead[shard] = run.length;
      most = Math.max(
        most,
        ahead.reduce((sum, each) => sum + each, 0),
      );
      return run;
    });
    for (let at = 0; at < sorted.length; ) {
      const taken = await merger.take(1 + Math.floor(random() * 700));
      expect(taken).toEqual(sorted.slice(at, at + taken.length));
      at += taken.length;
      expect(merger.after).toBe(taken.at(-1));
    }
    expect([await merger.take(5), most <= 65_536]).toEqual([[], true]);
    const [later] = [sorted[4_321] ?? entry('', 0, 0)];
    const rest = new RunMerger(
      shards,
      async (shard, after, limit) =>
        (lists[shard] ?? []).filter((each) => compareStandings(each, after) > 0).slice(0, limit),
      later,
    );
    expect(await rest.take(10)).toEqual(sorted.slice(4_322, 4_332));
  });
});

describe('the merged list of shards', () => {
  const entry = (score: number) => ({ userId: `u${score}`, userName: 'U', score, reached: 1 });
  it.each([
    [1, 4_096],
    [16, 4_096],
    [300, 218],
    [4_096, 16],
    [9_999, 16],
  ])('of %i shards is read %i entries at a time', async (shards, entries) => {
    const limits = new Set<number>();
    const merger = new RunMerger(shards, async (_, __, limit) => {
      limits.add(limit);
      return [];
    });
    expect([await merger.take(1), [...limits]]).toEqual([[], [entries]]);
  });
  it('skips shards without players, and does not ask a shard again that had no more', async () => {
    const lists = [[], [entry(9)], [entry(8), entry(7)], []];
    const reads: number[] = [];
    const merger = new RunMerger(lists.length, async (shard) => {
      reads.push(shard);
      return lists[shard] ?? [];
    });
    expect((await merger.take(9)).map(({ score }) => score)).toEqual([9, 8, 7]);
    expect([await merger.take(9), reads]).toEqual([[], [0, 1, 2, 3]]);
  });
});

describe('a page of events', () => {
  const event = (n: number, userName: string | null = null): PlayerEvent => ({
    slot: n % 7,
    hash: new Uint8Array(16).fill(n),
    points: n * 2,
    score: 2 ** 40 + n,
    rank: n * 3,
    isEstimated: n % 2 === 1,
    userName,
  });
  it('has the first half of the SHA-256 of an event id', () => {
    // Expected hash: FIPS 180-2, example B.1.
    expect(Buffer.from(hashEvent('abc')).toString('hex')).toBe('ba7816bf8f01cfea414140de5dae2223');
  });
  it('returns its events after it was stored, by player and the whole hash', () => {
    const events = Array.from({ length: 40 }, (_, i) => event(i + 1, i % 3 === 0 ? `Name ${i}` : null));
    const page = new EventPage(40);
    for (const each of events) page.add(each);
    const stored = page.pack();
    expect([page.isFull, stored.slots.length, stored.records.length]).toEqual([true, 160, 1_280]);
    const read = EventPage.from(stored);
    for (const each of events) expect(read.find(each.slot, each.hash)).toEqual(each);
    for (const at of [0, 15]) {
      const other = event(2).hash;
      other[at] = 9;
      expect(read.find(2, other)).toBeNull();
    }
    expect(read.find(3, event(2).hash)).toBeNull();
    expect(EventPage.from(new EventPage(9).pack()).size).toBe(0);
    expect(new EventPage(9).find(0, new Uint8Array(16))).toBeNull();
  });
  it('finds each of a player’s events, and knows when the only one was erased', () => {
    const page = new EventPage(3);
    for (const each of [event(1), event(8), event(2)]) page.add(each);
    expect(page.isFull).toBe(true);
    for (const each of [event(1), event(8)]) expect(page.find(1, each.hash)).toEqual(each);
    expect([page.erase(2), page.find(2, event(2).hash)]).toEqual([true, null]);
  });
  it('stores no names if each is the id, and nothing of an erased player', () => {
    const page = new EventPage();
    for (const each of [event(8), event(9, 'Grace'), event(15), event(16, 'Linus')]) page.add(each);
    expect([page.isFull, page.erase(2), page.erase(2), page.erase(3)]).toEqual([false, true, false, false]);
    const stored = page.pack();
    expect(stored.userNames).toBeNull();
    for (const kept of [event(8), event(15)]) expect(EventPage.from(stored).find(1, kept.hash)).toEqual(kept);
    expect(EventPage.from(stored).find(2, event(9).hash)).toBeNull();
    expect(stored.records.subarray(32, 64)).toEqual(new Uint8Array(32));
  });
});
