/**
 * Checks before a season becomes final, and before the objects of an archived one are erased. Empty objects do not prove an empty
 * season: the data may be lost, or another Worker may share DIRECTORY.
 */

import {
  type ArchiveManifest,
  locationsOf,
  manifestKey,
  readWhole,
} from '../../../workers/leaderboard/records/archive-files.ts';
import { createSeasonEndStore } from '../../../workers/leaderboard/records/season-end-store.ts';
import { createSeasonStore } from '../../../workers/leaderboard/records/season-store.ts';
import { allowedLoss } from '../../../workers/shared/collectors/limits.ts';
import { createCollectorStore } from '../../../workers/shared/collectors/store.ts';
import { type CopyManifest, copyPrefix, manifestName } from '../domain/copy-file.ts';
import { addressesOf, type SeasonAddress } from '../protocol.ts';
import type { ArchivedSeason } from './store.ts';

/**
 * Whether the shards still contain the players that DIRECTORY has seen in them (`season.players_seen`). Tolerates the few that an
 * operator may have erased. Otherwise raises the alarm.
 */
export async function isComplete(env: Env, season: string, players: number, now: number): Promise<boolean> {
  const seen = (await createSeasonStore(env.DIRECTORY).find(season))?.playersSeen ?? 0;
  const missing = seen - players;
  const collector = createCollectorStore(env.DIRECTORY, 'leaderboard');
  const { approved, round, alarm } = await collector.read();
  if (missing <= (players > 0 ? allowedLoss(seen) : 0)) {
    if (alarm?.includes(season)) await collector.clearAlarm();
    return true;
  }
  // An operator's approval of missing players is valid for one closing only.
  if (missing <= approved) return await collector.finishRound(round, now);
  const reason = `${season} is not final: its shards have ${players} players, and ${seen} were seen`;
  await collector.raiseAlarm(reason, { scanned: seen, found: missing }, now);
  return false;
}

/** Whether every location has a copy of each shard of a season that has ended. */
export async function hasCopies(env: Env, address: SeasonAddress): Promise<boolean> {
  const keys = addressesOf(address).map((shard) => copyPrefix(shard) + manifestName);
  for (const bucket of locationsOf(env)) {
    for (const key of keys) if ((await readWhole<CopyManifest>(bucket, key)) === null) return false;
  }
  return true;
}

/**
 * Whether DIRECTORY names this archive and every location has its manifest. If an older copy of DIRECTORY lacks the archive,
 * restores its row. Raises the alarm if another archive is named, or if a manifest is missing.
 */
export async function isArchived(
  env: Env,
  { season, shards, archive, progress }: ArchivedSeason,
  now: number,
): Promise<boolean> {
  const store = createSeasonStore(env.DIRECTORY);
  const manifests = await Promise.all(
    locationsOf(env).map((bucket) => readWhole<ArchiveManifest>(bucket, manifestKey(archive))),
  );
  const isWhole = manifests.every((manifest) => manifest !== null);
  if (isWhole) {
    await store.ensure(season, shards, now);
    await createSeasonEndStore(env.DIRECTORY).publish(season, archive, progress.sealed.players, now);
  }
  const named = (await store.find(season))?.archive ?? null;
  const collector = createCollectorStore(env.DIRECTORY, 'leaderboard');
  if (isWhole && named === archive) {
    if ((await collector.read()).alarm?.includes(season)) await collector.clearAlarm();
    return true;
  }
  const reason = isWhole
    ? `the objects of ${season} are not erased: DIRECTORY names another archive`
    : `the objects of ${season} are not erased: a location has no manifest of the archive`;
  await collector.raiseAlarm(reason, { scanned: shards, found: 0 }, now);
  return false;
}
