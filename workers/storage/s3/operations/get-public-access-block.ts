import { err, ok } from '../../../shared/pure/result.ts';
import { s3Failure } from '../../domain/failure.ts';
import { publicAccessBlockOf } from '../access/bucket-configuration.ts';
import { xmlAnswer } from '../protocol/answer.ts';
import { type Operation, onBucket } from '../protocol/operation.ts';
import { element } from '../protocol/xml.ts';

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
