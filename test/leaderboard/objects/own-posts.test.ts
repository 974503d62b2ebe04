/** Tests that the list that is read next after a post has the post, without `min_as_of`, and what that costs boards without readers. */
import {
  createExecutionContext,
  env,
  evictDurableObject,
  runInDurableObject,
  waitOnExecutionContext,
} from 'cloudflare:test';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { LeaderboardSeason } from '../../../durable-objects/leaderboard/season/index.ts';
import { LeaderboardView } from '../../../durable-objects/leaderboard/view/index.ts';
import { seasonStub, viewStub } from '../../../workers/leaderboard/objects.ts';
import { writeScores } from '../../../workers/leaderboard/score-writer.ts';
import { findSeason } from '../../../workers/leaderboard/seasons/seasons.ts';
import { requestApi } from '../../support/json-api.ts';
import { announceSeed, createRandom } from '../unit/random.ts';

async function call(method: string, path: string, body?: unknown) {
  const headers = { 'content-type': 'application/json', authorization: 'Bearer root-of-tests' };
  const ctx = createExecutionContext();
  const init = { method, headers, ...(body === undefined ? {} : { body: JSON.stringify(body) }) };
  const response = await requestApi(env, path, init, ctx);
  // biome-ignore lint/suspicious/noExplicitAny: each test asserts the members it needs
  const json = (await response.json()) as any;
  await waitOnExecutionContext(ctx);
  return { status: response.status, body: json };
}

async function makeBoard(shards: number): Promise<string> {
  (env as unknown as Record<string, string>).LEADERBOARD_SHARDS = String(shards);
  const board = `o-${crypto.randomUUID().slice(0, 8)}`;
  const rules = { title: 'Own posts', sort: 'desc', operator: 'sum', period: 'none', public: true, shards };
  expect((await call('PUT', `/v1/boards/${board}`, rules)).status).toBe(200);
  return board;
}

const post = async (board: string, userId: string, points: number): Promise<number> => {
  const [result] = await writeScores(
    env,
    [{ userId, points, userName: null, eventId: null, season: undefined }],
    board,
  );
  if (!result?.ok) throw new Error(JSON.stringify(result));
  return result.value.score;
};
const ROUNDS = 15;
/** An eviction would wait ten seconds for the sessions of the shards. */
const crash = (object: DurableObjectStub) =>
  runInDurableObject(object, (_, state) => state.abort('a crash')).catch(() => {});
const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

async function seasonOf(board: string): Promise<string> {
  const found = await findSeason(env, undefined, Date.now(), board);
  if (!found.ok) throw new Error(found.error.kind);
  return found.value.season;
}

let shardsBefore: string;
beforeEach(() => {
  shardsBefore = (env as unknown as Record<string, string>).LEADERBOARD_SHARDS as string;
});
afterEach(() => {
  (env as unknown as Record<string, string>).LEADERBOARD_SHARDS = shardsBefore;
  vi.restoreAllMocks();
});

describe.each([1, 4])('a list that is read after a post, on a board with %i shards', (shards) => {
  it('has the post', async () => {
    const random = createRandom(announceSeed());
    const board = await makeBoard(shards);
    const season = await seasonOf(board);
    const old: string[] = [];
    for (let round = 0; round < ROUNDS; round++) {
      if (random() < 0.5) await pause(Math.floor(random() ** 3 * 2_500));
      // Half of the rounds read before the post, so that the view has a list.
      if (random() < 0.5) await call('GET', `/v1/boards/${board}/scores`);
      if (random() < 0.08) await evictDurableObject(viewStub(env, season, 'enam:0')).catch(() => {});
      if (random() < 0.08) await crash(seasonStub(env, season) as unknown as DurableObjectStub);
      const users = Array.from({ length: 1 + Math.floor(random() * 3) }, () => `p${Math.floor(random() * 20)}`);
      const posted = await Promise.all([...new Set(users)].map(async (id) => [id, await post(board, id, 1)] as const));
      const { data, as_of } = (await call('GET', `/v1/boards/${board}/scores?limit=100`)).body;
      const scores = new Map(data.map((entry: { user_id: string; score: number }) => [entry.user_id, entry.score]));
      for (const [id, score] of posted)
        if (scores.get(id) !== score) old.push(`round ${round}: ${id} ${score} ${as_of}`);
    }
    expect(old).toEqual([]);
  });
});

it('costs no call on a board that nobody watches, and reads after each other cost no further pulls', async () => {
  const board = await makeBoard(4);
  const marks = vi.spyOn(LeaderboardView.prototype, 'mark');
  for (let i = 0; i < 30; i++) await post(board, `p${i}`, 1);
  expect(marks).not.toHaveBeenCalled();
  await call('GET', `/v1/boards/${board}/scores`);
  await pause(2_500);
  await post(board, 'p1', 1);
  await post(board, 'p2', 1);
  expect(marks).toHaveBeenCalledTimes(2);
  const watches = vi.spyOn(LeaderboardSeason.prototype, 'watch');
  const lists = await Promise.all(
    Array.from({ length: 20 }, () => call('GET', `/v1/boards/${board}/scores?limit=100`)),
  );
  for (const { body } of lists)
    expect(body.data.slice(0, 2).map((entry: { user_id: string }) => entry.user_id)).toEqual(['p1', 'p2']);
  // One pull may begin with the first of these reads, and one for those that came while it was in progress.
  expect(watches.mock.calls.length).toBeLessThanOrEqual(2);
});
