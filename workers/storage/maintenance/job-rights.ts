/** Rights of a job: an operator's job may do everything. A user's job may do what the user may do at the time of each step. */
import { findActingUser, type UserPrincipal } from '../../identity/index.ts';
import { databaseNumberOf } from '../../shared/stores/directories.ts';
import { toRetainUntil } from '../domain/object-lock.ts';
import type { EngineContext } from '../engine/model/context.ts';
import { atDirectory } from '../engine/model/context.ts';
import type { Bucket, ObjectLock, ObjectMetadata, StoredVersion } from '../engine/model/contract.ts';
import { mayAccess, toRequestTags } from '../s3/access/authorise.ts';
import { objectLockOf, ownerOf, ownershipOf } from '../s3/access/bucket-configuration.ts';
import type { AccessNeed } from '../s3/protocol/operation.ts';
import type { S3Request } from '../s3/protocol/request.ts';

type Need = Pick<AccessNeed, 'action' | 'key' | 'bucket' | 'version' | 'context'> & {
  readonly acl?: AccessNeed['acl'];
};

export interface JobRights {
  may(need: Need): boolean;
  /** Owner of the objects that the job writes into a bucket. */
  ownerIn(bucket: Bucket): { readonly id: string; readonly displayName: string | null };
}

const OF_OPERATOR: JobRights = { may: () => true, ownerIn: ownerOf };

/**
 * The request against which a job's rights are checked. It has no address, client or signature date, so conditions that require one
 * do not hold, and denials with an exception for one apply.
 */
const requestOf = (prefix: string): S3Request => ({
  method: 'POST',
  rawPath: '/',
  rawQuery: '',
  query: new Map([['prefix', prefix]]),
  headers: new Headers(),
  headerNames: [],
  bucket: '',
  hostBucket: null,
  key: '',
  resource: '/',
  acceptedEncodings: '',
  isSecure: true,
  tlsVersion: null,
  body: null,
});

export function rightsOf(principal: UserPrincipal | null, prefix: string, now: number): JobRights {
  if (principal === null) return OF_OPERATOR;
  const request = requestOf(prefix);
  const caller = { principal, via: 'header', signature: null, payload: { kind: 'unsigned' } } as const;
  return {
    may: ({ acl = null, ...need }) => mayAccess({ ...need, acl, caller }, request, now),
    ownerIn: (bucket) =>
      ownershipOf(bucket) === 'BucketOwnerEnforced'
        ? ownerOf(bucket)
        : { id: principal.userId, displayName: principal.name },
  };
}

/** Finds the present rights of a job's user. @returns null if the user is suspended or deleted. */
export async function findRights(
  context: EngineContext,
  {
    userId,
    scopes,
    prefix,
  }: { readonly userId: string | null; readonly scopes: readonly string[] | null; readonly prefix: string },
): Promise<JobRights | null> {
  if (userId === null) return OF_OPERATOR;
  const { directory } = atDirectory(context, databaseNumberOf(userId));
  const user = await findActingUser(directory, userId, scopes);
  return user && rightsOf(user, prefix, context.now());
}

const WRITE = { of: 'bucket', permission: 'WRITE' } as const;
const READ = { of: 'object', permission: 'READ' } as const;

export const mayDelete = (rights: JobRights, bucket: Bucket, key: string, isVersion: boolean): boolean =>
  rights.may({ action: isVersion ? 'DeleteObjectVersion' : 'DeleteObject', key, bucket, acl: WRITE });

export const mayAbort = (rights: JobRights, bucket: Bucket, key: string): boolean =>
  rights.may({ action: 'AbortMultipartUpload', key, bucket });

/** Whether the job may list the bucket. @param kind action of the listing: names or versions. */
export const mayList = (rights: JobRights, bucket: Bucket, kind: 'ListBucket' | 'ListBucketVersions'): boolean =>
  rights.may({ action: kind, key: null, bucket, acl: { of: 'bucket', permission: 'READ' } });

export function mayRead(rights: JobRights, bucket: Bucket, version: StoredVersion, isVersion: boolean): boolean {
  const may = (action: string) => rights.may({ action, key: version.name, bucket, version, acl: READ });
  return may(isVersion ? 'GetObjectVersion' : 'GetObject');
}

export function mayWrite(rights: JobRights, bucket: Bucket, key: string, tags: StoredVersion['tags']): boolean {
  const context = tags ? toRequestTags(Object.entries(tags)) : {};
  const may = (action: string) => rights.may({ action, key, bucket, acl: WRITE, context });
  return may('PutObject') && (tags === null || may('PutObjectTagging'));
}

/** Metadata of a copy that a job makes: that of the source, with the new object's owner. */
export function metadataOf(rights: JobRights, bucket: Bucket, { headers, user }: ObjectMetadata): ObjectMetadata {
  const { id, displayName } = rights.ownerIn(bucket);
  return { headers, user, ownerId: id, ...(displayName ? { extra: { ownerName: displayName } } : {}) };
}

/** Object Lock of a new object by the bucket's default retention. */
export function lockOf(bucket: Bucket, now: number): { readonly lock?: ObjectLock } {
  const byDefault = objectLockOf(bucket)?.defaultRetention;
  if (!byDefault) return {};
  return { lock: { mode: byDefault.mode, retainUntilMs: toRetainUntil(byDefault, now), isHeld: null } };
}
