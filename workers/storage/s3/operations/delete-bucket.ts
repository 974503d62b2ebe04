import { err, ok } from '../../../shared/pure/result.ts';
import { emptyAnswer } from '../protocol/answer.ts';
import { toS3Error } from '../protocol/engine-failures.ts';
import { type Operation, onBucket } from '../protocol/operation.ts';

export const deleteBucket: Operation = {
  needs: 'bucket',
  permission: onBucket('DeleteBucket'),
  async run({ bucket, engine }) {
    const deleted = await engine.deleteBucket(bucket);
    return deleted.ok ? ok(emptyAnswer(204)) : err(toS3Error(deleted.error));
  },
};
