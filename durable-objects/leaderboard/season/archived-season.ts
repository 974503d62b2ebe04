/**
 * The rest of a season that 0.2.0 archived: its objects are kept while events may be retried, then erased. Then the season moves into its
 * shards, and a day later the archive is removed. An archive that was begun and not published is given up.
 */
import { shardStub } from '../../../workers/leaderboard/objects.ts';
import { removeAttempt } from '../../../workers/leaderboard/records/archive-files.ts';
import { createSeasonEndStore } from '../../../workers/leaderboard/records/season-end-store.ts';
import { createSeasonStore } from '../../../workers/leaderboard/records/season-store.ts';
import { createCollectorStore } from '../../../workers/shared/collectors/store.ts';
import { addressesOf, EVENT_RETENTION_MS, type SeasonAddress } from '../protocol.ts';
import { ArchiveImport, ImportError } from './archive-import.ts';
import type { SeasonClosing } from './closing.ts';
import { hasCopies, isArchived } from './closing-checks.ts';
import type { SeasonCounts } from './season-counts.ts';
import type { ArchivedSeason, SeasonObjectStore } from './store.ts';

const ERASE_AGAIN_MS = 60_000;
const CONTINUE_MS = 1_000;
const TRY_AGAIN_MS = 3_600_000;
/** Time for which the files stay after the season has moved: isolates of 0.2.0 may still read them. */
const FILES_KEPT_MS = 86_400_000;

interface Parts {
  readonly env: Env;
  readonly store: SeasonObjectStore;
  readonly counts: SeasonCounts;
  readonly closing: SeasonClosing;
}

/** Finds the archive of a season; null if it has none, and is to be sealed. */
export async function findArchived(
  env: Env,
  store: SeasonObjectStore,
  address: SeasonAddress,
): Promise<ArchivedSeason | null> {
  const known = store.readArchived();
  if (known?.step === 'keep' || known?.step === 'done' || known?.step === 'moved') return known;
  const row = await createSeasonStore(env.DIRECTORY).find(address.season);
  const end = store.readEnd();
  if (row?.archive && end?.finalAt) {
    // A copy of DIRECTORY from before the season moved.
    await createSeasonEndStore(env.DIRECTORY).move(row.season, end.players, null, end.finalAt);
    return null;
  }
  if (row?.archive) {
    const { season, shards, archive, players, closedAt } = row;
    const sealed = { players: players ?? 0 };
    const found = { season, shards, archive, sealedAt: closedAt ?? 0, progress: { sealed } };
    return { ...found, step: row.erasedAt === null ? 'keep' : 'done' };
  }
  if (known !== null) {
    await removeAttempt(env, known.archive);
    store.forgetArchived();
  }
  return null;
}

/** Does the next work of an archived season. */
export async function advanceArchived(
  { env, store, counts, closing }: Parts,
  archived: ArchivedSeason,
  now: number,
): Promise<void> {
  if (archived.step === 'moved') return await finishMove(env, store, archived, now);
  if (archived.step === 'keep') return await eraseArchived(env, store, archived, now);
  const { season } = archived;
  const isWhole = await isArchived(env, archived, now);
  if (!isWhole) return;
  try {
    if (!(await new ArchiveImport(env, store, archived, counts).advance(now)))
      return await store.planAlarm(CONTINUE_MS);
    counts.finish();
    const row = await createSeasonStore(env.DIRECTORY).find(season);
    const { players, total } = counts.merged;
    const finalAt = row?.closedAt ?? archived.sealedAt;
    store.writeEnd({ finalAt, players, bits: total.bits, without: [], asOf: null });
    closing.storeCounts(counts);
    const moved: ArchivedSeason = { ...archived, step: 'moved', movedAt: now };
    store.writeArchived(moved);
    store.forgetImport();
    await finishMove(env, store, moved, now);
  } catch (error) {
    if (!(error instanceof ImportError)) throw error;
    store.forgetImport();
    const reason = `${season} stays in its archive: ${error.message}`;
    const found = { scanned: archived.shards, found: 0 };
    await createCollectorStore(env.DIRECTORY, 'leaderboard').raiseAlarm(reason, found, now);
    await createSeasonStore(env.DIRECTORY).setDue(season, now + TRY_AGAIN_MS);
  }
}

/** Lets DIRECTORY name the shards instead of the archive. Removes the archive after a day, if every shard has its copies. */
async function finishMove(
  env: Env,
  store: SeasonObjectStore,
  { season, shards, movedAt = 0 }: ArchivedSeason,
  now: number,
): Promise<void> {
  const seasons = createSeasonStore(env.DIRECTORY);
  const row = await seasons.find(season);
  if (row === null) return;
  const players = store.readEnd()?.players ?? 0;
  const removeAt = movedAt + FILES_KEPT_MS;
  if (row.archive !== null) await createSeasonEndStore(env.DIRECTORY).move(season, players, removeAt, now);
  if (now < removeAt) return await seasons.setDue(season, removeAt);
  if (!(await hasCopies(env, { season, shards }))) return await seasons.setDue(season, now + TRY_AGAIN_MS);
  await removeArchive(env, store, season);
  await seasons.setDue(season, null);
}

/** Removes the files of a season that has moved into its shards. */
export async function removeArchive(env: Env, store: SeasonObjectStore, season: string): Promise<void> {
  await removeAttempt(env, `leaderboard/${season}`);
  store.forgetArchived();
}

/** Erases the season's objects once retries of the month's last event have expired. */
async function eraseArchived(env: Env, store: SeasonObjectStore, archived: ArchivedSeason, now: number): Promise<void> {
  if (!(await isArchived(env, archived, now))) return;
  const ends = createSeasonEndStore(env.DIRECTORY);
  const eraseAt = archived.sealedAt + EVENT_RETENTION_MS;
  if (now < eraseAt) return await createSeasonStore(env.DIRECTORY).setDue(archived.season, eraseAt);
  // Cron skips a season that is marked as erased. So the alarm is set before, to try again if erasing fails.
  store.writeArchived(archived);
  await store.planAlarm(ERASE_AGAIN_MS);
  await ends.markErased(archived.season, now);
  await Promise.all(addressesOf(archived).map((address) => shardStub(env, address).destroy()));
  store.forgetCounts();
  store.writeArchived({ ...archived, step: 'done' });
}
