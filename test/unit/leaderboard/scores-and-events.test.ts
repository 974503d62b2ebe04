import { describe, expect, it } from 'vitest';
import { EVENT_RETENTION_MS, isStale, toShardName } from '../../../workers/leaderboard/domain/board.ts';
import {
  appendEvent,
  blankEvent,
  EVENTS_INLINE_MAX,
  findPlace,
  hasHash,
  hashAt,
  NO_EVENTS,
  packEvents,
  readEvent,
  readEvents,
  type ScoredEvent,
  setRank,
} from '../../../workers/leaderboard/domain/event-log.ts';
import {
  fromResultColumns,
  fromTopColumns,
  fromUpdateColumns,
  toResultColumns,
  toTopColumns,
  toUpdateColumns,
} from '../../../workers/leaderboard/domain/score-columns.ts';
import { parseSeason, previousSeason, seasonAt } from '../../../workers/leaderboard/domain/season-name.ts';
import { shardOf } from '../../../workers/leaderboard/domain/shard-map.ts';
import { compareStandings, mergeStandings, rankRun } from '../../../workers/leaderboard/domain/standing.ts';
import { sortStandings } from '../../../workers/leaderboard/domain/standing-order.ts';

describe('a season', () => {
  it('is one UTC month', () => {
    expect(parseSeason('2026-01')).toEqual({ startsAt: Date.UTC(2026, 0), endsAt: Date.UTC(2026, 1) });
    expect(parseSeason('2026-12')).toEqual({ startsAt: Date.UTC(2026, 11), endsAt: Date.UTC(2027, 0) });
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
    // A run that starts inside a tie takes the rank of the tie for its first entries.
    expect(ranks(10, 8, 5, 5, 4)).toEqual([8, 8, 13]);
    expect(ranks(0, 1)).toEqual([]);
  });
  it('have the same order from the radix sort as from comparison', () => {
    const scores = Float64Array.of(0, 65_535, 65_536, 2 ** 53 - 1, 65_536, 2 ** 48, 2 ** 32, 5, 2 ** 32);
    const reached = Float64Array.of(7, 2 ** 50, 2 ** 33, 1, 65_537, 0, 2 ** 48, 5, 2 ** 48 - 1);
    const sorted = Array.from(scores.keys()).sort(
      (a, b) => Number(scores[b]) - Number(scores[a]) || Number(reached[a]) - Number(reached[b]),
    );
    expect([...sortStandings(scores, reached)]).toEqual(sorted);
    expect([...sortStandings(Float64Array.of(1, 1), Float64Array.of(1, 1))]).toEqual([0, 1]);
    expect(sortStandings(new Float64Array(0), new Float64Array(0))).toHaveLength(0);
  });
});

