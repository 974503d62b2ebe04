/** Tests the sending limit of an account, which depends on its age, its standing and the last hour. */
import { expect, it } from 'vitest';
import {
  decideSendLimit,
  decideSendWait,
  decideStanding,
  type SendHistory,
} from '../../../workers/mail/domain/send-limit.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;
const NOW = 1_800_000_000_000;
const LIMITS = { perHour: 200, perHourFirstDay: 20, perHourFirstWeek: 50 };
const history = (given: Partial<SendHistory> = {}): SendHistory => ({
  ageMs: 30 * DAY_MS,
  recipients: 0,
  failures: 0,
  minutes: [],
  ...given,
});

it('the limit grows after a day and after a week', () => {
  const limits = [0, DAY_MS - 1, DAY_MS, 7 * DAY_MS - 1, 7 * DAY_MS].map((ageMs) =>
    decideSendLimit(LIMITS, history({ ageMs })),
  );
  expect(limits).toEqual([20, 20, 50, 50, 200]);
});

it('the limit of a young account is never above the full one', () => {
  expect(decideSendLimit({ ...LIMITS, perHour: 5 }, history({ ageMs: 0 }))).toBe(5);
});

it('an old account gets the limit of the first day while a quarter of its recipients, and at least ten, fail', () => {
  const limitOf = (recipients: number, failures: number) => decideSendLimit(LIMITS, history({ recipients, failures }));
  expect([limitOf(9, 9), limitOf(40, 10), limitOf(41, 10), limitOf(1_000, 250)]).toEqual([200, 20, 200, 20]);
});

it('a message waits until enough recipients are older than an hour', () => {
  const minutes = [
    { endsAt: NOW - 50 * MINUTE_MS, recipients: 100 },
    { endsAt: NOW - 20 * MINUTE_MS, recipients: 90 },
  ];
  const waitFor = (recipients: number) => decideSendWait(LIMITS, history({ minutes }), recipients, NOW);
  expect([waitFor(10), waitFor(11), waitFor(110), waitFor(111)]).toEqual([
    0,
    10 * MINUTE_MS,
    10 * MINUTE_MS,
    40 * MINUTE_MS,
  ]);
});

it('a message with more recipients than the limit waits for the age that allows it', () => {
  const waitFor = (recipients: number, ageMs: number) => decideSendWait(LIMITS, history({ ageMs }), recipients, NOW);
  expect([waitFor(21, HOUR_MS), waitFor(51, HOUR_MS), waitFor(51, 2 * DAY_MS)]).toEqual([
    DAY_MS - HOUR_MS,
    7 * DAY_MS - HOUR_MS,
    5 * DAY_MS,
  ]);
  expect([waitFor(50, HOUR_MS), waitFor(200, HOUR_MS), waitFor(200, 7 * DAY_MS)]).toEqual([
    DAY_MS - HOUR_MS,
    7 * DAY_MS - HOUR_MS,
    0,
  ]);
  // 201 recipients exceed the limit of every age. The wait is an hour, because the operator may raise the limit.
  expect([waitFor(201, HOUR_MS), waitFor(201, 30 * DAY_MS)]).toEqual([HOUR_MS, HOUR_MS]);
  expect(decideSendWait(LIMITS, history({ ageMs: HOUR_MS, recipients: 20, failures: 10 }), 21, NOW)).toBe(HOUR_MS);
});

it('a message waits at least a moment if the limit is reached', () => {
  const minutes = [{ endsAt: NOW - HOUR_MS, recipients: 200 }];
  expect(decideSendWait(LIMITS, history({ minutes }), 1, NOW)).toBe(1);
});

it('complaints lower the limit from two and 0.1 % on, and hold mail from five and 0.3 % on', () => {
  const standings = [
    [1, 1],
    [10, 2],
    [2_000, 2],
    [2_001, 2],
    [10, 4],
    [1_666, 5],
    [1_667, 5],
    [5_001, 5],
  ].map(([recipients = 0, complaints = 0]) => decideStanding({ recipients, complaints }));
  expect(standings).toEqual(['good', 'lowered', 'lowered', 'good', 'lowered', 'held', 'lowered', 'good']);
  const limits = (['good', 'lowered', 'held'] as const).map((standing) =>
    decideSendLimit(LIMITS, history({ standing })),
  );
  expect(limits).toEqual([200, 20, 20]);
});
