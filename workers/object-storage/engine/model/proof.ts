/**
 * Copies of DIRECTORY may be out of date, so a request that they authorised needs a proof: a shard of the bucket that
 * knows no later change of the bucket and no later revocation. docs/architecture.md, "Reads from replicas".
 */
import type { Bucket, IdentityProof } from './versions.ts';

/** The generations of a bucket and of identity that a shard knows. An unknown one proves nothing. */
export interface ShardGenerations {
  readonly generation: number | null;
  /** The shard's generations of identity, by the number of the database for people. */
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
}

export const proofGuardOf = ({ proof, generation }: Bucket): ProofGuard | null =>
  proof === undefined || proof.state === 'held' ? null : { generation, identity: proof.identity };

export function holdProof({ proof }: Bucket): void {
  if (proof?.state === 'open') proof.state = 'held';
}

const UNPROVEN = { ok: false, error: { kind: 'unavailable', reason: 'a copy of DIRECTORY is out of date' } } as const;

/**
 * Refuses a bucket whose copy needs a proof and is not proven.
 * @returns null if the bucket was read from the primary or its copy is proven.
 */
export function refuseUnproven({ proof }: Bucket): typeof UNPROVEN | null {
  if (proof === undefined || proof.state === 'held') return null;
  proof.state = 'refused';
  return UNPROVEN;
}
