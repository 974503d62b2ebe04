/** Pulls with a worker that is late, a source that does not answer or sends other bytes, and the end of the source's secret. */

import { env } from 'cloudflare:test';
import { createHash } from 'node:crypto';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { sealSecret } from '../../../workers/identity/index.ts';
import { toSystemAuditRow } from '../../../workers/shared/audit/audit.ts';
import { toPullContext } from '../../../workers/storage/domain/pulls.ts';
import type { EngineContext } from '../../../workers/storage/engine/model/context.ts';
import type { Bucket, Engine } from '../../../workers/storage/engine/model/contract.ts';
import { cancelJob, findJob, insertJob, JOB_LEASE_MS } from '../../../workers/storage/engine/store/job-store.ts';
import { runJob } from '../../../workers/storage/maintenance/jobs.ts';
import { pullSecrets } from '../../../workers/storage/maintenance/pull-secrets.ts';
import { makeBucket, makeEngine, value, wipe } from './harness.ts';

beforeEach(wipe);
afterEach(() => vi.restoreAllMocks());

interface Listed {
  readonly id: string;
  /** Null for a delete marker. */
  readonly body: string | null;
}
const VERSIONS: readonly Listed[] = [
  { id: 'v1', body: 'one' },
  { id: 'v2', body: null },
  { id: 'v3', body: 'three' },
];
const md5 = (text: string): string => createHash('md5').update(text).digest('hex');

/** Answers as an S3 server whose bucket has the versions of one name. @param answerRead replaces its answer to a read. */
function serve(answerRead: (id: string, body: string) => Promise<string> = async (_, body) => body): void {
  vi.spyOn(globalThis, 'fetch').mockImplementation(async (input, init) => {
    const { searchParams } = new URL(new Request(input, init).url);
    if (searchParams.has('versions')) {
      const items = VERSIONS.map(({ id, body }, at) => {
        const name = body === null ? 'DeleteMarker' : 'Version';
        const facts = body === null ? '' : `<ETag>"${md5(body)}"</ETag><Size>${body.length}</Size>`;
        const isLatest = at === VERSIONS.length - 1;
        return `<${name}><Key>k</Key><VersionId>${id}</VersionId><IsLatest>${isLatest}</IsLatest>
          <LastModified>2026-01-0${at + 1}T00:00:00.000Z</LastModified>${facts}</${name}>`;
      });
      return new Response(
        `<ListVersionsResult><IsTruncated>false</IsTruncated>${items.reverse().join('')}</ListVersionsResult>`,
      );
    }
    const id = searchParams.get('versionId') ?? '';
    const body = VERSIONS.find((version) => version.id === id)?.body ?? null;
    if (body === null || searchParams.has('acl')) return new Response(null, { status: 404 });
    return new Response(await answerRead(id, body), { headers: { etag: `"${md5(body)}"` } });
  });
}

async function startPull(context: EngineContext, { bucketId }: Bucket): Promise<string> {
  const jobId = crypto.randomUUID();
  const source = { endpoint: 'https://s3.example.com', bucket: 'b', prefix: '', region: 'r', accessKeyId: 'a' };
  const order = {
    kind: 'pull',
    prefix: '',
    source,
    rate: { bytesPerSecond: null, requestsPerSecond: null },
    sealed: sealSecret('the secret', toPullContext(jobId), env),
  } as const;
  const request = { jobId, bucketId, userId: null, order, isDryRun: false, scopes: null };
  expect(await insertJob(context, request, auditOf(context, bucketId))).toBe(true);
  return jobId;
}
const auditOf = (context: EngineContext, id: string) =>
  toSystemAuditRow({
    at: context.now(),
    id: crypto.randomUUID(),
    action: 'storage_job.start',
    target: { type: 'bucket', id },
    details: {},
  });

async function pulledIds(engine: Engine, bucket: Bucket): Promise<unknown[]> {
  const page = value(await engine.listVersions({ bucket, prefix: '', delimiter: '', from: '', limit: 100 }));
  const items = page.entries.flatMap((entry) => (entry.kind === 'item' ? [entry.item] : []));
  return items.map(({ metadata }) => (metadata.extra?.pulled as { id: string } | undefined)?.id).reverse();
}
const sealedOf = async ({ directory }: EngineContext, jobId: string) =>
  directory
    .prepare("SELECT json_extract(job, '$.order.sealed') AS sealed FROM storage_job WHERE job_id = ?1")
    .bind(jobId)
    .first<string | null>('sealed');

