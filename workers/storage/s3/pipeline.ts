/**
 * Answers an S3 request, in one order: parse it and detect its action, load caller and bucket, admit, run the operation, and add the
 * headers that every answer has.
 *
 * To save round trips, caller and bucket first come from this isolate or a nearby replica, if a call of a shard can prove that they
 * are current: the look-up of a version, a commit, or a listing. If the shard refuses, or proves nothing, the same steps run with
 * rows of DIRECTORY's primary. The first attempt has had no effect then, so the request takes effect once.
 */
import { createS3Credentials, type UserPrincipal } from '../../identity/index.ts';
import { err, ok, type Result } from '../../shared/pure/result.ts';
import { settingsOf } from '../../shared/settings/settings.ts';
import { logError } from '../../shared/telemetry/log.ts';
import { isServerError, type S3Failure } from '../domain/failure.ts';
import type { Bucket, PendingRead, Proven } from '../engine/model/contract.ts';
import { isTakenDown, websiteOf } from './access/bucket-configuration.ts';
import {
  type Admitted,
  type AttemptSource,
  admit,
  type Call,
  type Loaded,
  type LoadingBucket,
  load,
  type Rate,
  toBucketContext,
  toProvenContext,
  type Wire,
} from './admission.ts';
import { isReadDocument, isSlowDocument } from './bodies/document-body.ts';
import { addCommonHeaders, appCorsOf } from './common-headers.ts';
import { parseVersionId } from './objects/object-version.ts';
import { OPERATIONS } from './operations/index.ts';
import { emptyAnswer, failureAnswer, toThrownFailure } from './protocol/answer.ts';
import { detectAction } from './protocol/detect.ts';
import { withDetails } from './protocol/failure-details.ts';
import { parseS3Request, type S3Request, withHoistedHeaders } from './protocol/request.ts';
import { answerS3Control } from './protocol/s3-control.ts';
import { findPublicAnswer, storePublicAnswer } from './public-cache.ts';
import { repairGenerations, runRenewed } from './renewal.ts';
import { answerSts } from './sts.ts';
import { answerPage, isPageRequest } from './website.ts';

/** An outcome with the bucket of the request; null while it is unknown or if there is none. */
interface Answered {
  readonly outcome: Result<Response, S3Failure>;
  readonly bucket: Bucket | null;
}

export async function answerS3(httpRequest: Request, wire: Wire): Promise<Response> {
  const { method } = httpRequest;
  const sent = await caught(wire, method, async () => parse(httpRequest, wire.env));
  const answered = sent.ok ? await caught(wire, method, () => answerParsed(sent.value, httpRequest, wire)) : sent;
  const { outcome, bucket } = answered.ok ? answered.value : { outcome: answered, bucket: null };
  const resource = sent.ok ? sent.value.resource : '/';
  const response = outcome.ok ? outcome.value : failureAnswer(outcome.error, resource, wire.requestId, method);
  const isOnBucketHost = sent.ok && sent.value.hostBucket !== null;
  addCommonHeaders(response.headers, httpRequest, wire, { bucket, isOnBucketHost });
  return response;
}

function parse(httpRequest: Request, env: Env): Result<S3Request, S3Failure> {
  const settings = settingsOf(env);
  return parseS3Request(httpRequest, { s3Host: settings.S3_HOST, rawTargetHeader: settings.RAW_TARGET_HEADER });
}

async function answerParsed(sent: S3Request, httpRequest: Request, wire: Wire): Promise<Result<Answered, S3Failure>> {
  const page = isPageRequest(sent) ? await answerSite(sent, httpRequest, wire) : null;
  if (page !== null) return ok(page);
  const early = await answerEarly(sent, httpRequest, wire);
  if (early !== null) return ok({ outcome: ok(early), bucket: null });
  const call = toCall(sent, httpRequest);
  if (!call.ok) return err(withDetails(call.error, sent));
  const first = await answerCall(call.value, wire);
  const isSlow = !first.outcome.ok && isSlowDocument(first.outcome.error);
  const { outcome, bucket } = isSlow ? await answerCall(call.value, wire) : first;
  return ok({ outcome: outcome.ok ? outcome : err(withDetails(outcome.error, sent)), bucket });
}

