import { err, ok } from '../../../shared/pure/result.ts';
import { s3Failure } from '../../domain/failure.ts';
import { objectLockOf } from '../access/bucket-configuration.ts';
import { toObjectLockElements } from '../documents/object-lock-documents.ts';
import { xmlAnswer } from '../protocol/answer.ts';
import { type Operation, onBucket } from '../protocol/operation.ts';

export const getObjectLockConfiguration: Operation = {
  needs: 'bucket',
  permission: onBucket('GetBucketObjectLockConfiguration'),
  async run({ bucket }) {
    const configuration = objectLockOf(bucket);
    if (configuration === null) return err(s3Failure('ObjectLockConfigurationNotFoundError'));
    return ok(xmlAnswer('ObjectLockConfiguration', toObjectLockElements(configuration)));
  },
};
