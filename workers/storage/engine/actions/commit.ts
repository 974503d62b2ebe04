/**
 * Commits a version despite temporary obstacles: a shard that does not know the bucket yet, a seal, a moving slot, a
 * switch of versioning, a slow clock, and a lost answer.
 *
 * After a lost answer the same batch, with the same version id, is sent again. If the first batch was committed, the second finds
 * its version and reports success. If not, the second commits, and the first is refused if it arrives later. If the second is
 * refused, the outcome is unknown: the first may have been committed and its version removed since, or it may still arrive and find
 * its condition fulfilled. The uploaded bytes therefore stay.
 */
import { err, ok, type Result } from '../../../shared/pure/result.ts';
import type { EventKind } from '../../domain/notifications.ts';
import { slotOf } from '../../domain/slots.ts';
import { epochMsOf } from '../../domain/version-order.ts';
import { type EngineContext, pause } from '../model/context.ts';
import type {
  Bucket,
  CommonError,
  Condition,
  ConditionError,
  PutRequest,
  VersionAttributes,
  VersionFacts,
  Versioning,
} from '../model/contract.ts';
import { holdProof, keepProof, proofGuardOf, RENEWALS_MAX, refuseStale, refuseUnproven } from '../model/proof.ts';
import { NO_LOCK } from '../model/versions.ts';
import type { BucketRecord } from '../store/bucket-store.ts';
import { introduceBucket } from '../store/claims.ts';
import { type CommitData, type CommitRequest, commitStatements } from '../store/commit-store.ts';
import { type DatabaseFailure, runBatch } from '../store/database.ts';
import type { GuardReason } from '../store/schema.ts';
import { findNewest, isCommitted } from '../store/version-store.ts';
import { breakSeals, refreshBucket } from './buckets.ts';
import { hintEvents, toNewEvent } from './events.ts';
import { type Refusal, recallShares } from './quotas.ts';

const ATTEMPTS_MAX = 24;
/** Error for a batch whose answer was lost and whose repeat was refused. */
export const OUTCOME_UNKNOWN = { kind: 'unavailable', reason: 'the outcome is not known' } as const;
const UNKNOWN_MAX = 3;
const CHANGED = { kind: 'unavailable', reason: 'the bucket is being changed' } as const;

/** Errors of a commit. The loop of `commitVersion` handles all other guard reasons itself. */
export type CommitError<E = never> =
  | CommonError
  | ConditionError
  /** Error: the caller is no longer authorised for the write. */
  | { readonly kind: 'refused'; readonly error: E }
  | { readonly kind: 'source_gone' }
  | { readonly kind: 'lost'; readonly reason: GuardReason };

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

/** Guard reasons that refuse a proof. */
const IS_STALE: ReadonlySet<GuardReason> = new Set(['stale_configuration', 'stale_identity']);

type Step = { readonly kind: 'again'; readonly bucket: Bucket } | { readonly kind: 'end'; readonly error: CommonError };

/** Handles a refusal by a guard: updates the shard's row of the bucket or waits for it to change. */
export class BucketWaiter {
  readonly #context: EngineContext;
  readonly #bytes: number;
  readonly #startedAt = Date.now();
  readonly #refusal: Refusal = { leases: '' };
  #waits = 0;

  /** Creates the waiter of one write. @param bytes maximum size in bytes that the write adds. */
  constructor(context: EngineContext, bytes = 0) {
    this.#context = context;
    this.#bytes = bytes;
  }

  /** Handles one refusal. @returns how to continue; null when the refusal does not concern the bucket. */
  async settle(bucket: Bucket, shard: number, reason: GuardReason): Promise<Step | null> {
    if (!OF_BUCKET.has(reason)) holdProof(bucket);
    const refused = IS_STALE.has(reason) ? refuseStale(bucket) : refuseUnproven(bucket);
    if (refused) return { kind: 'end', error: refused.error };
    const step = await this.#settle(bucket, shard, reason);
    if (step?.kind !== 'again') return step;
    // The wait may have been long, so the next attempt needs the proof as well.
    const proven = keepProof(bucket, step.bucket);
    if (proven !== null) return { kind: 'again', bucket: proven };
    return { kind: 'end', error: refuseStale(bucket)?.error ?? CHANGED };
  }

