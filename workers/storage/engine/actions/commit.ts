/**
 * Commits a version: one guarded batch, in `store/commit-store.ts`.
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
import type { EngineContext } from '../model/context.ts';
import type {
  Bucket,
  ConditionError,
  Proven,
  PutRequest,
  VersionAttributes,
  VersionFacts,
  Versioning,
} from '../model/contract.ts';
import { NO_LOCK } from '../model/versions.ts';
import { type Commit, commitStatements } from '../store/commit-store.ts';
import type { GuardReason } from '../store/schema.ts';
import { findNewest, findOwnVersion, isCommitted, refuseOwnVersion } from '../store/version-store.ts';
import { hintEvents, toNewEvent } from './events.ts';
import { type Attempt, guardedWrite, OUTCOME_UNKNOWN, type WriteError } from './guarded-write.ts';

/** Errors of a commit. `guardedWrite` handles all other guard reasons. */
export type CommitError<E = never> =
  | WriteError<E>
  | ConditionError
  | { readonly kind: 'source_gone' }
  | { readonly kind: 'lost'; readonly reason: GuardReason };

export interface CommitOrder<E> extends Pick<Commit, 'bucket' | 'data' | 'condition' | 'furtherGuards'> {
  readonly name: string;
  /** All facts of the version except those that depend on the bucket's versioning and the clock. */
  readonly facts: Omit<VersionFacts, 'name' | 'versionId' | 'isNull' | 'isLatest' | 'modifiedAt'>;
  readonly event: EventKind;
  /** Whether all attempts of a client's request have this object id. An attempt then finds the version of an earlier one. */
  readonly isAttempt?: boolean;
  /** Id that the commit tries first, set if the version's blobs already carry it. Default: a new id. */
  readonly versionId?: string;
  readonly renew?: PutRequest<E>['renew'];
}

/** What the attempts of a commit differ in. */
interface Chosen {
  readonly versionId: string;
  /** The order's facts. `renew` replaces the attributes among them. */
  readonly facts: CommitOrder<unknown>['facts'];
}

export async function commitVersion<E = never>(
  context: EngineContext,
  order: CommitOrder<E>,
): Promise<Proven<VersionFacts, CommitError<E>>> {
  const { renew } = order;
  return await guardedWrite<Chosen, VersionFacts, CommitError, E>(context, order.bucket, {
    start: { versionId: order.versionId ?? context.memory.mint.mint(context.now()), facts: order.facts },
    bytes: order.facts.size,
    build: (bucket, chosen) => buildCommit(context, order, bucket, chosen),
    renew:
      renew &&
      (async (chosen) => {
        const renewed = await renew();
        if (!renewed.ok) return renewed;
        // `renew` may return a newer bucket of the same name. Blobs that are already stored keep the description of the old bucket.
        const facts = { ...chosen.facts, ...toAttributeFacts(renewed.value) };
        return ok({ bucket: renewed.value.bucket, state: { ...chosen, facts } });
      }),
  });
}

function buildCommit(
  context: EngineContext,
  order: CommitOrder<unknown>,
  bucket: Bucket,
  chosen: Chosen,
): Result<Attempt<Chosen, VersionFacts, CommitError>, CommitError> {
  const { name, data, condition, furtherGuards } = order;
  const shard = bucket.placement.shards[slotOf(name)] ?? 0;
  const database = context.shards[shard];
  if (!database) return err({ kind: 'unavailable', reason: `shard ${shard} is not bound` });
  const facts = toFacts(name, chosen, bucket.versioning);
  const event = toNewEvent(context, bucket, { kind: order.event, ...facts });
  const guards = order.isAttempt ? refuseOwnVersion(facts.objectId) : furtherGuards;
  const commit: Commit = { bucket, facts, data, condition, event, nowMs: context.now(), furtherGuards: guards };
  return ok({
    shard,
    statements: commitStatements(database, commit),
    toValue() {
      if (event !== null) hintEvents(context, shard);
      return facts;
    },
    async toRepeated() {
      if (!order.isAttempt) return ok(facts);
      const own = await findOwnVersion(context, database, bucket.bucketId, facts);
      if (!own.ok) return own;
      const versionId = own.value ?? facts.versionId;
      return ok({ ...facts, versionId, modifiedAt: epochMsOf(versionId) });
    },
    async toLost(reason) {
      const found = await isCommitted(context, database, bucket.bucketId, facts);
      return found.ok && found.value ? ok(facts) : err({ kind: 'unavailable', reason });
    },
    async decide(reason, wasLost) {
      const end = (error: CommitError) => ({ kind: 'end', outcome: err(error) }) as const;
      if (reason !== 'order_lost') {
        const error = toCommitError(reason);
        // Guard reason `lost`: the completion of an upload then reloads the upload, so it needs no OUTCOME_UNKNOWN.
        return end(wasLost && error.kind !== 'lost' ? OUTCOME_UNKNOWN : error);
      }
      // The lost batch may have been committed and its version then replaced or deleted. A repeat would undo that.
      if (wasLost) return end(OUTCOME_UNKNOWN);
      const newest = await findNewest(context, database, bucket.bucketId, name);
      if (!newest.ok) return end(newest.error);
      const versionId = context.memory.mint.mint(context.now(), newest.value);
      return { kind: 'again', state: { ...chosen, versionId } };
    },
  });
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

function toFacts(name: string, { versionId, facts }: Chosen, versioning: Versioning): VersionFacts {
  return {
    ...facts,
    name,
    versionId,
    isNull: versioning !== 'enabled',
    isLatest: true,
    modifiedAt: epochMsOf(versionId),
  };
}
