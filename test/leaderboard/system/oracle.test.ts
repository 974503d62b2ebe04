import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createBoard, DEFAULT, midPeriod, NAMED, type TestBoard } from '../../support/leaderboard/boards.ts';
import { type Redis, startRedis } from '../../support/leaderboard/redis.ts';
import { hasClient } from '../../support/real-client.ts';
import { startServer, type TestServer } from '../../support/server.ts';
import { announceSeed, createRandom } from '../unit/random.ts';

interface Entry {
  user_id: string;
  rank: number;
  score: number;
}

/** Score distributions. One has long ties. The other has few ties, so the counts of several scores share a bucket. */
const SPREADS: readonly [string, (random: () => number) => number][] = [
  ['one point per win', () => 1],
  ['points of all sizes', (random) => Math.floor(random() ** 4 * 1_000_000)],
];

/** Redis commands for one post and the following read of the player's score. */
function toCommands({ sort, operator }: TestBoard, key: string, points: number, userId: string) {
  const best = sort === 'asc' ? ['LT'] : ['GT'];
  const post =
    operator === 'sum'
      ? ['ZINCRBY', key, points, userId]
      : ['ZADD', key, ...(operator === 'best' ? best : []), points, userId];
  return [post, ['ZSCORE', key, userId]];
}

describe.skipIf(!hasClient('redis-server'))('the leaderboard, compared with redis-server', () => {
  let redis: Redis;
  beforeAll(async () => {
    redis = await startRedis();
  });
  afterAll(() => redis.stop());

  describe.each([1, 4, 32])('with %i shards', (shards) => {
    let server: TestServer;
    let token: string;
    const get = async (path: string) => (await server.call('GET', path, undefined, null)).body;

    beforeAll(async () => {
      server = await startServer({ vars: { LEADERBOARD_SHARDS: String(shards), ...midPeriod() } });
      token = (await server.call('POST', '/v1/iam/tokens', { name: 'game', scopes: ['scores:write'] })).body.token;
    });
    afterAll(() => server[Symbol.asyncDispose]());

    it.each(SPREADS)('gives every player the same rank, and lists them in the same order: %s', (name, nextPoints) =>
      compare(DEFAULT, `${shards}:all`, name.replaceAll(/\W/g, '-'), nextPoints),
    );

    it.each(NAMED)('does so on a board that counts $sort $operator per $period', async (kind) => {
      const board = await createBoard(server, kind, shards);
      for (const [name, nextPoints] of SPREADS)
        await compare(board, board.base, name.replaceAll(/\W/g, '-'), nextPoints);
    });

    async function compare(
      board: TestBoard,
      key: string,
      prefix: string,
      nextPoints: (random: () => number) => number,
    ) {
      const random = createRandom(announceSeed());
      for (let round = 0; round < 12; round++) {
        const updates = Array.from({ length: 200 }, () => ({
          user_id: `${prefix}-${Math.floor(random() ** 2 * 300)}`,
          points: nextPoints(random),
        }));
        const { body } = await server.call('POST', `${board.base}/scores/batch`, { updates }, token);
        const replies = await redis.pipeline(
          updates.flatMap(({ user_id, points }) => toCommands(board, key, points, user_id)),
        );
        const scores = body.results.map((result: { user_info: Entry }) => result.user_info.score);
        expect(scores).toEqual(replies.filter((_, i) => i % 2 === 1).map(Number));
      }
      await expectSameRanks(board, key, random);
    }

    async function expectSameRanks({ base, sort }: TestBoard, key: string, random: () => number) {
      const flat = (await redis.command('ZREVRANGE', key, 0, -1, 'WITHSCORES')) as string[];
      const scoreOf = new Map<string, number>();
      for (let i = 0; i < flat.length; i += 2) scoreOf.set(flat[i] as string, Number(flat[i + 1]));
      const ids = [...scoreOf.keys()];
      const above = await redis.pipeline(
        ids.map((id) => [
          'ZCOUNT',
          key,
          ...(sort === 'asc' ? ['-inf', `(${scoreOf.get(id)}`] : [`(${scoreOf.get(id)}`, '+inf']),
        ]),
      );
      const rankOf = new Map(ids.map((id, i) => [id, 1 + Number(above[i])]));

      const listed: Entry[] = [];
      for (let cursor = ''; ; ) {
        const page = await get(`${base}/scores?limit=83&exact=1${cursor}`);
        listed.push(...page.data);
        expect(page.players).toBe(ids.length);
        if (page.next_cursor === null) break;
        cursor = `&cursor=${page.next_cursor}`;
      }
      expect(new Set(listed.map((entry) => entry.user_id))).toEqual(new Set(ids));
      expect(listed).toHaveLength(ids.length);
      for (const [i, entry] of listed.entries()) {
        expect([entry.user_id, entry.score, entry.rank]).toEqual([
          entry.user_id,
          scoreOf.get(entry.user_id),
          rankOf.get(entry.user_id),
        ]);
        expect(entry.rank).toBeGreaterThanOrEqual(listed[i - 1]?.rank ?? 1);
      }
      for (let at = 0; at < ids.length; at += 100) {
        const chosen = ids.slice(at, at + 100);
        const { data } = await get(`${base}/scores?user_ids=${chosen.join(',')}&exact=1`);
        expect(data.map((entry: Entry) => entry.rank)).toEqual(
          chosen.map((id) => rankOf.get(id)).sort((a, b) => (a ?? 0) - (b ?? 0)),
        );
      }
      const probes = [
        0,
        1,
        listed.length - 1,
        ...Array.from({ length: 20 }, () => Math.floor(random() * listed.length)),
      ];
      for (const at of probes) {
        const id = listed[at]?.user_id;
        const radius = Math.floor(random() * 12);
        const { data } = await get(`${base}/scores/${id}/neighbors?radius=${radius}&exact=1`);
        expect(data).toEqual(listed.slice(Math.max(0, at - radius), at + radius + 1));
        expect((await get(`${base}/scores/${id}?exact=1`)).user_info).toMatchObject({
          rank: rankOf.get(id as string),
          score: scoreOf.get(id as string),
        });
      }
      // Poll, because without `exact=1` the counts are those of a moment ago.
      await expect.poll(async () => (await get(`${base}/scores?limit=100`)).data).toEqual(listed.slice(0, 100));
      for (const at of probes) {
        const id = listed[at]?.user_id ?? '';
        await expect.poll(async () => (await get(`${base}/scores/${id}`)).user_info.rank).toBe(rankOf.get(id));
      }
    }
  });
});
