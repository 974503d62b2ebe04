/** The files of a season's archive, as 0.2.0 wrote them. This release reads and changes them, and writes no new ones. */
import { shardOf } from '../../workers/leaderboard/domain/shard-map.ts';
import type { RankedEntry } from '../../workers/leaderboard/domain/standing.ts';
import {
  STANDINGS_FILE_ENTRIES,
  toArchivedEntry,
  toStandingKey,
} from '../../workers/leaderboard/records/archive-files.ts';

const LOOKUP_FILE_ENTRIES = 1_024;
const nameOf = (folder: string, file: number) => `${folder}/${String(file).padStart(8, '0')}.json`;

/**
 * @param list the players in list order
 * @param perFile players per file; fewer than 0.2.0 has, to get several files
 * @returns the content of each file, by its name in the archive
 */
export function toFormerArchive(
  { season, shards, sealedAt }: { season: string; shards: number; sealedAt: number },
  list: readonly RankedEntry[],
  perFile = Number.POSITIVE_INFINITY,
): Map<string, unknown> {
  const files = new Map<string, unknown>();
  const standings = [];
  const ofStandings = Math.min(perFile, STANDINGS_FILE_ENTRIES);
  for (let place = 0; place < list.length; place += ofStandings) {
    const name = nameOf('standings', standings.length);
    const rows = list.slice(place, place + ofStandings);
    files.set(name, rows.map(toArchivedEntry));
    const [first] = rows;
    if (first) standings.push({ name, first: toStandingKey(first), place, rank: first.rank });
  }
  const byShard = Map.groupBy(list, ({ userId }) => shardOf(userId, shards));
  const ofLookups = Math.min(perFile, LOOKUP_FILE_ENTRIES);
  const lookups = Array.from({ length: shards }, (_, shard) => {
    const rows = (byShard.get(shard) ?? []).toSorted((a, b) => (a.userId < b.userId ? -1 : 1));
    const own = [];
    for (let at = 0; at < rows.length; at += ofLookups) {
      const name = nameOf(`lookups/${shard}`, own.length);
      files.set(name, rows.slice(at, at + ofLookups).map(toArchivedEntry));
      own.push({ name, first: rows[at]?.userId });
    }
    return own;
  });
  const sum = String(list.reduce((total, { score }) => total + BigInt(score), 0n));
  const totals = { season, shards, players: list.length, sum, sealedAt, revision: 0, obsolete: [] };
  files.set('manifest.json', { ...totals, standings, lookups });
  return files;
}
