/**
 * Multipart uploads. A part is a blob (or a reference to bytes that are there already), of any size; completing one is
 * metadata alone, in one batch, however many parts there are. The upload's row stays for a while when it is over, so that
 * a repeated completion gets the first one's answer.
 */
import { createHash } from 'node:crypto';
import { err, ok, type Result } from '../../shared/result.ts';
import { writeBody } from '../blobs/write-body.ts';
import { combineChecksums } from '../domain/checksums.ts';
import { slotOf } from '../domain/slots.ts';
import { fromVersionOrder, toVersionOrder } from '../domain/version-order.ts';
import type { GuardReason } from '../schema.ts';
import { type DatabaseFailure, readRows, runBatch, toHex } from '../store/database.ts';
import {
  abortStatements,
  COMPLETE_GUARDS,
  chosenPartsSql,
  completeStatements,
  insertUploadStatements,
  type NewPart,
  PART_COLUMNS,
  putPartStatements,
  toPartFacts,
  toUploadFacts,
  UPLOAD_COLUMNS,
} from '../store/upload-store.ts';
import { BucketWaiter, commitVersion } from './commit.ts';
import { allLocations, type EngineContext, pause } from './context.ts';
import type {
  BodyError,
  Bucket,
  Checksums,
  CommonError,
  CompleteError,
  CompleteUploadRequest,
  CopyPartRequest,
  CreateUploadRequest,
  Engine,
  PartFacts,
  PutPartRequest,
  ReadError,
  StoredVersion,
  UploadError,
  UploadFacts,
  Verdict,
  VersionFacts,
} from './contract.ts';
import { collectExtents } from './extents.ts';
import { getVersion, readVersion } from './reading.ts';
import { digestOf, forgetBody } from './writing.ts';

const NO_SUCH_UPLOAD = { kind: 'no_such_upload' } as const;
/** A part copied by reference may lie in this many extents; more are read and written anew. */
const COPIED_EXTENTS_MAX = 200;
/** S3: "Maximum object size 5 TB" (50 TB since December 2025; we keep to what one batch can describe). */
const OBJECT_BYTES_MAX = 5 * 1024 ** 4;

const shardOf = (bucket: Bucket, name: string): number => bucket.placement.shards[slotOf(name)] ?? 0;

/** Runs a guarded batch that may be sent again, through seals and moves. */
async function runGuarded(
  context: EngineContext,
  firstBucket: Bucket,
  name: string,
  make: (database: D1Database, bucket: Bucket) => D1PreparedStatement[],
): Promise<Result<null, CommonError | { readonly kind: 'guard'; readonly reason: GuardReason }>> {
  const waiter = new BucketWaiter(context);
  let bucket = firstBucket;
  let unknowns = 0;
  for (let attempt = 0; attempt < 24; attempt++) {
    const shard = shardOf(bucket, name);
    const database = context.shards[shard] as D1Database;
    const answer = await runBatch(context, database, make(database, bucket));
    if (answer.ok) return ok(null);
    const failure: DatabaseFailure = answer.error;
    if (failure.kind === 'unknown') {
      if (++unknowns > 3) return err({ kind: 'unavailable', reason: failure.reason });
      await pause(20 * 3 ** unknowns);
      continue;
    }
    if (failure.reason === 'already_committed') return ok(null);
    const step = await waiter.settle(bucket, shard, failure.reason);
    if (step === null) return err({ kind: 'guard', reason: failure.reason });
    if (step.kind === 'end') return err(step.error);
    bucket = step.bucket;
  }
  return err({ kind: 'unavailable', reason: 'the bucket is being changed' });
}

