/**
 * Tests `max_points_per_day`: a rule that comes to the shards with the posts, and is applied in the transaction of the score. A model
 * counts the acknowledged posts of each player and day.
 */
import {
  createExecutionContext,
  env,
  evictDurableObject,
  runInDurableObject,
  waitOnExecutionContext,
} from 'cloudflare:test';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { LeaderboardShard } from '../../../durable-objects/leaderboard/shard/index.ts';
import { RULES_AFTER_MS } from '../../../workers/leaderboard/boards/boards.ts';
import { shardStub } from '../../../workers/leaderboard/objects.ts';
import { writeScores } from '../../../workers/leaderboard/score-writer.ts';
import { findSeason } from '../../../workers/leaderboard/seasons/seasons.ts';
import type { WriteResult } from '../../../workers/leaderboard/write-results.ts';
import { requestApi } from '../../support/json-api.ts';
import { announceSeed, createRandom } from '../unit/random.ts';

const SHARDS = 2;
const DAY_MS = 86_400_000;
const RULES = { title: 'Limited', sort: 'desc', operator: 'sum', period: 'month', public: true, shards: SHARDS };

async function call(method: string, path: string, body?: unknown) {
  const headers = { 'content-type': 'application/json', authorization: 'Bearer root-of-tests' };
  const ctx = createExecutionContext();
  const init = { method, headers, ...(body === undefined ? {} : { body: JSON.stringify(body) }) };
  const response = await requestApi(env, path, init, ctx);
  const text = await response.text();
  await waitOnExecutionContext(ctx);
  // biome-ignore lint/suspicious/noExplicitAny: each test asserts the members it needs
  return { status: response.status, body: JSON.parse(text) as any };
}

async function makeBoard(max: number | null, rules = {}): Promise<string> {
  const board = `d-${crypto.randomUUID().slice(0, 8)}`;
  const made = await call('PUT', `/v1/boards/${board}`, { ...RULES, ...rules, max_points_per_day: max });
  expect([made.status, made.body.max_points_per_day]).toEqual([200, max]);
  return board;
}

const post = (userId: string, points: number, eventId: string | null = null) => {
  return { userId, points, userName: null, eventId, season: undefined as string | undefined };
};
const refused = (pointsMax: number, pointsLeft: number) => {
  return { ok: false, error: { kind: 'points_per_day_exceeded', pointsMax, pointsLeft } };
};
const counted = (score: number) => expect.objectContaining({ ok: true, value: expect.objectContaining({ score }) });

async function addressesOf(board: string) {
  const found = await findSeason(env, undefined, Date.now(), board);
  if (!found.ok) throw new Error(found.error.kind);
  const { season, shards } = found.value;
  return Array.from({ length: shards }, (_, shard) => ({ season, shard, shards }));
}

/** Restarts the shards of a board: some sleep, some crash. */
async function restart(board: string, crash: (shard: number) => boolean): Promise<void> {
  for (const address of await addressesOf(board)) {
    const stub = shardStub(env, address) as DurableObjectStub<LeaderboardShard>;
    if (crash(address.shard)) {
      await runInDurableObject(stub, (_, state) => state.abort('the power is cut')).catch(() => {});
      continue;
    }
    await stub.report(address, '').catch(() => {});
    await evictDurableObject(stub).catch(() => {});
  }
}

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['Date'], now: Date.parse('2047-03-11T12:00:00Z') });
  (env as unknown as Record<string, string>).LEADERBOARD_SHARDS = String(SHARDS);
});
afterEach(() => {
  vi.restoreAllMocks();
  vi.useRealTimers();
});

