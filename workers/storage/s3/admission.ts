/**
 * Loads who sends a request and to which bucket, and admits it, in one order: the caller's rate, then taken down, owner, right (pure),
 * then the bucket's rate.
 */
import {
  authenticateS3,
  authenticateS3Form,
  createS3Credentials,
  type DatedS3Credentials,
  findS3User,
  findS3UsersByEmail,
  readClient,
  recordUse,
  republishRevocations,
  type S3AuthFailure,
  UNKNOWN_CLIENT,
} from '../../identity/index.ts';
import { admitRequest, RATE_POLICIES, type RatePolicy } from '../../shared/json/request-rates.ts';
import { err, ok, type Result } from '../../shared/pure/result.ts';
import type { Source } from '../../shared/stores/replica.ts';
import { type S3Failure, s3Failure } from '../domain/failure.ts';
import type {
  Bucket,
  CommonError,
  Engine,
  IdentityProof,
  PendingRead,
  Proof,
  StoredVersion,
  VersionChoice,
} from '../engine/model/contract.ts';
import { REFUSED } from '../engine/model/proof.ts';
import { mayAccess } from './access/authorise.ts';
import { isTakenDown } from './access/bucket-configuration.ts';
import type { S3Action } from './protocol/detect.ts';
import { toS3Error } from './protocol/engine-failures.ts';
import type {
  BucketContext,
  Caller,
  Operation,
  RenewedContext,
  ServiceContext,
  Signer,
  Users,
  VersionContext,
} from './protocol/operation.ts';
import type { S3Request } from './protocol/request.ts';

export interface Wire {
  readonly env: Env;
  readonly engine: Engine;
  readonly now: number;
  readonly requestId: string;
  /** The cache of the data centre that answers. */
  readonly cache: Cache;
  /** Keeps background work alive after the answer. */
  readonly waitUntil: (work: Promise<unknown>) => void;
}

/** An S3 call: its action, and its request before (`sent`) and after (`request`) the headers in its query were extracted. */
export interface Call {
  readonly action: S3Action;
  readonly operation: Operation;
  readonly sent: S3Request;
  readonly request: S3Request;
  /** The version that the request names. */
  readonly choice: VersionChoice;
  readonly isBodyUsed: () => boolean;
}

export type LoadingBucket = ReturnType<Engine['getBucket']>;

/** The rates in which a call is counted: that of its caller, and that of its bucket. */
export type Rate = 'caller' | 'bucket';

/** From where an attempt of a call reads caller and bucket. */
export interface AttemptSource {
  readonly source: Source;
  /** Null for an operation that needs no bucket. */
  readonly bucket: LoadingBucket | null;
  /** The look-up of the version; null for an operation that needs none. */
  readonly pending: PendingRead | null;
  /** Rates in which an earlier attempt counted the call. A call counts once. */
  readonly counted: readonly Rate[];
}

/** The caller and the bucket of a request, as one source has them. */
export interface Loaded {
  readonly credentials: DatedS3Credentials;
  readonly caller: Result<Caller, S3Failure>;
  /** Null for an operation that needs no bucket. */
  readonly bucket: Result<Bucket, CommonError> | null;
}

const ANONYMOUS: Caller = { principal: null, via: 'anonymous', signature: null, payload: { kind: 'unsigned' } };

export async function load(
  { action, sent }: Call,
  { source, bucket: loading }: Pick<AttemptSource, 'source' | 'bucket'>,
  wire: Wire,
): Promise<Loaded> {
  const credentials = createS3Credentials(wire.env, wire.now, source);
  // A preflight has no credentials. If it is for a presigned link, the link's signature is for another method.
  const authenticating = action === 'PreflightObject' ? ok(ANONYMOUS) : authenticateS3(sent, credentials, wire.now);
  const [caller, bucket] = await Promise.all([authenticating, loading]);
  return { credentials, caller: caller.ok ? caller : err(toAuthFailure(caller.error)), bucket };
}

