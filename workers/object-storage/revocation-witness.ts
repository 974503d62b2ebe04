import type { RevocationWitness } from '../identity/index.ts';
import { shardDatabases } from '../shared/bindings.ts';
import { raiseIdentityGeneration } from './engine/store/identity-store.ts';

/**
 * Stores a revocation in every shard before it is acknowledged, because any shard may prove that a read's credentials are current.
 */
export const witnessRevocation: RevocationWitness = async (generation, env) =>
  Math.max(...(await Promise.all(shardDatabases(env).map((shard) => raiseIdentityGeneration(shard, generation)))));
