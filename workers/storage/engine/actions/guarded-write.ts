/**
 * Writes into a bucket of a shard, once, despite temporary obstacles: a shard that does not know the bucket yet, a seal, a moving
 * slot, a switch of versioning, a full share of a quota, a revocation that overtakes the write, and a lost answer.
 *
 * 1. `build` makes the statements of an attempt. The first of them are guards.
 * 2. After a lost answer the same batch is sent again. It must find out itself whether it was committed before.
 * 3. A guard that concerns the bucket or its quota: reload the bucket, or wait, and build again.
 * 4. A guard that refused the proof: authorise the write again if its caller allows that, and build again.
 * 5. Any other guard: the write decides, with `decide`.
 */
import { err, type Result } from '../../../shared/pure/result.ts';
import { databaseOf, type EngineContext, pause } from '../model/context.ts';
import type { Bucket, CommonError, Proven, RenewedBucket } from '../model/contract.ts';
import { held, keepProof, needsProof, REFUSED, RENEWALS_MAX } from '../model/proof.ts';
import type { BucketRecord } from '../store/bucket-store.ts';
import { introduceBucket } from '../store/claims.ts';
import { type DatabaseFailure, type Row, runBatch } from '../store/database.ts';
import type { GuardReason } from '../store/schema.ts';
import { breakSeals, refreshBucket } from './buckets.ts';
import { recallShares } from './quotas.ts';

const ATTEMPTS_MAX = 24;
/** Maximum number of lost answers of one write. */
const LOST_MAX = 3;
/** Error for a batch whose answer was lost and whose repeat was refused. */
export const OUTCOME_UNKNOWN = { kind: 'unavailable', reason: 'the outcome is not known' } as const;
const CHANGED = { kind: 'unavailable', reason: 'the bucket is being changed' } as const;

/** How a write continues after a guard refused it: with new statements, or with an outcome. */
export type Decision<S, T, E> =
  | { readonly kind: 'again'; readonly state: S }
  | { readonly kind: 'end'; readonly outcome: Result<T, E> };

export interface Attempt<S, T, E> {
  readonly shard: number;
  readonly statements: D1PreparedStatement[];
  /** The value of the write after its batch was committed. */
  toValue(results: readonly D1Result<Row>[]): T;
  /** The outcome if the batch finds that it was committed before. */
  toRepeated(): Promise<Result<T, E>>;
  /** The outcome after too many lost answers. */
  toLost(reason: string): Promise<Result<T, E>>;
  /** @param wasLost whether an answer was lost before, so that the batch may have been committed. */
  decide(reason: GuardReason, wasLost: boolean): Promise<Decision<S, T, E>>;
}

/** @template S what the attempts of a write differ in, such as the id of the version. */
export interface GuardedWrite<S, T, E, R> {
  readonly start: S;
  /** Maximum size in bytes that the write adds. */
  readonly bytes?: number;
  build(bucket: Bucket, state: S): Result<Attempt<S, T, E>, E>;
  /** Authorises the write again. Set if the client cannot be asked to send the request again. */
  readonly renew?:
    | ((state: S) => Promise<Result<{ readonly bucket: RenewedBucket; readonly state: S }, R>>)
    | undefined;
}

export type WriteError<R> = CommonError | { readonly kind: 'refused'; readonly error: R };

export async function guardedWrite<S, T, E, R = never>(
  context: EngineContext,
  authorised: Bucket,
  write: GuardedWrite<S, T, E, R>,
): Promise<Proven<T, E | WriteError<R>>> {
  const waiter = new BucketWaiter(context, write.bytes ?? 0);
  let [bucket, state] = [authorised, write.start];
  let isHeld = false;
  let lost = 0;
  let renewals = 0;
  for (let turn = 0; turn - renewals < ATTEMPTS_MAX; turn++) {
    const built = write.build(bucket, state);
    if (!built.ok) return built;
    const attempt = built.value;
    const sent = await send(context, attempt, lost);
    lost = sent.lost;
    if (sent.answer.ok) return held(attempt.toValue(sent.answer.value));
    const { kind, reason } = sent.answer.error;
    if (kind === 'unknown') return prove(await attempt.toLost(reason), 'open');
    if (reason === 'already_committed') return prove(await attempt.toRepeated(), 'open');
    isHeld ||= !OF_BUCKET.has(reason);
    if (!OF_BUCKET.has(reason) && reason !== 'quota_exceeded') {
      const decision = await attempt.decide(reason, lost > 0);
      if (decision.kind === 'end') return prove(decision.outcome, 'held');
      state = decision.state;
      continue;
    }
    const step = await waiter.settle(bucket, attempt.shard, reason, isHeld);
    if (step.kind === 'again') {
      bucket = step.bucket;
      continue;
    }
    // After a lost answer the batch may have been committed, so the caller must not run the request a second time.
    if (step.kind === 'end') return prove(err(lost > 0 ? OUTCOME_UNKNOWN : step.error), isHeld ? 'held' : 'open');
    if (!write.renew || renewals >= RENEWALS_MAX) return lost > 0 ? err(OUTCOME_UNKNOWN) : REFUSED;
    renewals++;
    const renewed = await write.renew(state);
    if (!renewed.ok) return err(lost > 0 ? OUTCOME_UNKNOWN : { kind: 'refused', error: renewed.error });
    ({ bucket, state } = renewed.value);
  }
  return err({ kind: 'unavailable', reason: 'too many writers of one name' });
}

