import { err, ok, type Result } from '../../../shared/pure/result.ts';
import {
  type ChecksumAlgorithm,
  type ChecksumType,
  isTypeAllowed,
  parseChecksumAlgorithm,
  toDefaultType,
  UNSUPPORTED_MESSAGE,
} from '../../domain/checksums.ts';
import { type S3Failure, s3Failure } from '../../domain/failure.ts';
import { checkKey } from '../../domain/naming.ts';
import { readWriteKey, toNewRecord, withKeyRecord } from '../objects/customer-keys.ts';
import { toAbortHeaders, toEncryptionHeaders } from '../objects/object-headers.ts';
import { readNewObject, uploadHeadersOf } from '../objects/object-upload.ts';
import { xmlAnswer } from '../protocol/answer.ts';
import { toFailure } from '../protocol/engine-failures.ts';
import type { Operation } from '../protocol/operation.ts';
import { element } from '../protocol/xml.ts';

export const createMultipartUpload: Operation = {
  needs: 'bucket',
  isProven: true,
  permission: () => ({ action: 'PutObject', on: 'object', acl: { of: 'bucket', permission: 'WRITE' } }),
  async run(context) {
    const { request, bucket, engine, caller } = context;
    if (caller.principal === null) {
      return err(s3Failure('AccessDenied', 'Anonymous users cannot initiate multipart uploads.  Please authenticate.'));
    }
    const key = checkKey(request.key);
    if (!key.ok) return key;
    const checksum = readChecksum(request.headers);
    if (!checksum.ok) return checksum;
    const object = await readNewObject(context, uploadHeadersOf(context), request.key);
    if (!object.ok) return object;
    const customerKey = readWriteKey(request.headers, bucket);
    if (!customerKey.ok) return customerKey;
    const record = customerKey.value === null ? null : toNewRecord(customerKey.value);
    const { metadata } = withKeyRecord(object.value, record);
    const initiator = { initiatorId: caller.principal.userId, initiatorName: caller.principal.name };
    const created = await engine.createUpload({
      bucket,
      name: request.key,
      ...object.value,
      metadata: { ...metadata, extra: { ...metadata.extra, ...initiator } },
      checksumAlgorithm: checksum.value?.algorithm ?? null,
      checksumType: checksum.value?.type ?? null,
    });
    if (!created.ok) return toFailure(created);
    return {
      ok: true,
      value: xmlAnswer(
        'InitiateMultipartUploadResult',
        [element('Bucket', bucket.name), element('Key', request.key), element('UploadId', created.value.uploadId)],
        {
          ...(checksum.value
            ? { 'x-amz-checksum-algorithm': checksum.value.algorithm, 'x-amz-checksum-type': checksum.value.type }
            : {}),
          ...toAbortHeaders(bucket, created.value),
          ...toEncryptionHeaders(customerKey.value),
        },
      ),
      proof: created.proof,
    };
  },
};

function readChecksum(
  headers: Headers,
): Result<{ algorithm: ChecksumAlgorithm; type: ChecksumType } | null, S3Failure> {
  const invalid = (message: string) => err(s3Failure('InvalidRequest', message));
  const named = headers.get('x-amz-checksum-algorithm');
  const type = headers.get('x-amz-checksum-type')?.toUpperCase();
  if (named === null) {
    if (type === undefined) return ok(null);
    return invalid('The x-amz-checksum-type header can only be used with the x-amz-checksum-algorithm header.');
  }
  const algorithm = parseChecksumAlgorithm(named);
  if (!algorithm) {
    return invalid(UNSUPPORTED_MESSAGE);
  }
  if (type === undefined) return ok({ algorithm, type: toDefaultType(algorithm) });
  if (type !== 'COMPOSITE' && type !== 'FULL_OBJECT') {
    return invalid('Value for x-amz-checksum-type header is invalid.');
  }
  if (!isTypeAllowed(algorithm, type)) {
    return invalid(`The ${type} checksum type cannot be used with the ${algorithm.toLowerCase()} checksum algorithm.`);
  }
  return ok({ algorithm, type });
}
