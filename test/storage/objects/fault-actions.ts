/** Actions of clients, for tests in which a call of a store fails. */
import { expect } from 'vitest';
import { setQuota } from '../../../workers/storage/engine/actions/quotas.ts';
import type { Bucket, Engine, StoredVersion, VersionFacts } from '../../../workers/storage/engine/index.ts';
import type { EngineContext } from '../../../workers/storage/engine/model/context.ts';
import { bytesOf, METADATA, patternOf, put, readAll, value } from './harness.ts';

export const SMALL = bytesOf('a small object');
const MIDDLE = patternOf(200_000, 3);
const LARGE = patternOf(1_300_000, 4);
const putOf =
  (name: string, body: Uint8Array, isStreamed = false) =>
  (engine: Engine, bucket: Bucket) =>
    engine.putObject({
      bucket,
      name,
      body: isStreamed ? (new Response(body).body as ReadableStream<Uint8Array>) : body,
      size: body.length,
      metadata: METADATA,
    });

const uploadTwoParts = async (engine: Engine, bucket: Bucket) => {
  const { uploadId } = value(await engine.createUpload({ bucket, name: 'm', metadata: METADATA }));
  const parts = [];
  for (const partNumber of [1, 2]) {
    parts.push(
      value(await engine.putPart({ bucket, name: 'm', uploadId, partNumber, body: MIDDLE, size: MIDDLE.length })),
    );
  }
  return { uploadId, parts };
};

export type Action = {
  readonly versioning: 'never' | 'enabled' | 'suspended';
  readonly prepare: (engine: Engine, bucket: Bucket, context: EngineContext) => Promise<unknown>;
  readonly act: (engine: Engine, bucket: Bucket, prepared: never) => Promise<{ readonly ok: boolean }>;
  /** Number of events that an acknowledged action makes. Default: one. */
  readonly events?: number;
  /**
   * Whether the test must not repeat the action. If its answer is lost, it is reported as unavailable and may have taken effect.
   */
  readonly isSentOnce?: boolean;
  /** Checks the state of the bucket after an acknowledged action. */
  readonly after: (engine: Engine, bucket: Bucket) => Promise<void>;
};

export const expectStored = (name: string, content: Uint8Array) => async (engine: Engine, bucket: Bucket) => {
  const version = value(await engine.getVersion(bucket, name));
  expect((await readAll(engine, version)).equals(content)).toBe(true);
};
const expectAbsent = (name: string) => async (engine: Engine, bucket: Bucket) => {
  const found = await engine.getVersion(bucket, name);
  expect(found.ok ? found.value.isMarker : found.error).toEqual(found.ok ? true : { kind: 'no_such_key' });
};
const noPreparation = async () => {};

