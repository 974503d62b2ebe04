/** Pulls with a worker that is late, a source that does not answer, loses connections or sends other bytes, and the end of its secret. */

import { env } from 'cloudflare:test';
import { createHash } from 'node:crypto';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { sealSecret } from '../../../workers/identity/index.ts';
import { toSystemAuditRow } from '../../../workers/shared/audit/audit.ts';
import { toPullContext } from '../../../workers/storage/domain/pulls.ts';
import type { EngineContext } from '../../../workers/storage/engine/model/context.ts';
import type { Bucket, Engine } from '../../../workers/storage/engine/model/contract.ts';
import {
  cancelJob,
  findJob,
  insertJob,
  JOB_LEASE_MS,
  releaseJob,
  renewLease,
  saveJob,
  selectRunnable,
  takeJob,
} from '../../../workers/storage/engine/store/job-store.ts';
import { runJob } from '../../../workers/storage/maintenance/jobs.ts';
import { pullSecrets } from '../../../workers/storage/maintenance/pull-secrets.ts';
import { expectContent, makeBucket, makeEngine, patternOf, value, wipe } from './harness.ts';

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
const md5 = (text: string | Uint8Array): string => createHash('md5').update(text).digest('hex');

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

it('a worker of 0.2.0, which does not know pulls, takes none', async () => {
  let now = Date.now();
  const { engine, context } = makeEngine({ now: () => now });
  const bucket = await makeBucket(engine, 'enabled');
  const jobId = await startPull(context, bucket);
  /** Takes the job as 0.2.0 does. */
  const takeAsBefore = async (): Promise<number> => {
    const sql = `UPDATE storage_job SET state = 'running', holder = 'old', lease_until = ?2
       WHERE job_id = ?1 AND ended_at IS NULL AND lease_until <= ?3`;
    const taken = await context.directory
      .prepare(sql)
      .bind(jobId, now + JOB_LEASE_MS, now)
      .run();
    return taken.meta.changes;
  };
  expect(await takeAsBefore()).toBe(0);
  expect(await selectRunnable(context, 10)).toEqual([jobId]);
  expect((await takeJob(context, jobId, 'one'))?.jobId).toBe(jobId);
  expect(await takeJob(context, jobId, 'two')).toBeNull();
  expect(await selectRunnable(context, 10)).toEqual([]);
  await renewLease(context, jobId, 'one');
  now += 2 * JOB_LEASE_MS;
  expect(await takeAsBefore()).toBe(0);
  const job = await takeJob(context, jobId, 'two');
  if (job === null) throw new Error('the job was not taken');
  expect(await saveJob(context, job, 'two')).toBe(true);
  expect(await takeJob(context, jobId, 'three')).toBeNull();
  await releaseJob(context, jobId, 'two');
  expect(await takeAsBefore()).toBe(0);
  expect(await selectRunnable(context, 10)).toEqual([jobId]);
});

interface Read {
  readonly parameters: URLSearchParams;
  readonly headers: Headers;
}

/** Answers as an S3 server with one object. @param answerRead answers everything but listings. */
function serveObject(size: number, etag: string, answerRead: (read: Read) => Response): void {
  vi.spyOn(globalThis, 'fetch').mockImplementation(async (input, init) => {
    const { url, headers } = new Request(input, init);
    const parameters = new URL(url).searchParams;
    if (!parameters.has('versions')) return answerRead({ parameters, headers });
    return new Response(`<ListVersionsResult><IsTruncated>false</IsTruncated><Version><Key>k</Key><VersionId>v</VersionId>
      <IsLatest>true</IsLatest><LastModified>2026-01-01T00:00:00.000Z</LastModified><ETag>"${etag}"</ETag><Size>${size}</Size>
      </Version></ListVersionsResult>`);
  });
}
const answerOf = (body: BodyInit, length: number, etag: string, status = 200): Response =>
  new Response(body, { status, headers: { etag: `"${etag}"`, 'content-length': String(length) } });

