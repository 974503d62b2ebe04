import { connect } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startServer, type TestServer } from '../../support/server.ts';

let server: TestServer;
let token: string;

const post = (body: unknown, bearer: string | null = token) => server.call('POST', '/v1/scores', body, bearer);
/**
 * Reads public routes. With `exact=1` (`getExact`), reads of the top list or of ranks query every shard, so that they include all
 * earlier posts.
 */
const get = (path: string) => server.call('GET', path, undefined, null);
const getExact = (path: string) => get(`${path}${path.includes('?') ? '&' : '?'}exact=1`);

beforeAll(async () => {
  server = await startServer();
  const made = await server.call('POST', '/v1/iam/tokens', { name: 'game', scopes: ['scores:write'] });
  token = made.body.token;
});
afterAll(() => server[Symbol.asyncDispose]());

describe('a leaderboard of thirty players', () => {
  /** Players p1 to p30. Three players share each score, so ranks are 1, 1, 1, 4 … */
  const players = Array.from({ length: 30 }, (_, i) => ({
    user_id: `p${i + 1}`,
    user_name: `Player ${i + 1}`,
    points: 100 - Math.floor(i / 3),
  }));

  it('answers each update with the score and a rank, which an exact read confirms', async () => {
    for (const [i, player] of players.entries()) {
      const { status, body } = await post(player);
      expect(status).toBe(200);
      expect(body).toEqual({
        user_info: {
          user_id: player.user_id,
          user_name: player.user_name,
          score: player.points,
          rank: expect.any(Number),
          season: new Date().toISOString().slice(0, 7),
        },
        duplicate: false,
        as_of: expect.any(String),
        written_at: expect.any(String),
      });
      const rank = Math.floor(i / 3) * 3 + 1;
      // The rank may be too low a number at first, because the counts of the other shards may be some milliseconds old.
      expect(body.user_info.rank).toBeLessThanOrEqual(rank);
      expect((await getExact(`/v1/scores/${player.user_id}`)).body.user_info.rank).toBe(rank);
    }
  });

  const expectBoard = async () => {
    const { status, body, headers } = await getExact('/v1/scores');
    expect(status).toBe(200);
    expect(headers.get('access-control-allow-origin')).toBe('*');
    expect(body.total).toBe(10);
    expect(body.players).toBe(30);
    expect(Date.now() - Date.parse(body.as_of)).toBeLessThan(5_000);
    expect(body.data).toEqual(
      players.slice(0, 10).map((player, i) => ({
        user_id: player.user_id,
        user_name: player.user_name,
        rank: [1, 1, 1, 4, 4, 4, 7, 7, 7, 10][i],
        score: player.points,
      })),
    );
  };

  it('shows the top ten with shared ranks', expectBoard);

  it('counts a post in each read that asks for its time, and refuses a time in the future', async () => {
    for (let points = 1; points <= 5; points++) {
      const { body } = await post({ user_id: 'own-write', points: 1_000 });
      const top = await get(`/v1/scores?limit=1&min_as_of=${body.written_at}`);
      expect(top.body.data).toMatchObject([{ user_id: 'own-write', score: points * 1_000 }]);
      const other = await get(`/v1/scores/p1?min_as_of=${body.written_at}`);
      expect(other.body.user_info).toMatchObject({ rank: 2, players: 31 });
      for (const { as_of } of [top.body, other.body]) expect(as_of >= body.written_at).toBe(true);
    }
    expect((await get('/v1/scores?min_as_of=2999-01-01T00:00:00Z')).status).toBe(400);
    const removed = await server.call('DELETE', '/v1/scores/own-write');
    expect(removed.status).toBe(204);
  });

  it('allows CORS requests with headers from any origin for reads only', async () => {
    const ask = (method: string) =>
      fetch(`${server.url}/v1/scores`, {
        method: 'OPTIONS',
        headers: { origin: 'https://game.example', 'access-control-request-method': method },
      });
    const read = await ask('GET');
    expect([read.status, read.headers.get('access-control-allow-origin')]).toEqual([204, '*']);
    const write = await ask('POST');
    expect([write.status, write.headers.get('access-control-allow-origin')]).toEqual([405, null]);
  });

  it('shows the distribution of points, in ranges of a round width', async () => {
    const path = `/v1/seasons/${new Date().toISOString().slice(0, 7)}/distribution`;
    let answer = await get(`${path}?limit=6`);
    // Poll, because the counts of the last post may arrive some milliseconds later.
    while (answer.body.players < players.length) answer = await get(`${path}?limit=6`);
    const { status, body, headers } = answer;
    expect([status, headers.get('access-control-allow-origin')]).toEqual([200, '*']);
    const { as_of: _, season: __, ...rest } = body;
    expect(rest).toEqual({
      data: [
        { from: 90, to: 91, players: 3 },
        { from: 92, to: 93, players: 6 },
        { from: 94, to: 95, players: 6 },
        { from: 96, to: 97, players: 6 },
        { from: 98, to: 99, players: 6 },
        { from: 100, to: 101, players: 3 },
      ],
      total: 6,
      players: 30,
    });
    expect((await get(`${path}?limit=1`)).body.data).toEqual([{ from: 0, to: 199, players: 30 }]);
    expect((await get(`${path}?limit=51`)).status).toBe(400);
    expect((await get('/v1/seasons/1999-01/distribution')).status).toBe(404);
  });

  it('shows a player with rank and percentile', async () => {
    const { status, body } = await getExact('/v1/scores/p14');
    expect(status).toBe(200);
    expect(body.user_info).toEqual({
      user_id: 'p14',
      user_name: 'Player 14',
      score: 96,
      rank: 13,
      season: new Date().toISOString().slice(0, 7),
      players: 30,
      percentile: 60,
    });
    expect((await get('/v1/scores/nobody')).status).toBe(404);
  });

  it('shows the neighbours of a player, fewer at both ends of the ranking', async () => {
    const idsAround = async (path: string) => {
      const { body } = await getExact(path);
      expect(body.total).toBe(body.data.length);
      return body.data.map((entry: { user_id: string }) => Number(entry.user_id.slice(1)));
    };
    expect(await idsAround('/v1/scores/p14/neighbors')).toEqual([10, 11, 12, 13, 14, 15, 16, 17, 18]);
    expect(await idsAround('/v1/scores/p2/neighbors')).toEqual([1, 2, 3, 4, 5, 6]);
    expect(await idsAround('/v1/scores/p30/neighbors?radius=2')).toEqual([28, 29, 30]);
    expect(await idsAround('/v1/scores/p7/neighbors?radius=0')).toEqual([7]);
    const { body } = await getExact('/v1/scores/p14/neighbors?radius=2');
    expect(body.data.map((entry: { rank: number }) => entry.rank)).toEqual([10, 13, 13, 13, 16]);
    expect((await get('/v1/scores/nobody/neighbors')).status).toBe(404);
  });

  it('pages to the end by cursor, with each player once', async () => {
    const seen: [string, number][] = [];
    let cursor: string | null = null;
    do {
      const { body } = await getExact(`/v1/scores?limit=7${cursor ? `&cursor=${cursor}` : ''}`);
      seen.push(...body.data.map((entry: { user_id: string; rank: number }) => [entry.user_id, entry.rank]));
      cursor = body.next_cursor;
    } while (cursor);
    expect(seen).toEqual(players.map((player, i) => [player.user_id, Math.floor(i / 3) * 3 + 1]));
  });

  it('shows requested players in list order', async () => {
    const { body } = await getExact('/v1/scores?user_ids=p20,p3,nobody,p11');
    expect(body.data.map((entry: { user_id: string; rank: number }) => [entry.user_id, entry.rank])).toEqual([
      ['p3', 1],
      ['p11', 10],
      ['p20', 19],
    ]);
    expect(body.total).toBe(3);
  });

  it('is unchanged after a restart', async () => {
    await server.stop();
    await server.start();
    await expectBoard();
    const { body } = await getExact('/v1/scores/p30');
    expect(body.user_info.rank).toBe(28);
  });
});

