/**
 * Answers an S3 request: resolve it to a bucket and key, detect the action, authenticate the caller, authorise the action,
 * run it, and add the headers that every answer has.
 *
 * Round trips: credentials, bucket and (for reads) version load in parallel; then the operation has one effect. UploadPart
 * loads its upload first, because the body may be 5 GB long.
 */
import {
  authenticateS3,
  authenticateS3Form,
  createS3Credentials,
  findS3User,
  findS3UsersByEmail,
  recordUse,
  type S3AuthFailure,
} from '../../identity/index.ts';
import { logError } from '../../shared/log.ts';
import { err, ok, type Result } from '../../shared/result.ts';
import { MisconfiguredError, settingsOf } from '../../shared/settings.ts';
import { type S3Failure, s3Failure } from '../domain/failure.ts';
import type { Bucket, Engine, PendingRead } from '../engine/model/contract.ts';
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
import type { BucketContext, Caller, Operation, ServiceContext, Users } from './protocol/operation.ts';
import { parseS3Request, type S3Request, withHoistedHeaders } from './protocol/request.ts';
import { answerS3Control } from './protocol/s3-control.ts';

export interface Wire {
  readonly env: Env;
  readonly engine: Engine;
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
  const loading = beginLoading(operation, request, wire.engine);
  if (!loading.ok) return loading;
  const [service, bucket] = await Promise.all([authenticate(action.value, sent, request, wire), loading.value.bucket]);
  if (bucket?.ok) trace.bucket = bucket.value;
  if (!service.ok) return service;
  if (operation.needs === 'service') return operation.run(service.value);
  if (bucket === null) throw new Error('an operation on a bucket started without one');
  if (!bucket.ok) return err(toS3Error(bucket.error));
  if (isTakenDown(bucket.value)) return err(s3Failure('UnavailableForLegalReasons'));
  return runOnBucket(operation, service.value, bucket.value, { pending: loading.value.version, env: wire.env });
}

/** Starts to load bucket and version before anything is awaited, so that they load while the caller is authenticated. */
function beginLoading(operation: Operation, request: S3Request, engine: Engine) {
  const versionId = parseVersionId(request.query.get('versionId'));
  if (!versionId.ok && operation.needs === 'version') return versionId;
  const version =
    operation.needs === 'version' && versionId.ok
      ? engine.beginRead(request.bucket, request.key, { versionId: versionId.value })
      : null;
  return ok({ bucket: operation.needs === 'service' ? null : engine.getBucket(request.bucket), version });
}

async function authenticate(
  action: S3Action,
  sent: S3Request,
  request: S3Request,
  { env, engine, now, requestId, waitUntil }: Wire,
): Promise<Result<ServiceContext, S3Failure>> {
  const credentials = createS3Credentials(env, now);
  // A preflight has no credentials. A preflight of a presigned link carries a signature for another method.
  const caller = action === 'PreflightObject' ? ok(ANONYMOUS) : await authenticateS3(sent, credentials, now);
  if (!caller.ok) return err(toAuthFailure(caller.error));
  recordUse(env, caller.value.principal, now, waitUntil);
  const admitted = await admitCaller(env, caller.value, sent.headers);
  if (!admitted.ok) return admitted;
  return ok({
    request,
    caller: caller.value,
    engine,
    users: createUsers(env),
    now,
    requestId,
    async authenticateForm(fields) {
      const result = await authenticateS3Form(fields, credentials, now);
      if (!result.ok) return err(toAuthFailure(result.error));
      recordUse(env, result.value.principal, now, waitUntil);
      return result;
    },
  });
}

async function runOnBucket(
  operation: Exclude<Operation, { needs: 'service' }>,
  service: ServiceContext,
  bucket: Bucket,
  { pending, env }: { readonly pending: PendingRead | null; readonly env: Env },
): Promise<Result<Response, S3Failure>> {
  const { request, caller, now } = service;
  const expectedOwner = request.headers.get('x-amz-expected-bucket-owner');
  if (expectedOwner !== null && expectedOwner !== bucket.ownerId) return err(s3Failure('AccessDenied'));
  const context: BucketContext = { ...service, bucket, may: (need) => mayAccess(need, request, now) };
  const permission = operation.permission(request);
  const allows = (version: Parameters<BucketContext['may']>[0]['version']) =>
    permission === null ||
    context.may({
      action: permission.action,
      key: permission.on === 'object' ? request.key : null,
      acl: permission.acl,
      bucket,
      caller,
      ...(version ? { version } : {}),
    });
  if (operation.needs === 'bucket') {
    if (!allows(null)) return err(s3Failure('AccessDenied'));
    const admitted = await admitToBucket(env, bucket.bucketId);
    return admitted.ok ? operation.run(context) : admitted;
  }
  if (pending === null) throw new Error('an operation on a version started without loading it');
  const found = await pending.open(bucket);
  // A missing version has no ACL to check. The operation reveals that it is missing only to callers who may list.
  const version = found.ok && !found.value.isMarker ? found.value : null;
  const isAllowed = allows(version);
  if (version !== null && !isAllowed) return err(s3Failure('AccessDenied'));
  if (version?.isTakenDown) return err(s3Failure('UnavailableForLegalReasons'));
  const admitted = isAllowed ? await admitToBucket(env, bucket.bucketId) : ok(null);
  return admitted.ok ? operation.run({ ...context, found }) : admitted;
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
