/**
 * Events packed into one blob: recent ones of a player, stored with the score, or those of one transaction.
 * A record has 36 bytes: 16 of the event id's SHA-256, then the time in seconds, the points, and the resulting score
 * and rank.
 */
import { HASH_BYTES } from './event-hash.ts';

const RECORD_BYTES = 36;
/** Above this number, the oldest half moves out of the player's row. */
export const EVENTS_INLINE_MAX = 32;

/** An empty log. */
export const NO_EVENTS = new Uint8Array(0);

export interface ScoredEvent {
  readonly hash: Uint8Array;
  /** Seconds since 1970. */
  readonly at: number;
  readonly points: number;
  /** The player's score after it. */
  readonly score: number;
  /** The rank of the response; 0 before a response. */
  readonly rank: number;
}

/** @returns the position of the event's record, or −1. */
export function findPlace(log: Uint8Array, hash: Uint8Array): number {
  for (let place = 0; place * RECORD_BYTES < log.length; place++) if (hasHash(log, place, hash)) return place;
  return -1;
}

/** Whether the record at a position has this hash. */
export function hasHash(log: Uint8Array, place: number, hash: Uint8Array): boolean {
  const at = place * RECORD_BYTES;
  let i = 0;
  while (i < HASH_BYTES && log[at + i] === hash[i]) i++;
  return i === HASH_BYTES;
}

/** The hash of a record, as a view. */
export const hashAt = (log: Uint8Array, place: number): Uint8Array =>
  log.subarray(place * RECORD_BYTES, place * RECORD_BYTES + HASH_BYTES);

export function readEvents(log: Uint8Array): ScoredEvent[] {
  return Array.from({ length: log.length / RECORD_BYTES }, (_, place) => readEvent(log, place));
}

export function readEvent(log: Uint8Array, place: number): ScoredEvent {
  const at = place * RECORD_BYTES;
  const view = new DataView(log.buffer, log.byteOffset + at, RECORD_BYTES);
  return {
    hash: log.slice(at, at + HASH_BYTES),
    at: view.getUint32(16),
    points: view.getUint32(20),
    score: view.getFloat64(24),
    rank: view.getUint32(32),
  };
}

/**
 * Adds an event and drops those before `keepFrom` (seconds).
 * @returns the new log, and the events that no longer fit and need a page.
 */
export function appendEvent(
  log: Uint8Array,
  event: ScoredEvent,
  keepFrom: number,
): { log: Uint8Array; spilled: ScoredEvent[] } {
  const view = new DataView(log.buffer, log.byteOffset, log.length);
  let start = 0;
  while (start < log.length && view.getUint32(start + 16) < keepFrom) start += RECORD_BYTES;
  let spilled: ScoredEvent[] = [];
  if ((log.length - start) / RECORD_BYTES >= EVENTS_INLINE_MAX) {
    const kept = start + (EVENTS_INLINE_MAX / 2) * RECORD_BYTES;
    spilled = readEvents(log.subarray(start, kept));
    start = kept;
  }
  const grown = new Uint8Array(log.length - start + RECORD_BYTES);
  grown.set(log.subarray(start));
  writeRecord(grown, grown.length - RECORD_BYTES, event);
  return { log: grown, spilled };
}

export function packEvents(events: readonly ScoredEvent[]): Uint8Array {
  const log = new Uint8Array(events.length * RECORD_BYTES);
  for (const [place, event] of events.entries()) writeRecord(log, place * RECORD_BYTES, event);
  return log;
}

function writeRecord(log: Uint8Array, at: number, event: ScoredEvent): void {
  log.set(event.hash, at);
  const record = new DataView(log.buffer, log.byteOffset + at, RECORD_BYTES);
  record.setUint32(16, event.at);
  record.setUint32(20, event.points);
  record.setFloat64(24, event.score);
  record.setUint32(32, event.rank);
}

/** Stores the rank of the response. */
export function setRank(log: Uint8Array, place: number, rank: number): void {
  new DataView(log.buffer, log.byteOffset + place * RECORD_BYTES, RECORD_BYTES).setUint32(32, rank);
}

/** Clears a record. */
export const blankEvent = (log: Uint8Array, place: number): void => {
  log.fill(0, place * RECORD_BYTES, (place + 1) * RECORD_BYTES);
};
