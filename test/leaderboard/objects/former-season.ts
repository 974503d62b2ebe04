/** Leaves a season as 0.2.0 left it: archived in R2 and named by DIRECTORY, with its objects sealed and kept. */
import { env, runInDurableObject } from 'cloudflare:test';
import { addressesOf } from '../../../durable-objects/leaderboard/protocol.ts';
import { SeasonObjectStore } from '../../../durable-objects/leaderboard/season/store.ts';
import type { RankedEntry } from '../../../workers/leaderboard/domain/standing.ts';
import { seasonStub, shardStub } from '../../../workers/leaderboard/objects.ts';
import { writeFile } from '../../../workers/leaderboard/records/archive-files.ts';
import { createSeasonEndStore } from '../../../workers/leaderboard/records/season-end-store.ts';
import { openStandings } from '../../../workers/leaderboard/standings/standings-opening.ts';
import { toFormerArchive } from '../former-archive.ts';

/** @returns the prefix of the archive's files */
export async function archiveAsFormerly(season: string, shards: number, perFile?: number): Promise<string> {
  const opened = await openStandings(env, season);
  if (!opened.ok) throw new Error(opened.error.kind);
  const list: RankedEntry[] = [];
  for await (const rows of opened.value.reader.rows(null)) list.push(...(rows ?? []));
  const sealedAt = Date.now();
  const archive = `leaderboard/${season}/${sealedAt.toString(36)}`;
  for (const address of addressesOf({ season, shards })) await shardStub(env, address).seal(address);
  for (const [name, value] of toFormerArchive({ season, shards, sealedAt }, list, perFile))
    await writeFile(env, `${archive}/${name}`, value);
  await createSeasonEndStore(env.DIRECTORY).publish(season, archive, list.length, sealedAt);
  await runInDurableObject(seasonStub(env, season) as DurableObjectStub, (_, { storage }) => {
    const progress = { sealed: { players: list.length } };
    new SeasonObjectStore(storage).writeArchived({ season, shards, step: 'keep', archive, sealedAt, progress });
  });
  return archive;
}
