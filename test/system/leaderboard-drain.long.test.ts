import { afterAll, beforeAll, expect, it } from 'vitest';
import { startServer, type TestServer } from '../support/server.ts';
import { announceSeed, createRandom } from '../unit/leaderboard/random.ts';

const PLAYERS = 10_000;
const KILLS = 3;

const clockAt = (time: string) => ({
  CLOCK_OFFSET_SECONDS: String(Math.round((Date.parse(time) - Date.now()) / 1000)),
});
let server: TestServer;
beforeAll(async () => {
  server = await startServer({ vars: clockAt('2031-07-31T23:00:00Z') });
});
afterAll(() => server[Symbol.asyncDispose]());

it('archives a whole month even if the server is killed repeatedly during the drain', async () => {
  const random = createRandom(announceSeed());
  const made = await server.call('POST', '/v1/iam/tokens', { name: 'game', scopes: ['scores:write'] });
  const points = Array.from({ length: PLAYERS }, () => Math.floor(random() ** 3 * 500));
  for (let at = 0; at < PLAYERS; at += 1_000) {
    const updates = points.slice(at, at + 1_000).map((each, i) => ({
      user_id: `p${at + i}`,
      points: each,
      event_id: `july-${at + i}`,
    }));
    const { body } = await server.call('POST', '/v1/scores/batch', { updates }, made.body.token);
    expect(body.results.filter((result: { status?: number }) => result.status !== undefined)).toEqual([]);
  }
  const readCsv = async () => (await server.call('GET', '/v1/seasons/2031-07/export')).body as string;
  // Other reads may be as of a second before the last posts.
  const readPlayer = async () => {
    for (;;) {
      const { status, body } = await server.call('GET', '/v1/scores/p77?season=2031-07&exact=1');
      if (status !== 503) return body.user_info;
    }
  };
  const [csv, player] = [await readCsv(), await readPlayer()];
  expect(csv.split('\r\n')).toHaveLength(PLAYERS + 2);

  const august = clockAt('2031-08-01T00:00:05Z');
  await server.stop();
  await server.start(august);
  for (let kill = 0; kill < KILLS; kill++) {
    const closing = server.call('POST', '/v1/seasons/2031-07/close').catch(() => null);
    await new Promise((resolve) => setTimeout(resolve, 50 + random() * 700));
    await server.kill9();
    await closing;
    await server.start(august);
    // The month reads the same after every interruption.
    expect(await readPlayer()).toEqual(player);
  }
  let state = '';
  while (state !== 'historical') {
    const { status, body } = await server.call('POST', '/v1/seasons/2031-07/close');
    expect(status).toBe(200);
    state = body.state;
  }
  expect(await readCsv()).toBe(csv);
  expect(await readPlayer()).toEqual(player);
  const retry = { user_id: 'p77', points: points[77], event_id: 'july-77' };
  const { body: again } = await server.call('POST', '/v1/scores', retry, made.body.token);
  expect([again.duplicate, again.user_info.season]).toEqual([true, '2031-07']);
});