export interface Admitted {
  readonly isAdmitted: true;
  readonly service: ServiceContext;
  readonly bucket: Bucket | null;
  readonly found: VersionContext['found'] | null;
  readonly identity: IdentityProof | null;
  readonly counted: readonly Rate[];
}

interface NotAdmitted {
  readonly isAdmitted: false;
  readonly failure: S3Failure;
  /** Whether the failure holds although caller and bucket may be out of date. */
  readonly isProven: boolean;
  readonly counted: readonly Rate[];
}

/** Admits a call whose caller and bucket were loaded. */
export async function admit(
  call: Call,
  from: AttemptSource,
  loaded: Loaded,
  wire: Wire,
): Promise<Admitted | NotAdmitted> {
  const { caller, bucket, credentials } = loaded;
  const refuse = (failure: S3Failure, counted = from.counted, isProven = false) =>
    ({ isAdmitted: false, failure, isProven, counted }) as const;
  if (!caller.ok) return refuse(caller.error);
  recordUse(wire.env, caller.value.principal, wire.now, wire.waitUntil);
  const isCounted = from.counted.includes('caller');
  const admitted = isCounted ? ok(null) : await admitCaller(wire.env, caller.value, call.sent.headers);
  if (!admitted.ok) return refuse(admitted.error, from.counted, true);
  const service = toServiceContext(call, caller.value, credentials, wire);
  const { identity } = credentials;
  const counted: readonly Rate[] = ['caller'];
  if (bucket === null) return { isAdmitted: true, service, bucket, found: null, identity, counted };
  if (!bucket.ok) return refuse(toS3Error(bucket.error), counted);
  const found = await openVersion(call, from, bucket.value, { identity, wire });
  if (found === 'unproven') return refuse(toS3Error(REFUSED.error), counted);
  const version = found && versionOf(found);
  const right = checkAccess(call, { caller: caller.value, bucket: bucket.value, version }, wire.now);
  if (!right.ok) return refuse(right.error, counted, found !== null);
  const isRated = right.value.hasRight && !from.counted.includes('bucket');
  const room = isRated ? await admitToBucket(wire.env, bucket.value.bucketId) : ok(null);
  if (!room.ok) return refuse(room.error, counted, true);
  return { isAdmitted: true, service, bucket: bucket.value, found, identity, counted: ['caller', 'bucket'] };
}

/** Error of a request over its rate. S3 clients retry SlowDown with a backoff. */
const SLOW_DOWN = err(
  s3Failure('SlowDown', undefined, { headers: { 'retry-after': String(RATE_POLICIES.access_key.periodSeconds) } }),
);

async function applyRate(env: Env, policy: RatePolicy, key: string): Promise<Result<null, S3Failure>> {
  return (await admitRequest(env, policy, key)) ? ok(null) : SLOW_DOWN;
}

/** Applies the rate of the caller. Called after authentication, because a forged access key id must not use up its owner's rate. */
export async function admitCaller(env: Env, { principal }: Caller, headers: Headers): Promise<Result<null, S3Failure>> {
  if (principal !== null) return applyRate(env, 'access_key', principal.credentialId);
  const client = readClient(headers);
  return client === UNKNOWN_CLIENT ? ok(null) : applyRate(env, 'client', client);
}

/**
 * Applies the rate of the bucket. Called after authorisation, because a caller without access must not use up the bucket's rate.
 */
const admitToBucket = (env: Env, bucketId: string): Promise<Result<null, S3Failure>> =>
  applyRate(env, 'bucket', bucketId);

/**
 * Finds the version that a call names.
 * @returns null if the operation needs no version; `unproven` if the look-up does not prove that recent copies are current. An
 * unknown bucket may be new, so it is never proven.
 */
