/**
 * Answers an S3 request: resolve it to a bucket and key, detect the action, authenticate the caller, authorise the action,
 * run it, and add the headers that every answer has.
 *
 * Round trips: operations on a version take credentials and bucket from a replica nearby, and one look-up of the version
 * proves them. Other operations, and refusals, load both from the primary in parallel; then the operation has one effect.
 * UploadPart loads its upload first, because the body may be 5 GB long.
 */
import {
  authenticateS3,
  authenticateS3Form,
  createS3Credentials,
  type DatedS3Credentials,
  findS3User,
  findS3UsersByEmail,
  recordUse,
  republishRevocations,
  type S3AuthFailure,
  type S3Credentials,
} from '../../identity/index.ts';
import { logError } from '../../shared/log.ts';
import type { Source } from '../../shared/replica.ts';
import { err, ok, type Result } from '../../shared/result.ts';
import { MisconfiguredError, settingsOf } from '../../shared/settings.ts';
import { type S3Failure, s3Failure } from '../domain/failure.ts';
import type { Origin } from '../engine/model/context.ts';
import type { Bucket, Engine, PendingRead, StoredVersion, Unproven } from '../engine/model/contract.ts';
import { mayAccess } from './access/authorise.ts';
import { isTakenDown } from './access/bucket-configuration.ts';
import { admitCaller, admitToBucket } from './access/request-rate.ts';
import { addCommonHeaders, appCorsOf } from './common-headers.ts';
import { parseVersionId } from './objects/object-version.ts';
import { OPERATIONS } from './operations/index.ts';
import { emptyAnswer, failureAnswer, internalFailure, misconfiguredFailure } from './protocol/answer.ts';
import { detectAction, type S3Action } from './protocol/detect.ts';
import { toS3Error } from './protocol/engine-failures.ts';
import { withDetails } from './protocol/failure-details.ts';
import type { BucketContext, Caller, Operation, ServiceContext, Users, VersionContext } from './protocol/operation.ts';
import { parseS3Request, type S3Request, withHoistedHeaders } from './protocol/request.ts';
import { answerS3Control } from './protocol/s3-control.ts';

export interface Wire {
  readonly env: Env;
  readonly engine: Engine;
  /** Known to the engine. */
  readonly origin: Origin;
  readonly now: number;
  readonly requestId: string;
  /** Keeps the request alive for work after the answer. */
  readonly waitUntil: (work: Promise<unknown>) => void;
}

const ANONYMOUS: Caller = { principal: null, via: 'anonymous', signature: null, payload: { kind: 'unsigned' } };

/** Facts that the common headers and the error document need, as far as they are known. */
interface Trace {
  resource: string;
  bucket: Bucket | null;
}

export async function answerS3(request: Request, wire: Wire): Promise<Response> {
  const trace: Trace = { resource: '/', bucket: null };
  let outcome: Result<Response, S3Failure>;
  try {
    outcome = await runRequest(request, wire, trace);
  } catch (error) {
    logError('storage_request_failed', error, { request_id: wire.requestId, method: request.method });
    outcome = err(error instanceof MisconfiguredError ? misconfiguredFailure(error) : internalFailure());
  }
  const response = outcome.ok
    ? outcome.value
    : failureAnswer(outcome.error, trace.resource, wire.requestId, request.method);
  addCommonHeaders(response.headers, request, wire, trace.bucket);
  return response;
}

async function runRequest(httpRequest: Request, wire: Wire, trace: Trace): Promise<Result<Response, S3Failure>> {
  const settings = settingsOf(wire.env);
  const hosts = { s3Host: settings.S3_HOST, rawTargetHeader: settings.RAW_TARGET_HEADER };
  const sent = parseS3Request(httpRequest, hosts);
  if (!sent.ok) return sent;
  trace.resource = sent.value.resource;
  // Preflights of the web app need no bucket, because the app also lists and creates buckets.
  if (sent.value.method === 'OPTIONS' && appCorsOf(httpRequest, wire.env) !== null) return ok(emptyAnswer(200));
  const control = answerS3Control(sent.value, wire.requestId);
  if (control !== null) return ok(control);
  const outcome = await runResolved(sent.value, wire, trace);
  return outcome.ok ? outcome : err(withDetails(outcome.error, sent.value));
}

