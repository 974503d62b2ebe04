import { ok } from '../../../shared/result.ts';
import { emptyAnswer } from '../protocol/answer.ts';
import { type Operation, onBucket } from '../protocol/operation.ts';

export const headBucket: Operation = {
  needs: 'bucket',
  permission: onBucket('ListBucket', 'READ'),
  async run({ bucket }) {
    return ok(
      emptyAnswer(200, {
        'x-bucket-id': bucket.bucketId,
        'x-amz-bucket-arn': `arn:aws:s3:::${bucket.name}`,
        'x-amz-bucket-region': bucket.region ?? 'us-east-1',
        'x-amz-access-point-alias': 'false',
      }),
    );
  },
};