/** Answers a request to the website of a bucket. @returns null if the bucket has none, or is taken down: then the S3 API says so. */
async function answerSite(sent: S3Request, httpRequest: Request, wire: Wire): Promise<Answered | null> {
  const bucket = await wire.engine.getBucket(sent.bucket, 'recent');
  const website = bucket.ok && !isTakenDown(bucket.value) ? websiteOf(bucket.value) : null;
  if (!bucket.ok || website === null) return null;
  const outcome = await answerPage(sent, website, async (request) => {
    const cached = await findPublicAnswer(wire.cache, request, wire.now);
    if (cached !== null) return ok(cached);
    const call = toCall(request, httpRequest);
    return call.ok ? (await answerCall(call.value, wire)).outcome : call;
  });
  return { outcome, bucket: bucket.value };
}

/** Answers requests that need neither caller nor bucket. @returns null for all others. */
async function answerEarly(sent: S3Request, httpRequest: Request, wire: Wire): Promise<Response | null> {
  // A preflight of the web app is answered without a bucket, because the app also lists and creates buckets.
  if (sent.method === 'OPTIONS' && appCorsOf(httpRequest, wire.env) !== null) return emptyAnswer(200);
  const early = answerS3Control(sent, wire.requestId) ?? (await answerSts(sent, httpRequest, wire));
  return early ?? (await findPublicAnswer(wire.cache, sent, wire.now));
}

function toCall(sent: S3Request, httpRequest: Request): Result<Call, S3Failure> {
  const request = withHoistedHeaders(sent);
  const action = detectAction(request);
  if (!action.ok) return action;
  const operation = OPERATIONS[action.value];
  const versionId = parseVersionId(request.query.get('versionId'));
  if (!versionId.ok && operation.needs === 'version') return versionId;
  const choice = { versionId: versionId.ok ? versionId.value : undefined };
  return ok({ action: action.value, operation, sent, request, choice, isBodyUsed: () => httpRequest.bodyUsed });
}

/** Attempts a call with recent copies of caller and bucket, then with the rows of DIRECTORY's primary. */
async function answerCall(call: Call, wire: Wire): Promise<Answered> {
  const { operation, request, choice } = call;
  const { engine } = wire;
  // The first look-up of a shard starts before the first await, so that it runs while the caller is authenticated.
  const pending = operation.needs === 'version' ? engine.beginRead(request.bucket, request.key, choice) : null;
  if (operation.needs === 'bucket') operation.begin?.(request, engine);
  const isProvable = operation.needs === 'version' || (operation.needs === 'bucket' && operation.isProven === true);
  const copy = isProvable ? beginIn(pending, engine.getBucket(request.bucket, 'recent')) : null;
  const recent = copy && (await attempt(call, { source: 'recent', bucket: copy, pending, counted: [] }, wire));
  if (recent?.isFinal) return recent;
  const bucket = operation.needs === 'service' ? null : engine.getBucket(request.bucket);
  if (recent?.isRefused) wire.waitUntil(repairGenerations(call, recent.home, bucket, wire));
  return await attempt(call, { source: 'primary', bucket, pending, counted: recent?.counted ?? [] }, wire);
}

/** Starts the look-up of the version in the shard that a copy of the bucket names, as soon as the copy is there. */
async function beginIn(pending: PendingRead | null, loading: LoadingBucket): LoadingBucket {
  const bucket = await loading;
  if (bucket.ok) pending?.begin(bucket.value);
  return bucket;
}

interface Ran {
  readonly outcome: Result<Response, S3Failure>;
  /** Whether the outcome is returned without asking the primary. */
  readonly isFinal: boolean;
  /** Whether a shard refused the copies, because it knows a later change or revocation, or none at all. */
  readonly isRefused: boolean;
}

interface Attempted extends Ran, Answered {
  readonly counted: readonly Rate[];
  /** Number of the user database that has the caller's credential; 0 without one. */
  readonly home: number;
}