/** @param sent the request as the client signed it. */
async function runResolved(sent: S3Request, wire: Wire, trace: Trace): Promise<Result<Response, S3Failure>> {
  const request = withHoistedHeaders(sent);
  const action = detectAction(request);
  if (!action.ok) return action;
  const operation = OPERATIONS[action.value];
  const versionId = parseVersionId(request.query.get('versionId'));
  if (!versionId.ok && operation.needs === 'version') return versionId;
  const credentialsIn = (source: Source) => createS3Credentials(wire.env, wire.now, source);
  const call = { action: action.value, sent, request };
  // Starts before anything is awaited, so that the version loads while the caller is authenticated.
  let pending: PendingRead | null = null;
  if (operation.needs === 'version' && versionId.ok) {
    pending = wire.engine.beginRead(request.bucket, request.key, { versionId: versionId.value });
    const proven = await runProven(operation, call, credentialsIn('replica'), pending, wire, trace);
    if (proven !== null) return proven;
  }
  const loading = operation.needs === 'service' ? null : wire.engine.getBucket(request.bucket);
  const credentials = credentialsIn('primary');
  const [caller, bucket] = await Promise.all([authenticate(call, credentials, wire), loading]);
  if (bucket?.ok) trace.bucket = bucket.value;
  if (!caller.ok) return caller;
  const service = await admit(caller.value, call, credentials, wire);
  if (!service.ok) return service;
  if (operation.needs === 'service') return operation.run(service.value);
  if (bucket === null) throw new Error('an operation on a bucket started without one');
  if (!bucket.ok) return err(toS3Error(bucket.error));
  if (isTakenDown(bucket.value)) return err(s3Failure('UnavailableForLegalReasons'));
  return runOnBucket(operation, service.value, bucket.value, { pending, env: wire.env });
}

/** The S3 call: its action, and the request before and after headers were taken from the query. */
interface Call {
  readonly action: S3Action;
  readonly sent: S3Request;
  readonly request: S3Request;
}

/**
 * Runs an operation on a version with caller and bucket from replicas of DIRECTORY. The look-up of the version proves that
 * both are current.
 * @returns null without that proof: the primary decides. An unknown key or bucket may be new, so it is never proven.
 */
async function runProven(
  operation: Extract<Operation, { needs: 'version' }>,
  call: Call,
  credentials: DatedS3Credentials,
  pending: PendingRead,
  wire: Wire,
  trace: Trace,
): Promise<Result<Response, S3Failure> | null> {
  const [caller, bucket] = await Promise.all([
    authenticate(call, credentials, wire),
    wire.engine.getBucket(call.request.bucket, 'replica'),
  ]);
  if (!caller.ok || !bucket.ok || isTakenDown(bucket.value)) return null;
  const found = await pending.openProven(bucket.value, credentials.generation);
  if (!found.ok && found.error.kind === 'unproven') {
    if (!found.error.knowsIdentity) wire.waitUntil(republishRevocations(wire.env));
    return null;
  }
  const proven = found as Exclude<VersionContext['found'], { ok: false; error: Unproven }>;
  const version = versionOf(proven);
  trace.bucket = bucket.value;
  if (!isExpectedOwner(call.request, bucket.value)) return err(s3Failure('AccessDenied'));
  const isAllowed = mayRun(operation, call.request, caller.value, bucket.value, version, wire.now);
  if (version !== null && !isAllowed) return err(s3Failure('AccessDenied'));
  const service = await admit(caller.value, call, credentials, wire);
  if (!service.ok) return service;
  return runOnVersion(operation, service.value, bucket.value, proven, { isAllowed, env: wire.env });
}

