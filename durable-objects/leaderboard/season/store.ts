/** The stored values of a season object, by key: counts of its shards, its views, its end, players who are being erased. */

import type { TopEntry } from '../../../workers/leaderboard/domain/standing.ts';
import type { PastCounts } from '../domain/past-counts.ts';
import type { ScoreBuckets } from '../domain/score-buckets.ts';
import type { SeasonAddress } from '../protocol.ts';

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
  readonly step: 'seal' | 'standings' | 'lookups' | 'verify' | 'publish' | 'keep' | 'done';
  /** R2 prefix of the files of this archive attempt. */
  readonly archive: string;
  readonly sealedAt: number;
  readonly progress: { readonly sealed: { readonly players: number } };
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
