/** Authorises a write again after a shard refused its proof, and repairs what made the shard refuse it. */
import { republishRevocations } from '../../identity/index.ts';
import { err, ok, type Result } from '../../shared/pure/result.ts';
import type { S3Failure } from '../domain/failure.ts';
import { pause } from '../engine/model/context.ts';
import type { Proven } from '../engine/model/contract.ts';
import { RENEWALS_MAX, renewalPauseMs } from '../engine/model/proof.ts';
import {
  type Call,
  checkAccess,
  type LoadingBucket,
  load,
  toProvenContext,
  toServiceContext,
  type Wire,
} from './admission.ts';
import { isReadDocument } from './bodies/document-body.ts';
import { toS3Error } from './protocol/engine-failures.ts';
import type { Operation, RenewedContext } from './protocol/operation.ts';

/**
 * Runs an operation whose calls of a shard compare the rows that authorised it. If the rows are from the primary and a shard refuses
 * them, the operation is authorised and run again, unless its body is used up.
 */
export async function runRenewed(
  call: Call,
  operation: Extract<Operation, { needs: 'bucket' }>,
  first: RenewedContext,
  wire: Wire,
): Promise<Proven<Response, S3Failure>> {
  const { renew, count } = createRenewal(call, first, wire);
  for (let context = first; ; ) {
    const before = count();
    const ran = await operation.run({ ...context, renew });
    const outcome = ran.ok ? { ...ran, proof: ran.proof ?? ('open' as const) } : ran;
    // The primary has authorised what was renewed.
    if (count() > before) return { ...outcome, proof: 'held' };
    const isUsedUp = call.isBodyUsed() && !isReadDocument(call.request);
    if (outcome.ok || outcome.proof !== 'refused' || isUsedUp || !first.bucket.proof.isPrimary) return outcome;
    const renewed = await renew();
    if (!renewed.ok) return renewed;
    context = renewed.value;
  }
}

/** Number of renewals from which the generation of the caller's database may be behind that of a shard, as after a restore. */
const REPUBLISHING_RENEWALS = 3;

/**
 * Creates the `renew` of a request, and counts its calls. Other people's revocations may overtake the write again and again. Their
 * number per request is bounded, so that a flood of them delays writes, and neither refuses them at once nor keeps them for ever.
 */
function createRenewal(call: Call, context: RenewedContext, wire: Wire) {
  let renewals = 0;
  const renew = async (): Promise<Result<RenewedContext, S3Failure>> => {
    if (renewals >= RENEWALS_MAX) return err(toS3Error({ kind: 'unavailable', reason: 'too many revocations' }));
    await pause(renewalPauseMs(renewals++));
    const home = context.bucket.proof.identity?.home ?? 0;
    if (renewals === REPUBLISHING_RENEWALS) wire.waitUntil(republishRevocations(wire.env, home));
    return await authorizeAgain(call, home, wire);
  };
  return { renew, count: () => renewals };
}

/** Authorises a request with DIRECTORY's primary. @returns a context whose bucket has a proof of the generations that were read. */
async function authorizeAgain(call: Call, home: number, wire: Wire): Promise<Result<RenewedContext, S3Failure>> {
  const loading = wire.engine.getBucket(call.request.bucket);
  wire.waitUntil(repairGenerations(call, home, loading, wire));
  const loaded = await load(call, { source: 'primary', bucket: loading }, wire);
  const { caller, credentials } = loaded;
  const bucket = await loading;
  if (!caller.ok) return caller;
  if (!bucket.ok) return err(toS3Error(bucket.error));
  const right = checkAccess(call, { caller: caller.value, bucket: bucket.value, version: null }, wire.now);
  if (!right.ok) return right;
  const service = toServiceContext(call, caller.value, credentials, wire);
  return ok(toProvenContext(service, bucket.value, { isPrimary: true, identity: credentials.identity }));
}

/**
 * Repairs the generations after a shard refused a proof. The shard may be ahead of DIRECTORY after an interrupted change, or have
 * no generations after a rebuild.
 * @param home number of the user database that has the caller's credential; 0 without one.
 */
export async function repairGenerations(
  { request }: Call,
  home: number,
  loading: LoadingBucket | null,
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
