/** The configuration documents of a bucket, one text per kind. Only this file parses them. */
import { type Policy, parsePolicy } from '../../../identity/index.ts';
import type { ObjectOwnership, PublicAccessBlock } from '../../domain/access.ts';
import type { Acl, Owner } from '../../domain/acl.ts';
import type { CorsRule } from '../../domain/cors.ts';
import type { LifecycleConfiguration } from '../../domain/lifecycle.ts';
import type { ObjectLockConfiguration } from '../../domain/object-lock.ts';
import type { Tag } from '../../domain/tagging.ts';
import type { Website } from '../../domain/website.ts';
import type { Bucket } from '../../engine/model/contract.ts';
import { readAcl } from '../documents/acl-document.ts';

export type ConfigurationKind =
  | 'acl'
  | 'cors'
  | 'encryption'
  | 'lifecycle'
  | 'notification'
  | 'objectLock'
  | 'ownership'
  | 'policy'
  | 'publicAccessBlock'
  | 'tagging'
  | 'takeDown'
  | 'website';

const textOf = (bucket: Bucket, kind: ConfigurationKind): string | null => bucket.configuration[kind] ?? null;

/** Whether the operator has taken the bucket down; the S3 API cannot do that. Every S3 request to such a bucket is refused. */
export const isTakenDown = (bucket: Bucket): boolean => textOf(bucket, 'takeDown') !== null;

/** Reads the bucket's ACL, which is stored when the bucket is created. The name of the owner is therefore always known. */
export function aclOf(bucket: Bucket): Acl {
  return readAcl(textOf(bucket, 'acl'), { id: bucket.ownerId, displayName: null });
}

export const ownerOf = (bucket: Bucket): Owner => aclOf(bucket).owner;

export function corsOf(bucket: Bucket): readonly CorsRule[] | null {
  const text = textOf(bucket, 'cors');
  return text === null ? null : (JSON.parse(text) as CorsRule[]);
}

export function lifecycleOf(bucket: Bucket): LifecycleConfiguration | null {
  const text = textOf(bucket, 'lifecycle');
  return text === null ? null : (JSON.parse(text) as LifecycleConfiguration);
}

export const policyTextOf = (bucket: Bucket): string | null => textOf(bucket, 'policy');

export function policyOf(bucket: Bucket): Policy | null {
  const text = policyTextOf(bucket);
  if (text === null) return null;
  const policy = parsePolicy(JSON.parse(text), 'bucket');
  if (!policy.ok) throw new Error(`bucket ${bucket.bucketId} has a policy that does not parse: ${policy.error}`);
  return policy.value;
}

/** Object Lock configuration of a bucket; null if Object Lock is not enabled. */
export function objectLockOf(bucket: Bucket): ObjectLockConfiguration | null {
  const text = textOf(bucket, 'objectLock');
  return text === null ? null : (JSON.parse(text) as ObjectLockConfiguration);
}

/** The stored encryption configuration as text; `documents/encryption-document.ts` parses it. */
export const encryptionTextOf = (bucket: Bucket): string | null => textOf(bucket, 'encryption');

export function publicAccessBlockOf(bucket: Bucket): PublicAccessBlock | null {
  const text = textOf(bucket, 'publicAccessBlock');
  return text === null ? null : (JSON.parse(text) as PublicAccessBlock);
}

export const ownershipTextOf = (bucket: Bucket): ObjectOwnership | null =>
  textOf(bucket, 'ownership') as ObjectOwnership | null;

/** Object ownership of a bucket. Without ownership controls ACLs are enabled, as in S3 buckets created before 2023. */
export const ownershipOf = (bucket: Bucket): ObjectOwnership => ownershipTextOf(bucket) ?? 'ObjectWriter';

export function tagsOf(bucket: Bucket): readonly Tag[] | null {
  const text = textOf(bucket, 'tagging');
  return text === null ? null : (JSON.parse(text) as Tag[]);
}

export function websiteOf(bucket: Bucket): Website | null {
  const text = textOf(bucket, 'website');
  return text === null ? null : (JSON.parse(text) as Website);
}
