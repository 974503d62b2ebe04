import { beforeEach, expect, test } from 'vitest';
import type { Bucket } from '../../../workers/object-storage/engine.ts';
import { writeJournal } from '../../../workers/object-storage/maintenance/journal.ts';
import { emptyPackReport, packVolume } from '../../../workers/object-storage/maintenance/pack.ts';
import { rebuildShard } from '../../../workers/object-storage/maintenance/rebuild.ts';
import { snapshotShard } from '../../../workers/object-storage/maintenance/snapshot.ts';
import { expectSound, loseDatabase, makeBucket, makeEngine, patternOf, put, readAll, value, wipe } from './harness.ts';

beforeEach(wipe);

test('a database thrown away under load loses nothing that was acknowledged before its journal was last written', async () => {
  const seed = Number(process.env.SEED ?? Math.floor(Math.random() * 1e9));
  console.log(`journal under load: seed ${seed}`);
  let state = seed;
  const random = (below: number) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
  const tested = makeEngine({ shards: 3 });
  const { engine, context } = tested;
  const buckets = [await makeBucket(engine, 'never'), await makeBucket(engine, 'enabled')];
  /** The last that is known of each name: what was acknowledged, or that it may be either of two things. */
  const acknowledged = new Map<string, { at: number; content: Uint8Array | null }[]>();
  let tick = 0;
  let isRunning = true;
  const worker = async (id: number) => {
    for (let round = 0; isRunning; round++) {
      const b = random(2);
      const bucket = buckets[b] as Bucket;
      const name = `${id}/${random(6)}`;
      const key = `${b} ${name}`;
      const size = [0, 30, 3000, 20_000, 70_000][random(5)] ?? 0;
      const content = random(4) === 0 ? null : patternOf(size, id * 1000 + round);
      if (content === null) value(await engine.deleteObject(bucket, { name }));
      else await put(engine, bucket, name, content);
      const history = acknowledged.get(key) ?? [];
      history.push({ at: tick, content });
      acknowledged.set(key, history);
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
  };
  const workers = [0, 1, 2, 3].map(worker);
  let sealed = 0;
  for (let round = 0; round < 6; round++) {
    await new Promise((resolve) => setTimeout(resolve, 60));
    const before = tick++;
    for (let shard = 0; shard < 3; shard++) {
      if (round === 2) await snapshotShard(context, shard);
      if (round % 3 === 1) await packVolume(context, shard, emptyPackReport());
      await writeJournal(context, shard);
    }
    // All that was acknowledged at ticks up to `before` is in the journal now.
    sealed = before;
  }
  isRunning = false;
  await Promise.all(workers);
  for (let shard = 0; shard < 3; shard++) {
    await loseDatabase(context, shard);
    expect(await rebuildShard(context, shard)).toMatchObject({ ok: true, report: { versions_incomplete: 0 } });
  }
  await expectSound(tested.context);
  let checked = 0;
  for (const [key, history] of acknowledged) {
    const [b = '0', name = ''] = key.split(' ');
    const version = await engine.getVersion(buckets[Number(b)] as Bucket, name);
    const found = version.ok && !version.value.isMarker ? await readAll(engine, version.value) : null;
    const lastSure = history.findLastIndex(({ at }) => at <= sealed);
    // The last one that is sure to be in the journal, or any that came after it.
    const allowed = history.slice(Math.max(0, lastSure));
    const isAllowed = allowed.some(({ content }) =>
      content === null ? found === null : found?.equals(Buffer.from(content)),
    );
    expect(isAllowed || (lastSure < 0 && found === null), `${key} after ${history.length} changes`).toBe(true);
    checked++;
  }
  expect(checked).toBeGreaterThan(10);
});
