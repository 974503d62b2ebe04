import { ok } from '../../../shared/pure/result.ts';
import { xmlAnswer } from '../protocol/answer.ts';
import { type Operation, onBucket } from '../protocol/operation.ts';

/** Returns the bucket's region. An empty element means us-east-1 (GetBucketLocation). */
export const getBucketLocation: Operation = {
  needs: 'bucket',
  permission: onBucket('GetBucketLocation'),
  async run({ bucket }) {
    return ok(xmlAnswer('LocationConstraint', bucket.region === 'us-east-1' ? '' : (bucket.region ?? '')));
  },
};
