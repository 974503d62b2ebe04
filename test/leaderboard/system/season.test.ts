import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startServer, type TestServer } from '../../support/server.ts';

let server: TestServer;
let token: string;

/** Makes the variable with the clock offset that lets the server's clock start at this time. */
const clockAt = (time: string) => ({
  CLOCK_OFFSET_SECONDS: String(Math.round((Date.parse(time) - Date.now()) / 1000)),
});
const travelTo = async (time: string) => {
  await server.stop();
  await server.start(clockAt(time));
};
const post = (body: unknown) => server.call('POST', '/v1/scores', body, token);
/** Adds `exact=1`, which queries every shard, so that a read includes all earlier posts. */
const get = (path: string) => {
  const exact = path.startsWith('/v1/scores') ? `${path.includes('?') ? '&' : '?'}exact=1` : '';
  return server.call('GET', `${path}${exact}`, undefined, null);
};

beforeAll(async () => {
  server = await startServer({ vars: clockAt('2031-03-31T23:50:00Z') });
  token = (await server.call('POST', '/v1/iam/tokens', { name: 'game', scopes: ['scores:write'] })).body.token;
});
afterAll(() => server[Symbol.asyncDispose]());

/** Makes every kind of read of a past season. @returns the answers, without their times. */
async function readMarch() {
  const list = async (path: string) => {
    const { status, body } = await get(path);
    expect(status, path).toBe(200);
    const { as_of: _, ...rest } = body;
    return rest;
  };
  const pages = [];
  let cursor: string | null = null;
  do {
    const page = await list(`/v1/scores?season=2031-03&limit=60${cursor ? `&cursor=${cursor}` : ''}`);
    pages.push(page);
    cursor = page.next_cursor;
  } while (cursor);
  return {
    pages,
    players: await Promise.all([1, 77, 150, 333].map((n) => list(`/v1/scores/p${n}?season=2031-03`))),
    around: await Promise.all([1, 200, 333].map((n) => list(`/v1/scores/p${n}/neighbors?season=2031-03&radius=6`))),
    chosen: await list('/v1/scores?season=2031-03&user_ids=p5,p250,nobody'),
    distributions: await Promise.all([1, 7, 50].map((n) => list(`/v1/seasons/2031-03/distribution?limit=${n}`))),
    csv: (await server.call('GET', '/v1/seasons/2031-03/export')).body,
  };
}

