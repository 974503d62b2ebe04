/** Tests writes that copies of DIRECTORY authorised: the commit must detect every change and revocation that the shard knows. */
import { env } from 'cloudflare:test';
import { beforeEach, describe, expect, test } from 'vitest';
import { err, ok } from '../../../workers/shared/pure/result.ts';
import type {
  Bucket,
  Engine,
  Proof,
  ProofState,
  PutRequest,
  RenewedBucket,
} from '../../../workers/storage/engine/model/contract.ts';
import { type FaultPlan, faultyBuckets, faultyDatabase } from './faults.ts';
import { expectContent, failure, METADATA, makeBucket, makeEngine, patternOf, value, wipe } from './harness.ts';

beforeEach(wipe);

const REFUSED = 'access was revoked';
type Renew = NonNullable<PutRequest<typeof REFUSED>['renew']>;

/** Makes a bucket as a replica of DIRECTORY returns it. The bucket has generation 5, identity in the caller's home has 7. */
const fromCopies = (bucket: Bucket, generation: number | null = 7, home = 0): Bucket & { readonly proof: Proof } => ({
  ...bucket,
  generation: 5,
  proof: { identity: generation === null ? null : { home, generation } },
});

/** Makes a bucket as `renew` returns it: with a proof of the generations that DIRECTORY's primary has. */
const fromPrimary = (bucket: Bucket, identity: Proof['identity']): RenewedBucket => ({
  ...bucket,
  generation: 6,
  proof: { isPrimary: true, identity },
});

const know = (bucket: Bucket, generation: number | null) =>
  env.OBJECTS_0.prepare('UPDATE bucket SET generation = ?2 WHERE bucket_id = ?1')
    .bind(bucket.bucketId, generation)
    .run();
const knowIdentity = (generation: number, home = 0) =>
  env.OBJECTS_0.prepare('INSERT OR REPLACE INTO identity(one, generation) VALUES (?1, ?2)')
    .bind(home + 1, generation)
    .run();

interface Changed {
  readonly identityGeneration?: number | null;
  /** Number of the user database that has the credential. */
  readonly home?: number;
  /** Revocations of other databases that the shard knows: home and generation. */
  readonly others?: readonly (readonly [home: number, generation: number])[];
  readonly renew?: Renew;
}

/** Puts the object `x`. @returns the result, and how often the write was authorised again. */
async function putProven(engine: Engine, bucket: Bucket, content: Uint8Array, changed: Changed = {}) {
  let renewals = 0;
  const renew: Renew = async () => {
    renewals++;
    if (changed.renew) return await changed.renew();
    const identity = changed.identityGeneration === null ? null : { home: changed.home ?? 0, generation: 8 };
    return ok({ bucket: fromPrimary(bucket, identity), metadata: METADATA, tags: { from: 'the primary' } });
  };
  const copy = fromCopies(bucket, changed.identityGeneration, changed.home);
  const put = { bucket: copy, name: 'x', body: content, size: content.length, metadata: METADATA, renew };
  const result = await engine.putObject(put);
  if (result.ok) expect(result.proof).toBe('held');
  return { result, renewals };
}

describe.each([
  ['inline', patternOf(500)],
  ['in a blob', patternOf(20_000)],
] as const)('a write of bytes that are stored %s', (_, content) => {
  test.each([
    ['what the shard knows', 5, 7, {}, 0],
    ['less than the copies', 4, 6, {}, 0],
    ['a later change of the bucket', 6, 7, {}, 1],
    ['a later revocation', 5, 8, {}, 1],
    ['both', 6, 8, {}, 1],
    ['no generation of the bucket, after a rebuild', null, 7, {}, 1],
    ['no revocations, after a rebuild', 5, null, {}, 1],
    ['a later revocation, for an anonymous write', 5, 8, { identityGeneration: null }, 0],
    ['a later revocation of another database', 5, 7, { others: [[3, 99]] }, 0],
    ['what it needs of the second database', 5, 7, { home: 1, others: [[0, 99]] }, 0],
    ['a later revocation of the second database', 5, 8, { home: 1, others: [[0, 1]] }, 1],
    ['nothing of the second database', 5, null, { home: 1, others: [[0, 1]] }, 1],
  ] as [string, number | null, number | null, Changed, number][])(
    'is authorised again if the shard knows %s',
    async (_, generation, identity, changed, expected) => {
      const { engine } = makeEngine();
      const bucket = await makeBucket(engine);
      await know(bucket, generation);
      if (identity !== null) await knowIdentity(identity, changed.home);
      for (const [home, later] of changed.others ?? []) await knowIdentity(later, home);
      const { result, renewals } = await putProven(engine, bucket, content, changed);
      expect(value(result).tags).toEqual(expected === 1 ? { from: 'the primary' } : null);
      expect(renewals).toBe(expected);
      await expectContent(engine, bucket, 'x', content);
    },
  );

  test('stores nothing if it is not authorised any more', async () => {
    const { engine, context, settle } = makeEngine();
    const bucket = await makeBucket(engine);
    await know(bucket, 6);
    await knowIdentity(7);
    const { result } = await putProven(engine, bucket, content, { renew: async () => err(REFUSED) });
    expect(failure(result)).toEqual({ kind: 'refused', error: REFUSED });
    expect(failure(await engine.getVersion(bucket, 'x'))).toEqual({ kind: 'no_such_key' });
    await settle();
    for (const location of context.locations) expect((await location.list({ prefix: 'blobs/' })).objects).toEqual([]);
  });

  test('is never stored after an acknowledged change, whichever call the change precedes', async () => {
    let refused = 0;
    for (let at = 0; ; at++) {
      await wipe();
      const plan: FaultPlan = { at, how: 'meanwhile', calls: 0, hit: null };
      const { engine } = makeEngine();
      const bucket = await makeBucket(engine);
      await know(bucket, 5);
      await knowIdentity(7);
      let isChanged = false;
      plan.meanwhile = async () => {
        await (at % 2 === 0 ? know(bucket, 6) : knowIdentity(8));
        isChanged = true;
      };
      const watched = makeEngine({
        bindings: {
          OBJECTS_0: faultyDatabase(env.OBJECTS_0, plan),
          ...faultyBuckets(plan),
        },
      });
      const { result } = await putProven(watched.engine, bucket, content, { renew: async () => err(REFUSED) });
      await watched.settle();
      if (plan.hit === null) {
        expect(result.ok).toBe(true);
        break;
      }
      expect(isChanged).toBe(true);
      // Skip later calls, which belong to the removal of the refused body.
      expect(failure(result)).toEqual({ kind: 'refused', error: REFUSED });
      refused++;
    }
    expect(refused).toBeGreaterThan(0);
  });
});

