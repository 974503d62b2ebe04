import { ok } from '../../../shared/pure/result.ts';
import { checkKey } from '../../domain/naming.ts';
import { openUploadBody, withDefaultChecksum } from '../bodies/upload-body.ts';
import { readWriteKey, sealBody, withKeyRecord } from '../objects/customer-keys.ts';
import { quoteEtag, toChecksumHeaders, toWrittenHeaders } from '../objects/object-headers.ts';
import { readNewObject, readWriteCondition, uploadHeadersOf } from '../objects/object-upload.ts';
import { emptyAnswer } from '../protocol/answer.ts';
import { PUT_BYTES_MAX, toFailure } from '../protocol/engine-failures.ts';
import type { BucketContext, Operation } from '../protocol/operation.ts';

export const putObject: Operation = {
  needs: 'bucket',
  isProven: true,
  permission: () => ({ action: 'PutObject', on: 'object', acl: { of: 'bucket', permission: 'WRITE' } }),
  async run(context) {
    const { request, bucket, engine, caller, renew } = context;
    const key = checkKey(request.key);
    if (!key.ok) return key;
    const condition = readWriteCondition(context);
    if (!condition.ok) return condition;
    const body = openUploadBody(request, caller.payload, PUT_BYTES_MAX);
    if (!body.ok) return body;
    const customerKey = readWriteKey(request.headers, bucket);
    if (!customerKey.ok) return customerKey;
    const sealed = await sealBody(withDefaultChecksum(body.value), customerKey.value);
    const object = await readNewObject(context, uploadHeadersOf(context), request.key);
    if (!object.ok) return object;
    // The bucket as it was when the write was last authorised, at first or by `renew`.
    let current = bucket;
    const put = await engine.putObject({
      bucket,
      name: request.key,
      ...sealed.body,
      ...withKeyRecord(object.value, sealed.record),
      ...condition.value,
      ...(renew && {
        async renew() {
          const renewed = await renewObject(renew);
          if (!renewed.ok) return renewed;
          current = renewed.value.bucket;
          return ok(withKeyRecord(renewed.value, sealed.record));
        },
      }),
    });
    if (!put.ok) return toFailure(put);
    return {
      ok: true,
      value: emptyAnswer(200, {
        etag: quoteEtag(put.value.etag),
        ...toWrittenHeaders(current, put.value, customerKey.value),
        ...toChecksumHeaders(put.value.checksums, put.value.checksumType),
      }),
      proof: put.proof,
    };
  },
};

/**
 * Authorises the write again and reads its attributes again, because the bucket's default retention and the caller's rights may
 * have changed.
 */
async function renewObject(renew: NonNullable<BucketContext['renew']>) {
  const context = await renew();
  if (!context.ok) return context;
  const object = await readNewObject(context.value, uploadHeadersOf(context.value), context.value.request.key);
  return object.ok ? ok({ ...object.value, bucket: context.value.bucket }) : object;
}