describe('the end of a month', () => {
  const win = (n: number) => ({
    user_id: `p${n}`,
    user_name: `Player "${n}"`,
    points: 1 + ((n * 37) % 101),
    event_id: `march-${n}`,
  });
  let live: Awaited<ReturnType<typeof readMarch>>;

  it('starts from a leaderboard with players', async () => {
    const updates = Array.from({ length: 333 }, (_, i) => win(i + 1));
    const { body } = await server.call('POST', '/v1/scores/batch', { updates }, token);
    expect(body.results.filter((result: { status?: number }) => result.status !== undefined)).toEqual([]);
    expect((await server.call('POST', '/v1/seasons/2031-03/close')).status).toBe(409);
    // Poll, because the distribution is updated in the background.
    const counted = async () => (await get('/v1/seasons/2031-03/distribution')).body.players;
    await expect.poll(counted).toBe(333);
    live = await readMarch();
    expect(live.pages.flatMap((page) => page.data)).toHaveLength(333);
    expect(live.csv.split('\r\n').slice(0, 2)).toEqual([
      'rank,user_id,user_name,score',
      expect.stringMatching(/^1,"p\d+","Player ""\d+""",101$/),
    ]);
  });

  it('empties the leaderboard at the first second of the new month', async () => {
    await travelTo('2031-04-01T00:00:01Z');
    const { body } = await get('/v1/scores');
    expect([body.season, body.players, body.data, body.next_cursor]).toEqual(['2031-04', 0, [], null]);
    const { body: seasons } = await get('/v1/seasons');
    const states = seasons.data.map(({ season, state }: { season: string; state: string }) => [season, state]);
    expect(states).toEqual([
      ['2031-04', 'current'],
      ['2031-03', 'closing'],
    ]);
    expect(await readMarch()).toEqual(live);
  });

  it('counts a late retry in its own season, and a new win in the new season', async () => {
    const retry = await post(win(7));
    expect([retry.body.duplicate, retry.body.user_info.season]).toEqual([true, '2031-03']);
    expect((await post({ ...win(7), points: 500 })).body.code).toBe('event_conflict');
    const fresh = await post({ user_id: 'p7', points: 2, event_id: 'april-1' });
    expect([fresh.body.duplicate, fresh.body.user_info.season, fresh.body.user_info.score]).toEqual([
      false,
      '2031-04',
      2,
    ]);
  });

  it('lets an operator close the season, which then reads the same from history', async () => {
    expect((await server.call('POST', '/v1/seasons/2031-03/close', undefined, token)).status).toBe(403);
    const { status, body } = await server.call('POST', '/v1/seasons/2031-03/close');
    expect([status, body.state, body.players]).toEqual([200, 'historical', 333]);
    expect(await readMarch()).toEqual(live);
    expect((await server.call('POST', '/v1/seasons/2031-03/close')).body).toEqual(body);
  });

  it('rejects new updates for a closed season, and still recognises its event ids', async () => {
    const late = await post({ user_id: 'p7', points: 1, event_id: 'late', season: '2031-03' });
    expect([late.status, late.body.code]).toEqual([409, 'season_sealed']);
    expect((await post({ ...win(9), season: '2031-03' })).body.duplicate).toBe(true);
    expect((await post(win(9))).body.user_info.season).toBe('2031-03');
    expect((await get('/v1/scores/p7?season=2031-03')).body.user_info.score).toBe(win(7).points);
  });

  it('erases a player everywhere, and keeps all other ranks of past seasons', async () => {
    await post({ user_id: 'p150', points: 9 });
    expect((await server.call('DELETE', '/v1/scores/p150', undefined, token)).status).toBe(403);
    expect((await server.call('DELETE', '/v1/scores/p150')).status).toBe(204);
    expect((await server.call('DELETE', '/v1/scores/p150')).status).toBe(404);
    expect((await get('/v1/scores/p150')).status).toBe(404);
    expect((await get('/v1/scores/p150?season=2031-03')).status).toBe(404);
    const past = await readMarchWithout();
    const expected = live.pages.flatMap((page) => page.data).filter(({ user_id }) => user_id !== 'p150');
    expect(past).toEqual(expected);
  });

  const readMarchWithout = async () => {
    const { body: first } = await get('/v1/scores?season=2031-03&limit=100');
    const data = [...first.data];
    for (let cursor = first.next_cursor; cursor; ) {
      const { body } = await get(`/v1/scores?limit=100&cursor=${cursor}`);
      data.push(...body.data);
      cursor = body.next_cursor;
    }
    return data;
  };

  it('takes no retries after two days, and keeps the history', async () => {
    await travelTo('2031-04-03T02:00:00Z');
    await server.call('POST', '/v1/seasons/2031-03/close');
    const late = await post({ ...win(9), season: '2031-03' });
    expect([late.status, late.body.code]).toEqual([409, 'season_sealed']);
    expect((await get('/v1/scores/p7?season=2031-03')).body.user_info.rank).toBe(
      live.pages.flatMap((page) => page.data).find(({ user_id }) => user_id === 'p7').rank,
    );
    expect((await get('/v1/scores/p7')).body.user_info.score).toBe(2);
  });
});

describe('an operator', () => {
  it('corrects a score and hides a banned player, each with a reason', async () => {
    for (const [user_id, points] of [
      ['honest', 700_000],
      ['cheat', 900_000],
      ['third', 600_000],
    ])
      await post({ user_id, points });
    const patch = (body: unknown) => server.call('PATCH', '/v1/scores/cheat', body);
    expect((await patch({ hidden: true })).status).toBe(400);
    expect((await patch({ reason: 'nothing to do' })).status).toBe(400);
    const hidden = await patch({ hidden: true, reason: 'bot' });
    expect([hidden.status, hidden.body.user_info.rank]).toEqual([200, null]);
    expect((await get('/v1/scores/cheat')).status).toBe(404);
    await expect.poll(async () => (await get('/v1/scores?limit=1')).body.data[0].user_id).toBe('honest');
    await expect.poll(async () => (await get('/v1/scores/third')).body.user_info.rank).toBe(2);
    await post({ user_id: 'cheat', points: 5 });
    expect((await get('/v1/scores/cheat')).status).toBe(404);
    const shown = await patch({ hidden: false, score: 650_000, reason: 'appeal granted' });
    expect(shown.body.user_info).toMatchObject({ score: 650_000, hidden: false });
    await expect.poll(async () => (await get('/v1/scores/cheat')).body.user_info.rank).toBe(2);
    const top = async () =>
      (await get('/v1/scores?limit=3')).body.data.map((entry: { user_id: string }) => entry.user_id);
    await expect.poll(top).toEqual(['honest', 'cheat', 'third']);
    const { body: log } = await server.call('GET', '/v1/audit?target=cheat');
    expect(log.data.map((entry: { details: object }) => entry.details)).toEqual([
      { season: '2031-04', hidden: false, score: 650_000, reason: 'appeal granted' },
      { season: '2031-04', hidden: true, reason: 'bot' },
    ]);
    expect((await server.call('PATCH', '/v1/scores/nobody', { score: 1, reason: 'x' })).status).toBe(404);
    expect((await server.call('PATCH', '/v1/scores/cheat', { score: 1, reason: 'x' }, token)).status).toBe(403);
  });
});
