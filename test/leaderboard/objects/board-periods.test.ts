/** Tests boards with periods of a chosen length, resets, and imports of past seasons, by the API, through the ends of seasons. */
import { createExecutionContext, env, waitOnExecutionContext } from 'cloudflare:test';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { forgetBoard } from '../../../workers/leaderboard/boards/boards.ts';
import { runLeaderboardSchedule } from '../../../workers/leaderboard/schedule.ts';
import { writeScores } from '../../../workers/leaderboard/score-writer.ts';
import { requestApi } from '../../support/json-api.ts';

const RULES = { title: 'Sprint', sort: 'desc', operator: 'sum', period: 'custom', public: true };
const SCHEDULE = { every: 3, unit: 'day', starts_at: '2053-03-27T17:00:00Z', time_zone: 'Europe/Berlin' };

async function call(method: string, path: string, body?: unknown) {
  const headers = { 'content-type': 'application/json', authorization: 'Bearer root-of-tests' };
  const ctx = createExecutionContext();
  const init = { method, headers, ...(body === undefined ? {} : { body: JSON.stringify(body) }) };
  const response = await requestApi(env, path, init, ctx);
  const text = await response.text();
  await waitOnExecutionContext(ctx);
  // biome-ignore lint/suspicious/noExplicitAny: each test asserts the members it needs
  const json: any = text === '' ? null : JSON.parse(text);
  return { status: response.status, body: json };
}

const setTime = (time: string) => vi.setSystemTime(Date.parse(time));
const cron = () =>
  runLeaderboardSchedule({ scheduledTime: Date.now(), cron: '* * * * *', noRetry() {} }, env, createExecutionContext());

async function makeBoard(rules = {}): Promise<string> {
  const board = `p-${crypto.randomUUID().slice(0, 8)}`;
  const made = await call('PUT', `/v1/boards/${board}`, { ...RULES, ...rules });
  expect([made.status, made.body.code]).toEqual([200, undefined]);
  return board;
}

async function post(board: string, points: number, eventId: string, season?: string) {
  const [result] = await writeScores(env, [{ userId: 'ada', points, userName: null, eventId, season }], board);
  if (result === undefined) throw new Error('no result');
  return result.ok ? { score: result.value.score, season: result.value.season } : result.error.kind;
}

const seasonsOf = async (board: string) =>
  (await call('GET', `/v1/boards/${board}/seasons`)).body.data.map(
    ({ season, state }: { season: string; state: string }) => `${season} ${state}`,
  );

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['Date'] });
  vi.spyOn(console, 'error').mockImplementation(() => {});
});
afterEach(() => {
  vi.restoreAllMocks();
  vi.useRealTimers();
});

it('counts in seasons of three local days, through a change of the clock, from the start to the end', async () => {
  setTime('2053-03-20T12:00:00Z');
  const board = await makeBoard({ schedule: { ...SCHEDULE, ends_at: '2053-04-04T12:00:00Z' } });
  expect(await post(board, 1, 'early')).toBe('no_season');
  const [first, second, last] = [
    '20530327T170000Z--20530330T160000Z',
    '20530330T160000Z--20530402T160000Z',
    '20530402T160000Z--20530404T120000Z',
  ] as const;
  setTime('2053-03-30T15:59:59Z');
  expect(await post(board, 5, 'a')).toEqual({ score: 5, season: first });
  setTime('2053-03-30T16:00:00Z');
  expect(await post(board, 7, 'b')).toEqual({ score: 7, season: second });
  expect(await post(board, 5, 'a')).toEqual({ score: 5, season: first });
  expect(await post(board, 2, 'c', first)).toEqual({ score: 7, season: first });
  await cron();
  expect(await post(board, 2, 'd', first)).toBe('season_sealed');
  setTime('2053-04-04T11:00:00Z');
  expect(await post(board, 9, 'e')).toEqual({ score: 9, season: last });
  expect(await post(board, 9, 'f', '20530330T160000Z--20530403T160000Z')).toBe('unknown_season');
  setTime('2053-04-04T12:00:00Z');
  expect(await post(board, 9, 'g')).toBe('no_season');
  await cron();
  expect(await seasonsOf(board)).toEqual([`${last} historical`, `${second} historical`, `${first} historical`]);
  const list = (await call('GET', `/v1/boards/${board}/scores`)).body;
  expect([list.season, list.data[0].score]).toEqual([last, 9]);
  expect((await call('GET', `/v1/boards/${board}/scores?season=${first}`)).body.data[0].score).toBe(7);
});

it('keeps its schedule, which only the period custom has', async () => {
  setTime('2053-05-01T12:00:00Z');
  const board = await makeBoard({ schedule: SCHEDULE });
  const put = (rules: object) => call('PUT', `/v1/boards/${board}`, { ...RULES, ...rules });
  const same = await put({ schedule: { ...SCHEDULE, starts_at: '2053-03-27T18:00:00+01:00' }, title: 'Other' });
  expect(same.body).toMatchObject({
    title: 'Other',
    schedule: { ...SCHEDULE, starts_at: '2053-03-27T17:00:00.000Z', ends_at: null },
  });
  expect((await put({ schedule: { ...SCHEDULE, every: 4 } })).body.code).toBe('board_rules_fixed');
  for (const rules of [
    {},
    { period: 'day', schedule: SCHEDULE },
    { schedule: { ...SCHEDULE, time_zone: 'Europe/Atlantis' } },
    { schedule: { ...SCHEDULE, ends_at: SCHEDULE.starts_at } },
    { schedule: { ...SCHEDULE, every: 0 } },
    { schedule: { ...SCHEDULE, starts_at: '2053-03-27T17:00:00.5Z' } },
  ])
    expect([rules, (await call('PUT', '/v1/boards/p-wrong', { ...RULES, ...rules })).status]).toEqual([rules, 400]);
});

it.each([
  ['none', 'all'],
  ['month', '2053-06'],
] as const)('begins again after a reset, and keeps what was: %s', async (period, label) => {
  setTime('2053-06-10T12:00:00Z');
  const board = await makeBoard({ period });
  expect(await post(board, 5, 'a')).toEqual({ score: 5, season: label });
  const reset = (await call('POST', `/v1/boards/${board}/reset`)).body;
  const next = `${label}.20530610T120030Z`;
  expect(reset).toEqual({ season: next, ended: label, at: '2053-06-10T12:00:30.000Z' });
  setTime('2053-06-10T12:00:10Z');
  expect((await call('POST', `/v1/boards/${board}/reset`)).body).toEqual(reset);
  // Another isolate may have cached the board until now.
  forgetBoard(board);
  setTime('2053-06-10T12:00:29Z');
  expect(await post(board, 1, 'b')).toEqual({ score: 6, season: label });
  setTime('2053-06-10T12:00:30Z');
  expect(await post(board, 2, 'c')).toEqual({ score: 2, season: next });
  expect(await post(board, 1, 'b')).toEqual({ score: 6, season: label });
  await cron();
  expect(await seasonsOf(board)).toEqual([`${next} current`, `${label} historical`]);
  expect(await post(board, 3, 'd', label)).toBe('season_sealed');
  expect((await call('GET', `/v1/boards/${board}/scores?season=${label}`)).body.data[0].score).toBe(6);
  setTime('2053-06-20T12:00:00Z');
  expect((await call('POST', `/v1/boards/${board}/reset`)).body.ended).toBe(next);
  expect((await call('POST', '/v1/boards/default/reset')).body.code).toBe('board_rules_fixed');
  expect((await call('POST', '/v1/boards/p-unknown/reset')).body.code).toBe('unknown_board');
});
