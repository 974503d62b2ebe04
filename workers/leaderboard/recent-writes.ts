/**
 * Read your own writes across shards: what this isolate acknowledged within the last seconds, by shard. A read carries it
 * along, and the objects count at least that much. Older writes are counted anyway, because nothing is staler than a second.
 */
import type { Requirement } from './domain/board.ts';

const REMEMBERED_MS = 2_000;
/** With more calls than this under way, a score's own answer does not wait for what other shards took in the same moment. */
const CAREFUL_CALLS_MAX = 4;

interface ShardWrites {
  through: number;
  at: number;
}

const writes = new Map<string, ShardWrites[]>();
let callsUnderWay = 0;

export function noteWrite(season: string, shard: number, through: number, now: number): void {
  const shards = writes.get(season) ?? [];
  if (!writes.has(season)) {
    writes.clear();
    writes.set(season, shards);
  }
  const before = shards[shard];
  if (before === undefined || through > before.through) shards[shard] = { through, at: now };
}

export function requirementFor(season: string, now: number): Requirement {
  const shards = writes.get(season);
  if (shards === undefined) return null;
  const recent = Array.from(shards, (shard) => (shard && now - shard.at < REMEMBERED_MS ? shard.through : 0));
  return recent.some((through) => through > 0) ? recent : null;
}

/** For the rank in a score's own answer. Callers that post one after the other get the exact one. */
export async function withWriteRequirement<T>(
  season: string,
  now: number,
  call: (requirement: Requirement) => Promise<T>,
): Promise<T> {
  callsUnderWay++;
  try {
    return await call(callsUnderWay > CAREFUL_CALLS_MAX ? null : requirementFor(season, now));
  } finally {
    callsUnderWay--;
  }
}
