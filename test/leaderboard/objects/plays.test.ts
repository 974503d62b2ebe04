/**
 * Tests boards with `sessions: required` as an attacker would: replays, forged times, many tabs, stolen plays, other clocks, a thousand
 * invented players. And what operators do with the quarantine.
 */
import { createExecutionContext, env, waitOnExecutionContext } from 'cloudflare:test';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { openPlay } from '../../../workers/leaderboard/plays/play.ts';
import { requestApi } from '../../support/json-api.ts';

const PAGE = 'https://game.example.com';
const RULES = { title: 'Arcade', sort: 'desc', operator: 'best', period: 'none', public: true, shards: 2 };
const SECRET = 'a'.repeat(43);
const START = Date.parse('2047-03-11T12:00:00Z');

let board: string;
let clients = 0;
/** Limiters that replace those of the platform. */
let limits: object = {};

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['Date'], now: START });
  (env as unknown as Record<string, string>).LEADERBOARD_SHARDS = '2';
  board = `a-${crypto.randomUUID().slice(0, 8)}`;
});
afterEach(() => {
  limits = {};
  vi.restoreAllMocks();
  vi.useRealTimers();
});

interface Sent {
  readonly body?: unknown;
  readonly origin?: string;
  readonly token?: string;
  readonly client?: string;
}

async function call(method: string, path: string, { body, origin, token, client }: Sent = {}) {
  const headers = {
    'content-type': 'application/json',
    ...(origin === undefined ? {} : { origin }),
    ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
    // Each call is from another address, unless the test names one.
    'cf-connecting-ip': client ?? `10.${(clients >> 16) & 255}.${(clients >> 8) & 255}.${clients++ & 255}`,
  };
  const ctx = createExecutionContext();
  const init = { method, headers, ...(body === undefined ? {} : { body: JSON.stringify(body) }) };
  const response = await requestApi({ ...env, ...limits }, `/v1/boards/${board}${path}`, init, ctx);
  const text = await response.text();
  await waitOnExecutionContext(ctx);
  // biome-ignore lint/suspicious/noExplicitAny: each test asserts the members it needs
  const answer: any = text === '' ? null : JSON.parse(text);
  return { status: response.status, body: answer, headers: response.headers };
}

const asOperator = (method: string, path: string, body?: unknown) =>
  call(method, path, { token: 'root-of-tests', ...(body === undefined ? {} : { body }) });

async function makeBoard(session_rules = {}, rules = {}): Promise<void> {
  const body = { ...RULES, sessions: 'required', session_rules: { origins: [PAGE], ...session_rules }, ...rules };
  expect((await asOperator('PUT', '', body)).status).toBe(200);
}

async function begin(player_secret = SECRET) {
  const { status, body } = await call('POST', '/plays', { body: { player_secret }, origin: PAGE });
  expect(status).toBe(201);
  return body as { play_id: string; play: string; user_id: string };
}

const finish = ({ play_id, play }: { play_id: string; play: string }, points: number, more = {}, sent: Sent = {}) =>
  call('POST', `/plays/${play_id}/result`, {
    body: { play, player_secret: SECRET, points, ...more },
    origin: PAGE,
    ...sent,
  });

const wait = (seconds: number) => vi.setSystemTime(Date.now() + seconds * 1_000);
const scoreOf = async (userId: string) =>
  (await call('GET', `/scores/${userId}?exact=1`)).body.user_info?.score ?? null;
const waiting = async () => (await asOperator('GET', '/quarantine')).body.data;

