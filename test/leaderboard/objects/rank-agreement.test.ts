/** Tests that the ranks of one answer do not contradict each other, although the counts of the shards are of different times. */
import { createExecutionContext, env, waitOnExecutionContext } from 'cloudflare:test';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { LeaderboardSeason } from '../../../durable-objects/leaderboard/season/index.ts';
import { LeaderboardShard } from '../../../durable-objects/leaderboard/shard/index.ts';
import { shardOf } from '../../../workers/leaderboard/domain/shard-map.ts';
import { writeScores } from '../../../workers/leaderboard/score-writer.ts';
import { requestApi } from '../../support/json-api.ts';

const SHARDS = 2;
const ids = (shard: number) =>
  Array.from({ length: 100 }, (_, i) => `p${i}`).filter((id) => shardOf(id, SHARDS) === shard);
const [here, there] = [ids(0), ids(1)] as [string[], string[]];

async function post(points: Readonly<Record<string, number>>): Promise<void> {
  const updates = Object.entries(points).map(([userId, each]) => {
    return { userId, points: each, userName: null, eventId: null, season: undefined };
  });
  for (const result of await writeScores(env, updates)) if (!result.ok) throw new Error(JSON.stringify(result));
}

async function get(path: string) {
  const ctx = createExecutionContext();
  const response = await requestApi(env, path, {}, ctx);
  // biome-ignore lint/suspicious/noExplicitAny: each test asserts the members it needs
  const body = (await response.json()) as any;
  await waitOnExecutionContext(ctx);
  expect(response.status).toBe(200);
  return body.data.map(({ user_id, rank }: { user_id: string; rank: number }) => [user_id, rank]);
}

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['Date'], now: Date.parse('2048-07-10T12:00:00Z') });
  (env as unknown as Record<string, string>).LEADERBOARD_SHARDS = String(SHARDS);
});
afterEach(() => {
  vi.restoreAllMocks();
  vi.useRealTimers();
});

it('ranks some players by one count if the counts of their shards disagree', async () => {
  const [a, c] = here as [string, string];
  const [b, d] = there as [string, string];
  await post({ [a]: 50, [b]: 90, [d]: 10 });
  // Exchanges that begin from now on do not end, so each shard keeps the counts of the other one.
  await vi.waitFor(async () =>
    expect(await get(`/v1/scores?user_ids=${a},${b}`)).toEqual([
      [b, 1],
      [a, 2],
    ]),
  );
  vi.spyOn(LeaderboardSeason.prototype, 'openLine').mockImplementation(async () => () => new Promise(() => {}));
  vi.setSystemTime(Date.now() + 25_000);
  await post({ [c]: 95 });
  // The shard of b and d does not know c. By its counts, b would have the rank of c.
  const list = await get(`/v1/scores?user_ids=${b},${c},${d}`);
  expect(list).toEqual([
    [c, 1],
    [b, 2],
    [d, 4],
  ]);
});

it('ranks neighbours by their places if scores change during the read', async () => {
  vi.setSystemTime(Date.parse('2048-08-10T12:00:00Z'));
  const all = [...here.slice(0, 6), ...there.slice(0, 6)];
  await post(Object.fromEntries(all.map((id, i) => [id, 100 + 10 * i])));
  const me = all[3] as string;
  const { countAbove } = LeaderboardShard.prototype;
  let join: Promise<void> | undefined;
  vi.spyOn(LeaderboardShard.prototype, 'countAbove').mockImplementation(async function (
    this: LeaderboardShard,
    address,
    scores,
  ) {
    join ??= post(Object.fromEntries(there.slice(10, 20).map((id) => [id, 5_000])));
    await join;
    return countAbove.call(this, address, scores);
  });
  const list: [string, number][] = await get(`/v1/scores/${me}/neighbors?radius=2`);
  expect(join).toBeDefined();
  const ranks = list.map(([, rank]) => rank);
  expect(ranks).toEqual(ranks.map((_, i) => (ranks[0] as number) + i));
});
