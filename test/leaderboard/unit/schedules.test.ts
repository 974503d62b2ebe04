/** Tests boards with periods of a chosen length in a time zone, and resets: their ends through clock changes, names and order. */
import { describe, expect, it } from 'vitest';
import { type ScheduleRules, SeasonSchedule } from '../../../workers/leaderboard/domain/schedule.ts';
import {
  endOfSeason,
  parsePeriod,
  previousSeason,
  readSeason,
  seasonAt,
  seasonNamed,
} from '../../../workers/leaderboard/domain/season-name.ts';
import { scheduleSchema } from '../../../workers/leaderboard/schedule-contract.ts';

const REF = 'races.al.3f9c2d1e';
const HOUR_MS = 3_600_000;
const rulesOf = (rules: Partial<ScheduleRules>): ScheduleRules => ({
  every: 1,
  unit: 'day',
  startsAt: Date.parse('2026-03-01T18:00:00Z'),
  timeZone: 'UTC',
  endsAt: null,
  ...rules,
});
const boardOf = (rules: Partial<ScheduleRules>, resets: readonly number[] | null = null) => ({
  ref: REF,
  period: 'custom' as const,
  schedule: new SeasonSchedule(rulesOf(rules)),
  resets,
});

/** The starts of the first seasons, as local times. */
function startsOf(rules: Partial<ScheduleRules>, count: number): string[] {
  const schedule = new SeasonSchedule(rulesOf(rules));
  let at = rulesOf(rules).startsAt;
  return Array.from({ length: count }, () => {
    const { startsAt, endsAt } = schedule.periodAt(at);
    at = endsAt;
    return new Date(startsAt).toLocaleString('sv', { timeZone: rules.timeZone ?? 'UTC' }).slice(0, 16);
  });
}

describe('a period', () => {
  it('of days keeps its local hour through both changes of the clock', () => {
    const berlin = { timeZone: 'Europe/Berlin', every: 2 };
    expect(startsOf({ ...berlin, startsAt: Date.parse('2026-03-27T17:00:00Z') }, 3)).toEqual([
      '2026-03-27 18:00',
      '2026-03-29 18:00',
      '2026-03-31 18:00',
    ]);
    const schedule = new SeasonSchedule(rulesOf({ ...berlin, startsAt: Date.parse('2026-10-24T16:00:00Z') }));
    const { startsAt, endsAt } = schedule.periodAt(Date.parse('2026-10-25T12:00:00Z'));
    expect((endsAt - startsAt) / HOUR_MS).toBe(49);
  });

  it('begins later if its local time does not exist, and at the first of two', () => {
    const missing = { timeZone: 'Europe/Berlin', startsAt: Date.parse('2026-03-28T01:30:00Z') };
    expect(startsOf(missing, 3)).toEqual(['2026-03-28 02:30', '2026-03-29 03:30', '2026-03-30 02:30']);
    const twice = new SeasonSchedule(
      rulesOf({ timeZone: 'Europe/Berlin', startsAt: Date.parse('2026-10-24T00:30:00Z') }),
    );
    expect(new Date(twice.periodAt(Date.parse('2026-10-25T00:45:00Z')).startsAt).toISOString()).toBe(
      '2026-10-25T00:30:00.000Z',
    );
    expect(twice.periodAt(Date.parse('2026-10-25T01:45:00Z')).startsAt).toBe(Date.parse('2026-10-25T00:30:00Z'));
    // Lord Howe Island changes its clock by half an hour.
    expect(startsOf({ timeZone: 'Australia/Lord_Howe', startsAt: Date.parse('2026-10-02T15:45:00Z') }, 3)).toEqual([
      '2026-10-03 02:15',
      '2026-10-04 02:45',
      '2026-10-05 02:15',
    ]);
  });

  it('of hours has that many hours', () => {
    const schedule = new SeasonSchedule(rulesOf({ unit: 'hour', every: 7, timeZone: 'Europe/Berlin' }));
    for (let at = Date.parse('2026-03-28T00:00:00Z'); at < Date.parse('2026-03-30T00:00:00Z'); at += 777_777) {
      const { startsAt, endsAt } = schedule.periodAt(at);
      expect([startsAt <= at, at < endsAt, endsAt - startsAt]).toEqual([true, true, 7 * HOUR_MS]);
    }
  });

  it('of months from the 31st begins on the last day of short months', () => {
    const rules = { unit: 'month' as const, startsAt: Date.parse('2026-01-31T09:00:00Z') };
    expect(startsOf(rules, 4).map((start) => start.slice(0, 10))).toEqual([
      '2026-01-31',
      '2026-02-28',
      '2026-03-31',
      '2026-04-30',
    ]);
  });

  it('follows the one before without a gap, whatever the zone and the length', () => {
    for (const timeZone of ['UTC', 'America/Sao_Paulo', 'America/New_York', 'Asia/Kathmandu', 'Africa/Casablanca'])
      for (const unit of ['hour', 'day', 'week', 'month'] as const)
        for (const every of [1, 3]) {
          const board = boardOf({ timeZone, unit, every, startsAt: Date.parse('2026-02-28T23:30:00Z') });
          let name = seasonAt(Date.parse('2026-03-01T00:00:00Z'), board);
          for (let i = 0; i < 30; i++) {
            const { endsAt, label } = readSeason(name);
            const next = seasonAt(endsAt, board);
            expect([next > name, readSeason(next).startsAt, previousSeason(next, board)]).toEqual([true, endsAt, name]);
            expect([seasonAt(endsAt - 1, board), seasonNamed(label, board)]).toEqual([name, name]);
            name = next;
          }
        }
  });

  it('ends with the schedule, and there is none before it', () => {
    const endsAt = Date.parse('2026-03-04T00:00:00Z');
    const board = boardOf({ endsAt });
    const first = seasonAt(Date.parse('2026-03-01T18:00:00Z'), board);
    const last = seasonAt(endsAt - 1, board);
    expect(first).toBe(`${REF}:20260301T180000Z--20260302T180000Z`);
    expect(last).toBe(`${REF}:20260303T180000Z--20260304T000000Z`);
    expect([seasonAt(0, board), seasonAt(endsAt + 1e9, board)]).toEqual([first, last]);
    expect(previousSeason(first, board)).toBeNull();
  });

  it('has one name: others are no season of the board', () => {
    const board = boardOf({});
    for (const label of [
      '20260301T180000Z--20260303T180000Z',
      '20260301T190000Z--20260302T190000Z',
      '20260302T180000Z--20260301T180000Z',
      '20260231T180000Z--20260302T180000Z',
      '2026-03-01',
      'all',
    ])
      expect([label, seasonNamed(label, board)]).toEqual([label, null]);
    expect(parsePeriod('20260231T180000Z--20260302T180000Z')).toBeNull();
  });
});

