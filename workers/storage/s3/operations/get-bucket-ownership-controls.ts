import { err, ok } from '../../../shared/pure/result.ts';
import { s3Failure } from '../../domain/failure.ts';
import { ownershipTextOf } from '../access/bucket-configuration.ts';
import { xmlAnswer } from '../protocol/answer.ts';
import { type Operation, onBucket } from '../protocol/operation.ts';
import { element } from '../protocol/xml.ts';

export const getBucketOwnershipControls: Operation = {
  needs: 'bucket',
  permission: onBucket('GetBucketOwnershipControls'),
  async run({ bucket }) {
    const ownership = ownershipTextOf(bucket);
    if (!ownership) return err(s3Failure('OwnershipControlsNotFoundError'));
    return ok(xmlAnswer('OwnershipControls', element('Rule', element('ObjectOwnership', ownership))));
  },
};
