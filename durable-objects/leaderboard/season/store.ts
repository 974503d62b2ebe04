/** The stored values of a season object, by key: counts of its shards, its views, its end, players who are being erased. */

import type { StandingKey, TopEntry } from '../../../workers/leaderboard/domain/standing.ts';
import type { CopyPart } from '../domain/copy-file.ts';
import type { PastCounts } from '../domain/past-counts.ts';
import type { ScoreBuckets } from '../domain/score-buckets.ts';
import type { SeasonAddress } from '../protocol.ts';
import type { RowTally } from './archived-rows.ts';

/** How a season ended. */
export interface SeasonEnd {
  /** Time at which it became final; null while shards are missing. */
  readonly finalAt: number | null;
  readonly players: number;
  /** Number of bits of a score that define a bucket of the stored counts. */
  readonly bits: number;
  /** Numbers of shards that are not sealed. */
  readonly without: readonly number[];
  /** Time of the counts of these shards, in milliseconds since 1970; null if all are sealed. */
  readonly asOf: number | null;
}

/** A season that 0.2.0 archived or began to archive, as its object has recorded it. */
export interface ArchivedSeason extends SeasonAddress {
  readonly step: 'seal' | 'standings' | 'lookups' | 'verify' | 'publish' | 'keep' | 'done' | 'moved';
  /** R2 prefix of the files of this archive attempt. */
  readonly archive: string;
  readonly sealedAt: number;
  readonly progress: { readonly sealed: { readonly players: number } };
  /** Time at which the season moved into its shards. */
  readonly movedAt?: number;
}

/** How far the import of an archive into shards is. It begins again if the archive changes. */
export interface ImportProgress {
  /** Revision of the archive. */
  readonly revision: number;
  /** Files of standings that were compared, their players, and the last of them. */
  readonly list: { readonly files: number; readonly players: number; readonly last: (StandingKey & Ranked) | null };
  /** Listed players of each shard by these files. */
  readonly expected: readonly RowTally[];
  /** Number of erased players, who have a place in the list. */
  readonly erased: number;
  /** Sum of the scores of the shards that were restored, as decimal text. */
  readonly sum: string;
  readonly shard: ShardImport;
}

interface Ranked {
  readonly rank: number;
}

/** How far the copy of a shard is written. */
export interface ShardImport {
  readonly shard: number;
  /** Number of files that were read whole, and of rows of the next one. */
  readonly files: number;
  readonly rows: number;
  readonly parts: readonly CopyPart[];
  readonly read: RowTally;
  /** Sum of the scores, as decimal text. */
  readonly sum: string;
}

/** The last known counts of a shard. A restarted season object begins with them. */
export interface ShardSnapshot {
  readonly shard: number;
  /** Time at which the counts were exact, in milliseconds since 1970. */
  readonly at: number;
  readonly bits: number;
  readonly buckets: ScoreBuckets;
  readonly top: readonly TopEntry[];
  /** Whether the shard is sealed, so that its counts change by corrections only. Snapshots of 0.2.0 do not say it. */
  readonly isSealed?: boolean;
}

const PLACES = 'import-places:';
const PAST = 'past:';
/** Keys in the order of scores. */
const toPastKey = (score: number): string => PAST + String(score).padStart(16, '0');

export class SeasonObjectStore {
  readonly #storage: DurableObjectStorage;

  constructor(storage: DurableObjectStorage) {
    this.#storage = storage;
  }

  readEnd(): SeasonEnd | null {
    return this.#storage.kv.get<SeasonEnd>('end') ?? null;
  }

  writeEnd(end: SeasonEnd): void {
    this.#storage.kv.put('end', end);
  }

  /** Replaces the merged counts of a final season. */
  writePast(rows: readonly PastCounts[]): void {
    this.#forget(PAST);
    for (const row of rows) this.#storage.kv.put(toPastKey(row.lows[0] as number), row);
  }

  /** Reads the last row of merged counts that begins at or below a score. */
  findPast(score: number): PastCounts | undefined {
    const range = { start: PAST, end: toPastKey(score + 1), reverse: true, limit: 1 };
    for (const [, row] of this.#storage.kv.list<PastCounts>(range)) return row;
    return undefined;
  }

  readErased(): string[] {
    return this.#list<string>('erased:').map(([, userId]) => userId);
  }

  addErased(userId: string): void {
    this.#storage.kv.put(`erased:${userId}`, userId);
  }

  removeErased(userId: string): void {
    this.#storage.kv.delete(`erased:${userId}`);
  }

  readArchived(): ArchivedSeason | null {
    return this.#storage.kv.get<ArchivedSeason>('closing') ?? null;
  }

  writeArchived(archived: ArchivedSeason): void {
    this.#storage.kv.put('closing', archived);
  }

  /** Forgets an archive that was begun and not published. */
  forgetArchived(): void {
    this.#storage.kv.delete('closing');
    this.#forget('file:');
  }

  readImport(): ImportProgress | null {
    return this.#storage.kv.get<ImportProgress>('import') ?? null;
  }

  writeImport(progress: ImportProgress): void {
    this.#storage.kv.put('import', progress);
  }

  forgetImport(): void {
    this.#storage.kv.delete('import');
    this.#forget(PLACES);
  }

  /** Writes the places of erased players in a file of standings: score and time of each. */
  writePlaces(file: number, places: readonly number[]): void {
    this.#storage.kv.put(PLACES + String(file).padStart(8, '0'), Float64Array.from(places));
  }

  /** Reads the places of erased players, in list order. */
  readPlaces(): Float64Array[] {
    return this.#list<Float64Array>(PLACES).map(([, places]) => places);
  }

  /** Sets the alarm, which continues the end of the season if no other call does. */
  async planAlarm(afterMs: number): Promise<void> {
    await this.#storage.setAlarm(Date.now() + afterMs);
  }

  readSnapshots(): ShardSnapshot[] {
    return this.#list<ShardSnapshot>('snapshot:').map(([, snapshot]) => snapshot);
  }

  writeSnapshot(snapshot: ShardSnapshot): void {
    this.#storage.kv.put(`snapshot:${snapshot.shard}`, snapshot);
  }

  /** Deletes the stored counts of shards and the list of files, after the season's objects were archived and erased. */
  forgetCounts(): void {
    this.#forget('snapshot:');
    this.#forget('file:');
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