describe('a reset', () => {
  const [first, second] = [Date.parse('2026-11-20T10:00:05Z'), Date.parse('2026-11-25T10:00:05Z')];

  it.each([
    ['none', 'all', ['all', 'all.20261120T100005Z', 'all.20261125T100005Z']],
    ['month', '2026-11', ['2026-11', '2026-11.20261120T100005Z', '2026-11.20261125T100005Z']],
  ] as const)('begins a season that sorts after the one that it ends: %s', (period, base, labels) => {
    const board = { ref: REF, period, resets: [first, second] };
    const names = [first - 1, first, second].map((at) => seasonAt(at, board));
    expect(names).toEqual(labels.map((label) => `${REF}:${label}`));
    expect([...names].sort()).toEqual(names);
    expect([...names, `${REF}:2026-12`].slice(period === 'none' ? 3 : 0).sort()[0]).toBe(
      period === 'none' ? `${REF}:2026-12` : names[0],
    );
    expect(names.slice(1).map((name) => previousSeason(name, board))).toEqual(names.slice(0, 2));
    expect(names.map((name) => endOfSeason(name, board))).toEqual([first, second, readSeason(names[2] ?? '').endsAt]);
    expect(labels.map((label) => seasonNamed(label, board))).toEqual(names);
    expect(seasonNamed(`${base}.20261121T100005Z`, board)).toBeNull();
    expect(seasonNamed(labels[1], { ref: REF, period })).toBeNull();
  });

  it('is no season of `default`', () => {
    expect(seasonNamed('2026-11.20261120T100005Z')).toBeNull();
    expect(parsePeriod('2026-11.20261220T100005Z')).toBeNull();
    expect(parsePeriod('2026-11.20261120T100005')).toBeNull();
  });
});

it('refuses times so late that a season would end after the year 9999, whose label no parser reads', () => {
  const schedule = { every: 1_000, unit: 'month', time_zone: 'UTC', ends_at: null };
  expect(scheduleSchema.safeParse({ ...schedule, starts_at: '9999-12-31T00:00:00Z' }).success).toBe(false);
  expect(scheduleSchema.safeParse({ ...schedule, starts_at: '2999-12-31T00:00:00Z' }).success).toBe(true);
});