describe('a page', () => {
  it('begins a play and sends its result, which counts once', async () => {
    await makeBoard();
    const play = await begin();
    expect(play.user_id).toMatch(/^anon\.[\w-]{22}$/);
    wait(30);
    const first = await finish(play, 700, { user_name: 'Ada' });
    expect([first.status, first.body.status]).toEqual([200, 'counted']);
    expect(first.body.user_info).toMatchObject({ user_id: play.user_id, user_name: 'Ada', score: 700, rank: 1 });
    const repeated = await finish(play, 700);
    expect([repeated.status, repeated.body.duplicate]).toEqual([200, true]);
    const other = await finish(play, 701);
    expect([other.status, other.body.code]).toEqual([409, 'play_used']);
    expect(await scoreOf(play.user_id)).toBe(700);
  });

  it('is of an origin that the board lists, and no other may read an answer', async () => {
    await makeBoard();
    const preflight = await call('OPTIONS', '/plays', { origin: PAGE });
    expect(preflight.status).toBe(204);
    expect(Object.fromEntries(preflight.headers)).toMatchObject({
      'access-control-allow-origin': PAGE,
      'access-control-allow-methods': 'POST',
      'access-control-allow-headers': 'content-type',
    });
    expect(preflight.headers.has('access-control-allow-credentials')).toBe(false);
    for (const origin of ['https://evil.example', `${PAGE}.evil.example`, 'https://GAME.example.com', 'null']) {
      for (const method of ['OPTIONS', 'POST']) {
        const refused = await call(method, '/plays', { origin, ...(method === 'POST' ? { body: {} } : {}) });
        expect([refused.status, refused.body.code]).toEqual([403, 'origin_not_listed']);
        expect(refused.headers.has('access-control-allow-origin')).toBe(false);
      }
    }
    const play = await begin();
    const faulty = await finish(play, -1);
    expect([faulty.status, faulty.headers.get('access-control-allow-origin')]).toEqual([400, PAGE]);
  });

  it('still cannot post scores, also not of its own player', async () => {
    await makeBoard();
    const { user_id } = await begin();
    const posted = await call('POST', '/scores', { body: { user_id, points: 1 }, origin: PAGE });
    expect(posted.status).toBe(401);
    expect(posted.headers.get('access-control-allow-origin')).not.toBe(PAGE);
  });

  it('cannot begin a play on boards without sessions, and `default` cannot have them', async () => {
    await makeBoard();
    await asOperator('PUT', '', RULES);
    const refused = await call('POST', '/plays', { body: { player_secret: SECRET } });
    expect([refused.status, refused.body.code]).toEqual([409, 'no_sessions']);
    board = 'default';
    expect((await call('POST', '/plays', { body: { player_secret: SECRET } })).body.code).toBe('no_sessions');
    const put = await asOperator('PUT', '', { title: 'Leaderboard', sessions: 'required' });
    expect([put.status, put.body.code]).toEqual([409, 'board_rules_fixed']);
  });
});

