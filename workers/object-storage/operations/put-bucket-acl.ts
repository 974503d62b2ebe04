import { err, ok } from '../../shared/result.ts';
import { serializeAcl } from '../acl-document.ts';
import { readAclRequest } from '../acl-request.ts';
import { emptyAnswer } from '../answer.ts';
import { aclOf } from '../bucket-configuration.ts';
import { toS3Error } from '../engine-failures.ts';
import { type Operation, onBucket } from './operation.ts';

export const putBucketAcl: Operation = {
  needs: 'bucket',
  permission: onBucket('PutBucketAcl', 'WRITE_ACP'),
  async run(context) {
    const acl = await readAclRequest(context, aclOf(context.bucket).owner);
    if (!acl.ok) return acl;
    const set = await context.engine.setConfiguration(context.bucket, 'acl', serializeAcl(acl.value));
    return set.ok ? ok(emptyAnswer(200)) : err(toS3Error(set.error));
  },
};