describe('an event log', () => {
  const event = (n: number, at = n): ScoredEvent => ({
    hash: new Uint8Array(16).fill(n),
    at,
    points: n * 2,
    score: 2 ** 40 + n,
    rank: n * 3,
  });
  const three = [event(1), event(2), event(3)];
  it('returns the packed events, from any offset in a buffer', () => {
    const log = packEvents(three);
    expect(log).toHaveLength(3 * 36);
    expect(readEvents(log)).toEqual(three);
    const shifted = new Uint8Array(200);
    shifted.set(log, 10);
    expect(readEvents(shifted.subarray(10, 10 + log.length))).toEqual(three);
    expect(readEvent(log, 1)).toEqual(three[1]);
    expect(readEvents(NO_EVENTS)).toEqual([]);
  });
  it('finds an event by its whole hash', () => {
    const log = packEvents(three);
    expect([1, 2, 3, 4].map((n) => findPlace(log, event(n).hash))).toEqual([0, 1, 2, -1]);
    for (const at of [0, 15]) {
      const other = event(2).hash;
      other[at] = 9;
      expect(findPlace(log, other)).toBe(-1);
    }
    expect([hasHash(log, 1, event(2).hash), hasHash(log, 0, event(2).hash)]).toEqual([true, false]);
    expect(hashAt(log, 2)).toEqual(event(3).hash);
    expect(findPlace(NO_EVENTS, event(1).hash)).toBe(-1);
  });
  it('changes one record at a time', () => {
    const log = packEvents(three);
    setRank(log, 1, 77);
    expect(readEvents(log).map(({ rank }) => rank)).toEqual([3, 77, 9]);
    blankEvent(log, 1);
    expect(readEvents(log)).toEqual([
      three[0],
      { hash: new Uint8Array(16), at: 0, points: 0, score: 0, rank: 0 },
      three[2],
    ]);
  });
  it('drops events before a time from its beginning', () => {
    const { log, spilled } = appendEvent(packEvents(three), event(4), 2);
    expect([readEvents(log), spilled]).toEqual([[event(2), event(3), event(4)], []]);
    expect(readEvents(appendEvent(packEvents(three), event(4), 99).log)).toEqual([event(4)]);
    expect(readEvents(appendEvent(NO_EVENTS, event(1), 0).log)).toEqual([event(1)]);
  });
  it('holds 32 events, and the next one moves the oldest 16 out', () => {
    const full = Array.from({ length: EVENTS_INLINE_MAX }, (_, i) => event(i + 1));
    const short = appendEvent(packEvents(full.slice(1)), event(100), 0);
    expect([readEvents(short.log).length, short.spilled]).toEqual([32, []]);
    const { log, spilled } = appendEvent(packEvents(full), event(100), 0);
    expect(spilled).toEqual(full.slice(0, 16));
    expect(readEvents(log)).toEqual([...full.slice(16), event(100)]);
    // Expired events are dropped first. Only then are events moved out.
    expect(appendEvent(packEvents(full), event(100), 2).spilled).toEqual([]);
  });
});

describe('columns', () => {
  const update = (userId: string, userName: string | null, eventId: string | null) => ({
    userId,
    points: 3,
    userName,
    eventId,
  });
  it('encode updates, and omit empty columns', () => {
    const plain = [update('a', null, null), update('b', null, null)];
    expect(toUpdateColumns(plain)).toEqual({ userIds: ['a', 'b'], points: [3, 3], userNames: null, eventIds: null });
    expect(fromUpdateColumns(toUpdateColumns(plain))).toEqual(plain);
    const mixed = [update('a', null, 'e'), update('b', 'Bo', null)];
    expect(toUpdateColumns(mixed)).toMatchObject({ userNames: [null, 'Bo'], eventIds: ['e', null] });
    expect(fromUpdateColumns(toUpdateColumns(mixed))).toEqual(mixed);
  });
  it('encode results and errors, and names only if they differ from the id', () => {
    const updates = [update('a', null, null), update('b', null, null), update('c', null, null)];
    const results = [
      { ok: true, value: { userName: 'a', score: 5, rank: 1, isDuplicate: false } },
      { ok: false, error: { kind: 'season_sealed' } },
      { ok: true, value: { userName: 'Cy', score: 4, rank: 2, isDuplicate: true } },
    ] as const;
    const columns = toResultColumns(updates, results);
    expect(columns).toEqual({
      userNames: [null, null, 'Cy'],
      scores: [5, 0, 4],
      ranks: [1, 0, 2],
      duplicates: [2],
      errors: [{ place: 1, error: { kind: 'season_sealed' } }],
    });
    expect(fromResultColumns(updates, columns)).toEqual(results);
  });
  it('encode top lists', () => {
    const entries = [
      { userId: 'a', userName: 'a', score: 2, reached: 10 },
      { userId: 'b', userName: 'Bo', score: 1, reached: 11 },
    ];
    expect(toTopColumns(entries).userNames).toEqual([null, 'Bo']);
    expect(fromTopColumns(toTopColumns(entries))).toEqual(entries);
  });
});