async function openVersion(
  call: Call,
  { source, pending }: AttemptSource,
  bucket: Bucket,
  { identity, wire }: { readonly identity: IdentityProof | null; readonly wire: Wire },
): Promise<VersionContext['found'] | 'unproven' | null> {
  if (pending === null) return null;
  if (source === 'primary') return await pending.open(bucket);
  const found = await pending.openProven(bucket, identity, isWholeRead(call));
  if (found.ok || found.error.kind !== 'unproven') return found as VersionContext['found'];
  if (!found.error.knowsIdentity) wire.waitUntil(republishRevocations(wire.env, identity?.home ?? 0));
  return 'unproven';
}

/** Whether the answer is probably the whole object. */
const isWholeRead = ({ action, request: { headers } }: Call): boolean =>
  action === 'GetObject' && ['range', 'if-none-match', 'if-modified-since'].every((name) => headers.get(name) === null);

/**
 * The version whose ACL and tags decide about access; null for a missing one. The operation tells only callers with the right to
 * list that a version is missing.
 */
const versionOf = (found: VersionContext['found']): StoredVersion | null =>
  found.ok && !found.value.isMarker ? found.value : null;

interface Parties {
  readonly caller: Caller;
  readonly bucket: Bucket;
  readonly version: StoredVersion | null;
}

/**
 * Decides whether an operation may run: taken down, owner, right.
 * @returns whether the caller has the right. An operation on a version that does not exist runs without it: it decides what the
 * caller may learn.
 */
export function checkAccess(
  { operation, request }: Call,
  { caller, bucket, version }: Parties,
  now: number,
): Result<{ readonly hasRight: boolean }, S3Failure> {
  if (operation.needs === 'service') return ok({ hasRight: true });
  if (isTakenDown(bucket)) return err(s3Failure('UnavailableForLegalReasons'));
  const expectedOwner = request.headers.get('x-amz-expected-bucket-owner');
  if (expectedOwner !== null && expectedOwner !== bucket.ownerId) return err(s3Failure('AccessDenied'));
  const permission = operation.permission(request);
  if (permission === null) return ok({ hasRight: true });
  const { action, acl, on } = permission;
  const key = on === 'object' ? request.key : null;
  const need = { action, key, acl, bucket, caller, ...(version ? { version } : {}) };
  const hasRight = mayAccess(need, request, now);
  if (!hasRight && (operation.needs === 'bucket' || version !== null)) return err(s3Failure('AccessDenied'));
  if (version?.isTakenDown) return err(s3Failure('UnavailableForLegalReasons'));
  return ok({ hasRight });
}

export function toServiceContext(
  { request }: Call,
  caller: Caller,
  credentials: DatedS3Credentials,
  wire: Wire,
): ServiceContext {
  const { env, engine, now, requestId } = wire;
  return {
    request,
    caller,
    engine: engine.actingFor(caller.principal?.userId ?? null),
    users: createUsers(env),
    now,
    requestId,
    authenticateForm: (fields) => authenticateForm(fields, credentials, wire),
  };
}

export const toBucketContext = (service: ServiceContext, bucket: Bucket): BucketContext => ({
  ...service,
  bucket,
  may: (need) => mayAccess(need, service.request, service.now),
});

/** The context of an operation whose calls of a shard compare the rows that authorised it. */
export function toProvenContext(service: ServiceContext, bucket: Bucket, proof: Proof): RenewedContext {
  const guarded = { ...bucket, proof };
  return { ...toBucketContext(service, guarded), bucket: guarded };
}

/** Authenticates the signer of a form. The body of a form has its credential, so its operation calls this. */
async function authenticateForm(
  fields: ReadonlyMap<string, string>,
  credentials: DatedS3Credentials,
  { env, now, waitUntil }: Wire,
): Promise<Result<Signer, S3Failure>> {
  const caller = await authenticateS3Form(fields, credentials, now);
  if (!caller.ok) return err(toAuthFailure(caller.error));
  recordUse(env, caller.value.principal, now, waitUntil);
  return ok({ caller: caller.value, identity: credentials.identity });
}

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
