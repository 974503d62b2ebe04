/**
 * Rights of a job: an operator's job may do everything. A user's job may do what its credential may do at the time of each step, in
 * a request like the one that started it.
 */
import {
  findActingUser,
  findByCredential,
  isOperator,
  type S3Caller,
  type UserPrincipal,
} from '../../identity/index.ts';
import { err, ok, type Result } from '../../shared/pure/result.ts';
import { databaseNumberOf } from '../../shared/stores/directories.ts';
import { keyRecordOf } from '../domain/customer-key.ts';
import type { JobOrigin } from '../domain/jobs.ts';
import { toRetainUntil } from '../domain/object-lock.ts';
import type { EngineContext } from '../engine/model/context.ts';
import { atDirectory } from '../engine/model/context.ts';
import type { Bucket, ObjectLock, ObjectMetadata, StoredVersion } from '../engine/model/contract.ts';
import type { Job } from '../engine/store/job-store.ts';
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

/** The facts of a job that remembers none: conditions that require an address, a program or a signature do not hold. */
const UNKNOWN_ORIGIN: JobOrigin = { headers: {}, isSecure: true, tlsVersion: null, via: 'header', signature: null };

/** Headers on which conditions of policies depend and that a job keeps. The others describe one object, not a job. */
const KEPT_HEADERS = ['cf-connecting-ip', 'user-agent', 'referer', 'x-amz-content-sha256'];

/** The facts of the request that starts a job. @param caller null for a caller with a bearer token. */
export function toOrigin(
  { headers, isSecure, tlsVersion }: Pick<S3Request, 'headers' | 'isSecure' | 'tlsVersion'>,
  caller: Pick<S3Caller, 'signature'> | null,
): JobOrigin {
  const kept = KEPT_HEADERS.flatMap((name) => {
    const value = headers.get(name);
    return value === null ? [] : [[name, value] as const];
  });
  const [via, signature] = caller === null ? (['bearer', null] as const) : (['header', caller.signature] as const);
  return { headers: Object.fromEntries(kept), isSecure, tlsVersion, via, signature };
}

/** The request against which a job's rights are checked: what is known of the one that started it. */
const requestOf = (prefix: string, { headers, isSecure, tlsVersion }: JobOrigin): S3Request => ({
  method: 'POST',
  rawPath: '/',
  rawQuery: '',
  query: new Map([['prefix', prefix]]),
  headers: new Headers(headers),
  headerNames: Object.keys(headers),
  bucket: '',
  hostBucket: null,
  key: '',
  resource: '/',
  acceptedEncodings: '',
  isSecure,
  tlsVersion,
  body: null,
});

/** Rights of a job. @param user the user with whose rights it works; null for an operator. */
export function rightsOf(user: UserPrincipal | null, origin: JobOrigin, prefix: string, now: number): JobRights {
  if (user === null) return OF_OPERATOR;
  const request = requestOf(prefix, origin);
  const { via, signature } = origin;
  const caller = { principal: user, via, signature, payload: { kind: 'unsigned' } } as const;
  return {
    may: ({ acl = null, ...need }) => mayAccess({ ...need, acl, caller }, request, now),
    ownerIn: (bucket) =>
      ownershipOf(bucket) === 'BucketOwnerEnforced' ? ownerOf(bucket) : { id: user.userId, displayName: user.name },
  };
}

/**
 * Finds the present rights of a job: those of the credential that started it.
 * @returns the reason why the job ends if the credential or its user is gone.
 */
export async function findRights(
  context: EngineContext,
  { userId, scopes, order, credential, origin = UNKNOWN_ORIGIN }: Job,
): Promise<Result<JobRights, 'credential_revoked' | 'user_suspended'>> {
  const now = context.now();
  const findUser = async () => {
    const { directory } = atDirectory(context, databaseNumberOf(userId ?? ''));
    return userId === null ? null : await findActingUser(directory, userId, scopes);
  };
  if (credential === undefined) {
    const user = await findUser();
    return user || userId === null ? ok(rightsOf(user, origin, order.prefix, now)) : err('user_suspended');
  }
  const caller = await findByCredential(atDirectory(context, credential.home).directory, credential, now);
  if (caller === null) return err(userId === null || (await findUser()) ? 'credential_revoked' : 'user_suspended');
  if (userId === null) return isOperator(caller) ? ok(OF_OPERATOR) : err('credential_revoked');
  const isSame = caller.kind === 'user' && caller.userId === userId;
  return isSame ? ok(rightsOf(caller, origin, order.prefix, now)) : err('credential_revoked');
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

/** Metadata of a copy that a job makes: that of the source and the record of its key, with the new object's owner. */
export function metadataOf(rights: JobRights, bucket: Bucket, source: ObjectMetadata): ObjectMetadata {
  const { headers, user } = source;
  const { id, displayName } = rights.ownerIn(bucket);
  const customerKey = keyRecordOf(source);
  const extra = { ...(displayName ? { ownerName: displayName } : {}), ...(customerKey ? { customerKey } : {}) };
  return { headers, user, ownerId: id, ...(Object.keys(extra).length > 0 ? { extra } : {}) };
}

/** Object Lock of a new object by the bucket's default retention. */
export function lockOf(bucket: Bucket, now: number): { readonly lock?: ObjectLock } {
  const byDefault = objectLockOf(bucket)?.defaultRetention;
  if (!byDefault) return {};
  return { lock: { mode: byDefault.mode, retainUntilMs: toRetainUntil(byDefault, now), isHeld: null } };
}
