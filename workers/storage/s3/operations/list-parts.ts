import { err } from '../../../shared/pure/result.ts';
import { invalidArgument } from '../../domain/failure.ts';
import { readUploadId, toInitiatorElement, toPartChecksums } from '../documents/upload-elements.ts';
import { storageClassOf, toVersionOwner } from '../objects/list-objects-page.ts';
import { quoteEtag } from '../objects/object-headers.ts';
import { xmlAnswer } from '../protocol/answer.ts';
import { toFailure } from '../protocol/engine-failures.ts';
import { parseLimit } from '../protocol/list-limit.ts';
import type { Operation } from '../protocol/operation.ts';
import { element } from '../protocol/xml.ts';

export const listParts: Operation = {
  needs: 'bucket',
  isProven: true,
  permission: () => ({ action: 'ListMultipartUploadParts', on: 'object', acl: { of: 'bucket', permission: 'WRITE' } }),
  async run({ request, bucket, engine }) {
    const given = parseLimit(request, 'max-parts');
    if (!given.ok) return given;
    const limit = given.value;
    const marker = request.query.get('part-number-marker') || '0';
    if (!/^\d{1,9}$/.test(marker)) {
      return err(
        invalidArgument(
          'part-number-marker',
          marker,
          'Provided part-number-marker not an integer or within integer range',
        ),
      );
    }
    // The upload is read even for an empty page, because the answer must report whether it exists.
    const listed = await engine.listParts(bucket, request.key, readUploadId(request), {
      after: Number(marker),
      limit: Math.max(1, limit),
    });
    if (!listed.ok) return toFailure(listed);
    const { upload, isTruncated } = listed.value;
    const parts = limit === 0 ? [] : listed.value.parts;
    return {
      ok: true,
      value: xmlAnswer('ListPartsResult', [
        element('Bucket', bucket.name),
        element('Key', request.key),
        element('UploadId', upload.uploadId),
        toInitiatorElement(upload),
        toVersionOwner(upload),
        element('StorageClass', storageClassOf(upload)),
        element('PartNumberMarker', marker),
        element('NextPartNumberMarker', parts.at(-1)?.partNumber ?? 0),
        element('MaxParts', limit),
        element('IsTruncated', limit > 0 && isTruncated),
        element('ChecksumAlgorithm', upload.checksumAlgorithm),
        element('ChecksumType', upload.checksumType),
        ...parts.map((part) =>
          element('Part', [
            element('PartNumber', part.partNumber),
            element('LastModified', new Date(part.modifiedAt).toISOString()),
            element('ETag', quoteEtag(part.etag)),
            element('Size', part.size),
            ...toPartChecksums(part),
          ]),
        ),
      ]),
      proof: listed.proof,
    };
  },
};
