/** Snapshots of the counts of each shard. `ClosingStore.open` creates the table. */
import type { ScoreBuckets } from '../../workers/leaderboard/domain/score-buckets.ts';
import type { TopEntry } from '../../workers/leaderboard/domain/standing.ts';

export interface ShardSnapshot {
  readonly shard: number;
  /** Milliseconds since 1970. */
  readonly at: number;
  readonly bits: number;
  readonly buckets: ScoreBuckets;
  readonly top: readonly TopEntry[];
}

export class SnapshotStore {
  readonly #sql: SqlStorage;

  constructor(storage: DurableObjectStorage) {
    this.#sql = storage.sql;
  }

  read(): ShardSnapshot[] {
    const rows = this.#sql.exec('SELECT shard, at, bits, buckets, top FROM snapshot').raw();
    return Array.from(rows, ([shard, at, bits, buckets, top]) => {
      const columns = new Float64Array(buckets as ArrayBuffer);
      const half = columns.length / 2;
      return {
        shard: Number(shard),
        at: Number(at),
        bits: Number(bits),
        buckets: { lows: columns.subarray(0, half), counts: columns.subarray(half) },
        top: JSON.parse(String(top)),
      };
    });
  }

  write({ shard, at, bits, buckets: { lows, counts }, top }: ShardSnapshot): void {
    const columns = new Float64Array(lows.length * 2);
    columns.set(lows);
    columns.set(counts, lows.length);
    const query = 'INSERT OR REPLACE INTO snapshot(shard, at, bits, buckets, top) VALUES (?, ?, ?, ?, ?)';
    this.#sql.exec(query, shard, at, bits, new Uint8Array(columns.buffer), JSON.stringify(top));
  }
}
