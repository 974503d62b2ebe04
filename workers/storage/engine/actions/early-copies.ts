/**
 * Uploads of small objects under `SMALL_COPIES=now`: acknowledged only when a quorum of the locations has their bytes too. The copies are
 * written while the batch is on its way, so the upload waits for no trip more.
 *
 * The committed row is the durable task of the copies: the journal of the shard writes its bytes to the locations. If a copy fails, the
 * request waits for that or for a later copy, ten seconds at most, and answers 503 then. The version stays. A client that sends the
 * request again, with the same id of its attempt, finds its own version instead of writing another one.
 */
import { createHash } from 'node:crypto';
import { err, type Result } from '../../../shared/pure/result.ts';
import { toVersionOrder } from '../../domain/version-order.ts';
import { putEarlyCopies, removeEarlyCopies } from '../blobs/early-copies.ts';
import type { BlobDescription, Copies } from '../blobs/locations.ts';
import { type EngineContext, pause } from '../model/context.ts';
import type { Proven, PutError, PutRequest, Unavailable, VersionFacts } from '../model/contract.ts';
import { isJournaled } from '../store/small-store.ts';

const RETRY_MS = 1_000;

export interface EarlyBody {
  readonly bytes: Uint8Array;
  readonly md5: string;
  readonly describe: (versionId: string) => BlobDescription;
}

/** Copies of one version that are being written. */
export interface EarlyCopies {
  /** Waits for the copies of the version that the commit made. */
  settle<E>(shard: number, committed: Proven<VersionFacts, PutError<E>>): Promise<Proven<VersionFacts, PutError<E>>>;
}

/** Starts to write the copies of a version that is about to be committed. */
export function beginEarlyCopies(context: EngineContext, versionId: string, body: EarlyBody): EarlyCopies {
  const write = (id: string): Promise<Result<Copies, Unavailable>> =>
    putEarlyCopies(context, id, { bytes: body.bytes, md5: body.md5, description: body.describe(id) });
  const begun = write(versionId);
  const remove = () => context.waitUntil(begun.then(() => removeEarlyCopies(context, [toVersionOrder(versionId)])));
  return {
    async settle(shard, committed) {
      if (!committed.ok) {
        // The version of an unknown outcome may exist.
        if (committed.error.kind !== 'unavailable') remove();
        return committed;
      }
      const { versionId: id, name } = committed.value;
      if (id !== versionId) remove();
      const held = await (id === versionId ? begun : write(id));
      if (held.ok) return committed;
      const until = Date.now() + context.limits.earlyCopyWaitMs;
      while (Date.now() < until) {
        await pause(Math.min(RETRY_MS, context.limits.earlyCopyWaitMs / 4));
        if (await isJournaled(context, shard, name, toVersionOrder(id))) return committed;
        if ((await write(id)).ok) return committed;
      }
      return { ...err(held.error), proof: committed.proof };
    },
  };
}

/** The object id that every attempt of one request of a client has; null if the client does not name its attempts. */
export function toAttemptObjectId(context: EngineContext, request: PutRequest<unknown>): string | null {
  const { attemptId, bucket, name } = request;
  if (attemptId === undefined || context.origin.principalId === null) return null;
  const parts = JSON.stringify([context.origin.principalId, bucket.bucketId, name, attemptId]);
  const hex = createHash('sha256').update(parts).digest('hex');
  // A UUID of version 8 (RFC 9562).
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-8${hex.slice(13, 16)}-a${hex.slice(17, 20)}-${hex.slice(20, 32)}`;
}
