/**
 * Tests the memory of a closing: it writes the first files of a month's end with 25 million players. The shards compute their
 * players, because 25 million real players do not fit here. The rows are as long as real ones.
 */
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect, it } from 'vitest';
import { beginClosing, SeasonClosing } from '../../../durable-objects/leaderboard/season/closing.ts';
import type { Closing, SeasonObjectStore } from '../../../durable-objects/leaderboard/season/store.ts';
import type { StandingKey } from '../../../workers/leaderboard/domain/standing.ts';

setFlagsFromString('--expose_gc');
const collectGarbage: () => void = runInNewContext('gc');

const PLAYERS = 25_000_000;
const FILES = 200;

/** A shard with every n-th player of a board on which no two scores are equal. */
function toShard(shard: number, shards: number) {
  const rowAt = (i: number) => ({
    userId: `player-0123456789-${shard}-${i}`,
    userName: `Player number ${shard}-${i}`,
    score: PLAYERS - shard - i * shards,
    reached: 1_795_234_567_890_123 + i,
  });
  return {
    async run(_address: unknown, key: StandingKey, _before: number, limit: number) {
      const from = Math.max(0, Math.floor((PLAYERS - key.score - shard) / shards) + 1);
      const size = Math.max(0, Math.min(limit, PLAYERS / shards - from));
      // Copy the rows through JSON: as in an answer of a Durable Object, rows then share no strings.
      return JSON.parse(JSON.stringify({ after: Array.from({ length: size }, (_, i) => rowAt(from + i)) }));
    },
  };
}

it.each([32, 256])('takes at most 60 MB with %i shards', async (shards) => {
  let closing: Closing = { ...beginClosing('2026-10', shards, 1), step: 'standings' };
  const store = {
    writeClosing(next: Closing) {
      closing = next;
    },
    recordFile() {},
  } as unknown as SeasonObjectStore;
  let written = 0;
  const env = {
    BLOBS: {
      async put(_key: string, bytes: Uint8Array) {
        written += JSON.parse(new TextDecoder().decode(bytes)).length;
        return {};
      },
    },
    LEADERBOARD_SHARD: {
      idFromName: (name: string) => Number(name.split(':')[1]),
      get: (shard: number) => toShard(shard, shards),
    },
  } as unknown as Env;
  const work = new SeasonClosing(env, store, Date.now);
  collectGarbage();
  const { heapUsed: before, external } = process.memoryUsage();
  let most = 0;
  const startedAt = performance.now();
  for (let file = 0; file < FILES; file++) {
    expect(await work.advance(closing)).toBe(true);
    if (file % 10 !== 0) continue;
    collectGarbage();
    const now = process.memoryUsage();
    most = Math.max(most, now.heapUsed + now.external - before - external);
  }
  const perFileMs = (performance.now() - startedAt) / FILES;
  expect(written).toBe(FILES * 2_048);
  expect(closing.progress.standings).toMatchObject({ file: FILES, place: FILES * 2_048, rank: FILES * 2_048 });
  const mebibytes = (most / 2 ** 20).toFixed(0);
  console.log(`${shards} shards: ${mebibytes} MiB, ${perFileMs.toFixed(1)} ms per file of ${PLAYERS / 2_048} files`);
  expect(most).toBeLessThan(60_000_000);
});
