import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { buildAll } from '../../../dev/local/build.ts';
import { type LocalServer, startLocalServer } from '../../../dev/local/local-server.ts';

/** Limit of the platform's rate limiter, in calls per token and minute. Each call counts for ten posts. */
const LIMIT = 3;
/** A quota that the limiter counts in tens. */
const QUOTA = '5000';
const directory = mkdtempSync(join(tmpdir(), 'tessera-rate-'));
let server: LocalServer;

beforeAll(async () => {
  buildAll();
  server = await startLocalServer({
    host: '127.0.0.1',
    port: 0,
    stateDirectory: directory,
    rateLimits: { RATE_LIMIT_SCORES: LIMIT },
    vars: {
      ROOT_TOKEN: 'root-of-the-test',
      MASTER_KEY: Buffer.alloc(32, 3).toString('base64'),
      SCORE_POSTS_PER_TOKEN: QUOTA,
    },
  });
});
afterAll(async () => {
  await server.stop();
  rmSync(directory, { recursive: true, force: true });
});

const send = (path: string, token: string, body: unknown) =>
  fetch(server.url + path, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });

async function makeToken(name: string): Promise<string> {
  const answer = await send('/v1/iam/tokens', 'root-of-the-test', { name, scopes: ['scores:write'] });
  return ((await answer.json()) as { token: string }).token;
}

/** Posts for `player` until a post is refused. @returns the number of accepted posts, and the refusal. */
async function postUntilRefused(token: string, player: string): Promise<{ taken: number; refused?: Response }> {
  for (let taken = 0; taken <= LIMIT * 10; taken++) {
    // Every second post is a batch. A batch must count as one post, regardless of its number of updates.
    const isBatch = taken % 2 === 1;
    const answer = isBatch
      ? await send('/v1/scores/batch', token, {
          updates: Array.from({ length: 7 }, () => ({ user_id: player, points: 1 })),
        })
      : await send('/v1/scores', token, { user_id: player, points: 7, event_id: `win-${player}-${taken}` });
    if (answer.status !== 200) return { taken, refused: answer };
  }
  return { taken: LIMIT * 10 + 1 };
}

const minuteNow = () => Math.floor(Date.now() / 60_000);

it('a token that posts too often gets 429 with Retry-After, and refused posts do not count', async () => {
  // Repeat with another token if the posts span two minutes, because the local rate limiter counts per clock minute.
  let [minute, attempt, player, greedy] = [-1, 0, '', ''];
  let posted: Awaited<ReturnType<typeof postUntilRefused>>;
  let late: Response;
  do {
    player = `player-${++attempt}`;
    greedy = await makeToken(`greedy-${attempt}`);
    minute = minuteNow();
    posted = await postUntilRefused(greedy, player);
    late = await send('/v1/scores/batch', greedy, { updates: [{ user_id: player, points: 7, event_id: 'late' }] });
  } while (minuteNow() !== minute && attempt < 5);
  const { taken, refused } = posted;
  const modest = await makeToken('modest');
  expect([taken, refused?.status]).toEqual([LIMIT * 10, 429]);
  expect(Number(refused?.headers.get('retry-after'))).toBeGreaterThan(0);
  expect(refused?.headers.get('ratelimit')).toBe('"token";r=0;t=60');
  expect(refused?.headers.get('ratelimit-policy')).toBe(`"token";q=${QUOTA};w=60`);
  expect(refused?.headers.get('content-type')).toBe('application/problem+json');
  expect(await refused?.json()).toMatchObject({
    status: 429,
    code: 'rate_limited',
    request_id: refused?.headers.get('x-request-id'),
  });

  expect([late.status, ((await late.json()) as { code: string }).code]).toEqual([429, 'rate_limited']);
  const read = await fetch(`${server.url}/v1/scores/${player}`);
  expect(((await read.json()) as { user_info: { score: number } }).user_info.score).toBe(7 * taken);

  // The event id of a refused post must not be recorded, so another token can post it.
  const again = await send('/v1/scores', modest, { user_id: player, points: 7, event_id: 'late' });
  expect([again.headers.get('ratelimit-policy'), again.headers.get('ratelimit')]).toEqual([
    `"token";q=${QUOTA};w=60`,
    null,
  ]);
  expect(await again.json()).toMatchObject({ duplicate: false, user_info: { score: 7 * taken + 7 } });
});
