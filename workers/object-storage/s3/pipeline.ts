/**
 * The S3 wire: parse → authenticate and load, side by side → authorise → run → dress the answer.
 *
 * Round trips: identity, bucket and (for reads) the version are asked for in one parallel step; then comes the one effect. A
 * part asks for its upload in between, since it may be 5 GB long and in vain.
 */
import {
  authenticateS3,
  authenticateS3Form,
  createS3Credentials,
  findS3User,
  findS3UsersByEmail,
  type S3AuthFailure,
} from '../../identity/index.ts';
import { logError } from '../../shared/log.ts';
import { err, ok, type Result } from '../../shared/result.ts';
import { MisconfiguredError, settingsOf } from '../../shared/settings.ts';
import { findCorsRule, toCorsHeaders } from '../domain/cors.ts';
import { type S3Failure, s3Failure } from '../domain/failure.ts';
import type { Bucket, Engine, PendingRead } from '../engine/model/contract.ts';
import { mayAccess } from './access/authorise.ts';
import { corsOf } from './access/bucket-configuration.ts';
import { parseVersionId } from './objects/object-version.ts';
import { OPERATIONS } from './operations/index.ts';
import { emptyAnswer, failureAnswer, internalFailure, misconfiguredFailure } from './protocol/answer.ts';
import { isAppOrigin, toAppCorsHeaders } from './protocol/app-cors.ts';
import { detectAction } from './protocol/detect.ts';
import { toS3Error } from './protocol/engine-failures.ts';
import { withDetails } from './protocol/failure-details.ts';
import type { BucketContext, Caller, Operation, ServiceContext, Users } from './protocol/operation.ts';
import { parseS3Request, type S3Request, withHoistedHeaders } from './protocol/request.ts';

export interface Wire {
  readonly env: Env;
  readonly engine: Engine;
  readonly now: number;
  readonly requestId: string;
}

const ANONYMOUS: Caller = { principal: null, via: 'anonymous', signature: null, payload: { kind: 'unsigned' } };

/** What the answer is dressed with, as far as the request got. */
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
  return dress(response, request, wire, trace);
}

async function runRequest(httpRequest: Request, wire: Wire, trace: Trace): Promise<Result<Response, S3Failure>> {
  const { env } = wire;
  const settings = settingsOf(env);
  const hosts = { s3Host: settings.S3_HOST, rawTargetHeader: settings.RAW_TARGET_HEADER };
  const parsed = parseS3Request(httpRequest, hosts);
  if (!parsed.ok) return parsed;
  trace.resource = parsed.value.resource;
  const outcome = await runParsed(parsed.value, httpRequest, wire, trace);
  return outcome.ok ? outcome : err(withDetails(outcome.error, parsed.value));
}

async function runParsed(
  sent: S3Request,
  httpRequest: Request,
  wire: Wire,
  trace: Trace,
): Promise<Result<Response, S3Failure>> {
  const { env } = wire;
  // What the signature covers is the request as it was sent.
  const request = withHoistedHeaders(sent);
  // The app's own preflights need no bucket: it lists buckets and makes new ones.
  if (request.method === 'OPTIONS' && appCorsOf(httpRequest, env) !== null) return ok(emptyAnswer(200));
  const action = detectAction(request);
  if (!action.ok) return action;
  const operation = OPERATIONS[action.value];
  const versionId = parseVersionId(request.query.get('versionId'));
  if (!versionId.ok && operation.needs === 'version') return versionId;
  // Begun before anything is awaited, so that all three questions are on their way together.
  const bucketFound = operation.needs === 'service' ? null : wire.engine.getBucket(request.bucket);
  const pending =
    operation.needs === 'version' && versionId.ok
      ? wire.engine.beginRead(request.bucket, request.key, { versionId: versionId.value })
      : null;
  const credentials = createS3Credentials(env, wire.now);
  // A preflight carries no credentials; a presigned link that is asked about was signed for another method.
  const authenticated =
    action.value === 'PreflightObject' ? ok(ANONYMOUS) : authenticateS3(sent, credentials, wire.now);
  const [caller, bucket] = await Promise.all([authenticated, bucketFound]);
  if (bucket?.ok) trace.bucket = bucket.value;
  if (!caller.ok) return err(toAuthFailure(caller.error));
  const service: ServiceContext = {
    request,
    caller: caller.value,
    engine: wire.engine,
    users: createUsers(env),
    now: wire.now,
    requestId: wire.requestId,
    async authenticateForm(fields) {
      const result = await authenticateS3Form(fields, credentials, wire.now);
      return result.ok ? result : err(toAuthFailure(result.error));
    },
  };
  if (operation.needs === 'service') return operation.run(service);
  if (bucket === null) throw new Error('an operation on a bucket began without one');
  if (!bucket.ok) return err(toS3Error(bucket.error));
  return runOnBucket(operation, service, bucket.value, pending);
}

async function runOnBucket(
  operation: Exclude<Operation, { needs: 'service' }>,
  service: ServiceContext,
  bucket: Bucket,
  pending: PendingRead | null,
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
  if (operation.needs === 'bucket') return allows(null) ? operation.run(context) : err(s3Failure('AccessDenied'));
  if (pending === null) throw new Error('an operation on a version began without asking for it');
  const found = await pending.open(bucket);
  // A version that is not there has no ACL to ask; the operation tells only those who may list that it is missing.
  if (found.ok && !found.value.isMarker && !allows(found.value)) return err(s3Failure('AccessDenied'));
  return operation.run({ ...context, found });
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

/** Headers that every answer bears; a browser must never take a stored object for a page of ours. */
function dress(response: Response, request: Request, wire: Wire, trace: Trace): Response {
  const { headers } = response;
  // Clients set their clocks by it when a signature was refused as too old.
  headers.set('date', new Date(wire.now).toUTCString());
  headers.set('x-amz-request-id', wire.requestId);
  headers.set('x-amz-id-2', wire.requestId);
  headers.set('x-request-id', wire.requestId);
  headers.set('x-content-type-options', 'nosniff');
  headers.set('content-security-policy', 'sandbox');
  const origin = request.headers.get('origin');
  if (origin !== null) {
    const cors = appCorsOf(request, wire.env) ?? bucketCorsOf(request, origin, trace.bucket);
    for (const [name, value] of Object.entries(cors ?? {})) headers.set(name, value);
  }
  return response;
}

function appCorsOf(request: Request, env: Env): Record<string, string> | null {
  const origin = request.headers.get('origin');
  if (origin === null || !isAppOrigin(origin, settingsOf(env).APP_HOST, request.url)) return null;
  return toAppCorsHeaders(request, origin);
}

/** Of an actual request; a preflight is answered by its operation. */
function bucketCorsOf(request: Request, origin: string, bucket: Bucket | null): Record<string, string> | null {
  if (request.method === 'OPTIONS') return null;
  // S3 goes by the method that is asked about, where one is.
  const method = request.headers.get('access-control-request-method') ?? request.method;
  const rules = bucket && corsOf(bucket);
  const rule = rules && findCorsRule(rules, origin, method);
  return rule && toCorsHeaders(rule, origin);
}
