/**
 * The points that players get in a day, in one commit of a board with a maximum per day. They are rows of SQL that the commit's
 * transaction writes, so that they are as durable as the scores.
 */
import type { DayPointsRow } from '../domain/player-rows.ts';
import type { FactStore } from './fact-store.ts';

const DAY_MS = 86_400_000;

/** The day of a time: days of UTC since 1970. @param at milliseconds since 1970. */
export const dayOf = (at: number): number => Math.floor(at / DAY_MS);

export class DayPoints {
  readonly #store: FactStore;
  readonly #max: number | null;
  readonly #day: number;
  readonly #rows: Map<number, DayPointsRow>;
  readonly #changed = new Set<number>();

  /**
   * @param slots players of the commit that have a slot already
   * @param max maximum of points per day; null without a limit. Nothing is then read or written.
   */
  constructor(store: FactStore, slots: readonly number[], max: number | null, day: number) {
    this.#store = store;
    this.#max = max;
    this.#day = day;
    this.#rows = new Map((max === null ? [] : store.readDayPoints(slots)).map((row) => [row.slot, row]));
  }

  /** The limit, if these points exceed it, with the points that the player may still get. @param slot undefined for a new player. */
  findExcess(slot: number | undefined, points: number): { pointsMax: number; pointsLeft: number } | null {
    if (this.#max === null) return null;
    const pointsLeft = Math.max(0, this.#max - (slot === undefined ? 0 : this.#today(slot).points));
    return points > pointsLeft ? { pointsMax: this.#max, pointsLeft } : null;
  }

  add(slot: number, points: number): void {
    if (this.#max === null || points === 0) return;
    const { day, points: before } = this.#today(slot);
    this.#rows.set(slot, { slot, day, points: before + points });
    this.#changed.add(slot);
  }

  write(): void {
    if (this.#changed.size > 0) this.#store.writeDayPoints([...this.#changed].map((slot) => this.#today(slot)));
  }

  /** A row with a later day was written before the clock was set back. It stays in use until the clock has passed that day. */
  #today(slot: number): DayPointsRow {
    const row = this.#rows.get(slot);
    return row !== undefined && row.day >= this.#day ? row : { slot, day: this.#day, points: 0 };
  }
}
