/** Guards of a board that matter only if a second thing happens: a write that fails half-way, counts that arrive too late. */
import { env, evictDurableObject } from 'cloudflare:test';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { LeaderboardSeason } from '../../../durable-objects/leaderboard/season/index.ts';
import { LeaderboardShard } from '../../../durable-objects/leaderboard/shard/index.ts';
import { ShardStore } from '../../../durable-objects/leaderboard/shard/store.ts';
import { seasonStub } from '../../../workers/leaderboard/objects.ts';
import { writeScores } from '../../../workers/leaderboard/score-writer.ts';
import { requestApi } from '../../support/json-api.ts';

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['Date'] });
  vi.spyOn(console, 'error').mockImplementation(() => {});
  (env as unknown as Record<string, string>).LEADERBOARD_SHARDS = '1';
});
afterEach(() => {
  vi.restoreAllMocks();
  vi.useRealTimers();
});

const headers = { authorization: 'Bearer root-of-tests' };
const win = (userId: string, points: number, eventId: string) => ({
  userId,
  points,
  userName: null,
  eventId,
  season: undefined,
});

async function readBoard() {
  const response = await requestApi(env, '/v1/scores?limit=100', { headers });
  const { data, players } = await response.json<{ data: { user_id: string; score: number }[]; players: number }>();
  return { players, scores: data.map(({ user_id, score }) => [user_id, score]) };
}

it('a batch whose write fails leaves nothing, and counts once when it is repeated', async () => {
  vi.setSystemTime(Date.parse('2055-01-10T12:00:00Z'));
  await writeScores(env, [win('ann', 10, 'first')]);
  const batch = [win('ann', 1, 'second'), win('bob', 2, 'third')];
  const fails = vi.spyOn(ShardStore.prototype, 'writeLog').mockImplementationOnce(() => {
    throw new Error('the disk is full');
  });
  const refused = await writeScores(env, batch);
  expect(fails).toHaveBeenCalled();
  expect(refused.map(({ ok }) => ok)).toEqual([false, false]);
  vi.setSystemTime(Date.now() + 11_000);
  expect((await readBoard()).scores).toEqual([['ann', 10]]);
  const results = await writeScores(env, batch);
  expect(results).toMatchObject([
    { ok: true, value: { score: 11, isDuplicate: false } },
    { ok: true, value: { score: 2, isDuplicate: false } },
  ]);
  expect((await writeScores(env, batch)).map((result) => result.ok && result.value.isDuplicate)).toEqual([true, true]);
});

it('counts that were on their way when a player was erased do not bring the player back', async () => {
  vi.setSystemTime(Date.parse('2055-02-10T12:00:00Z'));
  await writeScores(
    env,
    ['a', 'b', 'c', 'd', 'e'].map((userId) => win(userId, 5, userId)),
  );
  for (let read = 0; read < 2; read++) {
    vi.setSystemTime(Date.now() + 11_000);
    expect((await readBoard()).players).toBe(5);
  }
  let arrive = () => {};
  const late = new Promise<void>((resolve) => {
    arrive = resolve;
  });
  const { report } = LeaderboardShard.prototype;
  let asked = () => {};
  const isAsked = new Promise<void>((resolve) => {
    asked = resolve;
  });
  vi.spyOn(LeaderboardShard.prototype, 'report').mockImplementationOnce(async function (
    this: LeaderboardShard,
    ...args
  ) {
    const counts = await report.apply(this, args);
    asked();
    await late;
    return counts;
  });
  const { reload } = LeaderboardSeason.prototype;
  vi.spyOn(LeaderboardSeason.prototype, 'reload').mockImplementation(function (this: LeaderboardSeason, ...args) {
    const done = reload.apply(this, args);
    arrive();
    return done;
  });
  vi.setSystemTime(Date.now() + 2_000);
  const reading = readBoard();
  await isAsked;
  const erased = await requestApi(env, '/v1/scores/a?season=2055-02', { method: 'DELETE', headers });
  expect(erased.status).toBe(204);
  await reading;
  // A season that starts again has its snapshot only, because the shard does not answer.
  vi.spyOn(LeaderboardShard.prototype, 'report').mockRejectedValue(new Error('silent'));
  const season = seasonStub(env, '2055-02');
  await evictDurableObject(season as unknown as DurableObjectStub);
  expect(await season.status({ season: '2055-02', shards: 1 })).toMatchObject([{ players: 4 }]);
});
