import { err, ok } from '../../../shared/pure/result.ts';
import { s3Failure } from '../../domain/failure.ts';
import { policyTextOf } from '../access/bucket-configuration.ts';
import { answer } from '../protocol/answer.ts';
import { type Operation, onBucket } from '../protocol/operation.ts';

/** Returns the bucket policy as it was set, byte for byte. */
export const getBucketPolicy: Operation = {
  needs: 'bucket',
  permission: onBucket('GetBucketPolicy'),
  async run({ bucket }) {
    const text = policyTextOf(bucket);
    if (text === null) return err(s3Failure('NoSuchBucketPolicy', undefined, { details: { BucketName: bucket.name } }));
    return ok(answer(text, 200, { 'content-type': 'application/json' }));
  },
};
