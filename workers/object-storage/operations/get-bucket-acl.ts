import { ok } from '../../shared/result.ts';
import { toAclElements } from '../acl-document.ts';
import { xmlAnswer } from '../answer.ts';
import { aclOf } from '../bucket-configuration.ts';
import { type Operation, onBucket } from './operation.ts';

export const getBucketAcl: Operation = {
  needs: 'bucket',
  permission: onBucket('GetBucketAcl', 'READ_ACP'),
  async run({ bucket }) {
    return ok(xmlAnswer('AccessControlPolicy', toAclElements(aclOf(bucket))));
  },
};
