import { afterAll, beforeAll, expect, it } from 'vitest';
import { createBoard, DEFAULT, NAMED, type TestBoard } from '../../support/leaderboard/boards.ts';
import { startServer, type TestServer } from '../../support/server.ts';
import { announceSeed, createRandom } from '../unit/random.ts';

const PLAYERS = 10_000;
const PLAYERS_OF_NAMED = 2_000;
const KILLS = 3;
/** The test is on this Sunday, because a month, a week and a day end with it. */
const SEASONS = { month: '2031-08', week: '2031-W35', day: '2031-08-31', none: 'all' } as const;

const clockAt = (time: string) => ({
  CLOCK_OFFSET_SECONDS: String(Math.round((Date.parse(time) - Date.now()) / 1000)),
});
let server: TestServer;
beforeAll(async () => {
  server = await startServer({ vars: clockAt('2031-08-31T23:00:00Z') });
});
afterAll(() => server[Symbol.asyncDispose]());

it('archives whole periods of all boards even if the server is killed repeatedly during the drain', async () => {
  const random = createRandom(announceSeed());
  const made = await server.call('POST', '/v1/iam/tokens', { name: 'game', scopes: ['scores:write'] });
  const boards: TestBoard[] = [DEFAULT];
  for (const kind of NAMED) boards.push(await createBoard(server, kind));
  const points = Array.from({ length: PLAYERS }, () => Math.floor(random() ** 3 * 500));
  const winOf = (i: number) => ({ user_id: `p${i}`, points: points[i], event_id: `august-${i}` });
  const playersOf = (board: TestBoard) => (board === DEFAULT ? PLAYERS : PLAYERS_OF_NAMED);
  for (const board of boards) {
    for (let at = 0; at < playersOf(board); at += 1_000) {
      const updates = Array.from({ length: 1_000 }, (_, i) => winOf(at + i));
      const { body } = await server.call('POST', `${board.base}/scores/batch`, { updates }, made.body.token);
      expect(body.results.filter((result: { status?: number }) => result.status !== undefined)).toEqual([]);
    }
  }
  const readCsv = async ({ base, period }: TestBoard) =>
    (await server.call('GET', `${base}/seasons/${SEASONS[period]}/export`)).body as string;
  // Read with `exact=1`: without it, a read may show the state of a second before the last posts.
  const readPlayer = async ({ base, period }: TestBoard) => {
    for (;;) {
      const { status, body } = await server.call('GET', `${base}/scores/p77?season=${SEASONS[period]}&exact=1`);
      if (status !== 503) return body.user_info;
    }
  };
  const close = ({ base, period }: TestBoard) => server.call('POST', `${base}/seasons/${SEASONS[period]}/close`);
  const live = new Map<TestBoard, { csv: string; player: unknown }>();
  for (const board of boards) {
    live.set(board, { csv: await readCsv(board), player: await readPlayer(board) });
    expect(live.get(board)?.csv.split('\r\n')).toHaveLength(playersOf(board) + 2);
  }

  const september = clockAt('2031-09-01T00:00:05Z');
  await server.stop();
  await server.start(september);
  for (let kill = 0; kill < KILLS; kill++) {
    const closing = Promise.all(boards.map((board) => close(board).catch(() => null)));
    await new Promise((resolve) => setTimeout(resolve, 50 + random() * 700));
    await server.kill9();
    await closing;
    await server.start(september);
    // Reads of each period must be the same after every interruption.
    for (const board of boards) expect(await readPlayer(board)).toEqual(live.get(board)?.player);
  }
  for (const board of boards) {
    const isEndless = board.period === 'none';
    for (let state = isEndless ? 'historical' : ''; state !== 'historical'; ) {
      const { status, body } = await close(board);
      expect(status).toBe(200);
      state = body.state;
    }
    if (isEndless) expect((await close(board)).body.code).toBe('season_running');
    expect(await readCsv(board)).toBe(live.get(board)?.csv);
    expect(await readPlayer(board)).toEqual(live.get(board)?.player);
    const { body: again } = await server.call('POST', `${board.base}/scores`, winOf(77), made.body.token);
    expect([again.duplicate, again.user_info.season]).toEqual([true, SEASONS[board.period]]);
  }
});
