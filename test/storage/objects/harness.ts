/** An engine over the databases and buckets of this test, and helpers for the engine tests. */
import { env } from 'cloudflare:test';
import { expect } from 'vitest';
import type { Result } from '../../../workers/shared/pure/result.ts';
import { type Bucket, createEngineContext, type Engine, engineOf } from '../../../workers/storage/engine/index.ts';
import {
  createIsolateMemory,
  type EngineContext,
  type EngineLimits,
} from '../../../workers/storage/engine/model/context.ts';
import type {
  ObjectMetadata,
  StoredVersion,
  VersionAttributes,
  VersionFacts,
} from '../../../workers/storage/engine/model/contract.ts';
import { checkLocations, checkShard } from '../../../workers/storage/maintenance/fsck.ts';
import { emptyFsckReport, type FsckReport } from '../../../workers/storage/maintenance/fsck-report.ts';
import { SOUND_FSCK } from '../../support/storage/clean-fsck.ts';

/** A third location, which only some tests bind. */
export const { SPARE_BLOBS } = env as unknown as { readonly SPARE_BLOBS: R2Bucket };

export const METADATA: ObjectMetadata = { headers: { 'content-type': 'text/plain' }, user: { a: 'b' }, ownerId: 'u1' };

export interface TestEngine {
  readonly engine: Engine;
  readonly context: EngineContext;
  /** Resolves when all work that was passed to `waitUntil` is done. */
  settle(): Promise<void>;
}

export interface TestEngineOptions {
  readonly limits?: Partial<EngineLimits>;
  readonly shards?: number;
  readonly now?: () => number;
  /** Bindings that replace those of the test environment. */
  readonly bindings?: Readonly<Record<string, unknown>>;
  /** The edge cache that the engine uses. Default: none. */
  readonly cache?: Cache;
}

export function makeEngine(options: TestEngineOptions = {}): TestEngine {
  const pending: Promise<unknown>[] = [];
  const bindings: Record<string, unknown> = { ...env, STORAGE_TASKS: undefined, ...options.bindings };
  for (let n = options.shards ?? 1; bindings[`OBJECTS_${n}`]; n++) delete bindings[`OBJECTS_${n}`];
  const context = createEngineContext(
    bindings as unknown as Env,
    options.now ?? Date.now,
    { waitUntil: (work) => void pending.push(work) },
    {
      memory: createIsolateMemory(),
      limits: { bucketSpread: options.shards ?? 1, ...options.limits },
      ...(options.cache ? { cache: options.cache } : {}),
    },
  );
  return {
    engine: engineOf(context),
    context,
    async settle() {
      while (pending.length > 0) await pending.shift();
    },
  };
}

/** Returns the value of a result. Fails if the result is an error. */
export function value<T, E>(result: Result<T, E>): T {
  if (!result.ok) throw new Error(`expected a value, got ${JSON.stringify(result.error)}`);
  return result.value;
}

export function failure<T, E>(result: Result<T, E>): E {
  if (result.ok) throw new Error(`expected a failure, got ${JSON.stringify(result.value)}`);
  return result.error;
}

/** Expects fsck, without repairs, to find no fault in any shard or location. @returns its report. */
export async function expectSound(context: EngineContext): Promise<FsckReport> {
  const report = emptyFsckReport(true);
  for (let shard = 0; shard < context.shards.length; shard++) await checkShard(context, shard, report);
  await checkLocations(context, report);
  expect(report).toMatchObject(SOUND_FSCK);
  return report;
}

let bucketNumber = 0;

export async function makeBucket(
  engine: Engine,
  versioning: 'never' | 'enabled' | 'suspended' = 'never',
): Promise<Bucket> {
  const name = `bucket-${crypto.randomUUID().slice(0, 8)}-${bucketNumber++}`;
  const bucket = value(await engine.createBucket({ name, ownerId: 'u1' }));
  if (versioning !== 'never') value(await engine.setVersioning(bucket, versioning));
  return value(await engine.getBucket(name));
}

export const bytesOf = (text: string): Uint8Array => new TextEncoder().encode(text);

/** Makes deterministic bytes that do not repeat. */
export function patternOf(length: number, seed = 1): Uint8Array {
  const bytes = new Uint8Array(length);
  let state = seed * 2654435761;
  for (let i = 0; i < length; i++) {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    bytes[i] = state >>> 24;
  }
  return bytes;
}

export async function put(
  engine: Engine,
  bucket: Bucket,
  name: string,
  content: string | Uint8Array,
  attributes: Partial<VersionAttributes> = {},
): Promise<VersionFacts> {
  const body = typeof content === 'string' ? bytesOf(content) : content;
  return value(await engine.putObject({ bucket, name, body, size: body.length, metadata: METADATA, ...attributes }));
}

export async function readAll(
  engine: Engine,
  version: StoredVersion,
  range?: { start: number; end: number },
): Promise<Buffer> {
  const body = value(await engine.readVersion(version, range));
  return Buffer.from(await new Response(body).arrayBuffer());
}

export async function expectContent(
  engine: Engine,
  bucket: Bucket,
  name: string,
  content: string | Uint8Array,
  versionId?: string,
): Promise<void> {
  const version = value(await engine.getVersion(bucket, name, versionId === undefined ? {} : { versionId }));
  const bytes = await readAll(engine, version);
  expect(bytes.equals(Buffer.from(content as Uint8Array)), `${name} has the bytes it was given`).toBe(true);
}

/** Counts the rows of a table over all shards, so that tests can find leftovers. */
export async function countRows(context: EngineContext, table: string): Promise<number> {
  const counts = await Promise.all(
    context.shards.map((database) => database.prepare(`SELECT count(*) AS n FROM ${table}`).first<number>('n')),
  );
  return counts.reduce<number>((sum, count) => sum + (count ?? 0), 0);
}

const SHARD_TABLES = [
  'version',
  'extent',
  'blob',
  'reclaim',
  'upload',
  'part',
  'task',
  'change',
  'receipt',
  'bucket',
  'quota',
  'event',
  'lifecycle',
  'identity',
];

/** Resets a shard's database to an empty one. */
export async function loseDatabase(context: EngineContext, shard: number): Promise<void> {
  const database = context.shards[shard] as D1Database;
  await database.batch(SHARD_TABLES.map((table) => database.prepare(`DELETE FROM ${table}`)));
}

/** Empties every store, because the tests of one file share them. */
export async function wipe(): Promise<void> {
  const { context } = makeEngine({ shards: 3 });
  for (let shard = 0; shard < 3; shard++) await loseDatabase(context, shard);
  await context.directory.batch([
    context.directory.prepare('DELETE FROM slot_move'),
    context.directory.prepare('DELETE FROM bucket'),
    context.directory.prepare('DELETE FROM storage_quota'),
    context.directory.prepare('DELETE FROM storage_job'),
    context.directory.prepare('DELETE FROM orphan'),
    context.directory.prepare('DELETE FROM collector'),
  ]);
  for (const location of [...context.locations, SPARE_BLOBS]) {
    for (;;) {
      const page = await location.list({ limit: 1000 });
      if (page.objects.length > 0) await location.delete(page.objects.map((object) => object.key));
      if (!page.truncated) break;
    }
  }
}
