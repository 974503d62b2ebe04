/**
 * Creates, finds, lists and aborts multipart uploads. `upload-parts.ts` stores their parts, `upload-completion.ts`
 * completes them. The row of an ended upload stays for a while, so that a repeated completion gets the first one's
 * answer.
 */
import { err, ok, type Result } from '../../../shared/pure/result.ts';
import { slotOf } from '../../domain/slots.ts';
import { databaseOf, type EngineContext } from '../model/context.ts';
import type {
  Bucket,
  CommonError,
  CreateUploadRequest,
  Engine,
  Proven,
  RenewedBucket,
  Unavailable,
  UploadError,
  UploadFacts,
} from '../model/contract.ts';
import { held, isCurrent, needsProof, proofGuardOf, REFUSED } from '../model/proof.ts';
import { NO_LOCK } from '../model/versions.ts';
import { toHex } from '../store/database.ts';
import type { GuardReason } from '../store/schema.ts';
import { selectParts, selectUpload, type UploadRow } from '../store/upload-query-store.ts';
import { abortStatements, insertUploadStatements } from '../store/upload-store.ts';
import { guardedWrite, OUTCOME_UNKNOWN, type WriteError } from './guarded-write.ts';

export const NO_SUCH_UPLOAD = { kind: 'no_such_upload' } as const;

export const shardOf = (bucket: Bucket, name: string): number => bucket.placement.shards[slotOf(name)] ?? 0;

/** A guarded batch on the shard of an upload. Repeating it changes nothing. */
interface UploadWrite<R> {
  readonly name: string;
  readonly make: (database: D1Database, bucket: Bucket) => D1PreparedStatement[];
  /** Maximum size in bytes that the batch adds. */
  readonly bytes?: number;
  readonly renew?: (() => Promise<Result<RenewedBucket, R>>) | undefined;
}

type UploadGuard = { readonly kind: 'guard'; readonly reason: GuardReason };

export async function writeUpload<R = never>(
  context: EngineContext,
  authorised: Bucket,
  { name, make, bytes = 0, renew }: UploadWrite<R>,
): Promise<Proven<null, Unavailable | UploadGuard | WriteError<R>>> {
  return await guardedWrite<null, null, Unavailable | UploadGuard, R>(context, authorised, {
    start: null,
    bytes,
    build(bucket) {
      const shard = shardOf(bucket, name);
      return ok({
        shard,
        statements: make(databaseOf(context, shard), bucket),
        toValue: () => null,
        toRepeated: async () => ok(null),
        toLost: async (reason) => err({ kind: 'unavailable', reason }),
        // After a lost answer, the batch may have been committed before, and its part may be in a completed object by now.
        decide: async (reason, wasLost) => ({
          kind: 'end',
          outcome: err(wasLost ? OUTCOME_UNKNOWN : { kind: 'guard', reason }),
        }),
      });
    },
    renew:
      renew &&
      (async (state) => {
        const renewed = await renew();
        return renewed.ok ? ok({ bucket: renewed.value, state }) : renewed;
      }),
  });
}

export async function createUpload(
  context: EngineContext,
  request: CreateUploadRequest,
): Promise<Proven<UploadFacts, CommonError>> {
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
  const done = await writeUpload(context, request.bucket, { name: request.name, make });
  if (done.ok) return held(upload);
  const { error, proof } = done;
  if (error.kind === 'refused') return error.error;
  return { ok: false, error: error.kind === 'guard' ? { kind: 'unavailable', reason: error.reason } : error, proof };
}

export async function findUpload(
  context: EngineContext,
  bucket: Bucket,
  name: string,
  uploadId: string,
): Promise<Proven<UploadRow, UploadError>> {
  const key = { bucketId: bucket.bucketId, slot: slotOf(name), name, uploadId };
  const found = await selectUpload(context, shardOf(bucket, name), key);
  if (!found.ok) return found;
  if (found.value === null) return err(NO_SUCH_UPLOAD);
  const { isOpen, generations } = found.value;
  const isProven = isOpen && isCurrent(generations, bucket, bucket.proof?.identity ?? null);
  return needsProof(bucket) && !isProven ? REFUSED : held(found.value);
}

export async function getUpload(
  context: EngineContext,
  bucket: Bucket,
  name: string,
  uploadId: string,
): Promise<Proven<UploadFacts, UploadError>> {
  const found = await findUpload(context, bucket, name, uploadId);
  if (!found.ok) return found;
  const { state, facts } = found.value;
  return state === 'open' ? held(facts) : { ok: false, error: NO_SUCH_UPLOAD, proof: 'held' };
}

export async function abortUpload(
  context: EngineContext,
  bucket: Bucket,
  name: string,
  uploadId: string,
): Promise<Proven<null, UploadError>> {
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
  const done = await writeUpload(context, bucket, { name, make });
  if (done.ok) return done;
  const { error, proof } = done;
  if (error.kind === 'refused') return error.error;
  return { ok: false, error: error.kind === 'guard' ? NO_SUCH_UPLOAD : error, proof };
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
  return held({
    upload: upload.value,
    parts: parts.value.slice(0, limit),
    isTruncated: parts.value.length > limit,
  });
}
