import { err, ok, type Result } from '../../../shared/pure/result.ts';
import { parseCustomerKey } from '../../domain/customer-key.ts';
import { type S3Failure, s3Failure } from '../../domain/failure.ts';
import type { UploadFacts } from '../../engine/model/contract.ts';
import { openUploadBody, type UploadBody } from '../bodies/upload-body.ts';
import { readPartNumber, readUploadId } from '../documents/upload-elements.ts';
import { checkPartKey, sealPart } from '../objects/customer-keys.ts';
import { quoteEtag, toChecksumHeaders, toEncryptionHeaders } from '../objects/object-headers.ts';
import { emptyAnswer } from '../protocol/answer.ts';
import { PUT_BYTES_MAX, toFailure } from '../protocol/engine-failures.ts';
import type { Operation, RenewedContext } from '../protocol/operation.ts';

export const uploadPart: Operation = {
  needs: 'bucket',
  isProven: true,
  permission: () => ({ action: 'PutObject', on: 'object', acl: { of: 'bucket', permission: 'WRITE' } }),
  async run({ request, bucket, engine, caller, renew }) {
    const partNumber = readPartNumber(request);
    if (!partNumber.ok) return partNumber;
    const given = parseCustomerKey(request.headers);
    if (!given.ok) return given;
    const body = openUploadBody(request, caller.payload, PUT_BYTES_MAX);
    if (!body.ok) return body;
    // The upload is checked before the body is read, so that a part that cannot be used is refused before the client sends it.
    const upload = await engine.getUpload(bucket, request.key, readUploadId(request));
    if (!upload.ok) return toFailure(upload);
    const customerKey = checkPartKey(upload.value, given.value);
    if (!customerKey.ok) return customerKey;
    const fitting = toFittingBody(body.value, upload.value);
    if (!fitting.ok) return fitting;
    const sealed = await sealPart(fitting.value, customerKey.value);
    const part = await engine.putPart({
      bucket,
      name: request.key,
      uploadId: upload.value.uploadId,
      partNumber: partNumber.value,
      ...sealed,
      ...(renew && { renew: async () => toBucket(await renew()) }),
    });
    if (!part.ok) return toFailure(part);
    const { 'x-amz-checksum-type': _, ...checksums } = toChecksumHeaders(part.value.checksums, null);
    return {
      ok: true,
      value: emptyAnswer(200, {
        etag: quoteEtag(part.value.etag),
        ...checksums,
        ...toEncryptionHeaders(customerKey.value),
      }),
      proof: part.proof,
    };
  },
};

const toBucket = (renewed: Result<RenewedContext, S3Failure>) => (renewed.ok ? ok(renewed.value.bucket) : renewed);

/**
 * Fits the checksum of a part to its upload. It must use the upload's algorithm. If the upload's type is FULL_OBJECT, a part may
 * come without a checksum, which is then computed here. If the type is COMPOSITE, the client must send one for each part.
 */
function toFittingBody(
  body: UploadBody,
  { checksumAlgorithm: algorithm, checksumType }: UploadFacts,
): Result<UploadBody, S3Failure> {
  const [claimed] = body.checksums;
  if (algorithm === null || claimed === algorithm) return ok(body);
  if (claimed !== undefined || checksumType === 'COMPOSITE') {
    const [expected, actual] = [algorithm.toLowerCase(), claimed?.toLowerCase() ?? 'null'];
    return err(
      s3Failure(
        'InvalidRequest',
        `Checksum Type mismatch occurred, expected checksum Type: ${expected}, actual checksum Type: ${actual}`,
      ),
    );
  }
  return ok({
    ...body,
    checksums: [algorithm],
    verify(digests) {
      const verdict = body.verify(digests);
      return verdict.ok ? ok({ checksums: { [algorithm]: digests.checksums[algorithm] ?? '' } }) : verdict;
    },
  });
}