/** Every engine call that takes a bucket with a proof. */
type Upload = Awaited<ReturnType<typeof openUpload>>;
type Prove = (
  engine: Engine,
  bucket: Bucket,
  upload: Upload,
) => Promise<{ readonly ok: boolean; readonly proof?: ProofState | undefined }>;

const CALLS: Readonly<Record<string, Prove>> = {
  async read(engine, bucket) {
    const read = await engine.beginRead(bucket.name, 'x').openProven(bucket, bucket.proof?.identity ?? null);
    return { ok: read.ok, proof: read.ok ? 'held' : 'refused' };
  },
  delete: (engine, bucket) => engine.deleteObject(bucket, { name: 'x' }),
  'delete of several': async (engine, bucket) => {
    const outcomes = await engine.deleteObjects(bucket, [{ name: 'x' }, { name: 'y', condition: { size: 1 } }]);
    return { ok: outcomes[0]?.ok === true, proof: outcomes[0]?.proof };
  },
  'create upload': (engine, bucket) => engine.createUpload({ bucket, name: 'u', metadata: METADATA }),
  'list objects': (engine, bucket) => engine.listObjects({ bucket, prefix: '', delimiter: '', from: '', limit: 9 }),
  'list objects, begun by the name of the bucket': (engine, bucket) => {
    const names = { prefix: '', delimiter: '', from: '', limit: 9 };
    engine.beginListing(bucket.name, names);
    return engine.listObjects({ bucket, ...names });
  },
  'list versions': (engine, bucket) => engine.listVersions({ bucket, prefix: '', delimiter: '/', from: '', limit: 9 }),
  'list uploads': (engine, bucket) => engine.listUploads({ bucket, prefix: '', delimiter: '', from: '', limit: 9 }),
  'get upload': (engine, bucket, { uploadId }) => engine.getUpload(bucket, 'x', uploadId),
  'complete upload': (engine, bucket, upload) =>
    engine.completeUpload({ bucket, name: 'x', ...upload, partBytesMin: 0 }),
  'abort upload': (engine, bucket, { uploadId }) => engine.abortUpload(bucket, 'x', uploadId),
};

/** Begins an upload of the object `x` with one part. */
async function openUpload(engine: Engine, bucket: Bucket) {
  const { uploadId } = value(await engine.createUpload({ bucket, name: 'x', metadata: METADATA }));
  const part = { bucket, name: 'x', uploadId, partNumber: 1, body: patternOf(100), size: 100 };
  const { etag } = value(await engine.putPart(part));
  return { uploadId, parts: [{ partNumber: 1, etag }] };
}

describe.each(Object.entries(CALLS))('%s', (_, call) => {
  test.each([
    ['what the shard knows', 5, 7, true],
    ['a later change of the bucket', 6, 7, false],
    ['a later revocation', 5, 8, false],
    ['no generation of the bucket', null, 7, false],
    ['that its slots are being moved', 5, 7, false],
  ] as const)('is proven or changes nothing: the shard knows %s', async (shown, generation, identity, isProven) => {
    const { engine } = makeEngine();
    const bucket = await makeBucket(engine);
    const content = patternOf(10);
    value(await engine.putObject({ bucket, name: 'x', body: content, size: 10, metadata: METADATA }));
    const upload = await openUpload(engine, bucket);
    await know(bucket, generation);
    await knowIdentity(identity);
    if (shown.includes('moved')) await env.OBJECTS_0.exec("UPDATE bucket SET slots = replace(slots, 'o', 's')");
    const copy = fromCopies(bucket);
    const { ok, proof } = await call(engine, copy, upload);
    expect({ ok, proof }).toEqual({ ok: isProven, proof: isProven ? 'held' : 'refused' });
    if (!isProven) await expectContent(engine, bucket, 'x', content);
  });
});