describe('an update', () => {
  it('is rejected without a token, with a wrong token, and with another scope', async () => {
    const score = { user_id: 'intruder', points: 1 };
    expect((await post(score, null)).status).toBe(401);
    expect((await post(score, 'tok_wrong')).status).toBe(401);
    const other = await server.call('POST', '/v1/iam/tokens', { name: 'operator', scopes: ['admin'] });
    expect((await post(score, other.body.token)).status).toBe(403);
    expect((await post(score, server.rootToken)).status).toBe(403);
    expect((await get('/v1/scores/intruder')).status).toBe(404);
  });

  it('is rejected if its token was revoked, also in the middle of many updates', async () => {
    const made = await server.call('POST', '/v1/iam/tokens', { name: 'doomed', scopes: ['scores:write'] });
    let isRevoked = false;
    let [accepted, late] = [0, 0];
    const senders = Array.from({ length: 24 }, async (_, sender) => {
      for (let status = 200; status === 200; ) {
        const wasRevoked = isRevoked;
        status = (await post({ user_id: `doomed-${sender}`, points: 1 }, made.body.token)).status;
        expect([200, 401]).toContain(status);
        if (status === 200) accepted++;
        if (wasRevoked && status === 200) late++;
      }
    });
    await expect.poll(() => accepted).toBeGreaterThan(2 * senders.length);
    expect((await server.call('DELETE', `/v1/iam/tokens/${made.body.token_id}`)).status).toBe(204);
    isRevoked = true;
    await Promise.all(senders);
    expect(late).toBe(0);
  });

  it.each([
    ['POST', '/v1/scores'],
    ['POST', '/v1/scores/batch'],
    ['PATCH', '/v1/scores/not%20an%20id'],
    ['DELETE', '/v1/scores/not%20an%20id'],
    ['GET', '/v1/seasons/no-month/shards'],
    ['POST', '/v1/seasons/no-month/close'],
    ['GET', '/v1/seasons/no-month/export'],
  ])('is authorized before it is validated, like all requests: %s %s', async (method, path) => {
    const body = method === 'GET' || method === 'DELETE' ? undefined : { nonsense: true };
    const wrong = path.startsWith('/v1/scores/not') || path.startsWith('/v1/seasons') ? token : server.rootToken;
    expect((await server.call(method, path, body, null)).status).toBe(401);
    expect((await server.call(method, path, body, 'tok_wrong')).status).toBe(401);
    expect((await server.call(method, path, body, wrong)).status).toBe(403);
    const right = wrong === token ? server.rootToken : token;
    expect((await server.call(method, path, body, right)).status).toBe(400);
  });

  it('accepts ids of every allowed character, and rejects all others in bodies and paths', async () => {
    const allowed = 'AZaz09._:@-';
    for (let code = 0; code < 0x180; code++) {
      const character = String.fromCharCode(code);
      const user_id = `id${character}`;
      const isAllowed = /[A-Za-z0-9]/.test(character) || allowed.includes(character);
      const { body } = await server.call('POST', '/v1/scores/batch', { updates: [{ user_id, points: 1 }] }, token);
      const [{ status = 200, user_id: refused }] = body.results;
      expect([code, status, refused]).toEqual([code, isAllowed ? 200 : 400, isAllowed ? undefined : user_id]);
      const read = await get(`/v1/scores/${encodeURIComponent(user_id)}`);
      expect([code, read.status]).toEqual([code, isAllowed ? 200 : 400]);
    }
    // No URL has these as a part of its path, so such players could not be corrected or erased.
    for (const user_id of ['.', '..']) expect((await post({ user_id, points: 3 })).status).toBe(400);
    for (const user_id of ['...', '__proto__', 'constructor', '-', '@']) {
      expect((await post({ user_id, points: 3 })).body.user_info).toMatchObject({
        user_id,
        user_name: user_id,
        score: 3,
      });
      expect((await get(`/v1/scores?user_ids=${user_id}`)).body.data[0]).toMatchObject({ user_id, score: 3 });
    }
  });

  it('for a past month gets 409, with or without players in that month', async () => {
    const answer = await post({ user_id: 'late', points: 1, season: '1999-01' });
    expect([answer.status, answer.body.code]).toEqual([409, 'season_sealed']);
    expect((await get('/v1/scores?season=1999-01')).status).toBe(404);
  });

  it.each([
    [{ user_id: 'x' }, 'points'],
    [{ user_id: 'x', points: 1.5 }, 'points'],
    [{ user_id: 'x', points: -1 }, 'points'],
    [{ user_id: 'x', points: 1_000_001 }, 'points'],
    [{ user_id: 'x', points: '5' }, 'points'],
    [{ user_id: 'not an id', points: 1 }, 'user_id'],
    [{ user_id: 'x', points: 1, rank: 1 }, 'rank'],
    [{ user_id: 'x', points: 1, event_id: '' }, 'event_id'],
    [{ user_id: 'x', points: 1, user_name: 'n'.repeat(65) }, 'user_name'],
    [{ user_id: 'x', points: 1, season: '2026-13' }, 'season'],
  ])('with an invalid member is rejected: %j names %s', async (body, path) => {
    const answer = await post(body);
    expect(answer.status).toBe(400);
    expect(answer.body.errors.map((error: { path: string }) => error.path)).toContain(path);
  });
});

