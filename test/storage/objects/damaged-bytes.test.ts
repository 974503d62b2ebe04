/**
 * Damages one byte at each station that carries bytes of small objects, and expects that no station takes damaged bytes for intact
 * ones: they are repaired from another copy, or stay named until the object is deleted.
 */
import { beforeEach, expect, test } from 'vitest';
import { slotOf } from '../../../workers/storage/domain/slots.ts';
import { VolumeBuilder } from '../../../workers/storage/domain/volume.ts';
import { toBlobKey } from '../../../workers/storage/engine/blobs/locations.ts';
import { writeVolume } from '../../../workers/storage/engine/blobs/volumes.ts';
import { type Bucket, engineOf } from '../../../workers/storage/engine/index.ts';
import { packStatements, selectInline } from '../../../workers/storage/engine/store/pack-store.ts';
import { writeJournal } from '../../../workers/storage/maintenance/journal.ts';
import { moveSlot } from '../../../workers/storage/maintenance/move-slot.ts';
import { emptyPackReport, packVolume } from '../../../workers/storage/maintenance/pack.ts';
import { rebuildShard } from '../../../workers/storage/maintenance/rebuild.ts';
import { snapshotShard } from '../../../workers/storage/maintenance/snapshot.ts';
import { expectContent, failure, loseDatabase, METADATA, makeBucket, patternOf, put, value, wipe } from './harness.ts';
import { makeMaintainedEngine } from './maintained-engine.ts';

beforeEach(wipe);

type Made = ReturnType<typeof makeMaintainedEngine>;
const CONTENT = patternOf(900, 3);

/** Changes one byte of the inline bytes of a name, in every shard. */
async function damageInline({ context }: Pick<Made, 'context'>, name: string, at = 400): Promise<void> {
  for (const database of context.shards) {
    const row = await database
      .prepare('SELECT id, data FROM version WHERE name = CAST(?1 AS BLOB) AND data IS NOT NULL')
      .bind(name)
      .first<{ id: number; data: string }>();
    if (row === null) continue;
    const bytes = Buffer.from(row.data, 'base64');
    bytes[at] = (bytes[at] ?? 0) ^ 1;
    await database.prepare('UPDATE version SET data = ?2 WHERE id = ?1').bind(row.id, bytes.toString('base64')).run();
  }
}

/** Packs all objects after one was damaged, as releases before 0.3.0 did: the volume's checksum is that of the damaged bytes. */
async function packDamaged(made: Made, bucket: Bucket, name: string): Promise<string> {
  const { context } = made;
  const shard = bucket.placement.shards[slotOf(name)] ?? 0;
  await damageInline(made, name);
  const builder = new VolumeBuilder(context.limits.volumeBytesMax);
  const rows = await selectInline(context, shard, 0, 1_000);
  const places = rows.map(({ id, objectId, size: length, crc32, version, data }) => {
    const start = builder.append(Buffer.from(data, 'base64'));
    builder.entries.push({ objectId, start, length, crc32, version });
    return { id, objectId, start };
  });
  const volume = value(await writeVolume(context, shard, builder));
  const database = context.shards[shard] as D1Database;
  await database.batch(packStatements(database, volume, places, Date.now()));
  return volume.blobId;
}

const journalAll = async ({ context }: Made) => {
  for (let shard = 0; shard < context.shards.length; shard++) await writeJournal(context, shard);
};
const snapshotAll = async ({ context }: Made) => {
  for (let shard = 0; shard < context.shards.length; shard++) await snapshotShard(context, shard);
};

const SOUND = { inline_damaged: 0, packed_damaged: 0, lost_blobs: 0, lost_versions: [] };

async function begin(versioning: 'never' | 'enabled' = 'never', shards = 1) {
  const made = makeMaintainedEngine(shards);
  const bucket = await makeBucket(made.engine, versioning);
  await put(made.engine, bucket, 'x', CONTENT);
  return { made, bucket, engine: made.engine };
}