export const ACTIONS: Readonly<Record<string, Action>> = {
  'a small put': {
    versioning: 'enabled',
    prepare: noPreparation,
    act: putOf('x', SMALL),
    after: expectStored('x', SMALL),
  },
  'a put': { versioning: 'never', prepare: noPreparation, act: putOf('x', MIDDLE), after: expectStored('x', MIDDLE) },
  'a streamed put': {
    versioning: 'never',
    prepare: noPreparation,
    act: putOf('x', LARGE, true),
    after: expectStored('x', LARGE),
  },
  'an overwrite of a small one': {
    versioning: 'never',
    prepare: (e, b) => put(e, b, 'x', 'old'),
    act: putOf('x', SMALL),
    after: expectStored('x', SMALL),
  },
  'an overwrite of a large one': {
    versioning: 'suspended',
    prepare: (e, b) => put(e, b, 'x', patternOf(50_000, 9)),
    act: putOf('x', MIDDLE),
    after: expectStored('x', MIDDLE),
  },
  'a put that must be the first': {
    versioning: 'enabled',
    prepare: noPreparation,
    act: (engine, bucket) =>
      engine.putObject({
        bucket,
        name: 'x',
        body: SMALL,
        size: SMALL.length,
        metadata: METADATA,
        condition: { absent: true },
      }),
    after: expectStored('x', SMALL),
  },
  'a put that needs the shares of other shards': {
    versioning: 'enabled',
    prepare: (_, { bucketId }, context) =>
      setQuota(context, { kind: 'bucket', subject: bucketId }, { bytes: MIDDLE.length + 9, objects: null }),
    act: putOf('x', MIDDLE),
    after: expectStored('x', MIDDLE),
  },
  'a lock': {
    versioning: 'enabled',
    prepare: async (engine, bucket) => {
      await put(engine, bucket, 'x', SMALL);
      return value(await engine.getVersion(bucket, 'x'));
    },
    act: (engine, _, version: StoredVersion) => engine.setLock(version, { isHeld: true }),
    after: async (engine, bucket) => {
      const { versionId, lock } = value(await engine.getVersion(bucket, 'x'));
      expect(lock.isHeld).toBe(true);
      expect((await engine.deleteObject(bucket, { name: 'x', versionId })).ok).toBe(false);
    },
    events: 0,
    isSentOnce: true,
  },
  'a delete': {
    versioning: 'never',
    prepare: (e, b) => put(e, b, 'x', MIDDLE),
    act: (engine, bucket) => engine.deleteObject(bucket, { name: 'x' }),
    after: expectAbsent('x'),
  },
  'a delete with a marker': {
    versioning: 'enabled',
    prepare: (e, b) => put(e, b, 'x', MIDDLE),
    act: (engine, bucket) => engine.deleteObject(bucket, { name: 'x' }),
    after: expectAbsent('x'),
  },
  'a delete of a version': {
    versioning: 'enabled',
    prepare: (e, b) => put(e, b, 'x', MIDDLE),
    act: (engine, bucket, prepared: VersionFacts) =>
      engine.deleteObject(bucket, { name: 'x', versionId: prepared.versionId }),
    after: expectAbsent('x'),
  },
  'a copy': {
    versioning: 'enabled',
    prepare: async (engine, bucket) => {
      await put(engine, bucket, 'source', MIDDLE);
      return value(await engine.getVersion(bucket, 'source'));
    },
    act: (engine, bucket, source) =>
      engine.copyObject({ bucket, name: 'x', source, metadata: METADATA, tags: null, acl: null }),
    after: expectStored('x', MIDDLE),
  },
  'a completion': {
    versioning: 'never',
    prepare: uploadTwoParts,
    act: (engine, bucket, { uploadId, parts }: Awaited<ReturnType<typeof uploadTwoParts>>) =>
      engine.completeUpload({ bucket, name: 'm', uploadId, parts, partBytesMin: 0 }),
    after: expectStored('m', Buffer.concat([MIDDLE, MIDDLE])),
  },
  'a part and its completion': {
    versioning: 'never',
    prepare: uploadTwoParts,
    act: async (engine, bucket, { uploadId, parts }: Awaited<ReturnType<typeof uploadTwoParts>>) => {
      const again = await engine.putPart({
        bucket,
        name: 'm',
        uploadId,
        partNumber: 2,
        body: LARGE,
        size: LARGE.length,
      });
      return again.ok
        ? await engine.completeUpload({
            bucket,
            name: 'm',
            uploadId,
            parts: [parts[0] as never, again.value],
            partBytesMin: 0,
          })
        : again;
    },
    after: expectStored('m', Buffer.concat([MIDDLE, LARGE])),
  },
  'an abort': {
    versioning: 'never',
    prepare: uploadTwoParts,
    act: (engine, bucket, { uploadId }: Awaited<ReturnType<typeof uploadTwoParts>>) =>
      engine.abortUpload(bucket, 'm', uploadId),
    after: expectAbsent('m'),
    events: 0,
  },
  'a read': {
    versioning: 'never',
    prepare: (e, b) => put(e, b, 'x', LARGE),
    act: async (engine, bucket) => {
      const version = await engine.getVersion(bucket, 'x');
      if (!version.ok) return version;
      const body = await engine.readVersion(version.value);
      if (!body.ok) return body;
      const bytes = await new Response(body.value).arrayBuffer().then(
        (b) => Buffer.from(b),
        () => null,
      );
      if (bytes === null) return { ok: false };
      expect(bytes.equals(LARGE), 'a read is correct or fails').toBe(true);
      return { ok: true };
    },
    after: expectStored('x', LARGE),
    events: 0,
  },
};
