import { err, ok } from '../../shared/result.ts';
import { emptyAnswer } from '../answer.ts';
import { PUT_BYTES_MAX, toS3Error } from '../engine-failures.ts';
import { quoteEtag, toChecksumHeaders } from '../object-headers.ts';
import { openUploadBody } from '../upload-body.ts';
import { readPartNumber, readUploadId } from '../upload-elements.ts';
import type { Operation } from './operation.ts';

export const uploadPart: Operation = {
  needs: 'bucket',
  permission: () => ({ action: 'PutObject', on: 'object', acl: { of: 'bucket', permission: 'WRITE' } }),
  async run({ request, bucket, engine, caller }) {
    const partNumber = readPartNumber(request);
    if (!partNumber.ok) return partNumber;
    const body = openUploadBody(request, caller.payload, PUT_BYTES_MAX);
    if (!body.ok) return body;
    const part = await engine.putPart({
      bucket,
      name: request.key,
      uploadId: readUploadId(request),
      partNumber: partNumber.value,
      ...body.value,
    });
    if (!part.ok) return err(toS3Error(part.error));
    const { 'x-amz-checksum-type': _, ...checksums } = toChecksumHeaders(part.value.checksums, null);
    return ok(emptyAnswer(200, { etag: quoteEtag(part.value.etag), ...checksums }));
  },
};
