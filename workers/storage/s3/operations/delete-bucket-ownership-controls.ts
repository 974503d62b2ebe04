import { err, ok } from '../../../shared/pure/result.ts';
import { emptyAnswer } from '../protocol/answer.ts';
import { toS3Error } from '../protocol/engine-failures.ts';
import { type Operation, onBucket } from '../protocol/operation.ts';

export const deleteBucketOwnershipControls: Operation = {
  needs: 'bucket',
  permission: onBucket('PutBucketOwnershipControls'),
  async run({ bucket, engine }) {
    const removed = await engine.setConfiguration(bucket, 'ownership', null);
    return removed.ok ? ok(emptyAnswer(204)) : err(toS3Error(removed.error));
  },
};
