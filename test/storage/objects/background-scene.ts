/** Two buckets of one shard with every kind of data, clients that change them, and the contents that were acknowledged. */
import { createHash } from 'node:crypto';
import { expect } from 'vitest';
import type { Result } from '../../../workers/shared/pure/result.ts';
import { slotOf } from '../../../workers/storage/domain/slots.ts';
import type { Bucket, Engine } from '../../../workers/storage/engine/index.ts';
import type { EngineContext } from '../../../workers/storage/engine/model/context.ts';
import { writeJournal } from '../../../workers/storage/maintenance/journal.ts';
import { emptyPackReport, packVolume } from '../../../workers/storage/maintenance/pack.ts';
import { isShardReady } from '../../../workers/storage/maintenance/shard-trust.ts';
import { snapshotShard } from '../../../workers/storage/maintenance/snapshot.ts';
import { METADATA, makeBucket, makeEngine, patternOf, put, readAll, value } from './harness.ts';

export const SHARDS = 2;
/** Name of a packed object, whose slot some work moves. */
export const NAME = 'packed 1';
/** Prefix of the names that rules and jobs remove. */
export const OLD = 'old/';

/** Contents by `<bucket>/<name> <version>`. */
type Contents = Map<string, string>;

export interface Scene {
  readonly versioned: Bucket;
  readonly plain: Bucket;
  readonly home: number;
  /** What clients were told is stored. */
  readonly expected: Contents;
  /** Writes that were refused while the shard was rebuilt: `<bucket>/<name> <line>`. Their bytes may come back with the others. */
  readonly refused: Set<string>;
  /** Keys of what clients wrote while the work ran. */
  readonly written: Set<string>;
  readonly upload: { readonly uploadId: string; readonly parts: { partNumber: number; etag: string }[] };
}

const homeOf = (bucket: Bucket, name = NAME): number => bucket.placement.shards[slotOf(name)] ?? 0;
const keyOf = (bucket: Bucket, name: string, versionId: string): string =>
  `${bucket.name}/${name} ${bucket.versioning === 'enabled' ? versionId : ''}`;
const describe = (bytes: Uint8Array, tags: unknown = null): string =>
  `${bytes.length} ${createHash('sha256').update(bytes).digest('hex').slice(0, 16)} ${JSON.stringify(tags)}`;

/** Reads both buckets to the last byte. */
export async function readContents(engine: Engine, scene: Scene): Promise<Contents> {
  const seen: Contents = new Map();
  for (const { name } of [scene.versioned, scene.plain]) {
    const bucket = value(await engine.getBucket(name));
    const query = { bucket, prefix: '', delimiter: '', from: '', limit: 1_000 };
    for (const entry of value(await engine.listVersions(query)).entries) {
      if (entry.kind !== 'item') continue;
      const { name: key, versionId, isMarker } = entry.item;
      const version = value(await engine.getVersion(bucket, key, { versionId }));
      const line = isMarker ? 'a marker' : describe(await readAll(engine, version), version.tags);
      seen.set(keyOf(bucket, key, versionId), line);
    }
    for (const entry of value(await engine.listUploads(query)).entries) {
      if (entry.kind !== 'item') continue;
      const { name: key, uploadId } = entry.item;
      const page = value(await engine.listParts(bucket, key, uploadId, { after: 0, limit: 100 }));
      seen.set(`${bucket.name}/${key} upload`, page.parts.map(({ size, etag }) => `${size} ${etag}`).join());
    }
  }
  return seen;
}

/** Puts an object, and notes it if the answer says that it is stored. */
async function write(engine: Engine, scene: Scene, place: readonly [Bucket, string], body: Uint8Array): Promise<void> {
  const [bucket, name] = place;
  const stored = await engine.putObject({ bucket, name, body, size: body.length, metadata: METADATA });
  if (!isDone(stored)) {
    scene.refused.add(`${bucket.name}/${name} ${describe(body)}`);
    return;
  }
  const key = keyOf(bucket, name, stored.value.versionId);
  scene.expected.set(key, describe(body));
  scene.written.add(key);
}

/** Whether a change was acknowledged. While a slot moves or a database is rebuilt, it may be refused. */
function isDone<T>(outcome: Result<T, { readonly kind: string }>): outcome is { ok: true; value: T } {
  if (!outcome.ok && outcome.error.kind !== 'unavailable') throw new Error(`a client got ${JSON.stringify(outcome)}`);
  return outcome.ok;
}