describe('a board with max_points_per_day', () => {
  it('refuses a post above it, counts nothing, and takes what is left', async () => {
    const board = await makeBoard(10);
    const path = `/v1/boards/${board}/scores`;
    const minted = await call('POST', '/v1/iam/tokens', { name: board, scopes: ['scores:write'] });
    const headers = { 'content-type': 'application/json', authorization: `Bearer ${minted.body.token}` };
    const send = async (body: object, end = '') => {
      const init = { method: 'POST', headers, body: JSON.stringify(body) };
      const response = await requestApi(env, path + end, init, createExecutionContext());
      // biome-ignore lint/suspicious/noExplicitAny: each test asserts the members it needs
      return { status: response.status, body: (await response.json()) as any };
    };
    expect((await send({ user_id: 'ann', points: 7, event_id: 'one' })).status).toBe(200);
    const above = await send({ user_id: 'ann', points: 4, event_id: 'two' });
    expect([above.status, above.body.code]).toEqual([409, 'points_per_day_exceeded']);
    expect(above.body.detail).toBe('A player gets 10 points per day (UTC). 3 are left today.');
    expect((await call('GET', `${path}/ann?exact=1`)).body.user_info.score).toBe(7);
    const updates = [
      { user_id: 'ann', points: 7, event_id: 'one' },
      { user_id: 'ann', points: 2, event_id: 'two' },
      { user_id: 'ann', points: 2, event_id: 'three' },
      { user_id: 'ann', points: 1, event_id: 'four' },
      { user_id: 'bob', points: 11 },
      { user_id: 'ann', points: 0 },
    ];
    const { results } = (await send({ updates }, '/batch')).body;
    const short = results.map(
      (each: { user_info?: { score: number }; code?: string }) => each.user_info?.score ?? each.code,
    );
    expect(short).toEqual([7, 9, 'points_per_day_exceeded', 10, 'points_per_day_exceeded', 10]);
    // A refused post leaves no player behind.
    expect((await call('GET', `${path}/bob?exact=1`)).status).toBe(404);
  });

  it('needs the operator sum, and shows when a change holds', async () => {
    const body = { ...RULES, operator: 'best', max_points_per_day: 5 };
    const best = await call('PUT', '/v1/boards/best-of-day', body);
    expect([best.status, best.body.code]).toEqual([400, 'invalid_request']);
    const board = await makeBoard(null);
    const before = (await call('GET', `/v1/boards/${board}`)).body;
    expect(before).toMatchObject({ max_points_per_day: null, max_points_per_day_from: null });
    const changed = (await call('PUT', `/v1/boards/${board}`, { ...RULES, max_points_per_day: 5 })).body;
    const from = new Date(Date.now() + RULES_AFTER_MS).toISOString();
    expect(changed).toMatchObject({ max_points_per_day: 5, max_points_per_day_from: from });
    const fixed = await call('PUT', '/v1/boards/default', { title: 'Main', max_points_per_day: 5 });
    expect([fixed.status, fixed.body.code]).toEqual([409, 'board_rules_fixed']);
  });

  it('changes at the stated moment in every shard, also after restarts and in posts with the former rules', async () => {
    const board = await makeBoard(10);
    const users = ['a', 'b', 'c', 'd', 'e'];
    const all = (points: number) =>
      writeScores(
        env,
        users.map((user) => post(user, points)),
        board,
      );
    expect(await all(10)).toEqual(users.map(() => counted(10)));
    await call('PUT', `/v1/boards/${board}`, { ...RULES, max_points_per_day: 30 });
    const from = Date.now() + RULES_AFTER_MS;
    // A second change before the first one holds replaces it; the limit that holds stays until then.
    vi.setSystemTime(Date.now() + 1_000);
    await call('PUT', `/v1/boards/${board}`, { ...RULES, max_points_per_day: 20 });
    vi.setSystemTime(from + 999);
    expect(await all(1)).toEqual(users.map(() => refused(10, 0)));
    await restart(board, (shard) => shard === 0);
    expect(await all(1)).toEqual(users.map(() => refused(10, 0)));
    vi.setSystemTime(from + 1_000);
    expect(await all(4)).toEqual(users.map(() => counted(14)));
    await restart(board, (shard) => shard === 1);
    // The shards keep the rules: a post without any, or with older ones, is judged by those.
    const [first] = await addressesOf(board);
    if (first === undefined) throw new Error('a board has shards');
    const old = { sort: 'desc', operator: 'sum', from: 0, pointsPerDayMax: null, pointsPerDayBefore: null } as const;
    const { results } = await shardStub(env, first).score(first, [post('a', 7)], old);
    expect(results).toEqual([refused(20, 6)]);
    expect(await all(6)).toEqual(users.map(() => counted(20)));
    await call('PUT', `/v1/boards/${board}`, { ...RULES, max_points_per_day: 5 });
    vi.setSystemTime(Date.now() + RULES_AFTER_MS);
    expect(await writeScores(env, [post('a', 1), post('a', 0)], board)).toEqual([refused(5, 0), counted(20)]);
    await call('PUT', `/v1/boards/${board}`, RULES);
    vi.setSystemTime(Date.now() + RULES_AFTER_MS);
    expect(await all(100)).toEqual(users.map(() => counted(120)));
  });

  it('forgets an erased player, and counts late posts to an ended season in its last day', async () => {
    const board = await makeBoard(10, { period: 'day' });
    expect(await writeScores(env, [post('eve', 10)], board)).toEqual([counted(10)]);
    const path = `/v1/boards/${board}/scores/eve`;
    const init = { method: 'DELETE', headers: { authorization: 'Bearer root-of-tests' } };
    expect((await requestApi(env, path, init, createExecutionContext())).status).toBe(204);
    expect(await writeScores(env, [post('eve', 6)], board)).toEqual([counted(6)]);
    vi.setSystemTime(Date.parse('2047-03-12T00:00:01Z'));
    const late = { ...post('eve', 5), season: '2047-03-11' };
    expect(await writeScores(env, [late, post('eve', 5)], board)).toEqual([refused(10, 4), counted(5)]);
  });

  it('works while Worker and objects have different releases', async () => {
    const board = await makeBoard(10);
    expect(await writeScores(env, [post('ann', 8, 'one')], board)).toEqual([counted(8)]);
    const [address] = (await addressesOf(board)).filter(({ shard }) => shard === 0);
    if (address === undefined) throw new Error('a board has shards');
    // A Worker of 0.2.0 sends no rules, and does not know the refusal.
    for (const shard of await addressesOf(board)) {
      const { results } = await shardStub(env, shard).score(shard, [post('ann', 8, 'one'), post('zoe', 11)]);
      if (results[0]?.ok && results[0].value.isDuplicate)
        expect(results[1]).toEqual({ ok: false, error: { kind: 'unavailable' } });
    }
    // An object of 0.2.0 ignores the rules.
    const { score } = LeaderboardShard.prototype;
    vi.spyOn(LeaderboardShard.prototype, 'score').mockImplementation(function (this: LeaderboardShard, at, updates) {
      return score.call(this, at, updates);
    });
    expect(await writeScores(env, [post('ann', 8, 'one'), post('ann', 1, 'two')], board)).toEqual([
      counted(8),
      counted(9),
    ]);
  });
});

