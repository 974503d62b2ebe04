import { isPublicPolicy } from '../../../identity/index.ts';
import { err, ok } from '../../../shared/pure/result.ts';
import { isPublicAcl } from '../../domain/acl.ts';
import { s3Failure } from '../../domain/failure.ts';
import { aclOf, policyOf } from '../access/bucket-configuration.ts';
import { xmlAnswer } from '../protocol/answer.ts';
import { type Operation, onBucket } from '../protocol/operation.ts';
import { element } from '../protocol/xml.ts';

/**
 * Returns whether the bucket is public by its policy or by its ACL. A bucket with neither a policy nor a public ACL has no status.
 */
export const getBucketPolicyStatus: Operation = {
  needs: 'bucket',
  permission: onBucket('GetBucketPolicyStatus'),
  async run({ bucket }) {
    const policy = policyOf(bucket);
    const isPublic = (policy !== null && isPublicPolicy(policy)) || isPublicAcl(aclOf(bucket));
    if (policy === null && !isPublic && bucket.configuration.policy === undefined) {
      return ok(xmlAnswer('PolicyStatus', element('IsPublic', false)));
    }
    return policy === null && !isPublic
      ? err(s3Failure('NoSuchBucketPolicy'))
      : ok(xmlAnswer('PolicyStatus', element('IsPublic', isPublic)));
  },
};
