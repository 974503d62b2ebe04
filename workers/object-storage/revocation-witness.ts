import type { RevocationWitness } from '../identity/index.ts';
import { shardDatabases } from '../shared/bindings.ts';
import { raiseIdentityGeneration } from './engine/store/identity-store.ts';

/** Every shard proves reads, so every shard must have a revocation before the revocation is acknowledged. */
export const witnessRevocation: RevocationWitness = async (generation, env) =>
  Math.max(...(await Promise.all(shardDatabases(env).map((shard) => raiseIdentityGeneration(shard, generation)))));