/** A model of the players of a board: their scores, and their points of each day. */
class Model {
  readonly scores = new Map<string, number>();
  readonly days = new Map<string, number>();
  readonly pending = new Map<string, { userId: string; points: number; day: number }>();
  readonly done: { userId: string; points: number; eventId: string; score: number }[] = [];
  refusals = 0;
  duplicates = 0;

  /** Notes the answer to an event that was first sent on `day`. @param now day of the answer */
  note(eventId: string, result: WriteResult | undefined, now: number, max: number): void {
    const sent = this.pending.get(eventId);
    if (result === undefined || sent === undefined) return;
    if (!result.ok && result.error.kind === 'unavailable') return;
    this.pending.delete(eventId);
    const { userId, points } = sent;
    const day = result.ok && result.value.isDuplicate ? sent.day : now;
    const key = `${userId} ${day}`;
    const before = this.days.get(key) ?? 0;
    if (!result.ok) {
      this.refusals++;
      expect([eventId, result]).toEqual([eventId, refused(max, max - before)]);
      expect(before + points).toBeGreaterThan(max);
      return;
    }
    if (result.value.isDuplicate) this.duplicates++;
    this.days.set(key, before + points);
    expect(before + points).toBeLessThanOrEqual(max);
    const score = (this.scores.get(userId) ?? 0) + points;
    this.scores.set(userId, score);
    expect([eventId, result.value.score]).toEqual([eventId, score]);
    this.done.push({ userId, points, eventId, score });
  }
}

it('keeps the limit through random batches, repeats, crashes, sleep and midnights, as a model does', async () => {
  const random = createRandom(announceSeed());
  const below = (limit: number) => Math.floor(random() * limit);
  const max = 24;
  const board = await makeBoard(max, { period: 'none' });
  const model = new Model();
  let events = 0;
  let crashes = 0;
  const day = () => Math.floor(Date.now() / DAY_MS);
  // One event of a player at a time, so that a lost answer leaves no doubt about the order.
  const send = async (ids: readonly string[], isLost = false) => {
    const updates = ids.map((id) => {
      const event = model.pending.get(id);
      if (event === undefined) throw new Error(id);
      return post(event.userId, event.points, id);
    });
    const results = await writeScores(env, updates, board);
    if (isLost) return;
    for (const [i, id] of ids.entries()) model.note(id, results[i], day(), max);
  };
  for (let step = 0; step < 40; step++) {
    const users = [0, 1, 2, 3, 4, 5, 6, 7].filter(() => random() < 0.5);
    for (const user of users) {
      const event = { userId: `p${user}`, points: below(14), day: day() };
      model.pending.set(`e${events++}`, event);
    }
    const sending = send([...model.pending.keys()], random() < 0.3);
    if (random() < 0.3) {
      crashes++;
      await restart(board, () => random() < 0.7);
    }
    await sending;
    // Half of the lost answers are asked for on the next day: their events count in the day that counted them.
    const isMidnight = random() < 0.15;
    if (isMidnight) vi.setSystemTime((day() + 1) * DAY_MS + below(3));
    for (let attempt = 0; model.pending.size > 0 && attempt < 30; attempt++) {
      // A shard that did not answer is asked again after two seconds.
      if (attempt > 0) vi.setSystemTime(Date.now() + 2_100);
      await send([...model.pending.keys()]);
    }
    expect(model.pending.size).toBe(0);
    const repeated = model.done.filter(() => random() < 0.03);
    const results = await writeScores(
      env,
      repeated.map((each) => post(each.userId, each.points, each.eventId)),
      board,
    );
    for (const [i, result] of results.entries())
      if (result.ok) expect(result.value).toMatchObject({ score: repeated[i]?.score, isDuplicate: true });
    vi.setSystemTime(Date.now() + below(1_000));
  }
  const list = (await call('GET', `/v1/boards/${board}/scores?exact=1`)).body.data;
  const shown = list.map(({ user_id, score }: { user_id: string; score: number }) => [user_id, score]);
  expect(new Map(shown)).toEqual(model.scores);
  expect([model.refusals > 5, crashes > 3, model.duplicates > 3]).toEqual([true, true, true]);
});
