/**
 * The events of a shard, in the order in which they were counted. Events up to the checkpoint are in stored pages; later ones are
 * in pages in memory and in the log. A filter in memory says which page may contain an event.
 */
import { EventFilter, wordOf } from '../domain/event-filter.ts';
import { EVENTS_PER_PAGE, EventPage, type PlayerEvent } from '../domain/event-page.ts';
import type { ShardStore } from './store.ts';

/** Capacity of a new filter, relative to the present number of events. */
const FILTER_GROWTH = 1.125;

export class EventPages {
  readonly #store: ShardStore;
  /**
   * The filter of event ids. Null until the first event, because a restarted shard answers ranks without it; null also once it
   * was full.
   */
  #filter: EventFilter | null = null;
  #first: number;
  /** The id that the first page in memory will have. */
  #nextId: number;
  #open: EventPage[] = [];

  constructor(store: ShardStore) {
    this.#store = store;
    const [first, last] = store.pageRange();
    this.#first = first;
    this.#nextId = last + 1;
  }

  get openPages(): number {
    return this.#open.length;
  }

  find(slot: number, hash: Uint8Array): PlayerEvent | null {
    const last = this.#nextId + this.#open.length - 1;
    for (const id of this.#load().pagesOf(wordOf(slot, hash), this.#first || this.#nextId, last)) {
      const stored = id < this.#nextId ? this.#store.readEventPage(id)?.page : undefined;
      const page = stored === undefined ? this.#open[id - this.#nextId] : EventPage.from(stored);
      const event = page?.find(slot, hash);
      if (event) return event;
    }
    return null;
  }

  /** Adds an event to the pages in memory. The caller stores it in the log. */
  add(event: PlayerEvent): void {
    let page = this.#open.at(-1);
    if (page === undefined || page.isFull) {
      page = new EventPage();
      this.#open.push(page);
    }
    page.add(event);
    if (this.#filter?.isFull) this.#filter = null;
    this.#filter?.add(wordOf(event.slot, event.hash), this.#nextId + this.#open.length - 1);
  }

  /** Stores the pages in memory. @param at time of the checkpoint, in seconds since 1970. */
  flush(at: number): void {
    for (const page of this.#open) this.#store.writeEventPage(this.#nextId++, at, page);
    this.#open = [];
    [this.#first] = this.#store.pageRange();
  }

  /**
   * Erases a player's events from all stored pages. Call `flush` first. Scanning all pages is acceptable because erasures are
   * rare.
   */
  erase(slot: number): void {
    for (const id of this.#store.findEventPages(slot)) {
      const stored = this.#store.readEventPage(id);
      if (stored === null) continue;
      const page = EventPage.from(stored.page);
      if (page.erase(slot)) this.#store.writeEventPage(id, stored.at, page);
    }
  }

  /** Deletes pages without events since a time. Call `flush` first. @param before seconds since 1970. */
  prune(before: number): void {
    this.#store.pruneEventPages(before);
    [this.#first] = this.#store.pageRange();
  }

  #load(): EventFilter {
    if (this.#filter !== null) return this.#filter;
    const [first, last] = this.#store.pageRange();
    const filter = new EventFilter((last - first + 2 + this.#open.length) * EVENTS_PER_PAGE * FILTER_GROWTH);
    for (const [id, words] of this.#store.readEventWords()) for (const word of words) filter.add(word, id);
    for (const [i, page] of this.#open.entries()) for (const word of page.words()) filter.add(word, this.#nextId + i);
    this.#filter = filter;
    return filter;
  }
}
