/** Measures a leaderboard of 25 million players in 32 shards, all in one process: memory, exactness of ranks, rebuild time. */
import { MergedCounts } from '../../durable-objects/leaderboard/domain/merged-counts.ts';
import { OrderedIndex } from '../../durable-objects/leaderboard/domain/ordered-index.ts';
import { ShardCounts } from '../../durable-objects/leaderboard/domain/shard-counts.ts';
import { collectGarbage, residentBytes } from '../shared/resident-memory.ts';

const SHARDS = 32;
const PROBES = 10_000;

export async function runBoard(): Promise<void> {
  const players = Number(process.env.PLAYERS ?? 25_000_000);
  const perShard = Math.floor(players / SHARDS);
  const indexes: OrderedIndex[] = [];
  const all = new Float64Array(perShard * SHARDS);
  // Fill the array, so that all of its memory pages are resident before the measurement.
  all.fill(1);
  let rebuildMs = 0;
  collectGarbage();
  const before = residentBytes('self');
  for (let shard = 0; shard < SHARDS; shard++) {
    const index = new OrderedIndex();
    for (let slot = 0; slot < perShard; slot++) {
      const score = Math.floor(5_000 * Math.random() ** 4);
      index.keys.set(slot, score, 1.8e15 + Math.floor(Math.random() * 2e12));
      all[shard * perShard + slot] = score;
    }
    const startedAt = performance.now();
    index.build();
    rebuildMs += performance.now() - startedAt;
    indexes.push(index);
  }
  collectGarbage();
  const bytes = residentBytes('self') - before;
  console.log(`${(perShard * SHARDS).toLocaleString('en')} players in ${SHARDS} shards`);
  console.log(
    `  memory        ${(bytes / 2 ** 20).toFixed(0)} MiB, ${(bytes / all.length).toFixed(1)} bytes per player`,
  );
  console.log(
    `  index rebuilt ${(rebuildMs / SHARDS).toFixed(0)} ms per shard of ${perShard.toLocaleString('en')} players, without reading the rows`,
  );

  const season = new MergedCounts(SHARDS, 'bench');
  const reports = indexes.map((_, shard) => new ShardCounts(shard, `boot-${shard}`));
  for (let round = 0; round < 3; round++) {
    for (const [shard, each] of reports.entries()) {
      const report = each.report(indexes[shard] as OrderedIndex, 1, () => []);
      each.acknowledge(report.number, season.answer(report, season.apply(report)));
    }
  }
  const sorted = all.slice().sort();
  let wrong = 0;
  const startedAt = performance.now();
  for (let probe = 0; probe < PROBES; probe++) {
    const shard = Math.floor(Math.random() * SHARDS);
    const index = indexes[shard] as OrderedIndex;
    const score = index.scoreOf(Math.floor(Math.random() * perShard));
    const { above, unsure } = (reports[shard] as ShardCounts).others.countAbove(score);
    const rank = 1 + index.countAbove(score) + above;
    if (unsure !== 0 || rank !== 1 + sorted.length - firstAfter(sorted, score)) wrong++;
  }
  const perRankUs = ((performance.now() - startedAt) * 1000) / PROBES;
  console.log(
    `  ranks         ${PROBES.toLocaleString('en')} compared with a full sort: ${wrong} wrong, ${perRankUs.toFixed(1)} µs each`,
  );
}

function firstAfter(sorted: Float64Array, score: number): number {
  let low = 0;
  let high = sorted.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((sorted[middle] as number) > score) high = middle;
    else low = middle + 1;
  }
  return low;
}
