import { err, ok } from '../../../shared/pure/result.ts';
import type { QuotaState } from '../../engine/model/contract.ts';
import { emptyAnswer } from '../protocol/answer.ts';
import { toS3Error } from '../protocol/engine-failures.ts';
import { type Operation, onBucket } from '../protocol/operation.ts';

const toQuotaHeaders = ({ limits, used }: QuotaState): Record<string, string> => ({
  'x-tessera-used-bytes': String(used.bytes),
  'x-tessera-used-objects': String(used.objects),
  ...(limits.bytes === null ? {} : { 'x-tessera-quota-bytes': String(limits.bytes) }),
  ...(limits.objects === null ? {} : { 'x-tessera-quota-objects': String(limits.objects) }),
});

/** Shows whether the bucket exists. With the query `quota`, the owner also gets the bucket's quota. */
export const headBucket: Operation = {
  needs: 'bucket',
  permission: onBucket('ListBucket', 'READ'),
  async run({ bucket, caller, engine, request }) {
    const isOwner = caller.principal?.userId === bucket.ownerId;
    const quota = isOwner && request.query.has('quota') ? await engine.getQuota(bucket) : ok(null);
    if (!quota.ok) return err(toS3Error(quota.error));
    return ok(
      emptyAnswer(200, {
        'x-bucket-id': bucket.bucketId,
        'x-amz-bucket-arn': `arn:aws:s3:::${bucket.name}`,
        'x-amz-bucket-region': bucket.region ?? 'us-east-1',
        'x-amz-access-point-alias': 'false',
        ...(quota.value && toQuotaHeaders(quota.value)),
      }),
    );
  },
};
