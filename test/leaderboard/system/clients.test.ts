/** Tests the clients of clients/: through a proxy that loses answers, and with the examples of the pages. */
import { execFile, execFileSync } from 'node:child_process';
import { copyFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Leaderboard, LeaderboardError } from '../../../clients/javascript/leaderboard.js';
import { hasClient } from '../../support/real-client.ts';
import { startServer, type TestServer } from '../../support/server.ts';

const CLIENTS = join(import.meta.dirname, '../../../clients');
const run = promisify(execFile);

/** What the proxy does with the next requests: `lose` forwards a request and drops the answer, a number answers it. */
let faults: ('lose' | 429 | 503)[] = [];
/** Times of requests, in milliseconds since 1970. */
let requests: number[] = [];
let server: TestServer;
let token: string;
let proxy: Server;
let url: string;
let folder: string;

const RULES = {
  title: 'Laps',
  sort: 'asc',
  operator: 'best',
  period: 'none',
  public: true,
  max_points_per_post: 100_000,
};

beforeAll(async () => {
  server = await startServer();
  folder = mkdtempSync(join(tmpdir(), 'tessera-clients-'));
  token = (await server.call('POST', '/v1/iam/tokens', { name: 'game', scopes: ['scores:write'] })).body.token;
  for (const board of ['laps', 'python', 'csharp'])
    expect((await server.call('PUT', `/v1/boards/${board}`, RULES)).status).toBe(200);
  proxy = createServer(async (request, response) => {
    requests.push(Date.now());
    const fault = faults.shift();
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk);
    if (typeof fault === 'number') {
      response.writeHead(fault, { 'retry-after': '1' }).end('{}');
      return;
    }
    const headers = { 'content-type': 'application/json', authorization: request.headers.authorization ?? '' };
    if (headers.authorization === '') Reflect.deleteProperty(headers, 'authorization');
    const body = chunks.length === 0 ? {} : { body: Buffer.concat(chunks) };
    const answer = await fetch(server.url + request.url, { method: request.method ?? 'GET', headers, ...body });
    const text = await answer.text();
    if (fault === 'lose') request.socket.destroy();
    else response.writeHead(answer.status, { 'content-type': 'application/json' }).end(text);
  });
  await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve));
  url = `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`;
});
afterAll(async () => {
  proxy.closeAllConnections();
  proxy.close();
  rmSync(folder, { recursive: true });
  await server[Symbol.asyncDispose]();
});

const scoreOf = async (userId: string, path = '/v1') =>
  (await server.call('GET', `${path}/scores/${userId}?exact=1`, undefined, null)).body.user_info?.score;

/** Examples of the README in a language, in order. */
const readExamples = (language: string): string[] => {
  const text = readFileSync(join(CLIENTS, 'javascript/README.md'), 'utf8');
  return Array.from(
    text.matchAll(new RegExp(`\`\`\`${language}\\n([\\s\\S]*?)\`\`\``, 'g')),
    ([, code]) => code as string,
  );
};

