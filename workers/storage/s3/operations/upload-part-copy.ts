import { err, ok, type Result } from '../../../shared/pure/result.ts';
import { parseCustomerKey } from '../../domain/customer-key.ts';
import { invalidArgument, type S3Failure, s3Failure } from '../../domain/failure.ts';
import type { ByteRange, CopyPartRequest, Engine, PartFacts, Proven } from '../../engine/model/contract.ts';
import { readPartNumber, readUploadId, toPartChecksums } from '../documents/upload-elements.ts';
import { openCopySource } from '../objects/copy-source.ts';
import { checkPartKey } from '../objects/customer-keys.ts';
import { type CopyKeys, copyEncryptedPart, isEncryptedCopy } from '../objects/encrypted-copy.ts';
import { quoteEtag, shownVersionId, toEncryptionHeaders } from '../objects/object-headers.ts';
import { xmlAnswer } from '../protocol/answer.ts';
import { toFailure } from '../protocol/engine-failures.ts';
import type { Operation } from '../protocol/operation.ts';
import { element } from '../protocol/xml.ts';

export const uploadPartCopy: Operation = {
  needs: 'bucket',
  permission: () => ({ action: 'PutObject', on: 'object', acl: { of: 'bucket', permission: 'WRITE' } }),
  async run(context) {
    const { request, bucket, engine } = context;
    const partNumber = readPartNumber(request);
    if (!partNumber.ok) return partNumber;
    const given = parseCustomerKey(request.headers);
    if (!given.ok) return given;
    const uploadId = readUploadId(request);
    const [upload, source] = await Promise.all([
      engine.getUpload(bucket, request.key, uploadId),
      openCopySource(context),
    ]);
    if (!upload.ok) return toFailure(upload);
    if (!source.ok) return source;
    const target = checkPartKey(upload.value, given.value);
    if (!target.ok) return target;
    const range = readSourceRange(request.headers.get('x-amz-copy-source-range'), source.value.version.size);
    if (!range.ok) return range;
    const order = {
      bucket,
      name: request.key,
      uploadId,
      partNumber: partNumber.value,
      source: source.value.version,
      ...(range.value ? { range: range.value } : {}),
      checksum: upload.value.checksumAlgorithm,
    };
    const part = await copyPart(engine, order, { source: source.value.key, target: target.value });
    if (!part.ok) return part;
    const headers: Record<string, string> = {
      ...toEncryptionHeaders(target.value),
      ...(source.value.bucket.versioning === 'never'
        ? {}
        : { 'x-amz-copy-source-version-id': shownVersionId(source.value.version) }),
    };
    return ok(
      xmlAnswer(
        'CopyPartResult',
        [
          element('LastModified', new Date(part.value.modifiedAt).toISOString()),
          element('ETag', quoteEtag(part.value.etag)),
          ...toPartChecksums(part.value),
        ],
        headers,
      ),
    );
  },
};

async function copyPart(engine: Engine, order: CopyPartRequest, keys: CopyKeys): Promise<Proven<PartFacts, S3Failure>> {
  if (isEncryptedCopy(keys)) return await copyEncryptedPart(engine, order, keys);
  const copied = await engine.copyPart(order);
  return copied.ok ? copied : toFailure(copied);
}

/**
 * Parses the range of the source. Only `bytes=first-last` with both ends inside the source is accepted (UploadPartCopy,
 * x-amz-copy-source-range).
 */
function readSourceRange(header: string | null, size: number): Result<ByteRange | null, S3Failure> {
  if (header === null) return ok(null);
  const wrong = (message: string) => err(invalidArgument('x-amz-copy-source-range', header, message));
  const match = /^bytes=(\d+)-(\d+)$/.exec(header);
  if (!match) {
    return wrong(
      'The x-amz-copy-source-range value must be of the form bytes=first-last where first and last are the zero-based offsets of the first and last bytes to copy',
    );
  }
  const [start, end] = [Number(match[1]), Number(match[2])];
  if (start > end) return wrong(`Range specified is not valid for source object of size: ${size}`);
  if (end >= size) {
    return err(
      s3Failure('InvalidRange', undefined, { details: { RangeRequested: header, ActualObjectSize: String(size) } }),
    );
  }
  return ok({ start, end });
}
