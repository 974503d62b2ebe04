import { err, ok } from '../../../shared/pure/result.ts';
import { readAclRequest } from '../access/acl-request.ts';
import { aclOf } from '../access/bucket-configuration.ts';
import { serializeAcl } from '../documents/acl-document.ts';
import { emptyAnswer } from '../protocol/answer.ts';
import { toS3Error } from '../protocol/engine-failures.ts';
import { type Operation, onBucket } from '../protocol/operation.ts';

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