test.each(['never', 'enabled'] as const)(
  'a read of damaged inline bytes serves those of a journal page and repairs the row (versioning %s)',
  async (versioning) => {
    const { made, bucket, engine } = await begin(versioning);
    await journalAll(made);
    for (let i = 0; i < 3; i++) {
      await put(engine, bucket, `later ${i}`, patternOf(50, i));
      await journalAll(made);
    }
    await damageInline(made, 'x');
    const found = await made.version(bucket, 'x');
    await expectContent(engine, bucket, 'x', CONTENT);
    const range = value(await engine.readVersion(found, { start: 5, end: 9 }));
    expect(Buffer.from(await new Response(range).arrayBuffer())).toEqual(Buffer.from(CONTENT.subarray(5, 10)));
    expect(await made.scrub()).toMatchObject(SOUND);
    await made.pack();
    await expectContent(engine, bucket, 'x', CONTENT);
    expect(await made.scrub()).toMatchObject({ ...SOUND, packed_objects: 4 });
  },
);

test('a read uses the page of the other location if one page is damaged, and waits for a silent one', async () => {
  const { made, bucket, engine } = await begin();
  await journalAll(made);
  await damageInline(made, 'x');
  const [first, second] = made.context.locations as [R2Bucket, R2Bucket];
  for (const { key } of (await first.list({ prefix: 'journal/0/' })).objects) await first.put(key, 'damaged');
  const silent = new Proxy(second, {
    get: (bucket, name) => {
      const member = Reflect.get(bucket, name);
      if (name === 'get' || name === 'list') return () => Promise.reject(new Error('silent'));
      return typeof member === 'function' ? member.bind(bucket) : member;
    },
  });
  const locations = made.context.locations as R2Bucket[];
  locations[1] = silent;
  expect(failure(await engine.readVersion(await made.version(bucket, 'x'))).kind).toBe('unavailable');
  locations[1] = second;
  await expectContent(engine, bucket, 'x', CONTENT);
});

test('a read of damaged bytes finds those of a snapshot when the journal is gone', async () => {
  const { made, bucket, engine } = await begin();
  for (let i = 0; i < 30; i++) await put(engine, bucket, `y${i}`, patternOf(200, i));
  await snapshotAll(made);
  await damageInline(made, 'x');
  await damageInline(made, 'y7', 20);
  await expectContent(engine, bucket, 'x', CONTENT);
  await expectContent(engine, bucket, 'y7', patternOf(200, 7));
});

test('a read never puts the bytes of a version into a later version of the name', async () => {
  const { made, bucket, engine } = await begin();
  await journalAll(made);
  await damageInline(made, 'x');
  const before = await made.version(bucket, 'x');
  await put(engine, bucket, 'x', 'later');
  expect(failure(await engine.readVersion(before))).toEqual({ kind: 'data_lost' });
  await expectContent(engine, bucket, 'x', 'later');
});

test('packing repairs damaged inline bytes from the journal', async () => {
  const { made, bucket, engine } = await begin();
  await journalAll(made);
  await damageInline(made, 'x');
  expect(await made.pack()).toMatchObject({ objects: 1 });
  expect((await made.version(bucket, 'x')).handle.inline).toBeNull();
  await expectContent(engine, bucket, 'x', CONTENT);
  expect(await made.scrub()).toMatchObject(SOUND);
});

test('what packing finds lost stays inline, is named by scrub and fsck, and holds up nothing', async () => {
  const { made, bucket, engine } = await begin('enabled');
  await damageInline(made, 'x');
  await put(engine, bucket, 'y', CONTENT);
  expect(await made.pack()).toMatchObject({ objects: 1 });
  expect((await made.version(bucket, 'x')).handle.inline).not.toBeNull();
  expect(await made.pack()).toMatchObject({ objects: 0, volumes: 0 });
  await put(engine, bucket, 'z', CONTENT);
  expect(await made.pack()).toMatchObject({ objects: 1 });
  const { objectId } = await made.version(bucket, 'x');
  for (let run = 0; run < 2; run++) {
    expect(failure(await engine.readVersion(await made.version(bucket, 'x')))).toEqual({ kind: 'data_lost' });
    expect(await made.scrub()).toMatchObject({
      inline_damaged: 1,
      lost_versions: [{ bucket: bucket.name, name: 'x', object_id: objectId }],
    });
    const report = await made.fsck();
    expect(report.versions_damaged).toBe(1);
    expect(report.examples).toContain(`damaged: ${bucket.name}/x`);
  }
  const { versionId } = await made.version(bucket, 'x');
  value(await engine.deleteObject(bucket, { name: 'x', versionId }));
  expect(await made.scrub()).toMatchObject(SOUND);
  expect((await made.fsck()).versions_damaged).toBe(0);
});

