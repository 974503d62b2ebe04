/** Snapshots of the counts of each shard, and the views to feed. `ClosingStore.open` creates the tables. */
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

  readViews(): string[] {
    return [...this.#sql.exec('SELECT name FROM view').raw()].map(([name]) => String(name));
  }

  addView(name: string): void {
    this.#sql.exec('INSERT OR IGNORE INTO view(name) VALUES (?)', name);
  }

  removeView(name: string): void {
    this.#sql.exec('DELETE FROM view WHERE name = ?', name);
  }

  write({ shard, at, bits, buckets: { lows, counts }, top }: ShardSnapshot): void {
    const columns = new Float64Array(lows.length * 2);
    columns.set(lows);
    columns.set(counts, lows.length);
    const query = 'INSERT OR REPLACE INTO snapshot(shard, at, bits, buckets, top) VALUES (?, ?, ?, ?, ?)';
    this.#sql.exec(query, shard, at, bits, new Uint8Array(columns.buffer), JSON.stringify(top));
  }
}