export async function createUpload(
  context: EngineContext,
  request: CreateUploadRequest,
): Promise<Result<UploadFacts, CommonError>> {
  const initiatedAt = context.now();
  const upload: UploadFacts = {
    // Time first, so that the uploads of one name are listed in the order they were begun.
    uploadId: `${initiatedAt.toString(16).padStart(12, '0')}${toHex(crypto.randomUUID())}`,
    name: request.name,
    initiatedAt,
    metadata: request.metadata,
    tags: request.tags ?? null,
    acl: request.acl ?? null,
    checksumAlgorithm: request.checksumAlgorithm ?? null,
    checksumType: request.checksumType ?? null,
  };
  const slot = slotOf(request.name);
  const done = await runGuarded(context, request.bucket, request.name, (database, bucket) =>
    insertUploadStatements(database, bucket.bucketId, slot, upload, initiatedAt + context.limits.abandonedUploadMs),
  );
  if (done.ok) return ok(upload);
  return err(done.error.kind === 'guard' ? { kind: 'unavailable', reason: done.error.reason } : done.error);
}

interface UploadRow {
  readonly facts: UploadFacts;
  readonly state: 'open' | 'completed' | 'aborted';
  readonly requestSha256: string;
  readonly versionId: string | null;
}

async function findUpload(
  context: EngineContext,
  bucket: Bucket,
  name: string,
  uploadId: string,
): Promise<Result<UploadRow, UploadError>> {
  const database = context.shards[shardOf(bucket, name)] as D1Database;
  const rows = await readRows(
    context,
    database
      .prepare(
        `SELECT ${UPLOAD_COLUMNS} FROM upload u WHERE u.bucket = (SELECT n FROM bucket WHERE bucket_id = ?1)
         AND u.name = CAST(?2 AS BLOB) AND u.upload_id = ?3`,
      )
      .bind(bucket.bucketId, name, uploadId),
  );
  if (!rows.ok) return rows;
  const row = rows.value[0];
  if (!row) return err(NO_SUCH_UPLOAD);
  return ok({
    facts: toUploadFacts(row),
    state: row.state as UploadRow['state'],
    requestSha256: String(row.request_sha256 ?? '').toLowerCase(),
    versionId: row.ord ? fromVersionOrder(String(row.ord)) : null,
  });
}

export async function getUpload(
  context: EngineContext,
  bucket: Bucket,
  name: string,
  uploadId: string,
): Promise<Result<UploadFacts, UploadError>> {
  const found = await findUpload(context, bucket, name, uploadId);
  if (!found.ok) return found;
  return found.value.state === 'open' ? ok(found.value.facts) : err(NO_SUCH_UPLOAD);
}

export async function putPart<E>(
  context: EngineContext,
  request: PutPartRequest<E>,
): Promise<Result<PartFacts, UploadError | BodyError | { readonly kind: 'refused'; readonly error: E }>> {
  const partId = crypto.randomUUID();
  const written = await writeBody(context, {
    body: request.body,
    size: request.size,
    checksums: request.checksums ?? [],
    mayBeInline: false,
    describe: (index) => ({
      kind: 'part',
      bucket_id: request.bucket.bucketId,
      bucket: request.bucket.name,
      name: Buffer.from(request.name).toString('base64url'),
      upload_id: request.uploadId,
      part_number: String(request.partNumber),
      object_id: partId,
      index: String(index),
    }),
  });
  if (!written.ok) return written;
  const { digests, blobs } = written.value;
  const verdict: Result<Verdict, E> = request.verify ? await request.verify(digests) : ok({});
  if (!verdict.ok) {
    forgetBody(context, written.value);
    return err({ kind: 'refused', error: verdict.error });
  }
  const facts: PartFacts = {
    partNumber: request.partNumber,
    size: digests.size,
    etag: verdict.value.etag ?? digests.md5,
    modifiedAt: context.now(),
    checksums: verdict.value.checksums ?? {},
  };
  const outcome = await commitPart(context, request, partId, facts, { kind: 'blobs', blobs });
  if (!outcome.ok && outcome.error.kind !== 'unavailable') forgetBody(context, written.value);
  return outcome.ok ? outcome : err(outcome.error.kind === 'no_such_version' ? NO_SUCH_UPLOAD : outcome.error);
}

