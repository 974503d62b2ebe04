/**
 * Copies of DIRECTORY may be out of date, so a request that they authorised needs a proof: a shard of the bucket that
 * knows no later change of the bucket and no later revocation. A write that DIRECTORY's primary authorised needs one as well,
 * because it may wait before it is committed. docs/design/replicas.md, "Writes and listings".
 */
import type { Bucket, IdentityProof } from './versions.ts';

/** The generations of a bucket and of identity that a shard knows. An unknown one proves nothing. */
export interface ShardGenerations {
  readonly generation: number | null;
  /** The shard's generations of identity, by the number of the user database. */
  readonly identities: ReadonlyMap<number, number>;
  /** Whether the bucket is sealed in the shard: it is being deleted or has been deleted. */
  readonly isSealed: boolean;
}

/**
 * Whether a shard proves that the copies of DIRECTORY include every acknowledged change of the bucket and every acknowledged
 * revocation.
 */
export function isCurrent(shard: ShardGenerations, bucket: Bucket, identity: IdentityProof | null): boolean {
  const { generation, isSealed } = shard;
  if (isSealed || generation === null || generation > bucket.generation) return false;
  if (identity === null) return true;
  const known = shard.identities.get(identity.home);
  return known !== undefined && known <= identity.generation;
}

/** The generations that a guard compares with those of the shard; null if the write needs no proof. */
export interface ProofGuard {
  readonly generation: number;
  readonly identity: IdentityProof | null;
  /**
   * Whether the guard refuses a shard that does not know a generation. Rows of the primary were current when they were read, and a
   * later revocation gives the shard a generation. A later change of a bucket whose generation is unknown does not: until
   * `levelGeneration` has repaired the shard, `guardedWrite` detects such a change, but a guard does not.
   */
  readonly refusesUnknown: boolean;
}

/** The guard of a write. Every write of a request needs it, because another request may have revoked the right since the last one. */
export const proofGuardOf = ({ proof, generation }: Bucket): ProofGuard | null =>
  proof === undefined ? null : { generation, identity: proof.identity, refusesUnknown: proof.isPrimary !== true };

/** The result of a call that a shard refused, or that nothing proved, so that it had no effect. */
export const REFUSED = {
  ok: false,
  error: { kind: 'unavailable', reason: 'a copy of DIRECTORY is out of date' },
  proof: 'refused',
} as const;

/** Whether a bucket may be used only after a shard has proven that its copy is current. Rows of the primary were current when read. */
export const needsProof = ({ proof }: Bucket): boolean => proof !== undefined && proof.isPrimary !== true;

export const held = <T>(value: T) => ({ ok: true, value, proof: 'held' }) as const;

/**
 * Gives a reloaded bucket the proof of the bucket that was authorised.
 * @returns null if the bucket was changed since. The change may have taken the right away.
 */
export function keepProof(authorised: Bucket, fresh: Bucket): Bucket | null {
  const { proof } = authorised;
  if (proof === undefined) return fresh;
  return fresh.generation === authorised.generation ? { ...fresh, proof } : null;
}

/** Maximum number of times that a request is authorised again because revocations keep overtaking it. */
export const RENEWALS_MAX = 16;

/**
 * Time to wait before a write is authorised again. The first renewals follow at once: another revocation makes them necessary only
 * rarely. If a change of the bucket is in progress, or was interrupted, the shard is ahead of DIRECTORY for up to some seconds.
 */
export const renewalPauseMs = (renewals: number): number =>
  renewals < 3 ? 0 : Math.min(1000, 20 * 2 ** (renewals - 3)) * (0.5 + Math.random() / 2);
