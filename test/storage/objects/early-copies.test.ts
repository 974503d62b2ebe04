/** `SMALL_COPIES=now`: a small object is in a quorum of the locations before its upload is acknowledged, and can be repaired from there. */
import { env } from 'cloudflare:test';
import { beforeEach, expect, test } from 'vitest';
import { toVersionOrder } from '../../../workers/storage/domain/version-order.ts';
import { EARLY_PREFIX, toEarlyKey } from '../../../workers/storage/engine/blobs/early-copies.ts';
import { engineOf } from '../../../workers/storage/engine/index.ts';
import { walkOrphans } from '../../../workers/storage/maintenance/orphans.ts';
import { emptyPackReport, packVolume } from '../../../workers/storage/maintenance/pack.ts';
import { rebuildShard } from '../../../workers/storage/maintenance/rebuild.ts';
import { emptyScrubReport } from '../../../workers/storage/maintenance/scrub-report.ts';
import { scrubInline } from '../../../workers/storage/maintenance/scrub-small.ts';
import { makeLocation } from '../../support/storage/sick-location.ts';
import {
  expectContent,
  failure,
  loseDatabase,
  METADATA,
  makeBucket,
  makeEngine,
  patternOf,
  put,
  value,
  wipe,
} from './harness.ts';

beforeEach(wipe);

const CONTENT = patternOf(900, 3);
const DAY_MS = 86_400_000;

function makeNow(limits: { earlyCopyWaitMs?: number } = {}) {
  const made = [env.BLOBS, env.BLOBS_2].map(makeLocation);
  const bindings = { BLOBS: made[0]?.wrapped, BLOBS_2: made[1]?.wrapped, SMALL_COPIES: 'now' };
  const engine = makeEngine({
    bindings,
    limits: { earlyCopyWaitMs: 200, locationTimeoutMs: 1_000, ...limits },
  });
  return { ...engine, locations: made.map(({ location }) => location) };
}

const listEarly = async (bucket: R2Bucket) =>
  (await bucket.list({ prefix: EARLY_PREFIX })).objects.map(({ key }) => key).sort();
const keyOf = ({ versionId }: { versionId: string }) => toEarlyKey(toVersionOrder(versionId));

/** Changes one byte of the inline bytes of every object. */
async function damageInline(database: D1Database): Promise<void> {
  const { results } = await database
    .prepare('SELECT id, data FROM version WHERE data IS NOT NULL')
    .all<{ id: number; data: string }>();
  for (const { id, data } of results) {
    const bytes = Buffer.from(data, 'base64');
    bytes[0] = (bytes[0] ?? 0) ^ 1;
    await database.prepare('UPDATE version SET data = ?2 WHERE id = ?1').bind(id, bytes.toString('base64')).run();
  }
}

test('every location has the bytes at the acknowledgement, until the volume is verified', async () => {
  const { engine, context } = makeNow();
  const bucket = await makeBucket(engine, 'enabled');
  const facts = await put(engine, bucket, 'a', CONTENT);
  const large = await put(engine, bucket, 'large', patternOf(20_000));
  for (const location of [env.BLOBS, env.BLOBS_2]) {
    expect(await listEarly(location)).toEqual([keyOf(facts)]);
    const object = await location.get(keyOf(facts));
    expect(Buffer.from((await object?.arrayBuffer()) ?? []).equals(Buffer.from(CONTENT))).toBe(true);
  }
  expect(await packVolume(context, 0, emptyPackReport())).toBe(true);
  expect([...(await listEarly(env.BLOBS)), ...(await listEarly(env.BLOBS_2))]).toEqual([]);
  await expectContent(engine, bucket, 'a', CONTENT, facts.versionId);
  await expectContent(engine, bucket, 'large', patternOf(20_000), large.versionId);
});