it('an object in parts is pulled over several steps, and no part is stored twice', async () => {
  let now = Date.now();
  const { engine, context } = makeEngine({ now: () => now });
  const bucket = await makeBucket(engine, 'enabled');
  const jobId = await startPull(context, bucket);
  const parts = [patternOf(5_000, 1), patternOf(5_000, 2), patternOf(100, 3)];
  const etag = `${md5(Buffer.concat(parts.map((part) => Buffer.from(md5(part), 'hex'))))}-3`;
  const reads: number[] = [];
  let late = 0;
  const realNow = Date.now.bind(Date);
  vi.spyOn(Date, 'now').mockImplementation(() => realNow() + late);
  serveObject(10_100, etag, ({ parameters }) => {
    const number = Number(parameters.get('partNumber') ?? 0);
    const part = parts[number - 1];
    if (part === undefined) return new Response(null, { status: 404 });
    reads.push(number);
    // The first step has no time left after its first part, and in the second one the source does not answer for a part.
    if (reads.length === 1) late = 30_000;
    if (reads.length === 3) return new Response(null, { status: 503 });
    // A part that is stored must not be stored again: that would change the ETag.
    const body = number === 1 && reads.length > 1 ? patternOf(5_000, 9) : part;
    return answerOf(body, body.length, etag);
  });
  expect(await runJob(context, jobId)).toBe(false);
  expect((await findJob(context, jobId, null))?.cursor).toMatchObject({ after: '', failures: 1 });
  now += 2 * JOB_LEASE_MS;
  expect(await runJob(context, jobId)).toBe(false);
  expect(reads).toEqual([1, 1, 2, 1, 2, 3]);
  expect((await findJob(context, jobId, null))?.report.counts).toMatchObject({ versions_pulled: 1, bytes: 10_100 });
  await expectContent(engine, bucket, 'k', Buffer.concat(parts));
  expect(value(await engine.getVersion(bucket, 'k')).etag).toBe(etag);
  const uploads = await engine.listUploads({ bucket, prefix: '', delimiter: '', from: '', limit: 10 });
  expect(value(uploads).entries).toEqual([]);
});

it.each([
  ['goes on where the connection was lost', 206],
  ['stores nothing if the source has no ranges', 200],
])('a stream that is opened again %s', async (_, status) => {
  const { engine, context } = makeEngine();
  const bucket = await makeBucket(engine, 'enabled');
  const jobId = await startPull(context, bucket);
  const whole = patternOf(1_100_000);
  const etag = md5(whole);
  const ranges: unknown[] = [];
  serveObject(whole.length, etag, ({ parameters, headers }) => {
    if (parameters.has('acl') || parameters.has('ownershipControls')) return new Response(null, { status: 404 });
    const range = headers.get('range');
    ranges.push([range, headers.get('if-match')]);
    if (range !== null) return answerOf(whole.slice(400_000), 700_000, etag, status);
    let sent = 0;
    const pull = (controller: ReadableStreamDefaultController<Uint8Array>) =>
      sent++ === 0
        ? controller.enqueue(whole.slice(0, 400_000))
        : controller.error(new Error('the connection was lost'));
    return answerOf(new ReadableStream({ pull }), whole.length, etag);
  });
  await runJob(context, jobId);
  expect(ranges.slice(0, 2)).toEqual([
    [null, null],
    ['bytes=400000-', `"${etag}"`],
  ]);
  if (status === 206) await expectContent(engine, bucket, 'k', whole);
  else {
    expect(await pulledIds(engine, bucket)).toEqual([]);
    expect((await findJob(context, jobId, null))?.cursor).toMatchObject({ failures: 1 });
  }
});

it.each([
  ['asks for no ACL of a source without ACLs', 'BucketOwnerEnforced', 0],
  ['asks for the ACL of each version of a source that may have some', 'ObjectWriter', 1],
])('a pull %s', async (_, ownership, wanted) => {
  const { engine, context } = makeEngine();
  const bucket = await makeBucket(engine, 'enabled');
  const jobId = await startPull(context, bucket);
  let asked = 0;
  serveObject(3, md5('one'), ({ parameters }) => {
    if (parameters.has('acl')) {
      asked++;
      return new Response(null, { status: 404 });
    }
    const rule = `<OwnershipControls><Rule><ObjectOwnership>${ownership}</ObjectOwnership></Rule></OwnershipControls>`;
    return parameters.has('ownershipControls') ? new Response(rule) : answerOf('one', 3, md5('one'));
  });
  await runJob(context, jobId);
  expect(await pulledIds(engine, bucket)).toEqual(['v']);
  expect(asked).toBe(wanted);
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
