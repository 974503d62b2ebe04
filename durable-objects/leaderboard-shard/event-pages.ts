/**
 * Pages of events that are not stored in their player's row: those of large transactions, and old ones of busy players.
 * A page is one row written at the end of its table, and keeps the players' rows small. Which event is on which page is
 * kept in memory.
 */
import { EventIndex } from '../../workers/leaderboard/domain/event-index.ts';
import {
  blankEvent,
  hasHash,
  hashAt,
  packEvents,
  readEvent,
  type ScoredEvent,
  setRank,
} from '../../workers/leaderboard/domain/event-log.ts';
import type { EventPage, ShardStore } from './store.ts';

/** With names of 64 characters of four bytes each, a page has 1.2 MB. The platform stores 2 MB per row. */
const EVENTS_PER_PAGE = 4_096;
/** 40 MB of index; the object has 128 MB. */
const EVENTS_MAX = 3_200_000;
/** The slot of an erased event. */
const NOBODY = 0;

export interface PlayerEvent {
  readonly slot: number;
  readonly event: ScoredEvent;
  /** The player's name at the event; null if it is the `user_id`. */
  readonly userName: string | null;
}

export class EventPages {
  readonly #store: ShardStore;
  readonly #index = new EventIndex();
  #nextPage = 1;

  constructor(store: ShardStore) {
    this.#store = store;
    for (const { id, slots, log } of store.readEventPages()) {
      for (const [place, slot] of slots.entries()) this.#index.add(slot, hashAt(log, place), id);
      this.#nextPage = id + 1;
    }
  }

  /** Whether events that also fit into players' rows may be added here. */
  get hasRoom(): boolean {
    return this.#index.size < EVENTS_MAX;
  }

  find(slot: number, hash: Uint8Array): PlayerEvent | null {
    for (const id of this.#index.pagesOf(slot, hash)) {
      const page = this.#store.readEventPage(id);
      const place = page === null ? -1 : findOnPage(page, slot, hash);
      if (page === null || place < 0) continue;
      return { slot, event: readEvent(page.log, place), userName: page.userNames?.[place] ?? null };
    }
    return null;
  }

  /** @param at seconds since 1970. */
  add(events: readonly PlayerEvent[], at: number): void {
    for (let start = 0; start < events.length; start += EVENTS_PER_PAGE) {
      const some = events.slice(start, start + EVENTS_PER_PAGE);
      const id = this.#nextPage++;
      this.#store.writeEventPage({
        ...{
          id,
          at,
          slots: Uint32Array.from(some, ({ slot }) => slot),
          log: packEvents(some.map(({ event }) => event)),
        },
        userNames: some.some(({ userName }) => userName !== null) ? some.map(({ userName }) => userName) : null,
      });
      for (const { slot, event } of some) this.#index.add(slot, event.hash, id);
    }
  }

  /** Stores ranks that were answered after their events were written. */
  setRanks(settled: readonly { readonly slot: number; readonly hash: Uint8Array; readonly rank: number }[]): void {
    const pages = new Map<number, EventPage>();
    for (const { slot, hash, rank } of settled) {
      for (const id of this.#index.pagesOf(slot, hash)) {
        const page = pages.get(id) ?? this.#store.readEventPage(id);
        const place = page === null ? -1 : findOnPage(page, slot, hash);
        if (page === null || place < 0) continue;
        setRank(page.log, place, rank);
        pages.set(id, page);
      }
    }
    for (const page of pages.values()) this.#store.writeEventPage(page);
  }

  /** Scans all pages. Erasures are rare. */
  erase(slot: number): void {
    for (const id of this.#store.findEventPages(slot)) {
      const page = this.#store.readEventPage(id);
      if (page === null) continue;
      const userNames = page.userNames?.map((name, place) => (page.slots[place] === slot ? null : name)) ?? null;
      for (const [place, each] of page.slots.entries()) {
        if (each !== slot) continue;
        page.slots[place] = NOBODY;
        blankEvent(page.log, place);
      }
      this.#store.writeEventPage({ ...page, userNames });
    }
  }

  /** @param before seconds since 1970. */
  prune(before: number): void {
    this.#store.pruneEventPages(before);
    this.#index.forgetBefore(this.#store.firstEventPage() ?? this.#nextPage);
  }
}

function findOnPage({ slots, log }: EventPage, slot: number, hash: Uint8Array): number {
  let place = slots.indexOf(slot);
  while (place >= 0 && !hasHash(log, place, hash)) place = slots.indexOf(slot, place + 1);
  return place;
}
