/**
 * Kills the running server with SIGKILL at random moments under a load of uploads, and holds every acknowledged object
 * against the SHA-256 of what was sent.
 */
import { createHash, randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'vitest';
import { startServer, type TestServer } from './server.ts';

const SIZES = [0, 10, 4_096, 16_384, 16_385, 100_000, 1_500_000];
const WRITERS = 6;

interface Acknowledged {
  readonly path: string;
  readonly sha256: string;
}

const sha256 = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex');

export async function killStorage(rounds: number): Promise<{ acknowledged: number; lost: number; kills: number }> {
  await using server = await startServer({ objectShards: 2 });
  const { userId } = await server.createAccessKey('writer');
  const scopes = ['objects:read', 'objects:write'];
  const { body } = await server.call('POST', '/v1/iam/tokens', { name: 'kill', user_id: userId, scopes });
  const authorization = `Bearer ${body.token}`;
  const send = (method: string, path: string, content?: Uint8Array) =>
    fetch(server.url + path, { method, headers: { authorization }, ...(content ? { body: content as BodyInit } : {}) });
  expect((await send('PUT', '/kept')).status).toBe(200);
  const acknowledged: Acknowledged[] = [];
  let serial = 0;
  for (let round = 0; round < rounds; round++) {
    const state = { isUp: true };
    const writers = Array.from({ length: WRITERS }, () =>
      write(state, send, () => `/kept/${round}/${serial++}`, acknowledged),
    );
    await sleep(300 + Math.random() * 1500);
    await server.kill9();
    state.isUp = false;
    await Promise.all(writers);
    await server.start();
    await verify(acknowledged.slice(-200), send);
  }
  await verify(acknowledged, send);
  await expectNothingMissing(server);
  return { acknowledged: acknowledged.length, lost: 0, kills: rounds };
}

async function write(
  state: { readonly isUp: boolean },
  send: (method: string, path: string, content?: Uint8Array) => Promise<Response>,
  nextPath: () => string,
  acknowledged: Acknowledged[],
): Promise<void> {
  while (state.isUp) {
    const path = nextPath();
    const content = randomBytes(SIZES[Math.floor(Math.random() * SIZES.length)] ?? 0);
    try {
      const response = await send('PUT', path, content);
      await response.arrayBuffer();
      if (response.status === 200) acknowledged.push({ path, sha256: sha256(content) });
    } catch {
      // The power went: nothing was promised.
      return;
    }
  }
}

async function verify(
  acknowledged: readonly Acknowledged[],
  send: (method: string, path: string) => Promise<Response>,
): Promise<void> {
  for (const { path, sha256: expected } of acknowledged) {
    const response = await send('GET', path);
    expect(response.status, path).toBe(200);
    expect(sha256(new Uint8Array(await response.arrayBuffer())), path).toBe(expected);
  }
}

/** Two hours later everything that the kills left behind is collected, and nothing else. */
async function expectNothingMissing(server: TestServer): Promise<void> {
  await server.stop();
  await server.start({ CLOCK_OFFSET_SECONDS: '7200' });
  const collected = await server.call('POST', '/v1/storage/gc', { max_seconds: 120 });
  expect(collected.body).toMatchObject({ finished: true });
  const checked = await server.call('POST', '/v1/storage/fsck', {});
  expect(checked.body).toMatchObject({
    dry_run: true,
    versions_incomplete: 0,
    names_misdirected: 0,
    extents_dangling: 0,
    inline_dangling: 0,
    extents_without_blob: 0,
    blobs_unreferenced: 0,
    copies_missing: 0,
    copies_of_wrong_size: 0,
    orphans: 0,
  });
}
