/**
 * Read your own writes across shards: what this isolate acknowledged within the last seconds, by shard. A read carries it
 * along, and the objects count at least that much. Older writes are counted anyway, because nothing is staler than a second.
 */
import type { Requirement } from './domain/board.ts';

const REMEMBERED_MS = 2_000;
/** Above this rate a score's own answer does not wait for what other shards took in the same moment. */
const CAREFUL_WRITES_PER_SECOND = 200;

interface ShardWrites {
  through: number;
  at: number;
}

const writes = new Map<string, ShardWrites[]>();
let second = 0;
let writesInSecond = 0;

export function noteWrite(season: string, shard: number, through: number, now: number): void {
  const shards = writes.get(season) ?? [];
  if (!writes.has(season)) {
    writes.clear();
    writes.set(season, shards);
  }
  const before = shards[shard];
  if (before === undefined || through > before.through) shards[shard] = { through, at: now };
  if (Math.floor(now / 1000) !== second) [second, writesInSecond] = [Math.floor(now / 1000), 0];
  writesInSecond++;
}

export function requirementFor(season: string, now: number): Requirement {
  const shards = writes.get(season);
  if (shards === undefined) return null;
  const recent = Array.from(shards, (shard) => (shard && now - shard.at < REMEMBERED_MS ? shard.through : 0));
  return recent.some((through) => through > 0) ? recent : null;
}

/** For the rank in a score's own answer. */
export const requirementForWrite = (season: string, now: number): Requirement =>
  Math.floor(now / 1000) === second && writesInSecond > CAREFUL_WRITES_PER_SECOND ? null : requirementFor(season, now);
