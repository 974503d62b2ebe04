/** Stores parts of an upload: written from a body, or copied by reference to stored bytes. */
import { createHash } from 'node:crypto';
import { err, ok, type Result } from '../../../shared/pure/result.ts';
import { slotOf } from '../../domain/slots.ts';
import { toVersionOrder } from '../../domain/version-order.ts';
import { writeBody } from '../blobs/write-body.ts';
import type { EngineContext } from '../model/context.ts';
import type {
  BodyError,
  Bucket,
  Checksums,
  CopyPartRequest,
  PartFacts,
  Proven,
  PutPartRequest,
  ReadError,
  StoredVersion,
  UploadError,
  Verdict,
} from '../model/contract.ts';
import { held, proofGuardOf } from '../model/proof.ts';
import { type NewPart, putPartStatements } from '../store/upload-store.ts';
import { collectExtents } from './extents.ts';
import { discardBody } from './put-object.ts';
import { readVersion } from './reading.ts';
import { NO_SUCH_UPLOAD, shardOf, writeUpload } from './uploads.ts';
import { digestOf } from './writing.ts';

/** Maximum number of extents of a part that is copied by reference. If the range has more, its bytes are read and written again. */
const COPIED_EXTENTS_MAX = 200;

export async function putPart<E>(
  context: EngineContext,
  request: PutPartRequest<E>,
): Promise<Proven<PartFacts, UploadError | BodyError | Refused<E>>> {
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
    discardBody(context, written.value);
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
  if (!outcome.ok && outcome.error.kind !== 'unavailable') discardBody(context, written.value);
  if (outcome.ok) return outcome;
  const { error, proof } = outcome;
  return { ok: false, error: error.kind === 'no_such_version' ? NO_SUCH_UPLOAD : error, proof };
}

type Refused<E> = { readonly kind: 'refused'; readonly error: E };

async function commitPart<E>(
  context: EngineContext,
  request: Pick<PutPartRequest<E>, 'bucket' | 'name' | 'uploadId' | 'renew'>,
  partId: string,
  facts: PartFacts,
  data: NewPart['data'],
): Promise<Proven<PartFacts, UploadError | Refused<E> | { readonly kind: 'no_such_version' }>> {
  const slot = slotOf(request.name);
  const make = (database: D1Database, bucket: Bucket) =>
    putPartStatements(database, {
      bucketId: bucket.bucketId,
      proof: proofGuardOf(bucket),
      name: request.name,
      slot,
      uploadId: request.uploadId,
      partId,
      facts,
      data,
      nowMs: context.now(),
    });
  const { bucket: authorised, name, renew } = request;
  const done = await writeUpload<E>(context, authorised, { name, make, bytes: facts.size, renew });
  if (done.ok) return held(facts);
  const { error, proof } = done;
  if (error.kind !== 'guard') return { ok: false, error, proof };
  return { ok: false, error: { kind: error.reason === 'source_gone' ? 'no_such_version' : 'no_such_upload' }, proof };
}

export async function copyPart(
  context: EngineContext,
  request: CopyPartRequest,
): Promise<Proven<PartFacts, UploadError | ReadError>> {
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
  const lacksEtag = !(isWhole && source.partCount === null) && size <= MD5_RANGE_BYTES_MAX;
  if ((algorithm && known === undefined) || lacksEtag) {
    const digests = await digestOf(context, source, range, algorithm ? [algorithm] : []);
    if (!digests.ok) return digests;
    if (algorithm) checksums = { [algorithm]: digests.value.checksums[algorithm] ?? '' };
    etag = digests.value.md5;
  }
  const facts: PartFacts = { partNumber: request.partNumber, size, etag, modifiedAt: context.now(), checksums };
  const committed = await commitPart<never>(context, request, crypto.randomUUID(), facts, {
    kind: 'reference',
    extents: extents.value,
    source: {
      bucketId: source.handle.bucketId,
      name: source.name,
      order: toVersionOrder(source.versionId),
    },
  });
  if (committed.ok) return committed;
  const { error, proof } = committed;
  return error.kind === 'refused' ? error.error : { ok: false, error, proof };
}

/**
 * S3's ETag of a copied range is its MD5, so the range has to be read once. Clients copy ranges of 5 to 64 MiB. A longer range
 * would take seconds of CPU time, so it gets a synthetic ETag.
 */
const MD5_RANGE_BYTES_MAX = 64 * 1024 ** 2;

/**
 * Synthetic ETag of a copied range whose bytes are not read: the MD5 of its object id and bounds. Another copy of the same range
 * gets the same ETag. AWS allows it, because an ETag may or may not be an MD5 (UploadPartCopy).
 */
const syntheticEtag = (source: StoredVersion, range: { readonly start: number; readonly end: number }): string =>
  createHash('md5').update(`${source.objectId} ${range.start} ${range.end}`).digest('hex');

async function copyPartBytes(
  context: EngineContext,
  request: CopyPartRequest,
  range: { readonly start: number; readonly end: number },
): Promise<Proven<PartFacts, UploadError | ReadError>> {
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
  const { error, proof } = put;
  if (error.kind === 'body_failed' || error.kind === 'body_incomplete' || error.kind === 'refused') {
    return err({ kind: 'data_lost' });
  }
  return { ok: false, error, proof };
}
