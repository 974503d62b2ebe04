/** Queries of a season object: the progress of its closing, and the files that are written. */
import { drizzle } from 'drizzle-orm/durable-sqlite';
import { migrate } from 'drizzle-orm/durable-sqlite/migrator';
import migrations from '../../migrations/leaderboard-season/migrations.js';
import type { StandingKey } from '../../workers/leaderboard/domain/standing.ts';
import type { LookupFile, StandingsFile } from '../../workers/leaderboard/records/archive-files.ts';

export type ClosingStep = 'seal' | 'standings' | 'lookups' | 'verify' | 'publish' | 'keep' | 'done';

/** Each member belongs to the step of its name. All fit into one row. */
export interface ClosingProgress {
  /** Totals of the sealed shards. */
  readonly sealed: { readonly players: number; readonly sum: string };
  readonly standings: {
    readonly file: number;
    /** The last key written. */
    readonly after: StandingKey | null;
    readonly place: number;
    readonly rank: number;
  };
  readonly lookups: { readonly shard: number; readonly file: number; readonly after: string; readonly players: number };
  readonly verify: {
    readonly location: number;
    readonly file: number;
    readonly players: number;
    readonly sum: string;
    readonly last: StandingKey | null;
    /** Players in each range of each list, so far. */
    readonly distributions: readonly (readonly number[])[];
  };
}

export interface Closing {
  readonly season: string;
  readonly shards: number;
  readonly step: ClosingStep;
  readonly archive: string;
  readonly sealedAt: number;
  readonly progress: ClosingProgress;
}

export class ClosingStore {
  readonly #storage: DurableObjectStorage;
  readonly #sql: SqlStorage;

  private constructor(storage: DurableObjectStorage) {
    this.#storage = storage;
    this.#sql = storage.sql;
  }

  static async open(storage: DurableObjectStorage): Promise<ClosingStore> {
    await migrate(drizzle(storage), migrations);
    return new ClosingStore(storage);
  }

  read(): Closing | null {
    const query = 'SELECT season, shards, step, archive, sealed_at, progress FROM closing WHERE id = 1';
    for (const [season, shards, step, archive, sealedAt, progress] of this.#sql.exec(query).raw()) {
      return {
        season: String(season),
        shards: Number(shards),
        step: step as ClosingStep,
        archive: String(archive),
        sealedAt: Number(sealedAt),
        progress: JSON.parse(String(progress)),
      };
    }
    return null;
  }

  write({ season, shards, step, archive, sealedAt, progress }: Closing): void {
    this.#sql.exec(
      'INSERT OR REPLACE INTO closing(id, season, shards, step, archive, sealed_at, progress) VALUES (1, ?, ?, ?, ?, ?, ?)',
      season,
      shards,
      step,
      archive,
      sealedAt,
      JSON.stringify(progress),
    );
  }

  /** Continues the closing after this time, even if no other call does. */
  async planAlarm(afterMs: number): Promise<void> {
    await this.#storage.setAlarm(Date.now() + afterMs);
  }

  recordFile(kind: 'standings' | 'lookup', shard: number, file: number, begin: StandingsFile | LookupFile): void {
    this.#sql.exec(
      'INSERT OR REPLACE INTO archive_file(kind, shard, number, begin) VALUES (?, ?, ?, ?)',
      kind,
      shard,
      file,
      JSON.stringify(begin),
    );
  }

  firstFile<T>(kind: 'standings' | 'lookup'): T | null {
    const query = 'SELECT begin FROM archive_file WHERE kind = ? AND shard = 0 AND number = 0';
    for (const [begin] of this.#sql.exec(query, kind).raw()) return JSON.parse(String(begin)) as T;
    return null;
  }

  /** How the files of a kind begin, in order. */
  listFiles<T>(kind: 'standings' | 'lookup', shard: number): T[] {
    const query = 'SELECT begin FROM archive_file WHERE kind = ? AND shard = ? ORDER BY number';
    return [...this.#sql.exec(query, kind, shard).raw()].map(([begin]) => JSON.parse(String(begin)) as T);
  }

  forgetFiles(): void {
    this.#sql.exec('DELETE FROM archive_file');
  }

  /** The counts are not needed after the archive is published. They have names of players. */
  forgetSnapshots(): void {
    this.#sql.exec('DELETE FROM snapshot');
  }
}
