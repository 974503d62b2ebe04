/** Checks a new bucket policy. */
import { findConditionKeyFault, isPublicPolicy, parsePolicy } from '../../../identity/index.ts';
import { err, ok, type Result } from '../../../shared/pure/result.ts';
import { type S3Failure, s3Failure } from '../../domain/failure.ts';
import type { BucketContext } from '../protocol/operation.ts';
import { publicAccessBlockOf } from './bucket-configuration.ts';
import { findPrincipalFault } from './policy-principals.ts';

/** Maximum size of a bucket policy (Amazon S3 User Guide: "Bucket policies are limited to 20 KB in size"). */
const POLICY_BYTES_MAX = 20 * 1024;

/** Checks a policy that the request sets. @returns its text, byte for byte. */
export async function checkBucketPolicy(text: string, context: BucketContext): Promise<Result<string, S3Failure>> {
  const { bucket, users } = context;
  const malformed = (message?: string) => err(s3Failure('MalformedPolicy', message));
  if (Buffer.byteLength(text) > POLICY_BYTES_MAX) return malformed('Policies may not exceed 20 KB.');
  let document: unknown;
  try {
    document = JSON.parse(text);
  } catch {
    return malformed();
  }
  const policy = parsePolicy(document, 'bucket');
  if (!policy.ok) return malformed(policy.error);
  const fault = findConditionKeyFault(policy.value);
  if (fault !== null) return malformed(fault);
  const actions = policy.value.statements.flatMap((statement) => statement.actions.patterns);
  if (actions.some((action) => action !== '*' && !/^s3:/i.test(action))) return malformed('Policy has invalid action');
  const arn = `arn:aws:s3:::${bucket.name}`;
  const isForeign = policy.value.statements.some((statement) =>
    statement.resources?.patterns.some((pattern) => !isWithin(pattern, arn)),
  );
  if (isForeign) return malformed('Policy has invalid resource');
  const nobody = await findPrincipalFault(document as Record<string, unknown>, users);
  if (nobody !== null) {
    return err(s3Failure('MalformedPolicy', 'Invalid principal in policy', { details: { Detail: nobody } }));
  }
  if (publicAccessBlockOf(bucket)?.blockPublicPolicy && isPublicPolicy(policy.value)) {
    return err(s3Failure('AccessDenied'));
  }
  return locksCallerOut(context, text) ? err(s3Failure('AccessDenied', LOCKED_OUT)) : ok(text);
}

const LOCKED_OUT =
  'The policy would deny you PutBucketPolicy. Send x-amz-confirm-remove-self-bucket-access: true to set it.';

/**
 * Whether the new policy would deny the caller to change it again, and the caller has not confirmed that. Always false for the
 * bucket's owner.
 */
function locksCallerOut({ bucket, request, caller, may }: BucketContext, policy: string): boolean {
  if (request.headers.get('x-amz-confirm-remove-self-bucket-access')?.toLowerCase() === 'true') return false;
  const after = { ...bucket, configuration: { ...bucket.configuration, policy } };
  return !may({ action: 'PutBucketPolicy', key: null, acl: null, bucket: after, caller });
}

/** Whether a resource of the policy can match this bucket or an object in it. */
function isWithin(pattern: string, arn: string): boolean {
  if (pattern === '*') return true;
  const bucketPattern = pattern.split('/')[0] ?? '';
  if (!/[*?$]/.test(bucketPattern)) return bucketPattern === arn;
  return bucketPattern.startsWith('arn:aws:s3:::');
}