describe('the JavaScript client', () => {
  it('counts a post once whose answers were lost, and waits as long as the server says', async () => {
    const board = new Leaderboard({ url, token });
    [faults, requests] = [['lose', 503, 429], []];
    const { user_info, duplicate } = await board.post({ user_id: 'once', points: 5 });
    expect([user_info.score, duplicate]).toEqual([5, true]);
    expect(await scoreOf('once')).toBe(5);
    const [, second = 0, third = 0, fourth = 0] = requests;
    for (const pause of [third - second, fourth - third]) expect(pause).toBeGreaterThanOrEqual(1_000);
  });

  it('sends queued updates together, each with its own result, in the order of a player', async () => {
    const board = new Leaderboard({ url, token });
    [faults, requests] = [['lose'], []];
    const players = Array.from({ length: 1_200 }, (_, i) => `many-${i % 400}`);
    const results = players.map((user_id, i) => board.queue({ user_id, points: 1, user_name: `${user_id} ${i}` }));
    const bad = board.queue({ user_id: 'bad id', points: 1 });
    await expect(bad).rejects.toMatchObject({ status: 400, code: 'invalid_request' });
    await board.flush();
    const written = await Promise.all(results);
    expect(requests).toHaveLength(3);
    expect(written.at(-1)?.user_info).toMatchObject({ user_id: 'many-399', score: 3 });
    expect((await board.player('many-7', { exact: true }))?.user_name).toBe('many-7 807');
  });

  it('sends again only the updates of a batch that may succeed later', async () => {
    const sent: string[][] = [];
    const results = (updates: { user_id: string }[]) =>
      updates.map(({ user_id }) =>
        user_id === 'sick' && sent.length === 1 ? { status: 503, code: 'unavailable' } : { user_info: { user_id } },
      );
    const fake = createServer(async (request, response) => {
      const { updates } = JSON.parse(Buffer.concat(await request.toArray()).toString());
      sent.push(updates.map(({ user_id }: { user_id: string }) => user_id));
      response.end(JSON.stringify({ results: results(updates) }));
    });
    await new Promise<void>((resolve) => fake.listen(0, '127.0.0.1', resolve));
    const board = new Leaderboard({ url: `http://127.0.0.1:${(fake.address() as AddressInfo).port}` });
    await Promise.all(['well', 'sick'].map((user_id) => board.queue({ user_id, points: 1 })));
    expect(sent).toEqual([['well', 'sick'], ['sick']]);
    fake.close();
  });

  it('throws what the server refuses, without a repeat, and stops with its signal', async () => {
    requests = [];
    const error = await new Leaderboard({ url }).post({ user_id: 'x', points: 1 }).catch((each: unknown) => each);
    expect(error).toBeInstanceOf(LeaderboardError);
    expect(error).toMatchObject({ status: 401, code: 'unauthenticated' });
    expect(requests).toHaveLength(1);
    faults = [503, 503];
    const stop = new AbortController();
    const stopped = new Leaderboard({ url, token }).post({ user_id: 'x', points: 1 }, stop);
    await expect.poll(() => requests.length).toBe(2);
    stop.abort(new Error('the game ends'));
    await expect(stopped).rejects.toThrow('the game ends');
    faults = [];
  });

  it('follows the list through a restart of the server, and stops', async () => {
    const board = new Leaderboard({ url: server.url, token });
    const [tops, states]: [string[], boolean[]] = [[], []];
    const stop = board.follow(({ data }) => tops.push(`${data[0]?.user_id} ${data[0]?.score}`), {
      limit: 1,
      onState: (isLive) => states.push(isLive),
    });
    await board.post({ user_id: 'first', points: 1_000 });
    await expect.poll(() => tops.at(-1)).toBe('first 1000');
    await server.stop();
    await expect.poll(() => states.at(-1)).toBe(false);
    await server.start();
    await board.post({ user_id: 'second', points: 2_000 });
    await expect.poll(() => tops.at(-1)).toBe('second 2000');
    await expect.poll(() => states).toEqual([true, false, true]);
    stop();
    const seen = tops.length;
    await board.post({ user_id: 'second', points: 1 });
    expect((await board.top({ limit: 1, exact: true })).data[0]?.score).toBe(2_001);
    expect(tops).toHaveLength(seen);
  });

  it('does what its page shows', async () => {
    copyFileSync(join(CLIENTS, 'javascript/leaderboard.js'), join(folder, 'leaderboard.js'));
    writeFileSync(join(folder, 'package.json'), '{"type":"module"}');
    const env = { ...process.env, TESSERA_URL: server.url, TESSERA_TOKEN: token };
    const printed: string[] = [];
    for (const [i, example] of readExamples('js').entries()) {
      writeFileSync(join(folder, `example-${i}.js`), example);
      printed.push((await run(process.execPath, [join(folder, `example-${i}.js`)], { env })).stdout);
    }
    expect(printed).toEqual(['Grace is at rank 1\n', '', '1 radia 79500\n2 Grace 83211\n3 linus 91004\n3 3 3 2\n']);
  });
});

it.skipIf(!hasClient('python3'))('the Python client posts once and reads', async () => {
  faults = ['lose', 503];
  const code = `import sys; sys.path.insert(0, sys.argv[1])
from leaderboard import Leaderboard
board = Leaderboard(sys.argv[2], "python", sys.argv[3])
print(board.post("grace", 1200, user_name="Grace")["duplicate"])
print([(each["user_name"], each["score"]) for each in board.top(limit=3)["data"]])
try: Leaderboard(sys.argv[2], "python").post("grace", 1)
except Exception as error: print(error.code)`;
  const { stdout } = await run('python3', ['-c', code, join(CLIENTS, 'python'), url, token]);
  expect(stdout).toBe("True\n[('Grace', 1200)]\n401\n");
});

it.skipIf(!hasClient('mcs', 'mono'))('the C# client posts once and reads, compiled by Mono', async () => {
  const program = join(folder, 'example.exe');
  const sources = ['Leaderboard.cs', 'Example.cs'].map((name) => join(CLIENTS, 'csharp', name));
  execFileSync('mcs', ['-r:System.Net.Http', `-out:${program}`, ...sources]);
  faults = ['lose', 503];
  const { stdout } = await run('mono', [program, url, 'csharp', token]);
  const [first, second, top] = stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));
  const player = { user_id: 'grace', user_name: 'Grace "G" Hopper', score: 1_200 };
  expect([first, second]).toMatchObject([{ user_info: player, duplicate: true }, { duplicate: true }]);
  expect(top.data).toMatchObject([player]);
});
