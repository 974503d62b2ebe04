import { describe, expect, it } from 'vitest';
import { SlotKeys } from '../../../durable-objects/leaderboard/domain/slot-keys.ts';
import {
  addressesOf,
  LIST_END,
  LIST_START,
  startOf,
  toShardName,
} from '../../../durable-objects/leaderboard/protocol.ts';
import { countFirst } from '../../../workers/leaderboard/domain/binary-search.ts';
import { boardOfRef, nextSeason, parsePeriod, preparationAt } from '../../../workers/leaderboard/domain/season-name.ts';
import { compareStandings, decideWindow } from '../../../workers/leaderboard/domain/standing.ts';
import { readCursor, toFirstPage, toListJson } from '../../../workers/leaderboard/domain/standings-json.ts';
import { encodeCursor } from '../../../workers/shared/pure/cursor.ts';

const REF = 'races.al.3f9c2d1e';
const DAY_MS = 86_400_000;

describe('a page of standings', () => {
  const entry = (n: number) => ({ userId: `u${n}`, userName: `U${n}`, score: 10 - n, reached: n, rank: n + 1 });
  const top = (players: number) => ({ entries: [entry(0), entry(1), entry(2)], players, asOf: 7 });

  it('continues after its last entry if there are more players', () => {
    expect(toFirstPage(top(3), 2)).toEqual({ entries: [entry(0), entry(1)], players: 3, asOf: 7, next: entry(1) });
    expect(toFirstPage(top(3), 3).next).toBeNull();
    expect(toFirstPage(top(4), 3).next).toEqual(entry(2));
    expect(toFirstPage({ entries: [], players: 1, asOf: 7 }, 3).next).toBeNull();
  });

  it('has scores as they were posted, and a cursor that leads back to its place', () => {
    const name = `${REF}:2026-W47`;
    const json = toListJson(name, toFirstPage(top(3), 1));
    expect(json).toMatchObject({
      data: [{ user_id: 'u0', user_name: 'U0', rank: 1, score: Number.MAX_SAFE_INTEGER - 10 }],
      ...{ total: 1, season: '2026-W47', players: 3, as_of: '1970-01-01T00:00:00.007Z' },
    });
    expect(readCursor(json.next_cursor ?? '')).toEqual({
      season: '2026-W47',
      key: { score: 10, reached: 0, userId: 'u0' },
    });
    expect(toListJson('2026-11', toFirstPage(top(3), 3))).toMatchObject({ next_cursor: null, season: '2026-11' });
    expect(toListJson('2026-11', toFirstPage(top(3), 3)).data.map(({ score }) => score)).toEqual([10, 9, 8]);
  });

  it.each([
    [[1, 2, 3, 'u']],
    [['s', '2', 3, 'u']],
    [['s', 2, '3', 'u']],
    [['s', 2, 3, 4]],
    [['s', 2, 3]],
    [['s', 2, 3, 'u', 5]],
    [[]],
  ])('is not found by the cursor %j', (values) => {
    expect(readCursor(encodeCursor(values))).toBeNull();
    expect(readCursor('rubbish')).toBeNull();
  });
});

describe('the ends of a list', () => {
  const player = { userId: 'a', score: 5, reached: 3 };
  it('are before and after every player', () => {
    for (const score of [0, 5, Number.MAX_SAFE_INTEGER]) {
      expect(compareStandings(LIST_START, { ...player, score })).toBeLessThan(0);
      expect(compareStandings(LIST_END, { ...player, score })).toBeGreaterThan(0);
    }
  });
  it('of a score are before its players, and after those with more', () => {
    expect(compareStandings(startOf(5), { ...player, reached: 0 })).toBeLessThan(0);
    expect(compareStandings(startOf(5), { ...player, score: 6, reached: 9 })).toBeGreaterThan(0);
    expect(compareStandings(startOf(5), { ...player, score: 4, reached: 0 })).toBeLessThan(0);
  });
});

it('a season has its shards, each with a name', () => {
  expect(addressesOf({ season: '2026-11', shards: 2 })).toEqual([
    ...[
      { season: '2026-11', shard: 0, shards: 2 },
      { season: '2026-11', shard: 1, shards: 2 },
    ],
  ]);
  expect(toShardName({ season: '2026-11', shard: 1, shards: 2 })).toBe('2026-11:1');
});

describe('the next season', () => {
  it.each([
    ['2026-12', '2027-01', DAY_MS],
    [`${REF}:2026-W53`, `${REF}:2027-W01`, DAY_MS],
    [`${REF}:2028-02-29`, `${REF}:2028-03-01`, DAY_MS / 12],
  ])('of %s is %s, and is prepared in time', (name, next, aheadMs) => {
    expect(nextSeason(name)).toBe(next);
    const { startsAt = 0 } = parsePeriod(next.split(':').at(-1) ?? '') ?? {};
    expect(preparationAt(name)).toBe(startsAt - aheadMs);
  });
  it('does not exist without periods', () => {
    expect([nextSeason(`${REF}:all`), preparationAt(`${REF}:all`)]).toEqual([null, null]);
    expect(parsePeriod('all')).toEqual({ period: 'none', startsAt: 0, endsAt: Number.MAX_SAFE_INTEGER });
  });
  it('belongs to a board', () => {
    expect([boardOfRef(''), boardOfRef(REF)]).toEqual(['default', 'races']);
    expect(() => nextSeason('2026-13')).toThrow('2026-13 is not a season');
  });
});

it('the first items before a place are counted in any list', () => {
  for (let length = 0; length < 9; length += 1)
    for (let count = 0; count <= length; count += 1) expect(countFirst(length, (at) => at < count)).toBe(count);
});

it('the newest time is that of a listed slot', () => {
  const keys = new SlotKeys();
  expect([keys.newest(), keys.scoreOf(5_000), keys.reachedOf(5_000)]).toEqual([0, -1, 0]);
  keys.set(4_096, 7, 50);
  keys.set(3, 0, 40);
  keys.set(4, -1, 90);
  expect([keys.newest(), [...keys.listed()]]).toEqual([50, [3, 4_096]]);
  expect([keys.scoreOf(4_096), keys.reachedOf(4_096), keys.scoreOf(4_095), keys.scoreOf(8_192)]).toEqual([
    ...[7, 50, -1, -1],
  ]);
  expect(keys.takeChanged().map(([number]) => number)).toEqual([1, 0]);
  expect(keys.takeChanged()).toEqual([]);
});

it('pages of slots may be loaded in any order', () => {
  const stored = new SlotKeys();
  stored.set(8_192, 7, 50);
  const page = stored.takeChanged()[0]?.[1] ?? new Float64Array();
  const keys = new SlotKeys();
  keys.loadPage(2, page);
  expect([[...keys.listed()], keys.reachedOf(8_192), keys.scoreOf(5)]).toEqual([[8_192], 50, -1]);
});

it.each([
  [10, 10, [2, 2]],
  [0, 10, [0, 4]],
  [1, 10, [1, 3]],
  [10, 0, [4, 0]],
  [1, 1, [1, 1]],
  [0, 3, [0, 3]],
])('fills the window of neighbors with %i before and %i after', (before, after, expected) => {
  expect(decideWindow(before, after, 2, true)).toEqual(expected);
  expect(decideWindow(before, after, 2, false)).toEqual([Math.min(2, before), Math.min(2, after)]);
});
