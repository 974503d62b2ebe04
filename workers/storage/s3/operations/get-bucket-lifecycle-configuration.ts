import { err, ok } from '../../../shared/pure/result.ts';
import { s3Failure } from '../../domain/failure.ts';
import { lifecycleOf } from '../access/bucket-configuration.ts';
import { MINIMUM_SIZE_HEADER, toLifecycleElements } from '../documents/lifecycle-document.ts';
import { xmlAnswer } from '../protocol/answer.ts';
import { type Operation, onBucket } from '../protocol/operation.ts';

export const getBucketLifecycleConfiguration: Operation = {
  needs: 'bucket',
  permission: onBucket('GetLifecycleConfiguration'),
  async run({ bucket }) {
    const configuration = lifecycleOf(bucket);
    if (configuration === null) return err(s3Failure('NoSuchLifecycleConfiguration'));
    const headers = { [MINIMUM_SIZE_HEADER]: configuration.minimumSize };
    return ok(xmlAnswer('LifecycleConfiguration', toLifecycleElements(configuration), headers));
  },
};
