/**
 * The list of a sealed shard in SQL: pages of 4,096 players in list order. A count reads one page, and a part of the list the pages that
 * it is in. Nothing is loaded when the object starts.
 */

import { countFirst } from '../../../workers/leaderboard/domain/binary-search.ts';
import type { PlayerIndex } from '../domain/player-index.ts';
import { ABSENT } from '../domain/slot-keys.ts';
import type { SealedPage, ShardStore } from './store.ts';

export const PLAYERS_PER_SEALED_PAGE = 4_096;

/** Divides the list of an index into pages. */
export function* toSealedPages(index: PlayerIndex): Generator<SealedPage> {
  for (let place = 0; place < index.size; place += PLAYERS_PER_SEALED_PAGE) {
    const slots = Uint32Array.from(index.range(place, PLAYERS_PER_SEALED_PAGE));
    const keys = new Float64Array(slots.length * 2);
    for (const [at, slot] of slots.entries()) {
      keys[at * 2] = index.scoreOf(slot);
      keys[at * 2 + 1] = index.reachedOf(slot);
    }
    yield { place, keys, slots };
  }
}

export class SealedIndex implements PlayerIndex {
  readonly size: number;
  readonly #store: ShardStore;
  /** Keys of the slots that the last `range` returned. Its caller reads them next. */
  #ranged = new Map<number, readonly [score: number, reached: number]>();

  constructor(store: ShardStore, size: number) {
    this.#store = store;
    this.size = size;
  }

  scoreOf(slot: number): number {
    return this.#keyOf(slot)[0];
  }

  reachedOf(slot: number): number {
    return this.#keyOf(slot)[1];
  }

  countAbove(score: number): number {
    const page = this.#store.findSealedPage(score, 0);
    return page === null
      ? 0
      : page.place + countFirst(page.slots.length, (at) => (page.keys[at * 2] as number) > score);
  }

  countBefore(score: number, reached: number): number {
    const page = this.#store.findSealedPage(score, reached);
    if (page === null) return 0;
    const isBefore = (at: number): boolean => {
      const other = page.keys[at * 2] as number;
      return other !== score ? other > score : (page.keys[at * 2 + 1] as number) < reached;
    };
    return page.place + countFirst(page.slots.length, isBefore);
  }

  range(start: number, limit: number): number[] {
    const slots: number[] = [];
    this.#ranged = new Map();
    for (let place = Math.max(0, start); slots.length < limit && place < this.size; ) {
      const page = this.#store.readSealedPage(place - (place % PLAYERS_PER_SEALED_PAGE));
      for (let at = place - page.place; at < page.slots.length && slots.length < limit; at++, place++) {
        const slot = page.slots[at] as number;
        this.#ranged.set(slot, [page.keys[at * 2] as number, page.keys[at * 2 + 1] as number]);
        slots.push(slot);
      }
    }
    return slots;
  }

  *scoreCounts(): Generator<[score: number, count: number]> {
    let [score, players] = [ABSENT, 0];
    for (let place = 0; place < this.size; place += PLAYERS_PER_SEALED_PAGE) {
      const { keys } = this.#store.readSealedPage(place);
      for (let at = 0; at < keys.length; at += 2, players++) {
        if (keys[at] === score) continue;
        if (players > 0) yield [score, players];
        score = keys[at] as number;
        players = 0;
      }
    }
    if (players > 0) yield [score, players];
  }

  #keyOf(slot: number): readonly [score: number, reached: number] {
    return this.#ranged.get(slot) ?? this.#store.readKey(slot) ?? [ABSENT, 0];
  }
}
