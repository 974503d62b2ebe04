/** Moves slots of a bucket while a history runs. Moves break off at random calls, so slots stay sealed until they are finished. */

import { slotOf } from '../../../workers/storage/domain/slots.ts';
import { createEngineContext } from '../../../workers/storage/engine/index.ts';
import { createIsolateMemory, type EngineContext, pause } from '../../../workers/storage/engine/model/context.ts';
import { findBucketById } from '../../../workers/storage/engine/store/move-store.ts';
import { finishMoves, moveSlot } from '../../../workers/storage/maintenance/move-slot.ts';
import { type FaultPlan, faultyDatabase } from '../../storage/objects/faults.ts';

const SHARDS = ['OBJECTS_0', 'OBJECTS_1', 'OBJECTS_2'] as const;

/** Age that lets `finishMoves` take over every move at once. */
const OLD_MS = 600_000;

export interface Moves {
  /** The environment of the isolate that moves slots. */
  readonly environment: Env;
  readonly bucketId: string;
  /** Names whose slots move. */
  readonly names: readonly string[];
  readonly random: () => number;
  /** Position of the history's latest event. */
  readonly now: () => number;
  readonly isDone: () => boolean;
  /** Further work while slots are sealed. */
  readonly whileSealed: () => Promise<unknown>;
}

function contextOf(environment: Env, plan: FaultPlan): EngineContext {
  const databases = environment as unknown as Record<string, D1Database>;
  const faulty = SHARDS.map((name) => [name, faultyDatabase(databases[name] as D1Database, plan)]);
  return createEngineContext(
    { ...environment, ...Object.fromEntries(faulty) },
    () => Date.now() + OLD_MS,
    { waitUntil: () => {} },
    { memory: createIsolateMemory(), limits: {} },
  );
}

/** Lets the history go on for some events. While every request waits for the sealed slots, there are none. */
async function rest({ now, isDone }: Moves): Promise<void> {
  const from = now();
  for (let turn = 0; turn < 40 && !isDone() && now() < from + 12; turn++) await pause(10);
}

/** Moves slots until the history is done. @returns how many moves broke off. */
export async function moveSlots(moves: Moves): Promise<number> {
  const { environment, bucketId, names, random, isDone, whileSealed } = moves;
  const plan = (at: number | null): FaultPlan => ({ at, how: 'cut before', calls: 0, hit: null });
  const whole = contextOf(environment, plan(null));
  let broken = 0;
  while (!isDone()) {
    for (const name of names) {
      if (random() < 0.3) continue;
      const broke = plan(random() < 0.8 ? Math.floor(random() * 10) : null);
      const from = (await findBucketById(whole, bucketId))?.placement.shards[slotOf(name)] ?? 0;
      const to = (from + 1 + Math.floor(random() * (SHARDS.length - 1))) % SHARDS.length;
      // A move that broke off, or whose answer was lost, is finished below.
      await moveSlot(contextOf(environment, broke), bucketId, slotOf(name), to).catch(() => {});
      if (broke.hit !== null) broken++;
    }
    await rest(moves);
    if (!isDone()) await whileSealed();
    await rest(moves);
    await finishMoves(whole, 0).catch(() => {});
    await rest(moves);
  }
  return broken;
}
