/**
 * A page of events. Each event has the player's slot, a record, and the player's name. A record has 32 bytes: 16 of the event id's
 * SHA-256, then the points, and the resulting score and rank.
 */
import { createHash } from 'node:crypto';
import { wordOf } from './event-filter.ts';

const HASH_BYTES = 16;
const RECORD_BYTES = 32;
/**
 * Number of events per page. With names of 64 characters of four bytes each, a page has 1.2 MB; the platform allows 2 MB per row.
 */
export const EVENTS_PER_PAGE = 4_096;
const NOBODY = 0;
/** Highest bit of a stored rank: the rank was an estimate. No board has so many players. */
const ESTIMATED = 2 ** 31;

export interface PlayerEvent {
  readonly slot: number;
  readonly hash: Uint8Array;
  readonly points: number;
  /** The player's score after the event. */
  readonly score: number;
  /** The player's rank in the first answer to the event. */
  readonly rank: number;
  /** Whether that rank was an estimate. */
  readonly isEstimated: boolean;
  /** The player's name at the time of the event; null if it is the `user_id`. */
  readonly userName: string | null;
}

export interface StoredPage {
  readonly slots: Uint8Array;
  readonly records: Uint8Array;
  /** The players' names as JSON; null if every name is null. */
  readonly userNames: string | null;
}

/** Points of a board with negative scores, as they were before an event stored them in 32 bits without a sign. */
export const toSigned = (points: number): number => points | 0;

export const hashEvent = (eventId: string): Uint8Array =>
  createHash('sha256').update(eventId).digest().subarray(0, HASH_BYTES);

export class EventPage {
  #slots: Uint32Array;
  #records: Uint8Array;
  #userNames: (string | null)[] = [];
  #size = 0;

  constructor(capacity = EVENTS_PER_PAGE) {
    this.#slots = new Uint32Array(capacity);
    this.#records = new Uint8Array(capacity * RECORD_BYTES);
  }

  static from({ slots, records, userNames }: StoredPage): EventPage {
    const page = new EventPage(0);
    page.#slots = new Uint32Array(slots.slice().buffer);
    page.#records = records;
    page.#userNames = userNames === null ? [] : JSON.parse(userNames);
    page.#size = page.#slots.length;
    return page;
  }

  get size(): number {
    return this.#size;
  }

  get isFull(): boolean {
    return this.#size === this.#slots.length;
  }

  add({ slot, hash, points, score, rank, isEstimated, userName }: PlayerEvent): void {
    const place = this.#size++;
    this.#slots[place] = slot;
    this.#records.set(hash, place * RECORD_BYTES);
    const view = this.#view(place);
    view.setUint32(16, points);
    view.setFloat64(20, score);
    view.setUint32(28, isEstimated ? rank + ESTIMATED : rank);
    this.#userNames[place] = userName;
  }

  find(slot: number, hash: Uint8Array): PlayerEvent | null {
    for (let place = this.#slots.indexOf(slot); place >= 0; place = this.#slots.indexOf(slot, place + 1)) {
      if (place >= this.#size) return null;
      if (this.#hashAt(place).every((byte, i) => byte === hash[i])) return this.read(place);
    }
    return null;
  }

  #slotAt(place: number): number {
    return this.#slots[place] as number;
  }

  #hashAt(place: number): Uint8Array {
    return this.#records.subarray(place * RECORD_BYTES, place * RECORD_BYTES + HASH_BYTES);
  }

  read(place: number): PlayerEvent {
    const view = this.#view(place);
    const rank = view.getUint32(28);
    return {
      slot: this.#slotAt(place),
      hash: this.#hashAt(place),
      points: view.getUint32(16),
      score: view.getFloat64(20),
      rank: rank % ESTIMATED,
      isEstimated: rank >= ESTIMATED,
      userName: this.#userNames[place] ?? null,
    };
  }

  /** Clears all events of a player in the page. @returns whether there were any. */
  erase(slot: number): boolean {
    const places = [...this.#slots.subarray(0, this.#size).keys()].filter((place) => this.#slots[place] === slot);
    for (const place of places) {
      this.#slots[place] = NOBODY;
      this.#records.fill(0, place * RECORD_BYTES, (place + 1) * RECORD_BYTES);
      this.#userNames[place] = null;
    }
    return places.length > 0;
  }

  /** The words of all events of the page, for the event filter. */
  words(): Uint32Array {
    return Uint32Array.from({ length: this.#size }, (_, place) => wordOf(this.#slotAt(place), this.#hashAt(place)));
  }

  pack(): StoredPage {
    const names = this.#userNames;
    return {
      slots: new Uint8Array(this.#slots.buffer, this.#slots.byteOffset, this.#size * 4),
      records: this.#records.subarray(0, this.#size * RECORD_BYTES),
      userNames: names.some((name) => name !== null) ? JSON.stringify(names) : null,
    };
  }

  #view(place: number): DataView {
    return new DataView(this.#records.buffer, this.#records.byteOffset + place * RECORD_BYTES, RECORD_BYTES);
  }
}
