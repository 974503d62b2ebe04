/**
 * Deletes the database of a large shard and rebuilds it. Measures time, requests and memory, and checks that every acknowledged
 * version is restored. `OBJECTS=200000` makes the shard larger.
 */
import { createHash } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { fillShard } from '../../support/leaderboard/fill-shard.ts';
import { startServer, type TestServer } from '../../support/server.ts';
import { CLEAN_FSCK } from '../../support/storage/clean-fsck.ts';
import { loseFirstShard } from '../../support/storage/kill.ts';
import { listShards } from '../../support/storage/kill-target.ts';
import { watchMemory } from '../../support/workerd-memory.ts';

const OBJECTS = Number(process.env.OBJECTS ?? 50_000);
/** Number of objects that are uploaded. The others are written into the database, in the state that a PUT leaves. */
const SENT = Math.floor(OBJECTS / 20);
/** Number of objects that are uploaded after the journal was written. Only their blobs record them. */
const YOUNG = 300;
const SAMPLE = 2_000;
const CLIENTS = 16;
/** Period of cron in milliseconds. It runs each minute and writes the journal. */
const JOURNAL_MS = 90_000;

const contentOf = (name: string, size: number): Uint8Array =>
  createHash('shake256', { outputLength: size }).update(name).digest();
const sizeOfFilled = (i: number): number => 20 + ((i * 37) % 1_500);
const nameOfFilled = (i: number): string => `${String(i % 97).padStart(2, '0')}/filled ${i}`;

interface Client {
  readonly server: TestServer;
  readonly authorization: string;
}

const send = ({ server, authorization }: Client, method: string, path: string, body?: Uint8Array) =>
  fetch(server.url + path, { method, headers: { authorization }, ...(body ? { body: body as BodyInit } : {}) });

async function together(from: number, until: number, work: (i: number) => Promise<void>): Promise<void> {
  let next = from;
  const one = async () => {
    while (next < until) await work(next++);
  };
  await Promise.all(Array.from({ length: CLIENTS }, one));
}

/** Lists every version and delete marker of the bucket. */
async function listAll(client: Client): Promise<Set<string>> {
  const found = new Set<string>();
  const pattern =
    /<(Version|DeleteMarker)>.*?<Key>([^<]*)<\/Key>.*?<VersionId>([^<]*)<\/VersionId>.*?<\/(?:Version|DeleteMarker)>/gs;
  for (let query = 'versions'; ; ) {
    const text = await (await send(client, 'GET', `/large?${query}`)).text();
    for (const [, kind, name, versionId] of text.matchAll(pattern)) found.add(`${kind} ${name} ${versionId}`);
    const [, key] = /<NextKeyMarker>([^<]*)</.exec(text) ?? [];
    const [, version] = /<NextVersionIdMarker>([^<]*)</.exec(text) ?? [];
    if (key === undefined) return found;
    query = `versions&key-marker=${encodeURIComponent(key)}&version-id-marker=${version ?? ''}`;
  }
}

async function operate({ server }: Client, path: string, body: object = {}) {
  const answer = await server.call('POST', `/v1/storage/${path}`, body);
  expect(answer.status, `${path}: ${JSON.stringify(answer.body)}`).toBe(200);
  return answer.body;
}

const mebibytes = (bytes: number): string => `${(bytes / 1024 ** 2).toFixed(0)} MiB`;
const seconds = (since: number): string => ((performance.now() - since) / 1000).toFixed(0);

