/**
 * Answers an S3 request: resolve it to a bucket and key, detect the action, authenticate the caller, authorise the action, run it,
 * and add the headers that every answer has.
 *
 * To save round trips, credentials and bucket come from this isolate or a nearby replica if a call of a shard can prove that they
 * are current: the look-up of a version, a commit, or a listing. Other operations load both from the primary in parallel. So does a
 * request whose proof fails; it has had no effect before, so it takes effect once. UploadPart loads its upload first, because the
 * body may be 5 GB long.
 */
import { type DatedS3Credentials, republishRevocations } from '../../identity/index.ts';
import { err, ok, type Result } from '../../shared/pure/result.ts';
import { MisconfiguredError, settingsOf } from '../../shared/settings/settings.ts';
import { logError } from '../../shared/telemetry/log.ts';
import { isServerError, type S3Failure, s3Failure } from '../domain/failure.ts';
import { pause } from '../engine/model/context.ts';
import type { Bucket, Engine, PendingRead, Proof, Unproven } from '../engine/model/contract.ts';
import { RENEWALS_MAX, renewalPauseMs } from '../engine/model/proof.ts';
import { isTakenDown } from './access/bucket-configuration.ts';
import { admitToBucket } from './access/request-rate.ts';
import {
  admit,
  authenticate,
  authenticateForm,
  type Call,
  credentialsIn,
  isExpectedOwner,
  mayRun,
  onBucket,
  versionOf,
  type Wire,
} from './admission.ts';
import { isReadDocument, isSlowDocument } from './bodies/document-body.ts';
import { addCommonHeaders, appCorsOf } from './common-headers.ts';
import { parseVersionId } from './objects/object-version.ts';
import { OPERATIONS } from './operations/index.ts';
import { emptyAnswer, failureAnswer, internalFailure, misconfiguredFailure } from './protocol/answer.ts';
import { detectAction } from './protocol/detect.ts';
import { toS3Error } from './protocol/engine-failures.ts';
import { withDetails } from './protocol/failure-details.ts';
import type { BucketContext, Operation, RenewedContext, ServiceContext, VersionContext } from './protocol/operation.ts';
import { parseS3Request, type S3Request, withHoistedHeaders } from './protocol/request.ts';
import { answerS3Control } from './protocol/s3-control.ts';
import { findPublicAnswer, storePublicAnswer } from './public-cache.ts';

/** Facts about the request that the common headers and the error document need, as far as they are known. */
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
  // A preflight of the web app is answered without a bucket, because the app also lists and creates buckets.
  if (sent.value.method === 'OPTIONS' && appCorsOf(httpRequest, wire.env) !== null) return ok(emptyAnswer(200));
  const control = answerS3Control(sent.value, wire.requestId);
  if (control !== null) return ok(control);
  const cached = await findPublicAnswer(wire.cache, sent.value, wire.now);
  if (cached !== null) return ok(cached);
  const run = () => runResolved(sent.value, () => httpRequest.bodyUsed, wire, trace);
  let outcome = await run();
  if (!outcome.ok && isSlowDocument(outcome.error)) outcome = await run();
  return outcome.ok ? outcome : err(withDetails(outcome.error, sent.value));
}