test('versions that follow in a shard of lost ones get their own ids and are packed', async () => {
  const { made, bucket, engine } = await begin();
  await damageInline(made, 'x');
  await put(engine, bucket, 'y', CONTENT);
  await damageInline(made, 'y');
  for (const name of ['x', 'y']) {
    expect(failure(await engine.readVersion(await made.version(bucket, name)))).toEqual({ kind: 'data_lost' });
  }
  await put(engine, bucket, 'z', CONTENT);
  expect(await made.pack()).toMatchObject({ objects: 1 });
  expect((await made.version(bucket, 'z')).handle.inline).toBeNull();
  expect((await made.scrub()).lost_versions.map(({ name }) => name).sort()).toEqual(['x', 'y']);
  for (const name of ['x', 'y']) value(await engine.deleteObject(bucket, { name }));
  expect(await made.scrub()).toMatchObject(SOUND);
});

test('an object that was packed damaged is repaired by a read from the journal', async () => {
  const { made, bucket, engine } = await begin();
  await journalAll(made);
  await put(engine, bucket, 'y', patternOf(300, 5));
  await packDamaged(made, bucket, 'x');
  await expectContent(engine, bucket, 'x', CONTENT);
  await made.pack();
  await expectContent(engine, bucket, 'x', CONTENT);
  await expectContent(engine, bucket, 'y', patternOf(300, 5));
  expect(await made.scrub()).toMatchObject(SOUND);
  made.clock.offsetMs = 3 * 3_600_000;
  await made.collect();
  await expectContent(engine, bucket, 'x', CONTENT);
  await expectContent(engine, bucket, 'y', patternOf(300, 5));
});

test('the scrub repairs an object that was packed damaged, and its copies', async () => {
  const { made, bucket, engine } = await begin();
  await journalAll(made);
  await packDamaged(made, bucket, 'x');
  const source = await made.version(bucket, 'x');
  value(await engine.copyObject({ bucket, name: 'copy', source, metadata: METADATA, tags: null, acl: null }));
  expect(await made.scrub()).toMatchObject({
    packed_damaged: 2,
    repaired_objects: 2,
    lost_blobs: 0,
    lost_versions: [],
  });
  for (const name of ['x', 'copy']) await expectContent(engine, bucket, name, CONTENT);
  expect(await made.scrub()).toMatchObject(SOUND);
});

test('the scrub names an object that was packed damaged and is lost, on each run', async () => {
  const { made, bucket, engine } = await begin();
  await put(engine, bucket, 'y', CONTENT);
  await packDamaged(made, bucket, 'x');
  for (let run = 0; run < 2; run++) {
    const report = await made.scrub();
    expect(report).toMatchObject({ packed_damaged: 1, repaired_objects: 0, bad_copies: 0 });
    expect(report.lost_versions.map(({ name }) => name)).toEqual(['x']);
    expect((await made.fsck()).versions_damaged).toBe(1);
    expect(failure(await engine.readVersion(await made.version(bucket, 'x')))).toEqual({ kind: 'data_lost' });
    await expectContent(engine, bucket, 'y', CONTENT);
  }
});

test('compaction moves no damaged bytes', async () => {
  const { made, bucket, engine } = await begin();
  await journalAll(made);
  for (let i = 0; i < 8; i++) await put(engine, bucket, `y${i}`, CONTENT);
  const blobId = await packDamaged(made, bucket, 'x');
  for (let i = 0; i < 7; i++) value(await engine.deleteObject(bucket, { name: `y${i}` }));
  made.clock.offsetMs = 3 * 3_600_000;
  await made.collect();
  expect((await made.version(bucket, 'x')).handle.extents[0]?.blobId).toBe(blobId);
  await expectContent(engine, bucket, 'x', CONTENT);
});

