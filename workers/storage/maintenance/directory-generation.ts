/**
 * Raises the generation of identity of DIRECTORY, or of another user database, to the one that the shards know. A revocation that a
 * restore lost is in the shards only, and a write would otherwise be refused as unproven until the next revocation.
 */
import { raiseGenerationTo, readGeneration } from '../../identity/index.ts';
import type { EngineContext } from '../engine/model/context.ts';
import { raiseIdentityGenerations } from '../engine/store/identity-store.ts';

/** @throws if a shard does not answer. */
export async function levelGeneration({ directory, directoryNumber, shards }: EngineContext): Promise<void> {
  const own = { home: directoryNumber, generation: await readGeneration(directory) };
  const known = await Promise.all(shards.map((shard) => raiseIdentityGenerations(shard, [own])));
  const highest = Math.max(own.generation, ...known.flat());
  if (highest > own.generation) await raiseGenerationTo(directory, highest);
}