/** Runs a request whose bucket and key are known. @param sent the request as the client signed it. */
async function runResolved(
  sent: S3Request,
  isBodyUsed: () => boolean,
  wire: Wire,
  trace: Trace,
): Promise<Result<Response, S3Failure>> {
  const request = withHoistedHeaders(sent);
  const action = detectAction(request);
  if (!action.ok) return action;
  const operation = OPERATIONS[action.value];
  const versionId = parseVersionId(request.query.get('versionId'));
  if (!versionId.ok && operation.needs === 'version') return versionId;
  const call: Call = { action: action.value, sent, request, isBodyUsed, isAdmitted: false, isRefused: false, home: 0 };
  // The version's look-up starts before the first await, so that it runs while the caller is authenticated.
  let pending: PendingRead | null = null;
  if (operation.needs === 'version' && versionId.ok) {
    pending = wire.engine.beginRead(request.bucket, request.key, { versionId: versionId.value });
    const proven = await runProven(operation, call, pending, wire, trace);
    if (proven !== null) return proven;
  }
  if (operation.needs === 'bucket' && operation.isProven) {
    operation.begin?.(request, wire.engine);
    const proven = await runOnCopies(operation, call, wire, trace);
    if (proven !== null) return proven;
  }
  const loading = operation.needs === 'service' ? null : wire.engine.getBucket(request.bucket);
  if (call.isRefused) wire.waitUntil(repairGenerations(call, loading, wire));
  const credentials = credentialsIn('primary', wire);
  const [caller, bucket] = await Promise.all([authenticate(call, credentials, wire), loading]);
  if (bucket?.ok) trace.bucket = bucket.value;
  if (!caller.ok) return caller;
  const service = await admit(caller.value, call, credentials, wire);
  if (!service.ok) return service;
  if (operation.needs === 'service') return operation.run(service.value);
  if (bucket === null) throw new Error('an operation on a bucket started without one');
  if (!bucket.ok) return err(toS3Error(bucket.error));
  if (isTakenDown(bucket.value)) return err(s3Failure('UnavailableForLegalReasons'));
  if (operation.needs === 'bucket') {
    const context = prove(service.value, bucket.value, { credentials, isPrimary: true }, wire);
    return await runOnPrimary(operation, call, context, wire);
  }
  return await runOnVersionOf(operation, service.value, bucket.value, { pending, env: wire.env });
}

type BucketOperation = Extract<Operation, { needs: 'bucket' }>;

/**
 * Runs an operation on a bucket with caller and bucket from copies of DIRECTORY, in this isolate or in a replica. Its calls of a
 * shard prove that both are current.
 * @returns null without that proof; the primary then decides.
 */
async function runOnCopies(
  operation: BucketOperation,
  call: Call,
  wire: Wire,
  trace: Trace,
): Promise<Result<Response, S3Failure> | null> {
  const { request } = call;
  const credentials = credentialsIn('recent', wire);
  const [caller, found] = await Promise.all([
    authenticate(call, credentials, wire),
    wire.engine.getBucket(request.bucket, 'recent'),
  ]);
  if (!caller.ok || !found.ok || isTakenDown(found.value)) return null;
  if (!isExpectedOwner(request, found.value)) return null;
  if (!mayRun(operation, request, caller.value, found.value, null, wire.now)) return null;
  trace.bucket = found.value;
  const service = await admit(caller.value, call, credentials, wire);
  if (!service.ok) return service;
  const admitted = await admitToBucket(wire.env, found.value.bucketId);
  if (!admitted.ok) return admitted;
  call.isAdmitted = true;
  const context = prove(service.value, found.value, { credentials, isPrimary: false }, wire);
  const renewal = createRenewal(operation, call, context, wire);
  const outcome = await operation.run({ ...context, renew: renewal.renew });
  const { proof } = context.bucket;
  call.isRefused = proof.state === 'refused';
  call.home = proof.identity?.home ?? 0;
  return renewal.count() > 0 || isFinal(outcome, proof, call) ? outcome : null;
}

