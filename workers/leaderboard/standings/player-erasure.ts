/**
 * The erasure of a player, in one season or in all. It is a durable task: its row in DIRECTORY is written first, and cron repeats it for the
 * seasons whose objects did not answer. Lists hide the player at once.
 */
import { toShardName } from '../../../durable-objects/leaderboard/protocol.ts';
import { mintPseudonym } from '../../shared/audit/audit.ts';
import { createAuditStore } from '../../shared/audit/audit-store.ts';
import { inTime } from '../../shared/concurrency/in-time.ts';
import { runInParallel } from '../../shared/concurrency/parallel.ts';
import { createClock } from '../../shared/settings/clock.ts';
import { logError } from '../../shared/telemetry/log.ts';
import { shardOf } from '../domain/shard-map.ts';
import { seasonStub, shardStub, within } from '../objects.ts';
import { createErasureStore, type ErasureRow } from '../records/erasure-store.ts';
import { createQuarantineStore } from '../records/quarantine-store.ts';
import { createSeasonStore, type SeasonRow } from '../records/season-store.ts';
import { eraseFromArchive } from './archive-changes.ts';

/** Time limit of calls to a shard. It is longer than elsewhere, because an erasure reads all events of a shard. */
const ANSWER_MS = 30_000;
/** Time that the request waits for the first run. */
const FIRST_RUN_MS = 20_000;
const RETRY_MS = 60_000;
const RETRY_MS_MAX = 3_600_000;
const SEASONS_IN_PARALLEL_MAX = 6;
const ERASURES_PER_RUN = 100;
/** Time for which a finished erasure can be read. */
const KEPT_MS = 30 * 86_400_000;

/**
 * Begins the erasure of a player, and waits some seconds for it.
 * @param board reference of the board. @param season name of the only season; null for all
 * @returns the task as it is then
 */
export async function beginErasure(
  env: Env,
  board: string,
  userId: string,
  season: string | null,
): Promise<ErasureRow & { readonly pseudonym: string }> {
  const now = createClock(env)();
  const task = { board, userId, season, waiting: null, isFound: false, attempts: 0, finishedAt: null };
  const row = { ...task, erasure: crypto.randomUUID(), createdAt: now, dueAt: now + RETRY_MS };
  const pseudonym = mintPseudonym();
  await createErasureStore(env.DIRECTORY).add(row);
  return { ...(await inTime(runErasure(env, row, pseudonym), FIRST_RUN_MS, row)), pseudonym };
}

/** Continues the erasures that are due. */
export async function continueErasures(env: Env, now: number): Promise<void> {
  for (const row of await createErasureStore(env.DIRECTORY).listDue(now, ERASURES_PER_RUN)) {
    await runErasure(env, row, mintPseudonym()).catch((error: unknown) =>
      logError('leaderboard_erasure_failed', error, { erasure: row.erasure }),
    );
  }
}

export const removeFinishedErasures = (env: Env, now: number): Promise<void> =>
  createErasureStore(env.DIRECTORY).removeFinished(now - KEPT_MS);

/** Erases a player in the seasons of a task that wait. @param pseudonym what the audit log has instead of the user id */
async function runErasure(env: Env, row: ErasureRow, pseudonym: string): Promise<ErasureRow> {
  const now = createClock(env)();
  const seasons = await listSeasons(env, row);
  const names = seasons.map(({ season }) => season);
  const waiting: readonly string[] = row.waiting === null ? names : JSON.parse(row.waiting);
  const failed: string[] = [];
  let { isFound } = row;
  await runInParallel(
    seasons.filter(({ season }) => waiting.includes(season)),
    SEASONS_IN_PARALLEL_MAX,
    async (season) => {
      try {
        if (await eraseIn(env, season, row.userId)) isFound = true;
      } catch (error) {
        logError('leaderboard_erasure_waits', error, { season: season.season });
        failed.push(season.season);
      }
    },
  );
  if (row.season === null && row.board !== '')
    await createQuarantineStore(env.DIRECTORY).removePlayer(row.board, row.userId);
  // A player's id may be a name, so the audit log must not keep it.
  await createAuditStore(env.DIRECTORY).erasePlayer(row.userId, names, pseudonym);
  const store = createErasureStore(env.DIRECTORY);
  const after = { ...row, isFound };
  const nextAt = now + Math.min(RETRY_MS_MAX, RETRY_MS * 2 ** Math.min(row.attempts, 10));
  await (failed.length === 0 ? store.finish(after, now) : store.retry(after, failed, nextAt));
  return (await store.find(row.board, row.erasure)) ?? after;
}

async function listSeasons(env: Env, { board, season }: ErasureRow): Promise<SeasonRow[]> {
  const store = createSeasonStore(env.DIRECTORY);
  if (season === null) return store.listAll(board);
  const row = await store.find(season);
  return row === null ? [] : [row];
}

/** Erases a player in one season. Can be repeated after a failure. @returns whether the player was in it. */
async function eraseIn(env: Env, row: SeasonRow, userId: string): Promise<boolean> {
  const { season, shards, archive, erasedAt } = row;
  const address = { season, shards, shard: shardOf(userId, shards) };
  const eraseInShard = () => within(toShardName(address), ANSWER_MS, shardStub(env, address).erase(address, userId));
  if (archive !== null) {
    const isArchived = await eraseFromArchive(env, archive, userId);
    return (erasedAt === null && (await eraseInShard())) || isArchived;
  }
  const hide = within(season, ANSWER_MS, seasonStub(env, season).hide({ season, shards }, userId));
  // Season objects of 0.2.0 cannot hide. The shard erases nevertheless, and the task is repeated.
  const failure = await hide.then(
    () => null,
    (error: unknown) => ({ error }),
  );
  const isFound = await eraseInShard();
  // The season object's copy of the shard's top list may have the player's name, so it is loaded again.
  await within(season, ANSWER_MS, seasonStub(env, season).reload({ season, shards }, address.shard, userId));
  if (failure !== null) throw failure.error;
  return isFound;
}
