/**
 * TIMEUUIDs (RFC 9562 version 1): 60 bits of time in units of 100 ns since 1582-10-15, then a clock sequence and a node.
 * Pure: the time and the random bytes come in as arguments.
 */

/** Number of 100-ns intervals from the Gregorian epoch (1582-10-15) to 1970-01-01 (RFC 9562 §5.1). */
const GREGORIAN_OFFSET = 0x01b21dd213814000n;

/** Converts a time to ticks: intervals of 100 ns since 1582-10-15. */
export type TimeuuidTicks = bigint;

export const toTicks = (epochMs: number): TimeuuidTicks => BigInt(Math.trunc(epochMs)) * 10_000n + GREGORIAN_OFFSET;
/** Upper 32 and lower 28 bits of `GREGORIAN_OFFSET`. */
const OFFSET_HIGH = 0x1b21dd21;
const OFFSET_LOW = 0x3814000;

/**
 * Converts ticks after 1970 to milliseconds, without a `BigInt`: a page of a listing has a thousand times.
 * @param high upper 32 bits of the ticks. @param low lower 28 bits.
 */
export function toEpochMsFromHalves(high: number, low: number): number {
  // 2 ** 28 ticks are 26,843 milliseconds and 5,456 ticks.
  const units = high - OFFSET_HIGH;
  return units * 26_843 + Math.floor((units * 5_456 + low - OFFSET_LOW) / 10_000);
}

export const toEpochMs = (ticks: TimeuuidTicks): number => Number((ticks - GREGORIAN_OFFSET) / 10_000n);

/**
 * Makes a TIMEUUID. @param ticks time in 60 bits.
 * @param random 8 random bytes: clock sequence (14 bits used) and node. The multicast bit is set, as RFC 9562 §6.10 asks of a
 * random node.
 * @returns the UUID in its usual text form.
 */
export function formatTimeuuid(ticks: TimeuuidTicks, random: Uint8Array): string {
  const time = ticks.toString(16).padStart(15, '0');
  const tail = [...random.subarray(0, 8)];
  tail[0] = ((tail[0] ?? 0) & 0x3f) | 0x80;
  tail[2] = (tail[2] ?? 0) | 0x01;
  const hex = tail.map((byte) => byte.toString(16).padStart(2, '0')).join('');
  return `${time.slice(7)}-${time.slice(3, 7)}-1${time.slice(0, 3)}-${hex.slice(0, 4)}-${hex.slice(4)}`;
}

const TIMEUUID = /^([0-9a-f]{8})-([0-9a-f]{4})-1([0-9a-f]{3})-([89ab][0-9a-f]{3})-([0-9a-f]{12})$/i;

/** Reads the time of a TIMEUUID. @returns its 60 bits, or null if the text is not a UUID of version 1. */
export function parseTimeuuid(text: string): TimeuuidTicks | null {
  const match = TIMEUUID.exec(text);
  return match ? BigInt(`0x${match[3]}${match[2]}${match[1]}`) : null;
}

/**
 * Converts a TIMEUUID to its 32 hexadecimal digits with the time first, so that text order is time order. D1 returns numbers as
 * doubles, which cannot hold 60 bits; this text can be compared inside SQL.
 */
export function toSortableHex(timeuuid: string): string {
  const plain = timeuuid.toLowerCase();
  return `${plain.slice(15, 18)}${plain.slice(9, 13)}${plain.slice(0, 8)}1${plain.slice(19, 23)}${plain.slice(24)}`;
}

/** Converts the digits of `toSortableHex` back to the UUID. */
export function fromSortableHex(hex: string): string {
  return `${hex.slice(7, 15)}-${hex.slice(3, 7)}-1${hex.slice(0, 3)}-${hex.slice(16, 20)}-${hex.slice(20)}`;
}
