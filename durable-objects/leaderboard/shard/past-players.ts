/** Players of a past season, by the merged counts of its season object. No index is loaded. */
import { seasonStub } from '../../../workers/leaderboard/objects.ts';
import { inTime } from '../../../workers/shared/concurrency/in-time.ts';
import type { CountAbove, ShardStandings } from '../protocol.ts';
import type { ShardBoard } from './shard-board.ts';

/** Time that a read waits for the merged counts. */
const PAST_MS = 1_000;

/** Finds players of a final season, whose object has the merged counts. @returns null if it is not final or does not answer. */
export async function findPast(
  env: Env,
  board: ShardBoard,
  userIds: readonly string[],
  now: number,
): Promise<ShardStandings | null> {
  const { season, shards } = board.address;
  const found = userIds.map((userId) => board.find(userId));
  const scores = found.flatMap((entry) => entry?.score ?? []);
  const asked = seasonStub(env, season).countPast({ season, shards }, scores);
  const counts = await inTime(Promise.resolve(asked), PAST_MS, null).catch(() => null);
  if (counts === null) return null;
  const above = counts.above.values();
  const entries = found.map((entry) => {
    if (entry === null) return null;
    const { above: better, unsure } = above.next().value as CountAbove;
    return { ...entry, rank: 1 + better, isEstimated: unsure > 0 };
  });
  return { entries, players: counts.players, asOf: Math.min(now, counts.asOf) };
}
