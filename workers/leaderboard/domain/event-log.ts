/**
 * The recent events of one player, packed beside their score, so that a score with an event id is still one row written.
 * A record is 36 bytes: 16 of the event id's SHA-256, the second it came, points, the score and the rank that it led to.
 */
import { HASH_BYTES } from './event-hash.ts';

const RECORD_BYTES = 36;
/** Past this, the oldest half goes to rows of its own. */
export const EVENTS_INLINE_MAX = 32;

export interface ScoredEvent {
  readonly hash: Uint8Array;
  /** Seconds since 1970. */
  readonly at: number;
  readonly points: number;
  /** The player's score after it. */
  readonly score: number;
  /** The rank that was answered; 0 when it never was. */
  readonly rank: number;
}

export function findEvent(log: Uint8Array, hash: Uint8Array): ScoredEvent | null {
  for (let at = 0; at < log.length; at += RECORD_BYTES) {
    let i = 0;
    while (i < HASH_BYTES && log[at + i] === hash[i]) i++;
    if (i === HASH_BYTES) return readEvent(log, at);
  }
  return null;
}

export function readEvents(log: Uint8Array): ScoredEvent[] {
  const events: ScoredEvent[] = [];
  for (let at = 0; at < log.length; at += RECORD_BYTES) events.push(readEvent(log, at));
  return events;
}

function readEvent(log: Uint8Array, at: number): ScoredEvent {
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
 * Adds an event; forgets those before `keepFrom` (seconds).
 * @returns the new log, and the events that no longer fit and need rows of their own.
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
  const at = grown.length - RECORD_BYTES;
  grown.set(event.hash, at);
  const record = new DataView(grown.buffer, at, RECORD_BYTES);
  record.setUint32(16, event.at);
  record.setUint32(20, event.points);
  record.setFloat64(24, event.score);
  record.setUint32(32, event.rank);
  return { log: grown, spilled };
}

/** Writes the rank that was answered into the newest record of an event. */
export function setEventRank(log: Uint8Array, hash: Uint8Array, rank: number): Uint8Array {
  const changed = log.slice();
  for (let at = 0; at < changed.length; at += RECORD_BYTES) {
    if (hash.every((byte, i) => changed[at + i] === byte)) {
      new DataView(changed.buffer, at, RECORD_BYTES).setUint32(32, rank);
    }
  }
  return changed;
}