/** Runs an operation whose caller and bucket DIRECTORY's primary authorised. */
async function runOnPrimary(
  operation: BucketOperation,
  call: Call,
  first: RenewedContext,
  wire: Wire,
): Promise<Result<Response, S3Failure>> {
  const { request, caller, bucket, now } = first;
  if (!isExpectedOwner(request, bucket)) return err(s3Failure('AccessDenied'));
  if (!mayRun(operation, request, caller, bucket, null, now)) return err(s3Failure('AccessDenied'));
  const admitted = call.isAdmitted ? ok(null) : await admitToBucket(wire.env, bucket.bucketId);
  if (!admitted.ok) return admitted;
  // A read has one effect soon after it was authorised. A write may wait, or its body may take hours to arrive, so a shard compares
  // the authorised generations with those that it knows by then.
  if (request.method === 'GET' || request.method === 'HEAD') {
    const { proof: _, ...unguarded } = bucket;
    return await operation.run({ ...first, bucket: unguarded });
  }
  const { renew, count } = createRenewal(operation, call, first, wire);
  for (let context = first; ; ) {
    const before = count();
    const outcome = await operation.run({ ...context, renew });
    const isUsedUp = call.isBodyUsed() && !isReadDocument(request);
    if (context.bucket.proof.state !== 'refused' || count() > before || isUsedUp) return outcome;
    const renewed = await renew();
    if (!renewed.ok) return renewed;
    context = renewed.value;
  }
}

/** The context of an operation on a bucket with a proof. The body of a form has its credential, so the operation authenticates it. */
function prove(
  service: ServiceContext,
  found: Bucket,
  { credentials, isPrimary }: { readonly credentials: DatedS3Credentials; readonly isPrimary: boolean },
  wire: Wire,
): RenewedContext {
  const proof: Proof = { identity: credentials.identity, state: 'open', ...(isPrimary ? { isPrimary } : {}) };
  const bucket = { ...found, proof };
  const authenticateSigner: ServiceContext['authenticateForm'] = async (fields) => {
    const signer = await authenticateForm(fields, credentials, wire);
    proof.identity = credentials.identity;
    return signer;
  };
  return { ...onBucket({ ...service, authenticateForm: authenticateSigner }, bucket), bucket };
}

/**
 * Whether an outcome is returned without asking the primary. An unproven outcome is final only if it reveals nothing about the
 * bucket, or if the body of an upload cannot be read again.
 */
function isFinal(outcome: Result<Response, S3Failure>, proof: Proof, { request, isBodyUsed }: Call): boolean {
  if (proof.state === 'held' || (isBodyUsed() && !isReadDocument(request))) return true;
  return proof.state === 'open' && !outcome.ok && isServerError(outcome.error);
}

/**
 * Repairs the generations after a shard refused a proof. The shard may be ahead of DIRECTORY after an interrupted change, or have
 * no generations after a rebuild.
 */
async function repairGenerations(
  { request, home }: Call,
  loading: ReturnType<Engine['getBucket']> | null,
  { engine, env }: Wire,
): Promise<void> {
  const bucket = await loading;
  if (!bucket?.ok) return;
  const pending = engine.beginRead(request.bucket, request.key);
  const found = await pending.openProven(bucket.value, { home, generation: Number.POSITIVE_INFINITY });
  if (!found.ok && found.error.kind === 'unproven' && !found.error.knowsIdentity) await republishRevocations(env, home);
  // `open` also brings DIRECTORY to the shard's generation of the bucket.
  await pending.open(bucket.value);
}

/** Number of renewals from which the generation of the caller's database may be behind that of a shard, as after a restore. */
const REPUBLISHING_RENEWALS = 3;

/**
 * Creates the `renew` of a request, and counts its calls. Other people's revocations may overtake the write again and again. Their
 * number per request is bounded, so that a flood of them delays writes, and neither refuses them at once nor keeps them for ever.
 */
function createRenewal(operation: BucketOperation, call: Call, context: RenewedContext, wire: Wire) {
  let renewals = 0;
  const renew = async (): Promise<Result<RenewedContext, S3Failure>> => {
    if (renewals >= RENEWALS_MAX) return err(toS3Error({ kind: 'unavailable', reason: 'too many revocations' }));
    await pause(renewalPauseMs(renewals++));
    const home = context.bucket.proof.identity?.home ?? 0;
    if (renewals === REPUBLISHING_RENEWALS) wire.waitUntil(republishRevocations(wire.env, home));
    return await authorizeAgain(operation, { ...call, home }, context, wire);
  };
  return { renew, count: () => renewals };
}

