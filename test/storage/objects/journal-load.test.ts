import { beforeEach, expect, test } from 'vitest';
import { listMetadata, readMetadata } from '../../../workers/storage/engine/blobs/metadata-objects.ts';
import type { Bucket, Engine } from '../../../workers/storage/engine/index.ts';
import type { EngineContext } from '../../../workers/storage/engine/model/context.ts';
import { nameHex } from '../../../workers/storage/engine/store/database.ts';
import { writeJournal } from '../../../workers/storage/maintenance/journal.ts';
import { emptyPackReport, packVolume } from '../../../workers/storage/maintenance/pack.ts';
import { rebuildShard } from '../../../workers/storage/maintenance/rebuild.ts';
import { snapshotShard } from '../../../workers/storage/maintenance/snapshot.ts';
import { expectSound, loseDatabase, makeBucket, makeEngine, patternOf, put, readAll, value, wipe } from './harness.ts';
import { makeRandom } from './interleavings.ts';

beforeEach(wipe);

/** An acknowledged change of a name. `tick` is the number of journal writes before it; the content is null for a delete. */
interface Change {
  readonly tick: number;
  readonly version: string;
  readonly content: Uint8Array | null;
}

const describeBytes = (bytes: Uint8Array | null): string =>
  bytes === null ? 'nothing' : `${bytes.length} bytes ${Buffer.from(bytes.subarray(0, 6)).toString('hex')}`;

/** Lists the entries of a name in the journal and the snapshots, for the message of a failed test. */
async function traceName(context: EngineContext, bucketId: string, name: string): Promise<string[]> {
  const seen: string[] = [];
  for (let shard = 0; shard < context.shards.length; shard++) {
    for (const key of await listMetadata(context, `journal/${shard}/`)) {
      const page = await readMetadata<{ changes: string[][]; rows: { version: Record<string, unknown>[] } }>(
        context,
        key,
      );
      const changes = (page?.changes ?? []).filter(
        (change) => change[0] === bucketId && change[1] === nameHex(name).toUpperCase(),
      );
      const rows = (page?.rows.version ?? []).filter((row) => row.name === nameHex(name).toUpperCase());
      if (changes.length > 0)
        seen.push(`${key}: ${changes.map((change) => change[2])} → ${rows.map((row) => row.ord)}`);
    }
    for (const key of (await listMetadata(context, `snapshots/${shard}/`)).filter((one) => one.includes('/version/'))) {
      const rows = (await readMetadata<Record<string, unknown>[]>(context, key)) ?? [];
      for (const row of rows)
        if (row.name === nameHex(name).toUpperCase()) seen.push(`${key}: ${row.bucket} ${row.ord}`);
    }
  }
  return seen;
}

/** Writes into all buckets until stopped. @returns the acknowledged changes of each name. */
function startWriters(engine: Engine, buckets: readonly Bucket[], random: (below: number) => number) {
  const changes = new Map<string, Change[]>();
  const state = { tick: 0, isRunning: true };
  const worker = async (id: number) => {
    for (let round = 0; state.isRunning; round++) {
      const b = random(buckets.length);
      const bucket = buckets[b] as Bucket;
      const name = `${id}/${random(3)}`;
      const size = [0, 30, 3000, 20_000, 70_000][random(5)] ?? 0;
      const content = random(3) === 0 ? null : patternOf(size, id * 1000 + round);
      const version =
        content === null
          ? value(await engine.deleteObject(bucket, { name })).versionId
          : (await put(engine, bucket, name, content)).versionId;
      const history = changes.get(`${b} ${name}`) ?? [];
      changes.set(`${b} ${name}`, [...history, { tick: state.tick, version: version ?? 'none', content }]);
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
  };
  const workers = [0, 1, 2, 3].map(worker);
  return {
    changes,
    /** Changes acknowledged before this point must be in a journal write that begins after it. */
    nextTick: () => state.tick++,
    stop: async () => {
      state.isRunning = false;
      await Promise.all(workers);
    },
  };
}

test('keeps every change acknowledged before the last journal write, if the database is lost under load', async () => {
  const seed = Number(process.env.SEED ?? Math.floor(Math.random() * 1e9));
  console.log(`journal under load: seed ${seed}`);
  const { engine, context } = makeEngine({ shards: 3, limits: { bucketSpread: 3 } });
  const buckets = await Promise.all((['never', 'enabled', 'suspended'] as const).map((one) => makeBucket(engine, one)));
  const writers = startWriters(engine, buckets, makeRandom(seed));
  let sealed = 0;
  for (let round = 0; round < 6; round++) {
    await new Promise((resolve) => setTimeout(resolve, 60));
    sealed = writers.nextTick();
    for (let shard = 0; shard < 3; shard++) {
      if (round === 2) await snapshotShard(context, shard);
      if (round % 3 === 1) await packVolume(context, shard, emptyPackReport());
      await writeJournal(context, shard);
    }
  }
  await writers.stop();
  for (let shard = 0; shard < 3; shard++) {
    await loseDatabase(context, shard);
    expect(await rebuildShard(context, shard)).toMatchObject({ ok: true, report: { versions_incomplete: 0 } });
  }
  await expectSound(context);
  for (const [key, history] of writers.changes) {
    const [b = '0', name = ''] = key.split(' ');
    const bucket = buckets[Number(b)] as Bucket;
    const version = await engine.getVersion(bucket, name);
    const found = version.ok && !version.value.isMarker ? await readAll(engine, version.value) : null;
    const lastSure = history.findLastIndex(({ tick }) => tick <= sealed);
    // The rebuilt content may be the last change that must be in the journal, or any later one.
    const allowed = history.slice(Math.max(0, lastSure)).map(({ content }) => describeBytes(content));
    if (lastSure < 0) allowed.push(describeBytes(null));
    const steps = history.map((one) => `${one.tick} ${one.version} ${describeBytes(one.content)}`);
    const isAllowed = allowed.includes(describeBytes(found));
    const trace = isAllowed ? [] : await traceName(context, bucket.bucketId, name);
    expect(allowed, `${key}, sealed ${sealed}, was ${steps.join('; ')}\n${trace.join('\n')}`).toContain(
      describeBytes(found),
    );
  }
  expect(writers.changes.size).toBeGreaterThan(10);
});