function prove<T, E>(outcome: Result<T, E>, proof: 'held' | 'open'): Proven<T, E> {
  return outcome.ok ? held(outcome.value) : { ...outcome, proof };
}

/** Sends the batch of an attempt until an answer arrives. @param before number of answers that the write lost before. */
async function send(
  context: EngineContext,
  { shard, statements }: Pick<Attempt<unknown, unknown, unknown>, 'shard' | 'statements'>,
  before: number,
): Promise<{ readonly answer: Result<D1Result<Row>[], DatabaseFailure>; readonly lost: number }> {
  for (let lost = before; ; ) {
    const answer = await runBatch(context, databaseOf(context, shard), statements);
    if (answer.ok || answer.error.kind !== 'unknown' || ++lost > LOST_MAX) return { answer, lost };
    await pause(20 * 3 ** lost);
  }
}

/** Guard reasons that concern the bucket. A guard checks them first, so any other reason proves that the bucket is current. */
const OF_BUCKET: ReadonlySet<GuardReason> = new Set([
  'no_bucket',
  'bucket_sealed',
  'slot_sealed',
  'slot_moved',
  'versioning_changed',
  'stale_configuration',
  'stale_identity',
]);

type Step =
  | { readonly kind: 'again'; readonly bucket: Bucket }
  | { readonly kind: 'end'; readonly error: CommonError }
  /** The rows of DIRECTORY that authorised the write may be out of date. */
  | { readonly kind: 'stale' };

/** Handles refusals of one write that concern its bucket: updates the shard's row of the bucket, or waits for it to change. */
class BucketWaiter {
  readonly #context: EngineContext;
  readonly #bytes: number;
  readonly #startedAt = Date.now();
  #leases = '';
  #waits = 0;

  constructor(context: EngineContext, bytes: number) {
    this.#context = context;
    this.#bytes = bytes;
  }

  /** @param isHeld whether a shard has proven that the copy of the bucket is current. */
  async settle(bucket: Bucket, shard: number, reason: GuardReason, isHeld: boolean): Promise<Step> {
    if (reason === 'stale_configuration' || reason === 'stale_identity') return { kind: 'stale' };
    if (needsProof(bucket) && !isHeld) return { kind: 'stale' };
    const { proof: _, ...unguarded } = bucket;
    const step = await this.#settle(unguarded, shard, reason);
    if (step.kind !== 'again') return step;
    // The wait may have been long, so the next attempt needs the proof as well.
    const proven = keepProof(bucket, step.bucket);
    return proven === null ? { kind: 'stale' } : { kind: 'again', bucket: proven };
  }

  async #settle(bucket: Bucket, shard: number, reason: GuardReason): Promise<Step> {
    switch (reason) {
      case 'slot_sealed':
        return await this.#refreshAndWait(bucket);
      case 'bucket_sealed': {
        const step = await this.#refreshAndWait(bucket);
        if (
          step.kind === 'again' &&
          this.#waits > 4 &&
          !(await breakSeals(this.#context, step.bucket as BucketRecord))
        ) {
          return { kind: 'end', error: { kind: 'no_such_bucket' } };
        }
        return step;
      }
      case 'quota_exceeded': {
        const need = { shard, bytes: this.#bytes, objects: 1 };
        const recalled = await recallShares(this.#context, bucket, need, this.#leases);
        if (!recalled.ok) return { kind: 'end', error: recalled.error };
        this.#leases = recalled.value.leases;
        if (recalled.value.next === 'exceeded') return { kind: 'end', error: { kind: 'quota_exceeded' } };
        return await this.#wait(bucket, recalled.value.next === 'wait');
      }
      default: {
        const fresh = await refreshBucket(this.#context, bucket);
        if (!fresh.ok) return { kind: 'end', error: fresh.error };
        if (reason !== 'slot_moved') {
          const known = await introduceBucket(this.#context, shard, fresh.value);
          if (!known.ok) return { kind: 'end', error: known.error };
        }
        return await this.#wait(fresh.value, this.#waits > 2);
      }
    }
  }

  async #refreshAndWait(bucket: Bucket): Promise<Step> {
    const step = await this.#wait(bucket, true);
    if (step.kind !== 'again') return step;
    const fresh = await refreshBucket(this.#context, bucket);
    return fresh.ok ? { kind: 'again', bucket: fresh.value } : { kind: 'end', error: fresh.error };
  }

  async #wait(bucket: Bucket, isPausing: boolean): Promise<Step> {
    if (Date.now() - this.#startedAt > this.#context.limits.sealWaitMs) {
      return { kind: 'end', error: CHANGED };
    }
    if (isPausing) await pause(Math.min(1000, 20 * 2 ** this.#waits) * (0.5 + Math.random() / 2));
    this.#waits++;
    return { kind: 'again', bucket };
  }
}
