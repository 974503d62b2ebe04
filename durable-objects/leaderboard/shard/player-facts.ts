/**
 * Facts about players that a commit stores beside their scores: points of the day, times of posts, data of the scores. They are rows of SQL in
 * the transaction of the scores. A board that asks for none of them reads and writes nothing here.
 */
import { err, type Result } from '../../../workers/shared/pure/result.ts';
import type { ScoreError, ScoreUpdate } from '../protocol.ts';
import { DayPoints } from './day-points.ts';
import type { FactStore } from './fact-store.ts';

/** Maximum difference between the clocks of the Worker that began a play and of the shard, rounded up. */
const CLOCKS_APART_MS = 1_000;

/** The limit of a commit, and its time. */
export interface FactRules {
  /** Maximum of points per day; null without a limit. */
  readonly pointsPerDayMax: number | null;
  /** Days of UTC since 1970. */
  readonly day: number;
  /** Milliseconds since 1970. */
  readonly now: number;
}

const isTimed = ({ gapMs, playedSince }: ScoreUpdate): boolean => gapMs !== undefined || playedSince !== undefined;

export class PlayerFacts {
  readonly #store: FactStore;
  readonly #now: number;
  readonly #days: DayPoints;
  /** Times of last posts, by slot. */
  readonly #times: Map<number, number>;
  readonly #timed = new Set<number>();
  /** Data by slot; null if it is removed. */
  readonly #data = new Map<number, string | null>();

  /** @param slots players of the commit that have a slot already */
  constructor(
    store: FactStore,
    slots: readonly number[],
    updates: readonly ScoreUpdate[],
    { pointsPerDayMax, day, now }: FactRules,
  ) {
    this.#store = store;
    this.#now = now;
    this.#days = new DayPoints(store, slots, pointsPerDayMax, day);
    const rows = updates.some(isTimed) ? store.readLastPosts(slots) : [];
    this.#times = new Map(rows.map(({ slot, at }) => [slot, at]));
  }

  /** Why an update does not count; null if it does. @param slot undefined for a new player. */
  findRefusal(slot: number | undefined, { points, gapMs, playedSince }: ScoreUpdate): Result<never, ScoreError> | null {
    const excess = this.#days.findExcess(slot, points);
    if (excess !== null) return err({ kind: 'points_per_day_exceeded', ...excess });
    const at = slot === undefined ? undefined : this.#times.get(slot);
    if (at === undefined) return null;
    if (playedSince !== undefined && playedSince + CLOCKS_APART_MS < at) return err({ kind: 'plays_overlap' });
    // A time in the future was written before the clock was set back.
    const waitMs = gapMs === undefined || at > this.#now ? 0 : at + gapMs - this.#now;
    return waitMs > 0 ? err({ kind: 'posted_too_soon', waitMs }) : null;
  }

  /** Notes an update that counts. @param isKept whether the data of the player's score is that of this update */
  add(slot: number, update: ScoreUpdate, isKept: boolean): void {
    this.#days.add(slot, update.points);
    if (isTimed(update)) {
      this.#times.set(slot, this.#now);
      this.#timed.add(slot);
    }
    if (update.data !== undefined && isKept) this.#data.set(slot, update.data);
  }

  /** Whether it changes more than the points of the day, which change with the score. */
  get hasChanges(): boolean {
    return this.#timed.size + this.#data.size > 0;
  }

  write(): void {
    this.#days.write();
    if (this.#timed.size > 0)
      this.#store.writeLastPosts([...this.#timed].map((slot) => ({ slot, at: this.#times.get(slot) ?? this.#now })));
    if (this.#data.size === 0) return;
    const rows = [...this.#data].flatMap(([slot, data]) => (data === null ? [] : [{ slot, data }]));
    const removed = [...this.#data].flatMap(([slot, data]) => (data === null ? [slot] : []));
    if (rows.length > 0) this.#store.writeData(rows);
    if (removed.length > 0) this.#store.removeData(removed);
  }
}