async function commitPart(
  context: EngineContext,
  request: { readonly bucket: Bucket; readonly name: string; readonly uploadId: string },
  partId: string,
  facts: PartFacts,
  data: NewPart['data'],
): Promise<Result<PartFacts, UploadError | { readonly kind: 'no_such_version' }>> {
  const slot = slotOf(request.name);
  const done = await runGuarded(context, request.bucket, request.name, (database, bucket) =>
    putPartStatements(database, {
      bucketId: bucket.bucketId,
      name: request.name,
      slot,
      uploadId: request.uploadId,
      partId,
      facts,
      data,
      allLocations: allLocations(context),
      nowMs: context.now(),
    }),
  );
  if (done.ok) return ok(facts);
  if (done.error.kind !== 'guard') return err(done.error);
  return err({ kind: done.error.reason === 'source_gone' ? 'no_such_version' : 'no_such_upload' });
}

export async function copyPart(
  context: EngineContext,
  request: CopyPartRequest,
): Promise<Result<PartFacts, UploadError | ReadError>> {
  const { source, bucket, name } = request;
  const range = request.range ?? { start: 0, end: source.size - 1 };
  const size = range.end - range.start + 1;
  const isWhole = size === source.size;
  const algorithm = request.checksum ?? null;
  const known = algorithm && isWhole && source.checksumType !== 'COMPOSITE' ? source.checksums[algorithm] : undefined;
  const isNear = shardOf(bucket, name) === source.handle.shard && source.handle.inline === null && size > 0;
  const extents = isNear ? await collectExtents(context, source, range, COPIED_EXTENTS_MAX) : ok(null);
  if (!extents.ok) return extents;
  if (extents.value === null) return await copyPartBytes(context, request, range);
  let checksums: Checksums = algorithm && known !== undefined ? { [algorithm]: known } : {};
  let etag = isWhole && source.partCount === null ? source.etag : syntheticEtag(source, range);
  if (algorithm && known === undefined) {
    const digests = await digestOf(context, source, range, algorithm);
    if (!digests.ok) return digests;
    checksums = { [algorithm]: digests.value.checksums[algorithm] ?? '' };
    etag = digests.value.md5;
  }
  const facts: PartFacts = { partNumber: request.partNumber, size, etag, modifiedAt: context.now(), checksums };
  return await commitPart(context, request, crypto.randomUUID(), facts, {
    kind: 'reference',
    extents: extents.value,
    source: {
      bucketId: source.handle.bucketId,
      name: source.name,
      order: toVersionOrder(source.versionId),
    },
  });
}

/**
 * No byte is read, so there is no MD5 of the range: the etag is that of what names it. (AWS, UploadPartCopy: an etag may or
 * may not be an MD5.) It is the same whenever the same range is copied again.
 */
const syntheticEtag = (source: StoredVersion, range: { readonly start: number; readonly end: number }): string =>
  createHash('md5').update(`${source.objectId} ${range.start} ${range.end}`).digest('hex');

async function copyPartBytes(
  context: EngineContext,
  request: CopyPartRequest,
  range: { readonly start: number; readonly end: number },
): Promise<Result<PartFacts, UploadError | ReadError>> {
  const body = await readVersion(context, request.source, range);
  if (!body.ok) return body;
  const algorithm = request.checksum ?? null;
  const put = await putPart<never>(context, {
    bucket: request.bucket,
    name: request.name,
    uploadId: request.uploadId,
    partNumber: request.partNumber,
    body: body.value,
    size: range.end - range.start + 1,
    checksums: algorithm ? [algorithm] : [],
    verify: (digests) => ok(algorithm ? { checksums: { [algorithm]: digests.checksums[algorithm] ?? '' } } : {}),
  });
  if (put.ok) return put;
  const { error } = put;
  if (error.kind === 'body_failed' || error.kind === 'body_incomplete' || error.kind === 'refused') {
    return err({ kind: 'data_lost' });
  }
  return err(error);
}

