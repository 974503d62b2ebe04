/**
 * The end of a season that 0.2.0 archived: its objects are kept while events may be retried, then erased. An archive that was begun
 * and not published is given up.
 */
import { shardStub } from '../../../workers/leaderboard/objects.ts';
import { removeAttempt } from '../../../workers/leaderboard/records/archive-files.ts';
import { createSeasonEndStore } from '../../../workers/leaderboard/records/season-end-store.ts';
import { createSeasonStore } from '../../../workers/leaderboard/records/season-store.ts';
import { addressesOf, EVENT_RETENTION_MS, type SeasonAddress } from '../protocol.ts';
import { isArchived } from './closing-checks.ts';
import type { ArchivedSeason, SeasonObjectStore } from './store.ts';

const ERASE_AGAIN_MS = 60_000;

/** Finds the archive of a season; null if it has none, and is to be sealed. */
export async function findArchived(
  env: Env,
  store: SeasonObjectStore,
  address: SeasonAddress,
): Promise<ArchivedSeason | null> {
  const known = store.readArchived();
  if (known?.step === 'keep' || known?.step === 'done') return known;
  const row = await createSeasonStore(env.DIRECTORY).find(address.season);
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

/** Erases the season's objects once retries of the month's last event have expired. */
export async function advanceArchived(
  env: Env,
  store: SeasonObjectStore,
  archived: ArchivedSeason,
  now: number,
): Promise<void> {
  if (!(await isArchived(env, archived, now))) return;
  const ends = createSeasonEndStore(env.DIRECTORY);
  const eraseAt = archived.sealedAt + EVENT_RETENTION_MS;
  if (now < eraseAt) return await createSeasonStore(env.DIRECTORY).setDue(archived.season, eraseAt);
  if (archived.step === 'done') return await ends.markErased(archived.season, now);
  // Cron skips a season that is marked as erased. So the alarm is set before, to try again if erasing fails.
  store.writeArchived(archived);
  await store.planAlarm(ERASE_AGAIN_MS);
  await ends.markErased(archived.season, now);
  await Promise.all(addressesOf(archived).map((address) => shardStub(env, address).destroy()));
  store.forgetCounts();
  store.writeArchived({ ...archived, step: 'done' });
}