describe('an attacker', () => {
  it('cannot alter a play, use it on another board, or for another player', async () => {
    await makeBoard();
    const [play, first] = [await begin(), board];
    const flipped = play.play.slice(0, -2) + (play.play.endsWith('AA') ? 'BB' : 'AA');
    const stranger = { player_secret: 'b'.repeat(43) };
    for (const [sent, more] of [
      [{ ...play, play: flipped }, {}],
      [{ ...play, play: 'v1.x' }, {}],
      [{ ...play, play_id: `${play.play_id}0` }, {}],
      [play, stranger],
      [play, { player_secret: undefined }],
    ] as const) {
      const { status, body } = await finish(sent, 5, more);
      expect([status, body.code]).toEqual([403, 'invalid_play']);
    }
    board = `b-${crypto.randomUUID().slice(0, 8)}`;
    await makeBoard();
    expect((await finish(play, 5)).body.code).toBe('invalid_play');
    // A board that was deleted and created again has other plays.
    board = first;
    expect((await finish(play, 5)).status).toBe(200);
  });

  it('cannot say when the play began, and gains nothing by a wait of more than a day', async () => {
    await makeBoard({ least_seconds: 60, most_points_per_second: 10 });
    const play = await begin();
    const forged = await finish(play, 5, { started_at: '2040-01-01T00:00:00Z' });
    expect([forged.status, forged.body.code]).toEqual([400, 'invalid_request']);
    wait(24 * 3_600);
    expect((await finish(play, 5)).body.code).toBe('invalid_play');
    const early = await begin();
    wait(-3_600);
    expect((await finish(early, 5)).body.status).toBe('waiting');
    expect(await waiting()).toMatchObject([{ play_id: early.play_id, breach: 'too_fast' }]);
  });

  it('meets each rule, and what breaks one waits: a play has one result', async () => {
    await makeBoard({ least_seconds: 10, least_points: 3, most_points: 900, most_points_per_second: 20 });
    const tries: [seconds: number, points: number, breach: string][] = [
      [9, 5, 'too_fast'],
      [60, 2, 'too_few_points'],
      [60, 901, 'too_many_points'],
      [10, 201, 'too_many_points_per_second'],
    ];
    for (const [seconds, points, breach] of tries) {
      const play = await begin();
      wait(seconds);
      const sent = await finish(play, points);
      expect([sent.status, sent.body]).toEqual([202, { status: 'waiting' }]);
      expect((await waiting()).at(-1)).toMatchObject({ play_id: play.play_id, points, breach, seconds });
      wait(60);
      // A smaller result of the same play does not count either.
      expect((await finish(play, 4)).body.code).toBe('play_used');
      expect((await finish(play, points)).body).toEqual({ status: 'waiting' });
      expect(await scoreOf(play.user_id)).toBe(null);
    }
    const play = await begin();
    wait(10);
    expect((await finish(play, 200)).body.status).toBe('counted');
  });

  it('cannot let many tabs wait at the same time', async () => {
    await makeBoard({ most_points_per_second: 1 }, { operator: 'sum' });
    const tabs = await Promise.all(Array.from({ length: 5 }, () => begin()));
    wait(100);
    const results = [];
    for (const tab of tabs) results.push((await finish(tab, 100)).body.status);
    expect(results).toEqual(['counted', 'waiting', 'waiting', 'waiting', 'waiting']);
    expect((await waiting()).map(({ breach }: { breach: string }) => breach)).toEqual(Array(4).fill('plays_overlap'));
    // One play after the other is what a player does.
    const next = await begin();
    wait(5);
    expect((await finish(next, 5)).body.status).toBe('counted');
    expect(await scoreOf(next.user_id)).toBe(105);
  });

  it('gets at most the points of a day', async () => {
    await makeBoard({}, { operator: 'sum', max_points_per_day: 100 });
    for (const status of ['counted', 'counted', 'waiting']) {
      const play = await begin();
      wait(10);
      expect((await finish(play, 50)).body.status).toBe(status);
    }
    expect(await waiting()).toMatchObject([{ breach: 'points_per_day_exceeded' }]);
  });

  it('counts once although many requests race with one play', async () => {
    await makeBoard({}, { operator: 'sum' });
    const play = await begin();
    wait(60);
    const raced = await Promise.all(Array.from({ length: 10 }, (_, i) => finish(play, i % 2 === 0 ? 10 : 20)));
    const first = raced.filter(({ body }) => body.duplicate === false);
    expect(first).toHaveLength(1);
    expect(await scoreOf(play.user_id)).toBe(first[0]?.body.user_info.score);
  });

  it('meets the rate of an address and of a player', async () => {
    await makeBoard();
    const asked: string[] = [];
    const limiter = (name: string) => ({
      limit: async ({ key }: { key: string }) => {
        asked.push(`${name} ${key}`);
        return { success: asked.filter((each) => each === `${name} ${key}`).length <= 3 };
      },
    });
    limits = { RATE_LIMIT_PLAYS: limiter('client'), RATE_LIMIT_PLAYER: limiter('player') };
    const tryOf = async (secret: string, client?: string) => {
      const sent = { body: { player_secret: secret }, ...(client === undefined ? {} : { client }) };
      return (await call('POST', '/plays', sent)).status;
    };
    const statuses = [];
    for (let i = 0; i < 5; i++) statuses.push(await tryOf(`${i}`.repeat(43), '192.0.2.7'));
    expect(statuses).toEqual([201, 201, 201, 429, 429]);
    const own = [];
    for (let i = 0; i < 5; i++) own.push(await tryOf(SECRET));
    expect(own).toEqual([201, 201, 201, 429, 429]);
    expect(asked).toContain('client 192.0.2.7');
  });

  it('leaves no row by plays without a result', async () => {
    await makeBoard();
    const counts = () =>
      env.DIRECTORY.prepare(
        'SELECT (SELECT count(*) FROM quarantined_result) + (SELECT count(*) FROM banned_player) + (SELECT count(*) FROM season) AS n',
      ).first('n');
    const before = await counts();
    for (let i = 0; i < 50; i++) await begin(`${i}`.padStart(43, 'y'));
    expect(await counts()).toBe(before);
  });
});

describe('a game server', () => {
  it('begins the play of a player whom it knows, and no page can', async () => {
    await makeBoard();
    const made = await requestApi(env, '/v1/iam/tokens', {
      method: 'POST',
      headers: { authorization: 'Bearer root-of-tests', 'content-type': 'application/json' },
      body: JSON.stringify({ name: 'game', scopes: [`board:${board}:write`] }),
    });
    const { token } = (await made.json()) as { token: string };
    expect((await call('POST', '/plays', { body: { user_id: 'grace' } })).status).toBe(400);
    expect((await call('POST', '/plays', { body: { user_id: 'grace' }, token: 'tok_none' })).status).toBe(401);
    const { status, body } = await call('POST', '/plays', { body: { user_id: 'grace' }, token });
    expect([status, body.user_id]).toEqual([201, 'grace']);
    wait(5);
    expect((await finish(body, 9, { player_secret: undefined })).body.user_info).toMatchObject({
      user_id: 'grace',
      score: 9,
    });
    expect((await call('POST', '/scores', { body: { user_id: 'grace', points: 10 }, token })).status).toBe(200);
  });
});