interface ChosenPart extends PartFacts {
  readonly partId: string;
}

async function findChosenParts(
  context: EngineContext,
  request: CompleteUploadRequest,
): Promise<Result<Map<number, ChosenPart>, CommonError>> {
  const database = context.shards[shardOf(request.bucket, request.name)] as D1Database;
  const list = JSON.stringify(request.parts.map((part) => [part.partNumber, part.etag]));
  const rows = await readRows(
    context,
    database
      .prepare(`SELECT ${PART_COLUMNS}, hex(p.object_id) AS part_id FROM ${chosenPartsSql('?2', '?1')}`)
      .bind(request.uploadId, list),
  );
  if (!rows.ok) return rows;
  const parts = rows.value.map((row) => ({ ...toPartFacts(row), partId: String(row.part_id) }));
  return ok(new Map(parts.map((part) => [part.partNumber, part])));
}

/** What the whole object will be, or why the list cannot be completed. */
function judgeParts(
  request: CompleteUploadRequest,
  upload: UploadFacts,
  found: ReadonlyMap<number, ChosenPart>,
): Result<{ chosen: ChosenPart[]; size: number; checksums: Checksums }, CompleteError> {
  const { checksumAlgorithm: algorithm, checksumType } = upload;
  const chosen: ChosenPart[] = [];
  let size = 0;
  for (const [index, part] of request.parts.entries()) {
    const { partNumber } = part;
    const held = found.get(partNumber);
    if (!held) return err({ kind: 'invalid_part', partNumber });
    if (part.checksum !== undefined && algorithm && held.checksums[algorithm] !== part.checksum) {
      return err({ kind: 'invalid_part', partNumber });
    }
    const isLast = index === request.parts.length - 1;
    if (!isLast && held.size < request.partBytesMin) {
      return err({ kind: 'part_too_small', partNumber, size: held.size, etag: held.etag });
    }
    chosen.push(held);
    size += held.size;
  }
  if (request.size !== undefined && request.size !== size) return err({ kind: 'size_mismatch', size });
  if (size > OBJECT_BYTES_MAX) return err({ kind: 'too_large', size });
  let checksums: Checksums = {};
  if (algorithm && chosen.every((part) => part.checksums[algorithm] !== undefined)) {
    const pieces = chosen.map((part) => ({ value: part.checksums[algorithm] ?? '', sizeBytes: part.size }));
    checksums = { [algorithm]: combineChecksums(algorithm, checksumType ?? 'COMPOSITE', pieces).value };
  }
  const promised = request.checksum;
  if (promised !== undefined && algorithm) {
    const made = checksums[algorithm];
    // A composite one may be given without its `-N`.
    if (made !== promised && made?.replace(/-\d+$/, '') !== promised)
      return err({ kind: 'bad_checksum', partNumber: null });
  }
  return ok({ chosen, size, checksums });
}

/** S3's etag of a multipart object: the MD5 of the parts' MD5s, and how many there were. */
function etagOfParts(parts: readonly PartFacts[]): string {
  const whole = createHash('md5');
  for (const part of parts) whole.update(Buffer.from(part.etag, 'hex'));
  return `${whole.digest('hex')}-${parts.length}`;
}

export async function completeUpload(
  context: EngineContext,
  request: CompleteUploadRequest,
): Promise<Result<VersionFacts, CompleteError>> {
  const requestSha256 = createHash('sha256')
    .update(JSON.stringify(request.parts.map((part) => [part.partNumber, part.etag])))
    .digest('hex');
  for (let attempt = 0; attempt < 4; attempt++) {
    const [upload, found] = await Promise.all([
      findUpload(context, request.bucket, request.name, request.uploadId),
      findChosenParts(context, request),
    ]);
    if (!upload.ok) return upload;
    if (!found.ok) return found;
    if (upload.value.state !== 'open') return await answerAgain(context, request, upload.value, requestSha256);
    const judged = judgeParts(request, upload.value.facts, found.value);
    if (!judged.ok) return judged;
    const outcome = await commitUpload(context, request, upload.value.facts, judged.value, requestSha256);
    if (outcome.ok) return outcome;
    // Somebody completed it, aborted it or sent a part again meanwhile: look anew.
    if (outcome.error.kind !== 'lost') {
      return err(outcome.error.kind === 'source_gone' ? NO_SUCH_UPLOAD : outcome.error);
    }
  }
  return err({ kind: 'unavailable', reason: 'the upload is being changed' });
}

