/** Looks up 100 users in the archive of a season with a million players: files read, bytes, processor time. */
import { createHash } from 'node:crypto';
import { expect, it } from 'vitest';
import { rankRun, type TopEntry } from '../../../workers/leaderboard/domain/standing.ts';
import { openArchivedStandings } from '../../../workers/leaderboard/standings/archived-standings.ts';
import { toFormerArchive } from '../former-archive.ts';

const PLAYERS = 1_000_000;
const SHARDS = 32;
const ROUNDS = 20;

/** Creates the archive of a season. @param scoreOf returns the score of each place, in descending order. */
function createArchive(archive: string, scoreOf: (place: number) => number) {
  const list = Array.from({ length: PLAYERS }, (_, place): TopEntry => {
    const number = (place * 7_919) % PLAYERS;
    const reached = 1_795_234_567_890_123 + place;
    return { userId: `player-0123456789-${number}`, userName: `Player ${number}`, score: scoreOf(place), reached };
  });
  const ranked = rankRun(list, 0, 1);
  const files = new Map<string, Uint8Array>();
  for (const [name, value] of toFormerArchive({ season: '2026-10', shards: SHARDS, sealedAt: 1 }, ranked))
    files.set(`${archive}/${name}`, Buffer.from(JSON.stringify(value)));
  const read = { files: 0, bytes: 0 };
  const env = {
    BLOBS: {
      async get(key: string) {
        const bytes = files.get(key) as Uint8Array;
        read.files++;
        read.bytes += bytes.byteLength;
        return { arrayBuffer: async () => bytes, checksums: { sha256: createHash('sha256').update(bytes).digest() } };
      },
    },
  } as unknown as Env;
  return { env, ranked, read };
}

it.each([
  ['wins of a month', (place: number) => 300 - Math.floor(300 * (place / PLAYERS) ** 0.25)],
  ['scores that all differ', (place: number) => PLAYERS - place],
] as const)('reads at most two files of 25 MB together for each of 100 users: %s', async (name, scoreOf) => {
  const { env, ranked, read } = createArchive(name, scoreOf);
  const reader = openArchivedStandings(env, name);
  await reader.standings([], false);
  Object.assign(read, { files: 0, bytes: 0 });
  const before = process.cpuUsage();
  for (let round = 0; round < ROUNDS; round++) {
    const wanted = Array.from({ length: 100 }, (_, i) => ranked[(round * 50_021 + i * 9_973) % PLAYERS]);
    const { entries } = await reader.standings(
      wanted.map((entry) => entry?.userId ?? ''),
      false,
    );
    expect(entries).toEqual(wanted);
  }
  const cpu = process.cpuUsage(before);
  const cpuMs = (cpu.user + cpu.system) / 1_000 / ROUNDS;
  const [files, bytes] = [read.files / ROUNDS, read.bytes / ROUNDS / 1e6];
  console.log(
    `${name}: ${files} files, ${bytes.toFixed(1)} MB, ${cpuMs.toFixed(0)} ms of processor time (hashing twice)`,
  );
  expect(files).toBeLessThanOrEqual(200);
  expect(bytes).toBeLessThan(25);
});
