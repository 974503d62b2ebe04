/** Tests the usage of a bucket and of a user, counted over all shards. */
import { createExecutionContext, env } from 'cloudflare:test';
import { beforeEach, expect, it } from 'vitest';
import worker from '../../../workers/index.ts';
import { METADATA, makeBucket, makeEngine, patternOf, put, value, wipe } from './harness.ts';

beforeEach(wipe);

async function ask(query: string): Promise<{ status: number; body: Record<string, unknown> }> {
  const headers = { authorization: `Bearer ${(env as Env).ROOT_TOKEN}` };
  const request = new Request(`http://localhost/v1/storage/usage?${query}`, { headers });
  const answer = await worker.fetch(
    request as Request<unknown, IncomingRequestCfProperties>,
    env as Env,
    createExecutionContext(),
  );
  return { status: answer.status, body: await answer.json() };
}

it('counts versions, current objects and open uploads of a bucket, and all buckets of their owner', async () => {
  const { engine } = makeEngine({ shards: 3, limits: { bucketSpread: 3 } });
  const [bucket, other] = [await makeBucket(engine, 'enabled'), await makeBucket(engine, 'never')];
  for (let i = 0; i < 9; i++) await put(engine, bucket, `k${i}`, patternOf(100));
  await put(engine, bucket, 'k0', patternOf(50));
  value(await engine.deleteObject(bucket, { name: 'k1' }));
  await put(engine, other, 'k', patternOf(7));
  await put(engine, other, 'k', patternOf(8));
  const { uploadId } = value(await engine.createUpload({ bucket, name: 'm', metadata: METADATA }));
  const part = { bucket, name: 'm', uploadId, partNumber: 1, body: patternOf(30), size: 30 };
  value(await engine.putPart(part));
  expect(await ask(`bucket=${bucket.name}`)).toEqual({
    status: 200,
    body: { bytes: 980, objects: 8, versions: 10, uploads: 1 },
  });
  const all = { bytes: 988, objects: 9, versions: 11, uploads: 1 };
  expect((await ask(`user_id=${bucket.ownerId}`)).body).toEqual(all);
  expect((await ask('user_id=nobody')).body).toEqual({ bytes: 0, objects: 0, versions: 0, uploads: 0 });
});

it('refuses a request without a subject, with two subjects, or with an unknown bucket', async () => {
  for (const query of ['', 'bucket=a&user_id=b']) expect([query, (await ask(query)).status]).toEqual([query, 400]);
  expect((await ask('bucket=no-such-bucket')).body.code).toBe('no_such_bucket');
});
