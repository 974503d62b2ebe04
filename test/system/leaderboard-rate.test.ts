import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { buildAll } from '../../dev/build.ts';
import { type LocalServer, startLocalServer } from '../../dev/local-server.ts';

/** Questions that the platform's limiter grants a token a minute: each is ten posts. */
const LIMIT = 3;
const directory = mkdtempSync(join(tmpdir(), 'tessera-rate-'));
let server: LocalServer;

beforeAll(async () => {
  buildAll();
  server = await startLocalServer({
    host: '127.0.0.1',
    port: 0,
    stateDirectory: directory,
    rateLimits: { RATE_LIMIT_SCORES: LIMIT },
    vars: { ROOT_TOKEN: 'root-of-the-test', MASTER_KEY: Buffer.alloc(32, 3).toString('base64') },
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

it('refuses a token that posts too often with 429 and a time to wait, and counts nothing of what it refused', async () => {
  const [greedy, modest] = [await makeToken('greedy'), await makeToken('modest')];
  let taken = 0;
  let refused: Response | undefined;
  while (refused === undefined && taken <= LIMIT * 10) {
    // A batch is one post, however many updates are in it.
    const isBatch = taken % 2 === 1;
    const answer = isBatch
      ? await send('/v1/scores/batch', greedy, {
          updates: Array.from({ length: 7 }, () => ({ user_id: 'g', points: 1 })),
        })
      : await send('/v1/scores', greedy, { user_id: 'g', points: 7, event_id: `win-${taken}` });
    if (answer.status === 200) taken++;
    else refused = answer;
  }
  expect([taken, refused?.status]).toEqual([LIMIT * 10, 429]);
  expect(Number(refused?.headers.get('retry-after'))).toBeGreaterThan(0);
  expect(refused?.headers.get('content-type')).toBe('application/problem+json');
  expect(await refused?.json()).toMatchObject({
    status: 429,
    code: 'rate_limited',
    request_id: refused?.headers.get('x-request-id'),
  });

  const batch = await send('/v1/scores/batch', greedy, { updates: [{ user_id: 'g', points: 7, event_id: 'late' }] });
  expect([batch.status, ((await batch.json()) as { code: string }).code]).toEqual([429, 'rate_limited']);
  const read = await fetch(`${server.url}/v1/scores/g`);
  expect(((await read.json()) as { user_info: { score: number } }).user_info.score).toBe(7 * taken);

  // The refused event was not remembered either; another token may post it.
  const again = await send('/v1/scores', modest, { user_id: 'g', points: 7, event_id: 'late' });
  expect(await again.json()).toMatchObject({ duplicate: false, user_info: { score: 7 * taken + 7 } });
});
