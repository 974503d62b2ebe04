import { afterAll, beforeAll, expect, it } from 'vitest';
import { startServer, type TestServer } from '../support/server.ts';
import { announceSeed, createRandom } from '../unit/leaderboard/random.ts';

let server: TestServer;
beforeAll(async () => {
  server = await startServer();
});
afterAll(() => server[Symbol.asyncDispose]());

it('a server that is killed under load loses no acknowledged update and counts none twice', async () => {
  const random = createRandom(announceSeed());
  const { body } = await server.call('POST', '/v1/iam/tokens', { name: 'game', scopes: ['scores:write'] });
  const token = body.token;
  /** Every event sent, with the response that acknowledged it. */
  const sent = new Map<string, { user_id: string; points: number; event_id: string; acknowledged: number | null }>();

  const count = () => [...sent.values()].filter((win) => win.acknowledged !== null).length;
  for (let life = 0; life < 3; life++) {
    let isAlive = true;
    const senders = Array.from({ length: 12 }, async (_, sender) => {
      for (let n = 0; isAlive; n++) {
        const user_id = `p${Math.floor(random() * 40)}`;
        const win = { user_id, points: 1 + Math.floor(random() * 9), event_id: `${life}-${sender}-${n}` };
        sent.set(win.event_id, { ...win, acknowledged: null });
        try {
          const answer = await server.call('POST', '/v1/scores', win, token);
          if (answer.status === 200) sent.set(win.event_id, { ...win, acknowledged: answer.body.user_info.score });
        } catch {
          return;
        }
      }
    });
    const enough = 100 + random() * 150;
    while (count() < enough * (life + 1)) await new Promise((resolve) => setTimeout(resolve, 10));
    await server.kill9();
    isAlive = false;
    await Promise.all(senders);
    await server.start();
    const acknowledged = [...sent.values()].filter((win) => win.acknowledged !== null);
    for (let at = 0; at < acknowledged.length; at += 500) {
      const updates = acknowledged.slice(at, at + 500);
      const strip = updates.map(({ acknowledged: _, ...win }) => win);
      const { body: again } = await server.call('POST', '/v1/scores/batch', { updates: strip }, token);
      expect(
        again.results.map((result: { duplicate: boolean; user_info: { score: number } }) => [
          result.duplicate,
          result.user_info.score,
        ]),
      ).toEqual(updates.map((win) => [true, win.acknowledged]));
    }
  }

  // An unanswered update may or may not have counted. After a retry it has counted exactly once.
  const all = [...sent.values()].map(({ acknowledged: _, ...win }) => win);
  for (let at = 0; at < all.length; at += 500) {
    await server.call('POST', '/v1/scores/batch', { updates: all.slice(at, at + 500) }, token);
  }
  const expected = new Map<string, number>();
  for (const { user_id, points } of all) expected.set(user_id, (expected.get(user_id) ?? 0) + points);
  const ids = [...expected.keys()].join(',');
  const { body: board } = await server.call('GET', `/v1/scores?user_ids=${ids}`, undefined, null);
  const found = board.data.map((entry: { user_id: string; score: number }) => [entry.user_id, entry.score]);
  expect(new Map(found)).toEqual(expected);
});