describe('an event id', () => {
  it('counts once, returns the first answer again, and rejects different points', async () => {
    const win = { user_id: 'once', points: 3, event_id: 'match-1', user_name: 'Once' };
    const first = await post(win);
    await post({ user_id: 'once', points: 4, event_id: 'match-2', user_name: 'Renamed' });
    const again = await post(win);
    expect(again.status).toBe(200);
    expect(again.body).toEqual({
      ...first.body,
      duplicate: true,
      as_of: expect.any(String),
      written_at: expect.any(String),
    });
    expect((await post({ ...win, points: 5 })).body.code).toBe('event_conflict');
    const { body } = await get('/v1/scores/once');
    expect([body.user_info.score, body.user_info.user_name]).toEqual([7, 'Renamed']);
    expect((await post({ ...win, user_id: 'other' })).body.duplicate).toBe(false);
  });

  it('still counts once if the player has more events than fit in the score row', async () => {
    const wins = Array.from({ length: 150 }, (_, i) => ({ user_id: 'busy', points: 1, event_id: `e${i}` }));
    const batch = (updates: unknown[]) => server.call('POST', '/v1/scores/batch', { updates }, token);
    const first = await batch(wins);
    expect(first.body.results.map((result: { user_info: { score: number } }) => result.user_info.score)).toEqual(
      wins.map((_, i) => i + 1),
    );
    const again = await batch(wins.toReversed());
    expect(new Set(again.body.results.map((result: { duplicate: boolean }) => result.duplicate))).toEqual(
      new Set([true]),
    );
    expect((await get('/v1/scores/busy')).body.user_info.score).toBe(150);
  });
});