test('a rebuild restores every version of a large shard without database', async () => {
  await using server = await startServer();
  const { userId } = await server.createAccessKey('writer');
  const scopes = ['objects:read', 'objects:write'];
  const { body: made } = await server.call('POST', '/v1/iam/tokens', { name: 'large', user_id: userId, scopes });
  const client: Client = { server, authorization: `Bearer ${made.token}` };
  expect((await send(client, 'PUT', '/large')).status).toBe(200);
  const enabled = '<VersioningConfiguration><Status>Enabled</Status></VersioningConfiguration>';
  expect((await send(client, 'PUT', '/large?versioning', Buffer.from(enabled))).status).toBe(200);

  const acknowledged = new Map<string, Uint8Array | null>();
  const acknowledge = (name: string, versionId: string, content: Uint8Array | null) =>
    acknowledged.set(`${content ? 'Version' : 'DeleteMarker'} ${name} ${versionId}`, content);
  /** Writes these in turn: a large object with its own blob, a small object, a second version, a delete marker. */
  const write = async (i: number) => {
    // Objects after the journal have only one version: if two uploads of a name race, one is committed with another id than its
    // blob contains.
    const name = `sent ${i % 4 === 3 && i < SENT ? i - 1 : i}`;
    const content =
      i % 40 === 5 && i < SENT ? null : contentOf(`${i}`, i % 4 === 0 || i >= SENT ? 17_000 + (i % 5_000) : i % 900);
    const answer = await send(client, content ? 'PUT' : 'DELETE', `/large/${encodeURI(name)}`, content ?? undefined);
    expect(answer.ok).toBe(true);
    acknowledge(name, answer.headers.get('x-amz-version-id') ?? '', content);
    await answer.arrayBuffer();
  };
  let since = performance.now();
  await together(0, Math.floor(SENT / 2), write);
  await server.stop();
  const [file = ''] = listShards(server.directory);
  const filled = function* () {
    for (let i = 0; i < OBJECTS - SENT; i++) {
      yield { name: nameOfFilled(i), content: contentOf(nameOfFilled(i), sizeOfFilled(i)) };
    }
  };
  for (const [i, versionId] of fillShard(file, 'large', filled()).entries()) {
    acknowledge(nameOfFilled(i), versionId, contentOf(nameOfFilled(i), sizeOfFilled(i)));
  }
  await server.start();
  console.log(`${acknowledged.size} versions written in ${seconds(since)} s`);
  since = performance.now();
  const { bytes_packed: bytesPacked } = await operate(client, 'gc', { pack: true, max_seconds: 300 });
  console.log(`packed ${mebibytes(bytesPacked)} in ${seconds(since)} s`);
  since = performance.now();
  await operate(client, 'snapshot');
  console.log(`snapshot in ${seconds(since)} s`);
  await together(Math.floor(SENT / 2), SENT, write);
  await sleep(JOURNAL_MS);
  await together(SENT, SENT + YOUNG, write);
  const stats = (await server.call('GET', '/v1/storage/stats')).body.totals;
  console.log(`before: ${JSON.stringify(stats)}`);
  await server.kill9();
  loseFirstShard(server.directory);
  await server.start();

  since = performance.now();
  let requests = 0;
  // biome-ignore lint/suspicious/noExplicitAny: the report of a route
  let report: any;
  const memory = await watchMemory(server, async () => {
    do {
      report = await operate(client, 'rebuild', { shard: 0, max_seconds: 20 });
      requests++;
    } while (!report.finished);
  });
  console.log(
    `rebuilt in ${seconds(since)} s, ${requests} requests; workerd memory ${mebibytes(memory.before)} before, peak ${mebibytes(memory.peak)}: ${JSON.stringify(report)}`,
  );
  expect(report.versions_incomplete).toBe(0);

  const listed = await listAll(client);
  expect([...acknowledged.keys()].filter((version) => !listed.has(version))).toEqual([]);
  expect(listed.size).toBe(acknowledged.size);
  const stored = [...acknowledged].filter(([, content]) => content !== null);
  const step = Math.max(1, Math.floor(stored.length / SAMPLE));
  await together(0, Math.floor(stored.length / step), async (at) => {
    const [version = '', content] = stored[at * step] ?? [];
    const [, name = '', versionId = ''] = /^Version (.*) (\S+)$/.exec(version) ?? [];
    const answer = await send(client, 'GET', `/large/${encodeURI(name)}?versionId=${versionId}`);
    expect(answer.status, name).toBe(200);
    expect(Buffer.from(await answer.arrayBuffer()).equals(content ?? Buffer.of()), name).toBe(true);
  });
  let checked = await operate(client, 'fsck');
  while (!checked.finished) checked = await operate(client, 'fsck', { restart: false });
  // Ignore orphans: data that both the snapshot and the blobs record is collected within an hour.
  const { orphans: _orphans, blobs_unreferenced: _unreferenced, ...sound } = CLEAN_FSCK;
  expect(checked).toMatchObject(sound);
});
