/** Authentication and authorisation: the steps of the pipeline before an operation runs. */
import {
  authenticateS3,
  authenticateS3Form,
  createS3Credentials,
  type DatedS3Credentials,
  findS3User,
  findS3UsersByEmail,
  recordUse,
  type S3AuthFailure,
  type S3Credentials,
} from '../../identity/index.ts';
import { err, ok, type Result } from '../../shared/pure/result.ts';
import type { Source } from '../../shared/stores/replica.ts';
import { type S3Failure, s3Failure } from '../domain/failure.ts';
import type { Origin } from '../engine/model/context.ts';
import type { Bucket, Engine, StoredVersion } from '../engine/model/contract.ts';
import { mayAccess } from './access/authorise.ts';
import { admitCaller } from './access/request-rate.ts';
import type { S3Action } from './protocol/detect.ts';
import type { BucketContext, Caller, Operation, ServiceContext, Users, VersionContext } from './protocol/operation.ts';
import type { S3Request } from './protocol/request.ts';

export interface Wire {
  readonly env: Env;
  readonly engine: Engine;
  /** Origin of the request for event notifications. The engine has the same object. */
  readonly origin: Origin;
  readonly now: number;
  readonly requestId: string;
  /** The cache of the data centre that answers. */
  readonly cache: Cache;
  /** Keeps background work alive after the answer. */
  readonly waitUntil: (work: Promise<unknown>) => void;
}

const ANONYMOUS: Caller = { principal: null, via: 'anonymous', signature: null, payload: { kind: 'unsigned' } };

/** An S3 call: its action, and its request before (`sent`) and after (`request`) the headers in its query were extracted. */
export interface Call {
  readonly action: S3Action;
  readonly sent: S3Request;
  readonly request: S3Request;
  readonly isBodyUsed: () => boolean;
  /** Whether the call is already counted in the rates of caller and bucket. A request that runs a second time counts once. */
  isAdmitted: boolean;
  /** Whether a shard refused the copies of DIRECTORY because it knows a later change or revocation. */
  isRefused: boolean;
  /** Number of the user database that has the caller's credential; 0 without one, or before an operation ran on copies. */
  home: number;
}

export const credentialsIn = (source: Source, { env, now }: Wire): DatedS3Credentials =>
  createS3Credentials(env, now, source);

export async function authenticate(
  { action, sent }: Call,
  credentials: S3Credentials,
  { now }: Wire,
): Promise<Result<Caller, S3Failure>> {
  // A preflight has no credentials. If it is for a presigned link, the link's signature is for another method.
  const caller = action === 'PreflightObject' ? ok(ANONYMOUS) : await authenticateS3(sent, credentials, now);
  return caller.ok ? caller : err(toAuthFailure(caller.error));
}

/** Records the use of the credential, and applies the rate of the caller unless the call is counted already. */
export async function admit(
  caller: Caller,
  { sent, request, isAdmitted }: Call,
  credentials: S3Credentials,
  wire: Wire,
): Promise<Result<ServiceContext, S3Failure>> {
  const { env, engine, origin, now, requestId, waitUntil } = wire;
  origin.principalId = caller.principal?.userId ?? null;
  recordUse(env, caller.principal, now, waitUntil);
  const admitted = isAdmitted ? ok(null) : await admitCaller(env, caller, sent.headers);
  if (!admitted.ok) return admitted;
  return ok({
    request,
    caller,
    engine,
    users: createUsers(env),
    now,
    requestId,
    authenticateForm: (fields) => authenticateForm(fields, credentials, wire),
  });
}

export async function authenticateForm(
  fields: ReadonlyMap<string, string>,
  credentials: S3Credentials,
  { env, origin, now, waitUntil }: Wire,
): Promise<Result<Caller, S3Failure>> {
  const result = await authenticateS3Form(fields, credentials, now);
  if (!result.ok) return err(toAuthFailure(result.error));
  origin.principalId = result.value.principal?.userId ?? null;
  recordUse(env, result.value.principal, now, waitUntil);
  return result;
}

export function isExpectedOwner(request: S3Request, bucket: Bucket): boolean {
  const expectedOwner = request.headers.get('x-amz-expected-bucket-owner');
  return expectedOwner === null || expectedOwner === bucket.ownerId;
}

/**
 * The version whose ACL and tags decide about access; null for a missing one. The operation tells only callers with the right to
 * list that a version is missing.
 */
export const versionOf = (found: VersionContext['found']): StoredVersion | null =>
  found.ok && !found.value.isMarker ? found.value : null;

export function mayRun(
  operation: Exclude<Operation, { needs: 'service' }>,
  request: S3Request,
  caller: Caller,
  bucket: Bucket,
  version: StoredVersion | null,
  now: number,
): boolean {
  const permission = operation.permission(request);
  if (permission === null) return true;
  const { action, acl, on } = permission;
  const key = on === 'object' ? request.key : null;
  return mayAccess({ action, key, acl, bucket, caller, ...(version ? { version } : {}) }, request, now);
}

export const onBucket = (service: ServiceContext, bucket: Bucket): BucketContext => ({
  ...service,
  bucket,
  may: (need) => mayAccess(need, service.request, service.now),
});

function toAuthFailure(failure: S3AuthFailure): S3Failure {
  const { status, details } = failure;
  return s3Failure(failure.code, failure.message, {
    ...(status === undefined ? {} : { status }),
    ...(details ? { details } : {}),
  });
}

const createUsers = (env: Env): Users => ({
  findById: (userId) => findS3User(env, userId),
  findByEmail: (email) => findS3UsersByEmail(env, email),
});