it('a late worker of a pull writes no version a second time, and loses its lease', async () => {
  let now = Date.now();
  const { engine, context } = makeEngine({ now: () => now });
  const bucket = await makeBucket(engine, 'enabled');
  const jobId = await startPull(context, bucket);
  const { promise: gate, resolve: open } = Promise.withResolvers<void>();
  let reads = 0;
  serve(async (_, body) => {
    // The first worker waits for its first body until the second one has done the whole work.
    if (++reads === 1) await gate;
    return body;
  });
  const late = runJob(context, jobId);
  await vi.waitFor(() => expect(reads).toBe(1));
  now += 2 * JOB_LEASE_MS;
  expect(await runJob(context, jobId)).toBe(false);
  const done = await findJob(context, jobId, null);
  open();
  expect(await late).toBe(false);
  expect(await pulledIds(engine, bucket)).toEqual(['v1', 'v2', 'v3']);
  expect(await findJob(context, jobId, null)).toEqual(done);
  expect([done?.state, done?.report.counts]).toMatchObject(['done', { versions_pulled: 2, markers_pulled: 1 }]);
  expect(await sealedOf(context, jobId)).toBeNull();
});

it('a pull that is interrupted after any write continues with the next version', async () => {
  let now = Date.now();
  const { engine, context } = makeEngine({ now: () => now });
  const bucket = await makeBucket(engine, 'enabled');
  const jobId = await startPull(context, bucket);
  serve(async (id, body) => {
    if (id === 'v3' && now < Date.now() + JOB_LEASE_MS) throw new Error('the connection was lost');
    return body;
  });
  expect(await runJob(context, jobId)).toBe(false);
  expect(await pulledIds(engine, bucket)).toEqual(['v1', 'v2']);
  expect((await findJob(context, jobId, null))?.cursor).toMatchObject({ after: '', failures: 1 });
  // The lease stays for a while, so that the source is not asked without a pause.
  expect(await runJob(context, jobId)).toBe(false);
  now += 2 * JOB_LEASE_MS;
  await runJob(context, jobId);
  expect(await pulledIds(engine, bucket)).toEqual(['v1', 'v2', 'v3']);
});

it('bytes that are not those of the ETag are never stored', async () => {
  const { engine, context } = makeEngine();
  const bucket = await makeBucket(engine, 'enabled');
  const jobId = await startPull(context, bucket);
  serve(async (id, body) => (id === 'v3' ? 'thrEe' : body));
  await runJob(context, jobId);
  expect(await pulledIds(engine, bucket)).toEqual(['v1', 'v2']);
  const { report } = (await findJob(context, jobId, null)) ?? {};
  expect(report?.obstacles).toEqual([{ key: 'k', reason: 'damaged', version_id: 'v3' }]);
});

it('a cancelled pull has no secret, and that of an open one is sealed with a new key', async () => {
  const { engine, context } = makeEngine();
  const bucket = await makeBucket(engine, 'enabled');
  const jobId = await startPull(context, bucket);
  const before = String(await sealedOf(context, jobId));
  expect(before).not.toContain('the secret');
  const [listed] = await pullSecrets.list(env, '', 10);
  expect(listed).toEqual({ key: jobId, context: toPullContext(jobId), sealed: before });
  await pullSecrets.replace(env, jobId, before, 'sealed again');
  expect(await sealedOf(context, jobId)).toBe('sealed again');
  expect(await cancelJob(context, jobId, auditOf(context, bucket.bucketId))).toBe(true);
  expect(await sealedOf(context, jobId)).toBeNull();
});