describe('an operator', () => {
  it('accepts, refuses and bans, each once', async () => {
    await makeBoard({ most_points: 10 });
    const [good, bad, worse] = ['1', '2', '3'].map((digit) => digit.repeat(43)) as [string, string, string];
    const plays = [];
    for (const secret of [good, bad, worse]) {
      const play = await begin(secret);
      wait(5);
      expect((await finish(play, 8, { player_secret: secret })).body.status).toBe('counted');
      const cheated = await begin(secret);
      wait(5);
      expect((await finish(cheated, 99, { player_secret: secret })).body.status).toBe('waiting');
      plays.push(cheated);
    }
    const decide = (play: { play_id: string }, decision: string) =>
      asOperator('POST', `/quarantine/${play.play_id}`, { decision, reason: 'seen' });
    const [first, second, third] = plays as [(typeof plays)[0], (typeof plays)[0], (typeof plays)[0]];
    expect((await decide(first, 'accept')).body).toMatchObject({ status: 'accepted', points: 99 });
    expect(await scoreOf(first.user_id)).toBe(99);
    expect((await decide(first, 'accept')).body.code).toBe('result_decided');
    expect((await decide(second, 'refuse')).body.status).toBe('refused');
    expect(await scoreOf(second.user_id)).toBe(8);
    const begun = await begin(worse);
    expect((await decide(third, 'ban')).body.status).toBe('refused');
    const late = await finish(begun, 9, { player_secret: worse });
    expect([late.status, late.body.code]).toEqual([403, 'player_banned']);
    expect(await scoreOf(third.user_id)).toBe(null);
    expect(await waiting()).toEqual([]);
    const banned = await call('POST', '/plays', { body: { player_secret: worse } });
    expect([banned.status, banned.body.code]).toEqual([403, 'player_banned']);
    expect((await asOperator('GET', '/bans')).body.data).toMatchObject([{ user_id: third.user_id }]);
    expect((await asOperator('DELETE', `/bans/${third.user_id}`)).status).toBe(204);
    await begin(worse);
    expect((await finish(second, 99, { player_secret: bad })).body).toEqual({ status: 'refused' });
    expect((await call('GET', '/quarantine')).status).toBe(401);
  });

  it('erases a player with all results', async () => {
    await makeBoard({ most_points: 10 });
    const counted = await begin();
    wait(5);
    await finish(counted, 3);
    const aside = await begin();
    wait(5);
    await finish(aside, 50);
    expect(await waiting()).toHaveLength(1);
    expect((await asOperator('DELETE', `/scores/${counted.user_id}`)).status).toBe(204);
    expect(await waiting()).toEqual([]);
  });
});

describe('the webhook of a studio', () => {
  const answers: unknown[] = [];

  it('judges each result that breaks no rule, and no answer is no verdict', async () => {
    await makeBoard({ most_points: 1_000, judged: true });
    const asked: { body: string; id: string | null }[] = [];
    vi.spyOn(globalThis, 'fetch').mockImplementation(async (_url, init) => {
      asked.push({ body: String(init?.body), id: new Headers(init?.headers).get('webhook-id') });
      const answer = answers.shift();
      if (answer === undefined) throw new Error('no answer');
      return Response.json(answer);
    });
    const play = async (points: number) => {
      const begun = await begin();
      wait(5);
      return { begun, ...(await finish(begun, points, { user_name: 'Ada' })) };
    };
    expect((await play(1)).body.status).toBe('waiting');
    await asOperator('PUT', '/webhook', { url: 'https://judge.example.com/results' });
    answers.push({ verdict: 'accept' }, { verdict: 'quarantine' }, { verdict: 'refuse' }, { verdict: 'maybe' });
    const judged = await play(2);
    expect(judged.body.status).toBe('counted');
    expect(asked[0]?.id).toBe(`play_${judged.begun.play_id}`);
    expect(JSON.parse(asked[0]?.body ?? '').data).toMatchObject({
      points: 2,
      user_name: 'Ada',
      seconds: 5,
      data: null,
    });
    expect((await play(3)).body.status).toBe('waiting');
    expect((await play(4)).body.status).toBe('refused');
    expect((await play(5)).body.status).toBe('waiting');
    expect((await play(6)).body.status).toBe('waiting');
    const seen = asked.length;
    expect((await play(2_000)).body.status).toBe('waiting');
    expect(asked).toHaveLength(seen);
    const breaches = (await waiting()).map(({ breach }: { breach: string }) => breach);
    expect(breaches).toEqual(['unjudged', 'suspected', 'unjudged', 'unjudged', 'too_many_points']);
  });
});

it('opens a play under the former MASTER_KEY after its rotation', async () => {
  await makeBoard();
  const play = await begin();
  const { findBoard } = await import('../../../workers/leaderboard/boards/boards.ts');
  const found = await findBoard(env, board);
  if (found === null) throw new Error('the board exists');
  const rotated = { ...env, MASTER_KEY: Buffer.alloc(32, 9).toString('base64'), MASTER_KEY_PREVIOUS: env.MASTER_KEY };
  const sent = { id: play.play_id, text: play.play, secret: SECRET };
  expect(openPlay(rotated, found, sent, Date.now())?.userId).toBe(play.user_id);
});