test('a read and the scrub repair from an early copy, also if one of them is damaged', async () => {
  const { engine, context, settle } = makeNow();
  const bucket = await makeBucket(engine);
  const facts = await put(engine, bucket, 'a', CONTENT);
  const database = context.shards[0] as D1Database;
  await damageInline(database);
  await env.BLOBS.put(keyOf(facts), 'damaged');
  await expectContent(engine, bucket, 'a', CONTENT);
  await settle();
  await damageInline(database);
  const report = emptyScrubReport();
  await scrubInline(context, 0, 0, report);
  expect(report).toMatchObject({ inline_damaged: 1, repaired_objects: 1, lost_versions: [] });
});

test('a lost shard gets back what was acknowledged after its last journal', async () => {
  const { engine, context } = makeNow();
  const bucket = await makeBucket(engine, 'enabled');
  const first = await put(engine, bucket, 'a', CONTENT, { metadata: { ...METADATA, user: { colour: 'blue' } } });
  const second = await put(engine, bucket, 'a', patternOf(16_384, 9));
  await loseDatabase(context, 0);
  for (let isDone = false; !isDone; ) {
    const outcome = await rebuildShard(context, 0);
    if (!outcome.ok) throw new Error(outcome.error.kind);
    isDone = outcome.isDone;
  }
  await expectContent(engine, bucket, 'a', CONTENT, first.versionId);
  await expectContent(engine, bucket, 'a', patternOf(16_384, 9), second.versionId);
  const version = value(await engine.getVersion(bucket, 'a', { versionId: first.versionId }));
  expect([version.etag, version.metadata.user]).toEqual([first.etag, { colour: 'blue' }]);
});

test('if a copy fails the upload is refused, and the same attempt finds its own version once the location is back', async () => {
  const { context, engine, locations } = makeNow();
  const acting = engineOf({ ...context, origin: { ...context.origin, principalId: 'u1' } });
  const bucket = await makeBucket(engine, 'enabled');
  const request = (attemptId: string) => ({
    bucket,
    name: 'a',
    body: CONTENT,
    size: CONTENT.length,
    metadata: METADATA,
    condition: { absent: true },
    attemptId,
  });
  if (locations[1]) locations[1].state = 'down';
  expect(failure(await acting.putObject(request('one')))).toMatchObject({ kind: 'unavailable' });
  if (locations[1]) locations[1].state = 'up';
  expect(failure(await acting.putObject(request('another')))).toEqual({ kind: 'precondition_failed' });
  const facts = value(await acting.putObject(request('one')));
  const database = context.shards[0] as D1Database;
  expect(await database.prepare('SELECT count(*) AS n FROM version').first('n')).toBe(1);
  await expectContent(engine, bucket, 'a', CONTENT, facts.versionId);
  for (const location of [env.BLOBS, env.BLOBS_2]) expect(await listEarly(location)).toContain(keyOf(facts));
});

test('an upload waits for a location that is back in time', async () => {
  const { engine, locations } = makeNow({ earlyCopyWaitMs: 8_000 });
  const bucket = await makeBucket(engine);
  if (locations[0]) locations[0].state = 'down';
  const putting = put(engine, bucket, 'a', CONTENT);
  await expect.poll(() => locations[0]?.calls).toContain('put');
  if (locations[0]) locations[0].state = 'up';
  const facts = await putting;
  expect(await listEarly(env.BLOBS)).toEqual([keyOf(facts)]);
});

test('orphan rounds remove early copies of versions that are gone or packed, and no others', async () => {
  let now = Date.now();
  const { engine, context } = makeEngine({ bindings: { SMALL_COPIES: 'now' }, now: () => now });
  const bucket = await makeBucket(engine, 'enabled');
  const kept = await put(engine, bucket, 'kept', CONTENT);
  const gone = await put(engine, bucket, 'gone', CONTENT);
  value(await engine.deleteObject(bucket, { name: 'gone', versionId: gone.versionId }));
  expect(await listEarly(env.BLOBS)).toHaveLength(2);
  for (let day = 0; day < 4; day++) {
    now += DAY_MS + 60_000;
    while (await walkOrphans(context, { objects_scanned: 0, orphans_found: 0, orphans_removed: 0 }));
  }
  for (const location of [env.BLOBS, env.BLOBS_2]) expect(await listEarly(location)).toEqual([keyOf(kept)]);
});