/** Authorises a request with DIRECTORY's primary. @returns a context whose bucket has a proof of the generations that were read. */
async function authorizeAgain(
  operation: BucketOperation,
  call: Call,
  context: BucketContext,
  wire: Wire,
): Promise<Result<RenewedContext, S3Failure>> {
  const { request } = call;
  const loading = wire.engine.getBucket(request.bucket);
  wire.waitUntil(repairGenerations(call, loading, wire));
  const credentials = credentialsIn('primary', wire);
  const [caller, bucket] = await Promise.all([authenticate(call, credentials, wire), loading]);
  if (!caller.ok) return caller;
  if (!bucket.ok) return err(toS3Error(bucket.error));
  if (isTakenDown(bucket.value)) return err(s3Failure('UnavailableForLegalReasons'));
  if (!isExpectedOwner(request, bucket.value)) return err(s3Failure('AccessDenied'));
  if (!mayRun(operation, request, caller.value, bucket.value, null, wire.now)) return err(s3Failure('AccessDenied'));
  return ok(prove({ ...context, caller: caller.value }, bucket.value, { credentials, isPrimary: true }, wire));
}

/**
 * Runs an operation on a version with caller and bucket from copies of DIRECTORY, in this isolate or in a replica. The look-up of
 * the version proves that both are current.
 * @returns null without that proof; the primary then decides. An unknown key or bucket may be new, so it is never proven.
 */
async function runProven(
  operation: Extract<Operation, { needs: 'version' }>,
  call: Call,
  pending: PendingRead,
  wire: Wire,
  trace: Trace,
): Promise<Result<Response, S3Failure> | null> {
  const credentials = credentialsIn('recent', wire);
  const loading = wire.engine.getBucket(call.request.bucket, 'recent').then((bucket) => {
    if (bucket.ok) pending.begin(bucket.value);
    return bucket;
  });
  const [caller, bucket] = await Promise.all([authenticate(call, credentials, wire), loading]);
  if (!caller.ok || !bucket.ok || isTakenDown(bucket.value)) return null;
  const found = await pending.openProven(bucket.value, credentials.identity, isWholeRead(call));
  if (!found.ok && found.error.kind === 'unproven') {
    const home = credentials.identity?.home ?? 0;
    if (!found.error.knowsIdentity) wire.waitUntil(republishRevocations(wire.env, home));
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
  const outcome = await runOnVersion(operation, service.value, bucket.value, proven, { isAllowed, env: wire.env });
  if (!outcome.ok || version === null) return outcome;
  const { cache } = wire;
  return ok(await storePublicAnswer(cache, call.sent, outcome.value, bucket.value, version.size, wire));
}

/** Whether the answer is probably the whole object. */
const isWholeRead = ({ action, request: { headers } }: Call): boolean =>
  action === 'GetObject' && ['range', 'if-none-match', 'if-modified-since'].every((name) => headers.get(name) === null);

async function runOnVersionOf(
  operation: Extract<Operation, { needs: 'version' }>,
  service: ServiceContext,
  bucket: Bucket,
  { pending, env }: { readonly pending: PendingRead | null; readonly env: Env },
): Promise<Result<Response, S3Failure>> {
  const { request, caller, now } = service;
  if (!isExpectedOwner(request, bucket)) return err(s3Failure('AccessDenied'));
  if (pending === null) throw new Error('an operation on a version started without loading it');
  const found = await pending.open(bucket);
  const version = versionOf(found);
  const isAllowed = mayRun(operation, request, caller, bucket, version, now);
  if (version !== null && !isAllowed) return err(s3Failure('AccessDenied'));
  return runOnVersion(operation, service, bucket, found, { isAllowed, env });
}

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