describe('a batch', () => {
  it('answers each update in order, with a result or with a problem that changes nothing', async () => {
    const { status, body } = await server.call(
      'POST',
      '/v1/scores/batch',
      {
        updates: [
          { user_id: 'b1', points: 5 },
          { user_id: 'b1', points: -5 },
          { user_id: 'b2', points: 1, season: '2099-01' },
          { user_id: 'b1', points: 2 },
        ],
      },
      token,
    );
    expect(status).toBe(200);
    expect(body.results.map((result: { status?: number }) => result.status)).toEqual([undefined, 400, 404, undefined]);
    expect(body.results[3].user_info.score).toBe(7);
    const tooLong = { user_id: 'b1', points: 1, user_name: 'n'.repeat(17_000) };
    expect((await post(tooLong)).status).toBe(413);
    const postChunked = (body: unknown) => {
      const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
      const init = { method: 'POST', headers, body: new Blob([JSON.stringify(body)]).stream(), duplex: 'half' };
      return fetch(`${server.url}/v1/scores`, init);
    };
    expect((await postChunked({ user_id: 'b1', points: 1 })).status).toBe(200);
    const chunked = await postChunked(tooLong);
    expect([chunked.status, ((await chunked.json()) as { code: string }).code]).toEqual([413, 'request_too_large']);
    const tooMany = Array.from({ length: 1_001 }, () => ({ user_id: 'b1', points: 1 }));
    expect((await server.call('POST', '/v1/scores/batch', { updates: tooMany }, token)).status).toBe(400);
  });
});