  async #settle(bucket: Bucket, shard: number, reason: GuardReason): Promise<Step | null> {
    switch (reason) {
      case 'no_bucket':
      case 'versioning_changed':
      case 'slot_moved': {
        const fresh = await refreshBucket(this.#context, bucket);
        if (!fresh.ok) return { kind: 'end', error: fresh.error };
        if (reason !== 'slot_moved') {
          const known = await introduceBucket(this.#context, shard, fresh.value);
          if (!known.ok) return { kind: 'end', error: known.error };
        }
        return await this.#wait(fresh.value, this.#waits > 2);
      }
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
        const recalled = await recallShares(this.#context, bucket, need, this.#refusal);
        if (!recalled.ok) return { kind: 'end', error: recalled.error };
        if (recalled.value === 'exceeded') return { kind: 'end', error: { kind: 'quota_exceeded' } };
        return await this.#wait(bucket, recalled.value === 'wait');
      }
      default:
        return null;
    }
  }

  async #refreshAndWait(bucket: Bucket): Promise<Step> {
    const step = await this.#wait(bucket, true);
    if (step.kind === 'end') return step;
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

export interface CommitOrder<E> {
  readonly bucket: Bucket;
  readonly name: string;
  /** All facts of the version except those that depend on the bucket's versioning and the clock. */
  readonly facts: Omit<VersionFacts, 'name' | 'versionId' | 'isNull' | 'isLatest' | 'modifiedAt'>;
  readonly data: CommitData;
  readonly event: EventKind;
  /** Id that the commit tries first, set if the version's blobs already carry it. Default: a new id. */
  readonly versionId?: string;
  readonly condition?: Condition | undefined;
  readonly renew?: PutRequest<E>['renew'];
  readonly furtherGuards?: CommitRequest['furtherGuards'];
}

export async function commitVersion<E = never>(
  context: EngineContext,
  firstOrder: CommitOrder<E>,
): Promise<Result<VersionFacts, CommitError<E>>> {
  let order = firstOrder;
  const slot = slotOf(order.name);
  const waiter = new BucketWaiter(context, order.facts.size);
  let bucket = order.bucket;
  let versionId = order.versionId ?? context.memory.mint.mint(context.now());
  let unknowns = 0;
  let renewals = 0;
  for (let attempt = 0; attempt - renewals < ATTEMPTS_MAX; attempt++) {
    const shard = bucket.placement.shards[slot] ?? 0;
    const database = context.shards[shard];
    if (!database) return err({ kind: 'unavailable', reason: `shard ${shard} is not bound` });
    const facts = toFacts(order, versionId, bucket.versioning);
    const event = toNewEvent(context, bucket, order.event, order.name, facts);
    const request: CommitRequest = {
      bucketId: bucket.bucketId,
      slot,
      versioning: bucket.versioning,
      facts,
      data: order.data,
      condition: order.condition,
      nowMs: context.now(),
      event,
      proof: proofGuardOf(bucket),
      ...(order.furtherGuards ? { furtherGuards: order.furtherGuards } : {}),
    };
    const answer = await runBatch(context, database, commitStatements(database, request));
    if (answer.ok) {
      holdProof(bucket);
      if (event !== null) hintEvents(context, shard);
      return ok(facts);
    }
    const failure: DatabaseFailure = answer.error;
    if (failure.kind === 'unknown') {
      if (++unknowns > UNKNOWN_MAX) return await readBack(context, database, bucket, facts, failure.reason);
      await pause(20 * 3 ** unknowns);
      continue;
    }
    if (failure.reason === 'already_committed') {
      holdProof(bucket);
      return ok(facts);
    }
    if (failure.reason === 'order_lost') {
      // The lost batch may have been committed and its version then replaced or deleted. A repeat would undo that.
      if (unknowns > 0) return err(OUTCOME_UNKNOWN);
      const newest = await findNewest(context, database, bucket.bucketId, order.name);
      if (!newest.ok) return newest;
      versionId = context.memory.mint.mint(context.now(), newest.value);
      continue;
    }
    const step = await waiter.settle(bucket, shard, failure.reason);
    if (step === null) {
      const error = toCommitError(failure.reason);
      // Guard reason `lost`: the completion of an upload then reloads the upload, so it needs no OUTCOME_UNKNOWN.
      return err(unknowns > 0 && error.kind !== 'lost' ? OUTCOME_UNKNOWN : error);
    }
    if (step.kind === 'end' && bucket.proof?.state === 'refused' && order.renew && renewals < RENEWALS_MAX) {
      renewals++;
      const renewed = await order.renew();
      if (!renewed.ok) return err(unknowns > 0 ? OUTCOME_UNKNOWN : { kind: 'refused', error: renewed.error });
      bucket.proof.state = 'held';
      order = { ...order, facts: { ...order.facts, ...toAttributeFacts(renewed.value) } };
      // `renew` may return a newer bucket of the same name. Blobs that are already stored keep the description of the old bucket.
      bucket = renewed.value.bucket;
      continue;
    }
    if (step.kind === 'end') return err(unknowns > 0 ? OUTCOME_UNKNOWN : step.error);
    bucket = step.bucket;
  }
  return err({ kind: 'unavailable', reason: 'too many writers of one name' });
}

export const toAttributeFacts = ({ metadata, tags, acl, lock }: VersionAttributes) => ({
  metadata,
  tags: tags ?? null,
  acl: acl ?? null,
  lock: lock ?? NO_LOCK,
});

function toCommitError(reason: GuardReason): CommitError {
  switch (reason) {
    case 'no_such_key':
    case 'precondition_failed':
    case 'source_gone':
      return { kind: reason };
    default:
      return { kind: 'lost', reason };
  }
}

function toFacts(order: CommitOrder<unknown>, versionId: string, versioning: Versioning): VersionFacts {
  return {
    ...order.facts,
    name: order.name,
    versionId,
    isNull: versioning !== 'enabled',
    isLatest: true,
    modifiedAt: epochMsOf(versionId),
  };
}

/** After several lost answers, checks whether the version was committed. */
async function readBack(
  context: EngineContext,
  database: D1Database,
  bucket: Bucket,
  facts: VersionFacts,
  reason: string,
): Promise<Result<VersionFacts, CommitError>> {
  const found = await isCommitted(context, database, bucket.bucketId, facts.name, facts.versionId);
  return found.ok && found.value ? ok(facts) : err({ kind: 'unavailable', reason });
}