/** Overwrites, deletes, tags, copies and completes, as clients do while background work runs. */
export async function changeAsClients(engine: Engine, scene: Scene, round: number): Promise<void> {
  const { expected, plain, versioned, written } = scene;
  await write(engine, scene, [versioned, NAME], patternOf(700 + round, round));
  await write(engine, scene, [plain, 'overwritten'], patternOf(30_000, round));
  await write(engine, scene, [plain, `${OLD}changed`], patternOf(300, round));
  await write(engine, scene, [plain, `new ${round}`], patternOf(20_000, 40 + round));
  if (isDone(await engine.deleteObject(plain, { name: `doomed ${round}` }))) {
    expected.delete(keyOf(plain, `doomed ${round}`, ''));
  }
  const [first] = [...expected.keys()].filter((key) => key.startsWith(`${versioned.name}/packed ${round + 1} `));
  const versionId = first?.split(' ').at(-1) ?? '';
  if (isDone(await engine.deleteObject(versioned, { name: `packed ${round + 1}`, versionId }))) {
    expected.delete(first ?? '');
  }
  const source = await engine.getVersion(plain, 'shared');
  if (isDone(source)) {
    const bytes = patternOf(25_000, 11);
    if (isDone(await engine.setTags(source.value, { round: String(round) }, plain))) {
      expected.set(keyOf(plain, 'shared', ''), describe(bytes, { round: String(round) }));
    }
    const copy = { bucket: plain, name: `copied ${round}`, source: source.value, metadata: METADATA, acl: null };
    if (isDone(await engine.copyObject({ ...copy, tags: null }))) {
      expected.set(keyOf(plain, `copied ${round}`, ''), describe(bytes));
      written.add(keyOf(plain, `copied ${round}`, ''));
    }
  }
  if (round > 1) return;
  const { uploadId, parts } = scene.upload;
  const completed = await engine.completeUpload({ bucket: versioned, name: 'm', uploadId, parts, partBytesMin: 0 });
  if (!isDone(completed)) return;
  expected.delete(`${versioned.name}/m upload`);
  expected.set(keyOf(versioned, 'm', completed.value.versionId), describe(patternOf(20_000, 9)));
}

async function makeBuckets(engine: Engine): Promise<readonly [Bucket, Bucket, number]> {
  const versioned = await makeBucket(engine, 'enabled');
  const home = homeOf(versioned);
  for (;;) {
    const plain = await makeBucket(engine);
    if (homeOf(plain) === home) return [versioned, plain, home];
  }
}

/** Fills the buckets: packed, inline, large and shared bytes, volumes with gaps, markers, an open upload. */
export async function makeScene(now: () => number): Promise<Scene & { readonly context: EngineContext }> {
  const { engine, context } = makeEngine({ shards: SHARDS, limits: { bucketSpread: 1 }, now });
  for (const shard of context.shards.keys()) expect(await isShardReady(context, shard)).toBe(true);
  const [versioned, plain, home] = await makeBuckets(engine);
  for (let i = 0; i < 5; i++) await put(engine, versioned, `packed ${i}`, patternOf(2000 + i, i));
  await packVolume(context, home, emptyPackReport());
  await snapshotShard(context, home);
  for (const i of [0, 4]) {
    const { versionId } = value(await engine.getVersion(versioned, `packed ${i}`));
    value(await engine.deleteObject(versioned, { name: `packed ${i}`, versionId }));
  }
  await put(engine, versioned, NAME, patternOf(900, 7));
  await put(engine, versioned, 'a blob', patternOf(40_000, 8));
  value(await engine.deleteObject(versioned, { name: 'a blob' }));
  value(await engine.setTags(value(await engine.getVersion(versioned, NAME)), { a: 'tag' }));
  await put(engine, plain, 'overwritten', patternOf(30_000, 9));
  await put(engine, plain, 'shared', patternOf(25_000, 11));
  for (const name of ['gone', 'changed', 'large']) {
    await put(engine, plain, OLD + name, patternOf(name === 'large' ? 20_000 : 200, 12));
  }
  for (const round of [1, 2]) await put(engine, plain, `doomed ${round}`, patternOf(20_000 + round, 13));
  const { uploadId } = value(await engine.createUpload({ bucket: versioned, name: 'm', metadata: METADATA }));
  const size = 20_000;
  const part = { bucket: versioned, name: 'm', uploadId, partNumber: 1, body: patternOf(size, 9), size };
  const { etag } = value(await engine.putPart(part));
  await writeJournal(context, home);
  value(await engine.setTags(value(await engine.getVersion(plain, 'shared')), { since: 'the journal' }, plain));
  const scene: Scene = {
    versioned,
    plain,
    home,
    expected: new Map(),
    refused: new Set(),
    written: new Set(),
    upload: { uploadId, parts: [{ partNumber: 1, etag }] },
  };
  for (const [key, line] of await readContents(engine, scene)) scene.expected.set(key, line);
  return { ...scene, context };
}

/** Adds refused writes that came back to what is expected from now on. */
export function adoptRefused({ expected, refused }: Scene, seen: ReadonlyMap<string, string>): void {
  for (const [key, line] of seen) {
    if (refused.has(`${key.slice(0, key.lastIndexOf(' '))} ${line}`)) expected.set(key, line);
  }
}

/** Forgets what rules and jobs remove: the old names that no client wrote again. */
export function forgetOld({ plain, expected, written }: Scene): void {
  for (const key of expected.keys()) {
    if (key.startsWith(`${plain.name}/${OLD}`) && !written.has(key)) expected.delete(key);
  }
}
