/** Completes an upload. Only metadata changes, in one batch, for any number of parts. */
import { createHash } from 'node:crypto';
import { err, ok, type Result } from '../../../shared/pure/result.ts';
import { combineChecksums } from '../../domain/checksums.ts';
import type { EngineContext } from '../model/context.ts';
import type {
  Checksums,
  CompleteError,
  CompleteUploadRequest,
  PartFacts,
  Proven,
  UploadFacts,
  VersionFacts,
} from '../model/contract.ts';
import { held } from '../model/proof.ts';
import { type ChosenPart, selectChosenParts, type UploadRow } from '../store/upload-query-store.ts';
import { COMPLETE_GUARDS, completeStatements } from '../store/upload-store.ts';
import { commitVersion } from './commit.ts';
import { getVersion } from './reading.ts';
import { findUpload, NO_SUCH_UPLOAD, shardOf } from './uploads.ts';

/**
 * Maximum size of an object: S3's 5 TB. S3 has allowed 50 TB since December 2025, but one batch cannot describe an object larger
 * than 5 TB.
 */
const OBJECT_BYTES_MAX = 5 * 1024 ** 4;

/** Checks the list of parts in a completion. @returns facts of the completed object, or the reason why the list is refused. */
function checkParts(
  request: CompleteUploadRequest<unknown>,
  upload: UploadFacts,
  found: ReadonlyMap<number, ChosenPart>,
): Result<{ chosen: ChosenPart[]; size: number; checksums: Checksums }, CompleteError> {
  const { checksumAlgorithm: algorithm, checksumType } = upload;
  const chosen: ChosenPart[] = [];
  let size = 0;
  /** Number of the first part that the request lists without the checksum that a composite upload requires. */
  let unchecked: number | null = null;
  for (const [index, part] of request.parts.entries()) {
    const { partNumber } = part;
    const held = found.get(partNumber);
    if (!held) return err({ kind: 'invalid_part', partNumber });
    const lacksChecksum = checksumType === 'COMPOSITE' && part.checksum?.algorithm !== algorithm;
    if (lacksChecksum) unchecked ??= partNumber;
    else if (algorithm && part.checksum && held.checksums[part.checksum.algorithm] !== part.checksum.value) {
      return err({ kind: 'bad_checksum', partNumber });
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
    // Clients may send a composite checksum without its `-N`.
    if (made !== promised && made?.replace(/-\d+$/, '') !== promised)
      return err({ kind: 'bad_checksum', partNumber: null });
  }
  if (algorithm && unchecked !== null) return err({ kind: 'checksum_missing', partNumber: unchecked, algorithm });
  return ok({ chosen, size, checksums });
}

/** ETag of a multipart object, as in S3: the MD5 of the parts' MD5s, and the number of parts. */
function etagOfParts(parts: readonly PartFacts[]): string {
  const whole = createHash('md5');
  for (const part of parts) whole.update(Buffer.from(part.etag, 'hex'));
  return `${whole.digest('hex')}-${parts.length}`;
}

export async function completeUpload<E>(
  context: EngineContext,
  request: CompleteUploadRequest<E>,
): Promise<Proven<VersionFacts, CompleteError | { readonly kind: 'refused'; readonly error: E }>> {
  const requestSha256 = createHash('sha256')
    .update(JSON.stringify(request.parts.map((part) => [part.partNumber, part.etag])))
    .digest('hex');
  const shard = shardOf(request.bucket, request.name);
  for (let attempt = 0; attempt < 4; attempt++) {
    const [upload, found] = await Promise.all([
      findUpload(context, request.bucket, request.name, request.uploadId),
      selectChosenParts(context, shard, request.uploadId, request.parts),
    ]);
    if (!upload.ok) return upload;
    if (!found.ok) return found;
    if (upload.value.state !== 'open') return await repeatAnswer(context, request, upload.value, requestSha256);
    const checked = request.check?.(upload.value.facts);
    if (checked?.ok === false) return { ok: false, error: { kind: 'refused', error: checked.error }, proof: 'held' };
    const judged = checkParts(request, upload.value.facts, found.value);
    if (!judged.ok) return { ...judged, proof: 'held' };
    const outcome = await commitUpload(context, request, upload.value.facts, judged.value, requestSha256);
    if (outcome.ok) return outcome;
    // Another request completed or aborted the upload, or replaced a part. The upload is reloaded and the completion decided again.
    const { error, proof } = outcome;
    if (error.kind === 'refused') return error.error;
    if (error.kind !== 'lost') {
      return { ok: false, error: error.kind === 'source_gone' ? NO_SUCH_UPLOAD : error, proof };
    }
  }
  return err({ kind: 'unavailable', reason: 'the upload is being changed' });
}

function commitUpload(
  context: EngineContext,
  request: CompleteUploadRequest<unknown>,
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
      lock: upload.lock,
    },
    data: {
      kind: 'upload',
      uploadId: request.uploadId,
      statements: (prepare) =>
        completeStatements(prepare, {
          uploadId: request.uploadId,
          list,
          objectId,
          requestSha256,
          nowMs: context.now(),
        }),
    },
    event: 'ObjectCreated:CompleteMultipartUpload',
    condition: request.condition,
    furtherGuards: { sql: COMPLETE_GUARDS, parameters: [request.uploadId, list, chosen.length] },
  });
}

/** Answers a repeated completion like the first one, if it names the same parts. */
async function repeatAnswer(
  context: EngineContext,
  request: CompleteUploadRequest<unknown>,
  upload: UploadRow,
  requestSha256: string,
): Promise<Proven<VersionFacts, CompleteError>> {
  if (upload.state !== 'completed' || upload.requestSha256 !== requestSha256 || upload.versionId === null) {
    return { ok: false, error: NO_SUCH_UPLOAD, proof: 'held' };
  }
  const version = await getVersion(context, request.bucket, request.name, { versionId: upload.versionId });
  if (version.ok) return held(version.value);
  return err(version.error.kind === 'unavailable' ? version.error : NO_SUCH_UPLOAD);
}
