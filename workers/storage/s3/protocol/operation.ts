/** Types of S3 operations: the data that an operation loads, the permission that it requires, and its code. */
import type { S3Caller, S3User } from '../../../identity/index.ts';
import type { Result } from '../../../shared/pure/result.ts';
import type { AclPermission } from '../../domain/acl.ts';
import type { S3Failure } from '../../domain/failure.ts';
import type {
  Bucket,
  Engine,
  IdentityProof,
  ProofState,
  Proven,
  ReadError,
  RenewedBucket,
  StoredVersion,
} from '../../engine/model/contract.ts';
import type { S3Request } from './request.ts';

/** An outcome whose proof may be missing, because the operation proves nothing. */
export type Outcome = Promise<
  | { readonly ok: true; readonly value: Response; readonly proof?: 'open' | 'held' }
  | { readonly ok: false; readonly error: S3Failure; readonly proof?: ProofState | undefined }
>;
/** The outcome of an operation whose calls of a shard prove that bucket and caller are current. */
export type ProvenOutcome = Promise<Proven<Response, S3Failure>>;

export type Caller = S3Caller;

/** Finds users, for the grantees that an ACL names. */
export interface Users {
  findById(userId: string): Promise<S3User | null>;
  findByEmail(email: string): Promise<readonly S3User[]>;
}

export interface ServiceContext {
  readonly request: S3Request;
  readonly caller: Caller;
  readonly engine: Engine;
  readonly users: Users;
  readonly now: number;
  readonly requestId: string;
  /** Authenticates the signer of a POST form by its fields. */
  authenticateForm(fields: ReadonlyMap<string, string>): Promise<Result<Signer, S3Failure>>;
}

/** The signer of a POST form. */
export interface Signer {
  readonly caller: Caller;
  /** Generation of identity in the copy that had the credential; null without a credential. */
  readonly identity: IdentityProof | null;
}

export interface BucketContext extends ServiceContext {
  readonly bucket: Bucket;
  /** Whether the caller may perform a further action, as on the source of a copy or on each of many keys. */
  may(need: AccessNeed): boolean;
  /** Authorises the request again, with DIRECTORY's primary, after the proof of `bucket` was refused. Absent for reads. */
  readonly renew?: () => Promise<Result<RenewedContext, S3Failure>>;
}

/** The context of a request that was authorised again. Its bucket has a proof, so that later writes are guarded as well. */
export interface RenewedContext extends BucketContext {
  readonly bucket: RenewedBucket;
}

export interface VersionContext extends BucketContext {
  /** The version that the request names, or the reason why there is none. The version may be a delete marker. */
  readonly found: Result<StoredVersion, ReadError>;
}

/** A permission that a caller needs: an IAM action on the bucket or on one of its objects, and the ACL that may grant it. */
export interface AccessNeed {
  /** Name of the action without the prefix `s3:`. */
  readonly action: string;
  /** Key of the object; null for the bucket itself. */
  readonly key: string | null;
  /** The ACL permission that also grants the action; null if only ownership and policies grant it. */
  readonly acl: {
    readonly of: 'bucket' | 'object';
    readonly permission: Exclude<AclPermission, 'FULL_CONTROL'>;
  } | null;
  readonly bucket: Bucket;
  /** The version of the object. Its ACL and tags apply. */
  readonly version?: Pick<StoredVersion, 'acl' | 'metadata' | 'tags'> | null;
  /** Values of condition keys that only this action has. Names are in lower case. */
  readonly context?: Readonly<Record<string, string | readonly string[] | undefined>>;
  readonly caller: Caller;
}

/** The permission that an operation requires. The pipeline adds bucket, version and caller. */
export type Permission = Pick<AccessNeed, 'action' | 'acl'> & { readonly on: 'bucket' | 'object' };

interface OnBucket {
  readonly needs: 'bucket';
  /** Starts the first query of a shard before caller and bucket are known. Its result is used only once both are. */
  begin?(request: S3Request, engine: Engine): void;
  /** The permission that the pipeline checks; null if the operation checks permissions itself, with `may`. */
  permission(request: S3Request): Permission | null;
}

export type Operation =
  | { readonly needs: 'service'; run(context: ServiceContext): Outcome }
  | (OnBucket & { readonly isProven?: never; run(context: BucketContext): Outcome })
  | (OnBucket & {
      /**
       * Set if the operation's calls of a shard prove that bucket and caller are current, so that both may come from replicas. Such
       * an operation may run a second time, unless its body is an upload. It returns what was proven.
       */
      readonly isProven: true;
      run(context: BucketContext): ProvenOutcome;
    })
  | {
      readonly needs: 'version';
      permission(request: S3Request): Permission;
      run(context: VersionContext): Outcome;
    };

export const onBucket = (
  action: string,
  permission: Exclude<AclPermission, 'FULL_CONTROL'> | null = null,
): (() => Permission) => {
  const need: Permission = { action, on: 'bucket', acl: permission && { of: 'bucket', permission } };
  return () => need;
};

/** The permission for an action on an object. @param versioned name of the action that applies if the request names a version. */
export const onObject =
  (action: string, versioned: string, permission: Exclude<AclPermission, 'FULL_CONTROL'> | null) =>
  (request: S3Request): Permission => ({
    action: request.query.get('versionId') ? versioned : action,
    on: 'object',
    acl: permission && { of: 'object', permission },
  });
