import { err, ok } from '../../shared/result.ts';
import { xmlAnswer } from '../answer.ts';
import { ownershipTextOf } from '../bucket-configuration.ts';
import { s3Failure } from '../domain/failure.ts';
import { element } from '../xml.ts';
import { type Operation, onBucket } from './operation.ts';

export const getBucketOwnershipControls: Operation = {
  needs: 'bucket',
  permission: onBucket('GetBucketOwnershipControls'),
  async run({ bucket }) {
    const ownership = ownershipTextOf(bucket);
    if (!ownership) return err(s3Failure('OwnershipControlsNotFoundError'));
    return ok(xmlAnswer('OwnershipControls', element('Rule', element('ObjectOwnership', ownership))));
  },
};
