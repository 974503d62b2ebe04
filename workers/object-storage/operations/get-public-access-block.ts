import { err, ok } from '../../shared/result.ts';
import { xmlAnswer } from '../answer.ts';
import { publicAccessBlockOf } from '../bucket-configuration.ts';
import { s3Failure } from '../domain/failure.ts';
import { element } from '../xml.ts';
import { type Operation, onBucket } from './operation.ts';

export const getPublicAccessBlock: Operation = {
  needs: 'bucket',
  permission: onBucket('GetBucketPublicAccessBlock'),
  async run({ bucket }) {
    const block = publicAccessBlockOf(bucket);
    if (!block) return err(s3Failure('NoSuchPublicAccessBlockConfiguration'));
    return ok(
      xmlAnswer('PublicAccessBlockConfiguration', [
        element('BlockPublicAcls', block.blockPublicAcls),
        element('IgnorePublicAcls', block.ignorePublicAcls),
        element('BlockPublicPolicy', block.blockPublicPolicy),
        element('RestrictPublicBuckets', block.restrictPublicBuckets),
      ]),
    );
  },
};
