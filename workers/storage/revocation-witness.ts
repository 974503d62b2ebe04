import type { RevocationWitness } from '../identity/index.ts';
import { shardDatabases } from '../shared/stores/bindings.ts';
import { raiseIdentityGenerations } from './engine/store/identity-store.ts';

/**
 * Stores a revocation in every shard before it is acknowledged, because any shard may prove that a read's credentials are current.
 */
export const witnessRevocation: RevocationWitness = async (generations, env) => {
  const raised = shardDatabases(env).map((shard) => raiseIdentityGenerations(shard, generations));
  const seen = await Promise.all(raised);
  return generations.map((_, at) => Math.max(...seen.map((each) => each[at] ?? 0)));
};
