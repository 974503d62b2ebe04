import { describe, expect, it } from 'vitest';
import { nextScore, OPERATORS, SORTS, toShown, toStored } from '../../../workers/leaderboard/domain/score-rules.ts';
import {
  parseSeason,
  previousSeason,
  readSeason,
  seasonAt,
  seasonNamed,
  toBoardRef,
} from '../../../workers/leaderboard/domain/season-name.ts';
import { announceSeed, createRandom } from './random.ts';

const DAY_MS = 86_400_000;
const REF = 'races.al.3f9c2d1e';

describe('the season of a board', () => {
  it.each([
    ['week', '2026-11-22T23:59:59.999Z', '2026-W47'],
    ['week', '2026-11-23T00:00:00Z', '2026-W48'],
    // By ISO 8601, a week belongs to the year of its Thursday.
    ['week', '2027-01-03T23:59:59.999Z', '2026-W53'],
    ['week', '2027-01-04T00:00:00Z', '2027-W01'],
    ['week', '2024-12-30T00:00:00Z', '2025-W01'],
    ['day', '2028-02-29T12:00:00Z', '2028-02-29'],
    ['month', '2026-11-30T23:59:59.999Z', '2026-11'],
    ['none', '2026-11-30T23:59:59.999Z', 'all'],
  ] as const)('of a %s at %s is %s', (period, at, label) => {
    const name = seasonAt(Date.parse(at), { ref: REF, period });
    expect(name).toBe(`${REF}:${label}`);
    expect(seasonNamed(label, { ref: REF, period })).toBe(name);
    const { startsAt, endsAt, ...rest } = readSeason(name);
    expect(rest).toEqual({ board: REF, label, period, rules: { sort: 'asc', operator: 'last' } });
    expect([startsAt <= Date.parse(at), Date.parse(at) < endsAt]).toEqual([true, true]);
  });

  it.each(['month', 'week', 'day'] as const)('follows the one before without a gap: %s', (period) => {
    const board = { ref: REF, period };
    for (let at = Date.UTC(2023, 11, 1); at < Date.UTC(2030, 1); at += DAY_MS) {
      const { startsAt, endsAt, label } = readSeason(seasonAt(at, board));
      if (period === 'week') expect([new Date(startsAt).getUTCDay(), endsAt - startsAt]).toEqual([1, 7 * DAY_MS]);
      const before = previousSeason(`${REF}:${label}`) ?? '';
      expect([label, readSeason(before).endsAt, before < seasonAt(at, board)]).toEqual([label, startsAt, true]);
      expect(seasonAt(endsAt - 1, board)).toBe(`${REF}:${label}`);
    }
  });

  it('has one name only', () => {
    expect(previousSeason(`${REF}:all`)).toBeNull();
    const wrong = ['2026-W54', '2025-W53', '2026-W00', '2026-02-30', '2026-13', '2026-1', 'none', '', `${REF}:2026-11`];
    for (const label of wrong) {
      expect([label, parseSeason(`${REF}:${label}`)]).toEqual([label, null]);
      expect([label, seasonNamed(label, { ref: REF, period: 'week' })]).toEqual([label, null]);
    }
    // Seasons of the board `default` are months only, and a month is not a season of a weekly board.
    expect([parseSeason('2026-W47'), parseSeason('all'), parseSeason('2026-11-22')]).toEqual([null, null, null]);
    expect(seasonNamed('2026-11', { ref: REF, period: 'week' })).toBeNull();
  });

  it('says how scores count', () => {
    for (const sort of SORTS)
      for (const operator of OPERATORS) {
        const ref = toBoardRef('a-1', { sort, operator }, '0123abcd');
        expect(readSeason(`${ref}:all`)).toMatchObject({ board: ref, rules: { sort, operator } });
      }
    expect(readSeason('2026-11').rules).toEqual({ sort: 'desc', operator: 'sum' });
  });
});

describe('the score of a player', () => {
  it.each(SORTS.flatMap((sort) => OPERATORS.map((operator) => [sort, operator] as const)))(
    'of several posts counts as %s %s',
    (sort, operator) => {
      const random = createRandom(announceSeed());
      const rules = { sort, operator };
      for (let run = 0; run < 200; run++) {
        const posts = Array.from({ length: 1 + Math.floor(random() * 6) }, () => Math.floor(random() * 50));
        let stored: number | null = null;
        for (const points of posts) stored = nextScore(rules, stored, points);
        const best = sort === 'asc' ? Math.min(...posts) : Math.max(...posts);
        const expected = { sum: posts.reduce((sum, points) => sum + points, 0), best, last: posts.at(-1) }[operator];
        expect([posts, toShown(rules, stored ?? -1)]).toEqual([posts, expected]);
      }
    },
  );

  it('is at most 2^53 − 1 as a sum, on both kinds of boards', () => {
    for (const sort of SORTS) {
      const rules = { sort, operator: 'sum' } as const;
      const most = toStored(rules, Number.MAX_SAFE_INTEGER);
      expect([nextScore(rules, most, 0), nextScore(rules, most, 1)]).toEqual([most, null]);
    }
  });

  it('is stored so that a better one is higher', () => {
    for (const sort of SORTS) {
      const [better, worse] = sort === 'asc' ? [3, 7] : [7, 3];
      expect(toStored({ sort }, better)).toBeGreaterThan(toStored({ sort }, worse));
    }
  });
});