/** Answers every request with a listing, and each read with the body `x`. @param toList writes the listing of a request. */
function list(toList: (query: URLSearchParams) => BodyInit): { count: () => number } {
  const calls = vi.spyOn(globalThis, 'fetch').mockImplementation(async (input, init) => {
    const { searchParams } = new URL(new Request(input, init).url);
    if (searchParams.has('versions')) return new Response(toList(searchParams));
    return new Response('x', { headers: { etag: `"${md5('x')}"` } });
  });
  return { count: () => calls.mock.calls.length };
}
const pageOf = (items: string, more = '<IsTruncated>false</IsTruncated>') =>
  `<ListVersionsResult><EncodingType>url</EncodingType>${more}${items}</ListVersionsResult>`;
const itemOf = (key: string, size = '1', id = 'v') =>
  `<Version><Key>${key}</Key><VersionId>${id}</VersionId><Size>${size}</Size><ETag>"${md5('x')}"</ETag></Version>`;
const TRUNCATED =
  '<IsTruncated>true</IsTruncated><NextKeyMarker>k</NextKeyMarker><NextVersionIdMarker>v</NextVersionIdMarker>';

/** A body without an end. It counts how many of its megabytes were read. */
function endless(read: { megabytes: number }): ReadableStream<Uint8Array> {
  const chunk = new Uint8Array(1024 ** 2).fill(32);
  return new ReadableStream({
    pull(controller) {
      if (++read.megabytes > 60) controller.error(new Error('the body was read too far'));
      else controller.enqueue(chunk);
    },
  });
}

it.each([
  ['a key with a broken escape', pageOf(itemOf('%E0%A4%A'))],
  ['half of a surrogate pair', pageOf(itemOf('a&#xD800;b'))],
  ['no key', pageOf(itemOf(''))],
  ['no number as a size', pageOf(itemOf('k', 'many'))],
  ['a negative size', pageOf(itemOf('k', '-1'))],
  ['a long version id', pageOf(itemOf('k', '1', 'v'.repeat(3_000)))],
  ['entities', `<!DOCTYPE a [<!ENTITY b "c">]>${pageOf(itemOf('&b;'))}`],
])('a pull ends with source_refused if the source lists %s', async (_, answer) => {
  const { engine, context } = makeEngine();
  const jobId = await startPull(context, await makeBucket(engine, 'enabled'));
  list(() => answer);
  await runJob(context, jobId);
  expect(await findJob(context, jobId, null)).toMatchObject({ state: 'failed', error: 'source_refused' });
});

it.each([
  ['repeats a position with no version', (more: URLSearchParams) => (more.has('version-id-marker') ? '' : itemOf('k'))],
  ['gives the same page for each position', () => itemOf('j')],
])('a pull ends with source_refused if the source %s', async (_, itemsFor) => {
  const { engine, context } = makeEngine();
  const jobId = await startPull(context, await makeBucket(engine, 'enabled'));
  const calls = list((query) => {
    if (calls.count() > 1_000) throw new Error('the source was asked too often');
    return pageOf(itemsFor(query), TRUNCATED);
  });
  await runJob(context, jobId);
  expect(await findJob(context, jobId, null)).toMatchObject({ state: 'failed', error: 'source_refused' });
});

it('reads neither an endless listing nor an endless object to the end', async () => {
  const { engine, context } = makeEngine();
  const bucket = await makeBucket(engine, 'enabled');
  const [listing, object] = [{ megabytes: 0 }, { megabytes: 0 }];
  const first = await startPull(context, bucket);
  list(() => endless(listing));
  await runJob(context, first);
  expect(await findJob(context, first, null)).toMatchObject({ error: 'source_refused' });
  const second = await startPull(context, bucket);
  vi.spyOn(globalThis, 'fetch').mockImplementation(async (input, init) => {
    const { searchParams } = new URL(new Request(input, init).url);
    if (searchParams.has('versions')) return new Response(pageOf(itemOf('k')));
    if (searchParams.has('acl')) return new Response(null, { status: 404 });
    return new Response(endless(object), { headers: { etag: `"${md5('x')}"` } });
  });
  await runJob(context, second);
  expect((await findJob(context, second, null))?.report.obstacles).toMatchObject([{ key: 'k', reason: 'damaged' }]);
  expect([listing.megabytes < 10, object.megabytes < 10]).toEqual([true, true]);
});
