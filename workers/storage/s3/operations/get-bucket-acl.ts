import { ok } from '../../../shared/pure/result.ts';
import { aclOf } from '../access/bucket-configuration.ts';
import { toAclElements } from '../documents/acl-document.ts';
import { xmlAnswer } from '../protocol/answer.ts';
import { type Operation, onBucket } from '../protocol/operation.ts';

export const getBucketAcl: Operation = {
  needs: 'bucket',
  permission: onBucket('GetBucketAcl', 'READ_ACP'),
  async run({ bucket }) {
    return ok(xmlAnswer('AccessControlPolicy', toAclElements(aclOf(bucket))));
  },
};