function commitUpload(
  context: EngineContext,
  request: CompleteUploadRequest,
  upload: UploadFacts,
  judged: { readonly chosen: readonly ChosenPart[]; readonly size: number; readonly checksums: Checksums },
  requestSha256: string,
) {
  const objectId = crypto.randomUUID();
  const { chosen, size, checksums } = judged;
  const list = JSON.stringify(chosen.map((part) => [part.partNumber, part.etag, part.partId]));
  return commitVersion(context, {
    bucket: request.bucket,
    name: request.name,
    facts: {
      isMarker: false,
      objectId,
      size,
      etag: etagOfParts(chosen),
      sha256: null,
      checksums,
      checksumType: Object.keys(checksums).length === 0 ? null : upload.checksumType,
      partCount: chosen.length,
      metadata: upload.metadata,
      tags: upload.tags,
      acl: upload.acl,
    },
    data: {
      kind: 'upload',
      statements: (prepare) =>
        completeStatements(prepare, {
          uploadId: request.uploadId,
          list,
          objectId,
          requestSha256,
          nowMs: context.now(),
        }),
    },
    condition: request.condition,
    furtherGuards: { sql: COMPLETE_GUARDS, parameters: [request.uploadId, list, chosen.length] },
  });
}

/** A completion sent again gets the answer of the first, if it asks for the same. */
async function answerAgain(
  context: EngineContext,
  request: CompleteUploadRequest,
  upload: UploadRow,
  requestSha256: string,
): Promise<Result<VersionFacts, CompleteError>> {
  if (upload.state !== 'completed' || upload.requestSha256 !== requestSha256 || upload.versionId === null) {
    return err(NO_SUCH_UPLOAD);
  }
  const version = await getVersion(context, request.bucket, request.name, { versionId: upload.versionId });
  if (version.ok) return version;
  return err(version.error.kind === 'unavailable' ? version.error : NO_SUCH_UPLOAD);
}

export async function abortUpload(
  context: EngineContext,
  bucket: Bucket,
  name: string,
  uploadId: string,
): Promise<Result<null, UploadError>> {
  const slot = slotOf(name);
  const done = await runGuarded(context, bucket, name, (database, holder) =>
    abortStatements(database, { bucketId: holder.bucketId, name, slot, uploadId, nowMs: context.now() }),
  );
  if (done.ok) return ok(null);
  return err(done.error.kind === 'guard' ? NO_SUCH_UPLOAD : done.error);
}

export async function listParts(
  context: EngineContext,
  bucket: Bucket,
  name: string,
  uploadId: string,
  { after, limit }: { readonly after: number; readonly limit: number },
): ReturnType<Engine['listParts']> {
  const database = context.shards[shardOf(bucket, name)] as D1Database;
  const [upload, rows] = await Promise.all([
    getUpload(context, bucket, name, uploadId),
    readRows(
      context,
      database
        .prepare(
          `SELECT ${PART_COLUMNS} FROM part p WHERE p.upload_id = ?1 AND p.part_number > ?2 ORDER BY p.part_number LIMIT ?3`,
        )
        .bind(uploadId, after, limit + 1),
    ),
  ]);
  if (!upload.ok) return upload;
  if (!rows.ok) return rows;
  return ok({
    upload: upload.value,
    parts: rows.value.slice(0, limit).map(toPartFacts),
    isTruncated: rows.value.length > limit,
  });
}
