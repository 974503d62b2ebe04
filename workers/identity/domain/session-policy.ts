/** Session policies: what a temporary key may do at most. It also needs the rights of the key from which it was made. Pure. */
import { err, ok, type Result } from '../../shared/pure/result.ts';
import { findConditionKeyFault, type PolicyDocument, parsePolicy } from './policy.ts';

/** Maximum length of a session policy as JSON, in characters, as at AWS (STS API Reference, AssumeRole). */
export const SESSION_POLICY_CHARACTERS_MAX = 2_048;

/** Rights on one bucket, or on the objects whose keys begin with a prefix. */
export interface BucketRights {
  readonly bucket: string;
  /** Prefix of the keys; empty for all objects. */
  readonly prefix: string;
  readonly rights: readonly ('read' | 'write')[];
}

const ON_BUCKET = {
  read: ['s3:ListBucket', 's3:ListBucketVersions'],
  write: ['s3:ListBucketMultipartUploads'],
} as const;
const ON_OBJECTS = {
  read: ['s3:GetObject*'],
  write: [
    's3:PutObject',
    's3:PutObjectTagging',
    's3:DeleteObject',
    's3:AbortMultipartUpload',
    's3:ListMultipartUploadParts',
  ],
} as const;

/**
 * Writes rights as a policy document. Reading includes listing below the prefix. Writing includes deleting, but no version for good
 * (`s3:DeleteObjectVersion`), no ACL and no lock: a policy document can allow these.
 */
export function toSessionPolicy({ bucket, prefix, rights }: BucketRights): PolicyDocument {
  const literal = escapeWildcards(prefix);
  const isBelow = prefix === '' ? {} : { Condition: { StringLike: { 's3:prefix': `${literal}*` } } };
  const arn = `arn:aws:s3:::${bucket}`;
  return {
    Version: '2012-10-17',
    Statement: [
      { Effect: 'Allow', Action: rights.flatMap((right) => ON_BUCKET[right]), Resource: arn, ...isBelow },
      { Effect: 'Allow', Action: ['s3:GetBucketLocation', 's3:GetBucketVersioning'], Resource: arn },
      { Effect: 'Allow', Action: rights.flatMap((right) => ON_OBJECTS[right]), Resource: `${arn}/${literal}*` },
    ],
  };
}

/** Characters of a prefix that have a meaning in a policy, as the policy variables that stand for themselves. */
const escapeWildcards = (prefix: string): string => prefix.replace(/[*?$]/g, (found) => `\${${found}}`);

/** Checks a session policy of a caller. @returns the document, or a message about its first fault. */
export function readSessionPolicy(document: unknown): Result<PolicyDocument, string> {
  if (JSON.stringify(document).length > SESSION_POLICY_CHARACTERS_MAX) {
    return err(`A session policy has at most ${SESSION_POLICY_CHARACTERS_MAX} characters.`);
  }
  const policy = parsePolicy(document, 'identity');
  if (!policy.ok) return policy;
  const fault = findConditionKeyFault(policy.value);
  return fault === null ? ok(document as PolicyDocument) : err(fault);
}
