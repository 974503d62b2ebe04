/** Measures the memory of the counts of a season and its 32 shards, for boards of many and of few players. */
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect, it } from 'vitest';
import { MergedCounts } from '../../../durable-objects/leaderboard/domain/merged-counts.ts';
import { OrderedIndex } from '../../../durable-objects/leaderboard/domain/ordered-index.ts';
import { ShardCounts } from '../../../durable-objects/leaderboard/domain/shard-counts.ts';

setFlagsFromString('--expose_gc');
const collectGarbage: () => void = runInNewContext('gc');
const SHARDS = 32;

async function readBytes(): Promise<number> {
  // Array buffers are freed some time after their objects.
  for (let round = 0; round < 4; round++) {
    collectGarbage();
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  const { heapUsed, arrayBuffers } = process.memoryUsage();
  return heapUsed + arrayBuffers;
}

const SCORES: Readonly<Record<string, (random: number) => number>> = {
  'from 0 to 2^20': (random) => Math.floor(random * 2 ** 20),
  'close together at 10^9': (random) => 1e9 + Math.floor(random * 2 ** 20),
  'lap times': (random) => Number.MAX_SAFE_INTEGER - 60_000 - Math.floor(random * 2 ** 20),
  'all over 2^53': (random) => Math.floor(random * 2 ** 53),
  'one for all': () => 7,
};

function createBoard(indexes: readonly OrderedIndex[]) {
  const season = new MergedCounts(SHARDS, 'season');
  const shards = indexes.map((_, shard) => new ShardCounts(shard, 'boot'));
  const exchange = () => {
    for (const [shard, counts] of shards.entries()) {
      const report = counts.report(indexes[shard] as OrderedIndex, 1, () => []);
      counts.acknowledge(report.number, season.answer(report, season.apply(report)));
      counts.others.countAbove(0);
    }
  };
  do exchange();
  while (shards.some((shard) => shard.hasChanges));
  exchange();
  return { season, shards };
}

const createIndexes = (players: number, scoreOf: (random: number) => number) =>
  Array.from({ length: SHARDS }, () => {
    const index = new OrderedIndex();
    for (let slot = 0; slot < players; slot++) index.keys.set(slot, scoreOf(Math.random()), slot);
    index.build();
    return index;
  });

it.each(Object.entries(SCORES))(
  'take at most 24 MB with a million players in each shard, %s',
  async (name, scoreOf) => {
    const indexes = createIndexes(1_000_000, scoreOf);
    const before = await readBytes();
    const board = createBoard(indexes);
    const bytes = (await readBytes()) - before;
    console.log(`${name}: ${(bytes / 1e6).toFixed(1)} MB, ${board.season.buckets} buckets`);
    expect(board.season.players).toBe(SHARDS * 1_000_000);
    expect(bytes).toBeLessThan(24e6);
  },
);

it.each(Object.entries(SCORES))('of the season take at most 64 KB with 1,000 players, %s', async (name, scoreOf) => {
  const indexes = createIndexes(1_000 / SHARDS, scoreOf);
  createBoard(indexes);
  const before = await readBytes();
  const seasons = Array.from({ length: 100 }, () => createBoard(indexes).season);
  const bytes = ((await readBytes()) - before) / seasons.length;
  console.log(`${name}: ${(bytes / 1e3).toFixed(1)} KB`);
  expect(bytes).toBeLessThan(64e3);
});