async function authenticate(
  { action, sent }: Call,
  credentials: S3Credentials,
  { now }: Wire,
): Promise<Result<Caller, S3Failure>> {
  // A preflight has no credentials. A preflight of a presigned link carries a signature for another method.
  const caller = action === 'PreflightObject' ? ok(ANONYMOUS) : await authenticateS3(sent, credentials, now);
  return caller.ok ? caller : err(toAuthFailure(caller.error));
}

/** Records the use of the credential and applies the rates of the caller. */
async function admit(
  caller: Caller,
  { sent, request }: Call,
  credentials: S3Credentials,
  { env, engine, origin, now, requestId, waitUntil }: Wire,
): Promise<Result<ServiceContext, S3Failure>> {
  origin.principalId = caller.principal?.userId ?? null;
  recordUse(env, caller.principal, now, waitUntil);
  const admitted = await admitCaller(env, caller, sent.headers);
  if (!admitted.ok) return admitted;
  return ok({
    request,
    caller,
    engine,
    users: createUsers(env),
    now,
    requestId,
    async authenticateForm(fields) {
      const result = await authenticateS3Form(fields, credentials, now);
      if (!result.ok) return err(toAuthFailure(result.error));
      origin.principalId = result.value.principal?.userId ?? null;
      recordUse(env, result.value.principal, now, waitUntil);
      return result;
    },
  });
}

function isExpectedOwner(request: S3Request, bucket: Bucket): boolean {
  const expectedOwner = request.headers.get('x-amz-expected-bucket-owner');
  return expectedOwner === null || expectedOwner === bucket.ownerId;
}

/** A missing version has no ACL to check. The operation reveals that it is missing only to callers who may list. */
const versionOf = (found: VersionContext['found']): StoredVersion | null =>
  found.ok && !found.value.isMarker ? found.value : null;

function mayRun(
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

async function runOnBucket(
  operation: Exclude<Operation, { needs: 'service' }>,
  service: ServiceContext,
  bucket: Bucket,
  { pending, env }: { readonly pending: PendingRead | null; readonly env: Env },
): Promise<Result<Response, S3Failure>> {
  const { request, caller, now } = service;
  if (!isExpectedOwner(request, bucket)) return err(s3Failure('AccessDenied'));
  if (operation.needs === 'bucket') {
    if (!mayRun(operation, request, caller, bucket, null, now)) return err(s3Failure('AccessDenied'));
    const admitted = await admitToBucket(env, bucket.bucketId);
    return admitted.ok ? operation.run(onBucket(service, bucket)) : admitted;
  }
  if (pending === null) throw new Error('an operation on a version started without loading it');
  const found = await pending.open(bucket);
  const version = versionOf(found);
  const isAllowed = mayRun(operation, request, caller, bucket, version, now);
  if (version !== null && !isAllowed) return err(s3Failure('AccessDenied'));
  return runOnVersion(operation, service, bucket, found, { isAllowed, env });
}

const onBucket = (service: ServiceContext, bucket: Bucket): BucketContext => ({
  ...service,
  bucket,
  may: (need) => mayAccess(need, service.request, service.now),
});

async function runOnVersion(
  operation: Extract<Operation, { needs: 'version' }>,
  service: ServiceContext,
  bucket: Bucket,
  found: VersionContext['found'],
  { isAllowed, env }: { readonly isAllowed: boolean; readonly env: Env },
): Promise<Result<Response, S3Failure>> {
  if (versionOf(found)?.isTakenDown) return err(s3Failure('UnavailableForLegalReasons'));
  const admitted = isAllowed ? await admitToBucket(env, bucket.bucketId) : ok(null);
  return admitted.ok ? operation.run({ ...onBucket(service, bucket), found }) : admitted;
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