/** Loads caller and bucket from one source, admits the call, and runs its operation. */
async function attempt(call: Call, from: AttemptSource, wire: Wire): Promise<Attempted> {
  const loaded = await load(call, from, wire);
  const bucket = loaded.bucket?.ok ? loaded.bucket.value : null;
  const ran = await caught(wire, call.sent.method, async () => ok(await admitAndRun(call, from, loaded, wire)));
  const home = loaded.credentials.identity?.home ?? 0;
  return { ...(ran.ok ? ran.value : { ...final(ran), counted: from.counted }), bucket, home };
}

async function admitAndRun(call: Call, from: AttemptSource, loaded: Loaded, wire: Wire) {
  const admission = await admit(call, from, loaded, wire);
  const { counted } = admission;
  if (admission.isAdmitted) return { ...(await run(call, from, admission, wire)), counted };
  // A copy may lack a new bucket, key or right, so it refuses only what is proven.
  const isFinal = from.source === 'primary' || admission.isProven;
  return { outcome: err(admission.failure), isFinal, isRefused: false, counted };
}

const final = (outcome: Result<Response, S3Failure>): Ran => ({ outcome, isFinal: true, isRefused: false });

async function run(call: Call, { source }: AttemptSource, admitted: Admitted, wire: Wire): Promise<Ran> {
  const { operation, request } = call;
  const { service, bucket, found, identity } = admitted;
  const isPrimary = source === 'primary';
  if (operation.needs === 'service') return final(await operation.run(service));
  if (bucket === null) throw new Error('an operation on a bucket started without one');
  if (operation.needs === 'version') {
    if (found === null) throw new Error('an operation on a version started without loading it');
    const outcome = await operation.run({ ...toBucketContext(service, bucket), found });
    return final(isPrimary ? outcome : await storePublicAnswer(wire, call.sent, outcome, { bucket, found }));
  }
  // A read has one effect soon after it was authorised. A write may wait, or its body may take hours to arrive, so a shard compares
  // the authorised generations with those that it knows by then.
  const isRead = request.method === 'GET' || request.method === 'HEAD';
  if (isPrimary && isRead) return final(await operation.run(toBucketContext(service, bucket)));
  const context = toProvenContext(service, bucket, { identity, ...(isPrimary ? { isPrimary } : {}) });
  const outcome = await runRenewed(call, operation, context, wire);
  return { outcome, isFinal: isPrimary || mayAnswer(outcome, call), isRefused: outcome.proof === 'refused' };
}

/**
 * Whether an outcome of recent copies may be the answer. An unproven one may only if it reveals nothing about the
 * bucket, or if the body of an upload cannot be read again.
 */
function mayAnswer(outcome: Proven<Response, S3Failure>, { request, isBodyUsed }: Call): boolean {
  if (outcome.proof === 'held' || (isBodyUsed() && !isReadDocument(request))) return true;
  return outcome.proof !== 'refused' && !outcome.ok && isServerError(outcome.error);
}

/**
 * Answers a request with the rights of a user whom the caller of this function has found, such as the maker of a share link.
 * @param request names an object or a bucket, and reads it.
 */
export async function answerAs(
  principal: UserPrincipal,
  request: S3Request,
  httpRequest: Request,
  wire: Wire,
): Promise<Result<Response, S3Failure>> {
  const call = toCall(request, httpRequest);
  if (!call.ok) return call;
  const { operation, choice } = call.value;
  const pending = operation.needs === 'version' ? wire.engine.beginRead(request.bucket, request.key, choice) : null;
  const bucket = wire.engine.getBucket(request.bucket);
  const from: AttemptSource = { source: 'primary', bucket, pending, counted: ['caller'] };
  const caller = { principal, via: 'bearer', signature: null, payload: { kind: 'unsigned' } } as const;
  const credentials = createS3Credentials(wire.env, wire.now, 'primary');
  const loaded = { credentials, caller: ok(caller), bucket: await bucket };
  return await caught(wire, request.method, async () => (await admitAndRun(call.value, from, loaded, wire)).outcome);
}

/** Runs a step. An error that it throws becomes a failure. */
async function caught<T>(
  wire: Wire,
  method: string,
  step: () => Promise<Result<T, S3Failure>>,
): Promise<Result<T, S3Failure>> {
  try {
    return await step();
  } catch (error) {
    logError('storage_request_failed', error, { request_id: wire.requestId, method });
    return err(toThrownFailure(error));
  }
}
