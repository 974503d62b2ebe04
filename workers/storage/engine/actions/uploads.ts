/**
 * Creates, finds, lists and aborts multipart uploads. `upload-parts.ts` stores their parts, `upload-completion.ts`
 * completes them. The row of an ended upload stays for a while, so that a repeated completion gets the first one's
 * answer.
 */
import { err, ok, type Result } from '../../../shared/pure/result.ts';
import { slotOf } from '../../domain/slots.ts';
import { databaseOf, type EngineContext, pause } from '../model/context.ts';
import type {
  Bucket,
  CommonError,
  CreateUploadRequest,
  Engine,
  RenewedBucket,
  UploadError,
  UploadFacts,
} from '../model/contract.ts';
import { holdProof, isCurrent, proofGuardOf, RENEWALS_MAX, refuseUnproven } from '../model/proof.ts';
import { NO_LOCK } from '../model/versions.ts';
import { type DatabaseFailure, runBatch, toHex } from '../store/database.ts';
import type { GuardReason } from '../store/schema.ts';
import { selectParts, selectUpload, type UploadRow } from '../store/upload-query-store.ts';
import { abortStatements, insertUploadStatements } from '../store/upload-store.ts';
import { BucketWaiter, OUTCOME_UNKNOWN } from './commit.ts';

export const NO_SUCH_UPLOAD = { kind: 'no_such_upload' } as const;

export const shardOf = (bucket: Bucket, name: string): number => bucket.placement.shards[slotOf(name)] ?? 0;

/** A guarded, repeatable batch on the shard of an upload. */
interface GuardedBatch<E> {
  readonly name: string;
  readonly make: (database: D1Database, bucket: Bucket) => D1PreparedStatement[];
  /** Maximum size in bytes that the batch adds. */
  readonly bytes?: number;
  /** Authorises the write again. Set if the client cannot be asked to send the request again. */
  readonly renew?: (() => Promise<Result<RenewedBucket, E>>) | undefined;
}

type GuardedError<E> =
  | CommonError
  | { readonly kind: 'guard'; readonly reason: GuardReason }
  | { readonly kind: 'refused'; readonly error: E };

/** Runs a guarded batch. Waits until seals are removed and slot moves end. */
export async function runGuarded<E = never>(
  context: EngineContext,
  firstBucket: Bucket,
  { name, make, bytes = 0, renew }: GuardedBatch<E>,
): Promise<Result<null, GuardedError<E>>> {
  const waiter = new BucketWaiter(context, bytes);
  let bucket = firstBucket;
  let unknowns = 0;
  let renewals = 0;
  for (let attempt = 0; attempt - renewals < 24; attempt++) {
    const shard = shardOf(bucket, name);
    const database = databaseOf(context, shard);
    const answer = await runBatch(context, database, make(database, bucket));
    if (answer.ok) holdProof(bucket);
    if (answer.ok) return ok(null);
    const failure: DatabaseFailure = answer.error;
    if (failure.kind === 'unknown') {
      if (++unknowns > 3) return err({ kind: 'unavailable', reason: failure.reason });
      await pause(20 * 3 ** unknowns);
      continue;
    }
    if (failure.reason === 'already_committed') return ok(null);
    const step = await waiter.settle(bucket, shard, failure.reason);
    if (step?.kind === 'end' && bucket.proof?.state === 'refused' && renew && renewals < RENEWALS_MAX) {
      renewals++;
      const renewed = await renew();
      if (!renewed.ok) return err(unknowns > 0 ? OUTCOME_UNKNOWN : { kind: 'refused', error: renewed.error });
      bucket = renewed.value;
      continue;
    }
    // After a lost answer, the batch may have been committed before, and its part may be in a completed object by now.
    if (unknowns > 0 && (step === null || step.kind === 'end')) return err(OUTCOME_UNKNOWN);
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
    // The time is the first part of the id, so that the uploads of a name are listed in the order of their creation.
    uploadId: `${initiatedAt.toString(16).padStart(12, '0')}${toHex(crypto.randomUUID())}`,
    name: request.name,
    initiatedAt,
    metadata: request.metadata,
    tags: request.tags ?? null,
    acl: request.acl ?? null,
    lock: request.lock ?? NO_LOCK,
    checksumAlgorithm: request.checksumAlgorithm ?? null,
    checksumType: request.checksumType ?? null,
  };
  const slot = slotOf(request.name);
  const make = (database: D1Database, bucket: Bucket) =>
    insertUploadStatements(database, {
      bucketId: bucket.bucketId,
      proof: proofGuardOf(bucket),
      slot,
      upload,
      dueAt: initiatedAt + context.limits.abandonedUploadMs,
    });
  const done = await runGuarded(context, request.bucket, { name: request.name, make });
  if (done.ok) return ok(upload);
  if (done.error.kind === 'refused') return done.error.error;
  return err(done.error.kind === 'guard' ? { kind: 'unavailable', reason: done.error.reason } : done.error);
}

export async function findUpload(
  context: EngineContext,
  bucket: Bucket,
  name: string,
  uploadId: string,
): Promise<Result<UploadRow, UploadError>> {
  const key = { bucketId: bucket.bucketId, slot: slotOf(name), name, uploadId };
  const found = await selectUpload(context, shardOf(bucket, name), key);
  if (!found.ok) return found;
  if (found.value === null) return err(NO_SUCH_UPLOAD);
  if (bucket.proof?.state === 'open') {
    const { isOpen, generations } = found.value;
    if (isOpen && isCurrent(generations, bucket, bucket.proof.identity)) holdProof(bucket);
  }
  return refuseUnproven(bucket) ?? ok(found.value);
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

export async function abortUpload(
  context: EngineContext,
  bucket: Bucket,
  name: string,
  uploadId: string,
): Promise<Result<null, UploadError>> {
  const slot = slotOf(name);
  const make = (database: D1Database, holder: Bucket) =>
    abortStatements(database, {
      bucketId: holder.bucketId,
      proof: proofGuardOf(holder),
      name,
      slot,
      uploadId,
      nowMs: context.now(),
    });
  const done = await runGuarded(context, bucket, { name, make });
  if (done.ok) return ok(null);
  if (done.error.kind === 'refused') return done.error.error;
  return err(done.error.kind === 'guard' ? NO_SUCH_UPLOAD : done.error);
}

export async function listParts(
  context: EngineContext,
  bucket: Bucket,
  name: string,
  uploadId: string,
  { after, limit }: { readonly after: number; readonly limit: number },
): ReturnType<Engine['listParts']> {
  const [upload, parts] = await Promise.all([
    getUpload(context, bucket, name, uploadId),
    selectParts(context, shardOf(bucket, name), { uploadId, after, limit: limit + 1 }),
  ]);
  if (!upload.ok) return upload;
  if (!parts.ok) return parts;
  return ok({
    upload: upload.value,
    parts: parts.value.slice(0, limit),
    isTruncated: parts.value.length > limit,
  });
}