test('a volume with a damaged segment in every location loses no object that the journal has', async () => {
  const { made, bucket, engine } = await begin();
  await put(engine, bucket, 'y', patternOf(300, 5));
  await journalAll(made);
  await made.pack();
  const extent = (await made.version(bucket, 'x')).handle.extents[0];
  const key = toBlobKey(extent?.blobId ?? '');
  for (const location of made.context.locations) {
    const bytes = new Uint8Array(await ((await location.get(key)) as R2ObjectBody).arrayBuffer());
    const at = (extent?.blobStart ?? 0) + 10;
    bytes[at] = (bytes[at] ?? 0) ^ 1;
    await location.put(key, bytes);
  }
  expect(await made.scrub()).toMatchObject({
    lost_blobs: 1,
    packed_damaged: 1,
    repaired_objects: 1,
    lost_versions: [],
  });
  await expectContent(engine, bucket, 'x', CONTENT);
  await expectContent(engine, bucket, 'y', patternOf(300, 5));
});

test('a copy of damaged inline bytes is repaired first, or refused', async () => {
  const { made, bucket, engine } = await begin();
  await journalAll(made);
  await put(engine, bucket, 'lost', CONTENT);
  await damageInline(made, 'x');
  await damageInline(made, 'lost');
  const copy = async (name: string) =>
    engine.copyObject({
      bucket,
      name: 'copy',
      source: await made.version(bucket, name),
      metadata: METADATA,
      tags: null,
      acl: null,
    });
  value(await copy('x'));
  await expectContent(engine, bucket, 'copy', CONTENT);
  expect(failure(await copy('lost'))).toEqual({ kind: 'data_lost' });
});

test('bytes that are damaged before a change is journaled do not replace the intact page in a rebuild', async () => {
  const { made, bucket, engine } = await begin('enabled');
  await journalAll(made);
  await damageInline(made, 'x');
  value(await engine.setTags(await made.version(bucket, 'x'), { a: 'b' }));
  await journalAll(made);
  await damageInline(made, 'x');
  await loseDatabase(made.context, 0);
  expect((await rebuildShard(made.context, 0)).ok).toBe(true);
  await expectContent(engine, bucket, 'x', CONTENT);
  expect((await made.version(bucket, 'x')).tags).toEqual({ a: 'b' });
});

test('bytes that are damaged before the snapshot come back from the journal in a rebuild', async () => {
  const { made, bucket, engine } = await begin();
  await journalAll(made);
  await damageInline(made, 'x');
  await snapshotAll(made);
  await loseDatabase(made.context, 0);
  expect((await rebuildShard(made.context, 0)).ok).toBe(true);
  await expectContent(engine, bucket, 'x', CONTENT);
});

test('a rebuild does not replace intact bytes by those of a volume that was packed damaged', async () => {
  const { made, bucket, engine } = await begin();
  await put(engine, bucket, 'y', CONTENT);
  await journalAll(made);
  await packDamaged(made, bucket, 'x');
  await loseDatabase(made.context, 0);
  expect((await rebuildShard(made.context, 0)).ok).toBe(true);
  for (const name of ['x', 'y']) await expectContent(engine, bucket, name, CONTENT);
});

test('a slot move repairs damaged inline bytes before it copies them', async () => {
  const { made, bucket, engine } = await begin('enabled', 3);
  await journalAll(made);
  await damageInline(made, 'x');
  const slot = slotOf('x');
  const to = ((bucket.placement.shards[slot] ?? 0) + 1) % 3;
  expect((await moveSlot(made.context, bucket.bucketId, slot, to)).ok).toBe(true);
  await journalAll(made);
  await expectContent(engine, bucket, 'x', CONTENT);
  expect(await made.scrub()).toMatchObject(SOUND);
});

test('a slot move whose target stores other bytes removes nothing from the source', async () => {
  const { made, bucket, engine } = await begin('enabled', 3);
  const slot = slotOf('x');
  const to = ((bucket.placement.shards[slot] ?? 0) + 1) % 3;
  const target = made.context.shards[to] as D1Database;
  // The trigger stands for a fault on the way to the target.
  await target
    .prepare(
      "CREATE TRIGGER fault AFTER INSERT ON version BEGIN UPDATE version SET data = 'AAAA' WHERE id = new.id; END",
    )
    .run();
  try {
    await expect(moveSlot(made.context, bucket.bucketId, slot, to)).rejects.toThrow('differ');
  } finally {
    await target.prepare('DROP TRIGGER fault').run();
  }
  await expectContent(engine, bucket, 'x', CONTENT);
  expect((await moveSlot(made.context, bucket.bucketId, slot, to)).ok).toBe(true);
  await expectContent(engine, bucket, 'x', CONTENT);
});

