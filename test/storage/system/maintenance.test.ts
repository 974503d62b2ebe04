import { afterAll, beforeAll, expect, test } from 'vitest';
import { startServer, type TestServer } from '../../support/server.ts';

let server: TestServer;
let authorization: string;
beforeAll(async () => {
  server = await startServer({ objectShards: 3 });
  const { userId } = await server.createAccessKey('operator');
  const { body } = await server.call('POST', '/v1/iam/tokens', {
    name: 't',
    user_id: userId,
    scopes: ['objects:read', 'objects:write'],
  });
  authorization = `Bearer ${body.token}`;
});
afterAll(() => server[Symbol.asyncDispose]());

const s3 = (method: string, path: string, body?: string) =>
  fetch(server.url + path, { method, headers: { authorization }, ...(body === undefined ? {} : { body }) });

test('/v1/storage is only for operators, and rejects unknown members and parameters', async () => {
  for (const [method, path] of [
    ['GET', 'stats'],
    ['POST', 'gc'],
    ['POST', 'scrub'],
    ['POST', 'fsck'],
    ['POST', 'snapshot'],
    ['POST', 'rebuild'],
  ] as const) {
    expect((await server.call(method, `/v1/storage/${path}`, undefined, null)).status).toBe(401);
    expect((await server.call(method, `/v1/storage/${path}`, undefined, authorization.slice(7))).status).toBe(403);
  }
  const unknown = await server.call('POST', '/v1/storage/fsck', { dryrun: false });
  expect(unknown).toMatchObject({ status: 400, body: { errors: [{ path: 'dryrun' }] } });
});

test('an operator counts, packs, scrubs, moves slots, runs fsck and takes snapshots of uploaded objects', async () => {
  expect((await s3('PUT', '/ops')).status).toBe(200);
  for (let i = 0; i < 20; i++) expect((await s3('PUT', `/ops/small-${i}`, `content ${i}`)).status).toBe(200);
  expect((await s3('PUT', '/ops/large', 'x'.repeat(100_000))).status).toBe(200);
  const stats = await server.call('GET', '/v1/storage/stats');
  expect(stats.body.totals).toMatchObject({ objects: 21, inline_objects: 20, blobs: 1, bytes_blobs: 100_000 });
  expect(stats.body.locations).toMatchObject([
    { location: 'BLOBS', blobs: 1, bytes: 100_000 },
    { location: 'BLOBS_2', blobs: 1, bytes: 100_000 },
  ]);
  const packed = await server.call('POST', '/v1/storage/gc', { pack: true });
  expect(packed.body).toMatchObject({ objects_packed: 20, volumes_packed: 1, finished: true });
  const slots = Array.from({ length: 24 }, (_, i) => i * 10);
  for (const to_shard of [1, 2]) {
    const moved = await server.call('POST', '/v1/storage/slots/move', {
      bucket: 'ops',
      to_shard,
      slots: slots.filter((slot) => slot % 3 === to_shard),
    });
    expect(moved.status).toBe(200);
  }
  for (let i = 0; i < 20; i++) expect(await (await s3('GET', `/ops/small-${i}`)).text()).toBe(`content ${i}`);
  const listing = await (await s3('GET', '/ops?list-type=2')).text();
  expect(listing.match(/<Key>/g)).toHaveLength(21);
  expect((await server.call('POST', '/v1/storage/scrub')).body).toMatchObject({
    bad_copies: 0,
    missing_copies: 0,
    lost_versions: [],
    finished: true,
  });
  expect((await server.call('POST', '/v1/storage/fsck')).body).toMatchObject({
    dry_run: true,
    versions_incomplete: 0,
    copies_missing: 0,
    examples: [],
  });
  expect((await server.call('POST', '/v1/storage/snapshot')).body.shards).toHaveLength(3);
  expect((await server.call('POST', '/v1/storage/rebuild', { shard: 0 })).status).toBe(409);
});

test('a move of more slots than one request may move is finished by sending it again', async () => {
  const name = `slots-${crypto.randomUUID()}`;
  expect((await s3('PUT', `/${name}`)).status).toBe(200);
  for (let i = 0; i < 8; i++) expect((await s3('PUT', `/${name}/k${i}`, `content ${i}`)).status).toBe(200);
  const slots = Array.from({ length: 64 }, (_, i) => i * 4);
  for (const to_shard of [1, 2]) {
    const finished: boolean[] = [];
    let moved = 0;
    while (finished.at(-1) !== true) {
      const answer = await server.call('POST', '/v1/storage/slots/move', { bucket: name, to_shard, slots });
      expect([answer.status, answer.body.moved > 0 || answer.body.finished]).toEqual([200, true]);
      finished.push(answer.body.finished);
      moved += answer.body.moved;
    }
    // A new bucket has all its slots in one shard. If that is this shard, there is nothing to move.
    expect([0, 64]).toContain(moved);
    if (moved > 0) expect(finished[0]).toBe(false);
  }
  for (let i = 0; i < 8; i++) expect(await (await s3('GET', `/${name}/k${i}`)).text()).toBe(`content ${i}`);
});