describe('the live top list', () => {
  const top = (message: string) => {
    const list = JSON.parse(message);
    return list.data.map((entry: { user_id: string; score: number }) => `${entry.user_id}:${entry.score}`).slice(0, 2);
  };

  it('is sent over a WebSocket at once, and again only when it changes', async () => {
    await post({ user_id: 'live', points: 5_000 });
    // Wait until the season has the counts of the shard, some milliseconds after the post.
    while ((await get('/v1/scores?limit=1')).body.data[0]?.user_id !== 'live') {
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    const socket = new WebSocket(`${server.url.replace('http', 'ws')}/v1/scores?limit=2`);
    const messages: string[] = [];
    const until = async (count: number) => {
      while (messages.length < count) await new Promise((resolve) => setTimeout(resolve, 20));
    };
    socket.addEventListener('message', (event) => messages.push(String(event.data)));
    await until(1);
    expect(top(messages[0] as string)[0]).toBe('live:5000');
    await post({ user_id: 'rival', points: 6_000 });
    await until(2);
    expect(top(messages[1] as string)).toEqual(['rival:6000', 'live:5000']);
    await post({ user_id: 'far-below', points: 1 });
    await post({ user_id: 'live', points: 2_000 });
    await until(3);
    expect(top(messages[2] as string)).toEqual(['live:7000', 'rival:6000']);
    socket.close();
  });

  it('is also sent as an event stream', async () => {
    const abort = new AbortController();
    const response = await fetch(`${server.url}/v1/scores?limit=2`, {
      headers: { accept: 'text/event-stream' },
      signal: abort.signal,
    });
    expect(response.headers.get('content-type')).toBe('text/event-stream');
    expect(response.headers.get('access-control-allow-origin')).toBe('*');
    const lists: string[] = [];
    let text = '';
    const decoder = new TextDecoder();
    for await (const chunk of response.body as ReadableStream<Uint8Array>) {
      text += decoder.decode(chunk, { stream: true });
      const events = text.split('\n\n');
      text = events.pop() ?? '';
      for (const event of events) {
        const data = /^data: (.*)$/m.exec(event)?.[1];
        if (data) lists.push(data);
      }
      if (lists.length === 1) await post({ user_id: 'streamed', points: 900_000 });
      if (lists.length >= 2 && top(lists.at(-1) as string)[0]?.startsWith('streamed')) break;
    }
    expect(top(lists.at(-1) as string)[0]).toBe('streamed:900000');
    abort.abort();
  });

  it('is still sent to other viewers if one viewer never reads', async () => {
    const { hostname, port } = new URL(server.url);
    const deaf = ['websocket', 'stream'].map((kind) => {
      const socket = connect(Number(port), hostname);
      const upgrade =
        'upgrade: websocket\r\nconnection: upgrade\r\nsec-websocket-version: 13\r\nsec-websocket-key: AAAAAAAAAAAAAAAAAAAAAA==';
      const header = kind === 'websocket' ? upgrade : 'accept: text/event-stream\r\nlast-event-id: 41';
      socket.write(`GET /v1/scores?limit=100 HTTP/1.1\r\nhost: ${hostname}\r\n${header}\r\n\r\n`);
      return socket.pause();
    });
    const abort = new AbortController();
    const headers = { accept: 'text/event-stream', 'last-event-id': 'of another server' };
    const response = await fetch(`${server.url}/v1/scores?limit=1`, { headers, signal: abort.signal });
    const reader = (response.body as ReadableStream<Uint8Array>).getReader();
    const decoder = new TextDecoder();
    let seen = '';
    for (let win = 1; win <= 40; win++) {
      const { status, body } = await post({ user_id: 'watched', points: 1_000_000 });
      expect(status).toBe(200);
      while (!seen.includes(`"score":${body.user_info.score}}`)) {
        seen += decoder.decode((await reader.read()).value, { stream: true });
      }
    }
    abort.abort();
    for (const socket of deaf) socket.destroy();
  });
});