test('a rebuild reads a volume from the location that has it intact', async () => {
  const { made, bucket, engine } = await begin();
  await snapshotAll(made);
  await put(engine, bucket, 'y', CONTENT);
  const shard = 0;
  while (await packVolume(made.context, shard, emptyPackReport()));
  const key = toBlobKey((await made.version(bucket, 'y')).handle.extents[0]?.blobId ?? '');
  const [first] = made.context.locations as [R2Bucket];
  const object = (await first.get(key)) as R2ObjectBody;
  const bytes = new Uint8Array(await object.arrayBuffer());
  bytes[0] = (bytes[0] ?? 0) ^ 1;
  await first.put(key, bytes, { customMetadata: object.customMetadata ?? {} });
  await loseDatabase(made.context, shard);
  expect((await rebuildShard(made.context, shard)).ok).toBe(true);
  await expectContent(engine, bucket, 'y', CONTENT);
  expect(await made.scrub()).toMatchObject({ ...SOUND, repaired_copies: 1 });
});

/** Loses the shard's database after an object of several blobs was written since the last snapshot. */
async function beginRebuild() {
  const made = makeMaintainedEngine();
  const { engine, context } = made;
  const small = { ...context, limits: { ...context.limits, blobBytesMax: 40_000, gatherBytesMax: 10_000 } };
  const bucket = await makeBucket(engine);
  await snapshotAll(made);
  await put(engineOf(small), bucket, 'x', patternOf(120_000, 4));
  const keys = (await made.version(bucket, 'x')).handle.extents.map(({ blobId }) => toBlobKey(blobId));
  expect(keys.length).toBe(3);
  await loseDatabase(context, 0);
  return { made, bucket, engine, keys, content: patternOf(120_000, 4) };
}

test('a rebuild does not recover an object of which a blob is missing in the middle', async () => {
  const { made, bucket, engine, keys } = await beginRebuild();
  for (const location of made.context.locations) await location.delete(keys[1] ?? '');
  expect((await rebuildShard(made.context, 0)).ok).toBe(true);
  expect(failure(await engine.getVersion(bucket, 'x')).kind).toBe('no_such_key');
});

test('a rebuild takes a blob that one location lacks from the other', async () => {
  const { made, bucket, engine, keys, content } = await beginRebuild();
  await made.context.locations[0]?.delete(keys[1] ?? '');
  expect((await rebuildShard(made.context, 0)).ok).toBe(true);
  await expectContent(engine, bucket, 'x', content);
});

test('a rebuild counts no copy with other bytes', async () => {
  const { made, bucket, engine, keys, content } = await beginRebuild();
  const second = made.context.locations[1] as R2Bucket;
  const object = (await second.get(keys[1] ?? '')) as R2ObjectBody;
  const bytes = new Uint8Array(await object.arrayBuffer());
  bytes[7] = (bytes[7] ?? 0) ^ 1;
  await second.put(keys[1] ?? '', bytes, { customMetadata: object.customMetadata ?? {} });
  expect((await rebuildShard(made.context, 0)).ok).toBe(true);
  const [, extent] = (await made.version(bucket, 'x')).handle.extents;
  expect(extent?.locations).toBe(1);
  await expectContent(engine, bucket, 'x', content);
  expect(await made.scrub()).toMatchObject({ ...SOUND, repaired_copies: 1 });
});

test('a rebuild reads a piece from the location whose bytes match its checksum', async () => {
  const { made, bucket, engine, keys, content } = await beginRebuild();
  const [first] = made.context.locations as [R2Bucket];
  const get = first.get.bind(first) as (key: string) => Promise<R2ObjectBody | null>;
  (made.context.locations as R2Bucket[])[0] = new Proxy(first, {
    get: (target, name) => {
      const member = Reflect.get(target, name);
      if (name !== 'get') return typeof member === 'function' ? member.bind(target) : member;
      return async (key: string) => {
        const object = await get(key);
        if (object === null || key !== keys[1]) return object;
        const bytes = new Uint8Array(await object.arrayBuffer());
        bytes[7] = (bytes[7] ?? 0) ^ 1;
        const { etag, customMetadata, uploaded } = object;
        return { etag, customMetadata, uploaded, key, body: new Response(bytes).body };
      };
    },
  });
  expect((await rebuildShard(made.context, 0)).ok).toBe(true);
  await expectContent(engine, bucket, 'x', content);
});
