/** The stored values of a season object, by key: counts of its shards, its views, its closing, the files of its archive. */

import type { StandingKey, TopEntry } from '../../../workers/leaderboard/domain/standing.ts';
import type { LookupFile, StandingsFile } from '../../../workers/leaderboard/records/archive-files.ts';
import type { ScoreBuckets } from '../domain/score-buckets.ts';

export interface ClosingProgress {
  readonly sealed: { readonly players: number; readonly sum: string };
  readonly standings: {
    readonly file: number;
    /** Key (score and time) of the last player that was written. */
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
  };
}

export interface Closing {
  readonly season: string;
  readonly shards: number;
  readonly step: 'seal' | 'standings' | 'lookups' | 'verify' | 'publish' | 'keep' | 'done';
  /** R2 prefix of the files of this archive attempt. */
  readonly archive: string;
  readonly sealedAt: number;
  readonly progress: ClosingProgress;
}

/** The last known counts of a shard. A restarted season object begins with them. */
export interface ShardSnapshot {
  readonly shard: number;
  /** Time at which the counts were exact, in milliseconds since 1970. */
  readonly at: number;
  readonly bits: number;
  readonly buckets: ScoreBuckets;
  readonly top: readonly TopEntry[];
}

export class SeasonObjectStore {
  readonly #storage: DurableObjectStorage;

  constructor(storage: DurableObjectStorage) {
    this.#storage = storage;
  }

  readClosing(): Closing | null {
    return this.#storage.kv.get<Closing>('closing') ?? null;
  }

  writeClosing(closing: Closing): void {
    this.#storage.kv.put('closing', closing);
  }

  /** Sets the alarm, which continues the closing if no other call does. */
  async planAlarm(afterMs: number): Promise<void> {
    await this.#storage.setAlarm(Date.now() + afterMs);
  }

  recordFile(file: StandingsFile | LookupFile): void {
    this.#storage.kv.put(`file:${file.name}`, file);
  }

  /** Lists the written files of one folder of the archive, in order. */
  listFiles<T>(folder: string): T[] {
    return this.#list<T>(`file:${folder}/`).map(([, file]) => file);
  }

  forgetFiles(): void {
    this.#forget('file:');
  }

  readSnapshots(): ShardSnapshot[] {
    return this.#list<ShardSnapshot>('snapshot:').map(([, snapshot]) => snapshot);
  }

  writeSnapshot(snapshot: ShardSnapshot): void {
    this.#storage.kv.put(`snapshot:${snapshot.shard}`, snapshot);
  }

  /** Deletes the stored counts of shards. They contain names of players, and are not needed after the archive is published. */
  forgetSnapshots(): void {
    this.#forget('snapshot:');
  }

  readViews(): string[] {
    return this.#list<string>('view:').map(([, name]) => name);
  }

  addView(name: string): void {
    this.#storage.kv.put(`view:${name}`, name);
  }

  removeView(name: string): void {
    this.#storage.kv.delete(`view:${name}`);
  }

  #list<T>(prefix: string): [key: string, value: T][] {
    return [...this.#storage.kv.list<T>({ prefix })];
  }

  #forget(prefix: string): void {
    for (const [key] of this.#list(prefix)) this.#storage.kv.delete(key);
  }
}
