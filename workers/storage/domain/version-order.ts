/**
 * Versions of a name strictly increase, even if clocks differ. An isolate mints each TIMEUUID above all that it minted before. The
 * commit rejects a version that is not above the newest one of the name; the isolate then mints a new one above that.
 */
import {
  formatTimeuuid,
  fromSortableHex,
  parseTimeuuid,
  toEpochMs,
  toEpochMsFromHalves,
  toSortableHex,
  toTicks,
} from '../../shared/pure/timeuuid.ts';

/**
 * A TIMEUUID as the databases store it: 32 hex digits, time first, every digit inverted, so that the newest version sorts first.
 */
export type VersionOrder = string;

const DIGITS = '0123456789abcdef';
const INVERTED: Readonly<Record<string, string>> = Object.fromEntries(
  [...DIGITS].flatMap((digit, at) => [digit, digit.toUpperCase()].map((each) => [each, DIGITS[15 - at] ?? ''])),
);

function invert(hex: string): string {
  let inverted = '';
  for (const digit of hex) inverted += INVERTED[digit] ?? digit;
  return inverted;
}

export const toVersionOrder = (versionId: string): VersionOrder => invert(toSortableHex(versionId));
export const fromVersionOrder = (order: VersionOrder): string => fromSortableHex(invert(order));

/** Creation time in milliseconds of the version with this order. */
export const epochMsOfOrder = (order: VersionOrder): number =>
  toEpochMsFromHalves(
    0xffffffff - Number.parseInt(order.slice(0, 8), 16),
    0xfffffff - Number.parseInt(order.slice(8, 15), 16),
  );

/** Time of a TIMEUUID in milliseconds; 0 for any other text. */
export function epochMsOf(versionId: string): number {
  const ticks = parseTimeuuid(versionId);
  return ticks === null ? 0 : toEpochMs(ticks);
}

export const isTimeuuid = (text: string): boolean => parseTimeuuid(text) !== null;

export class VersionMint {
  #last = 0n;
  readonly #random: (bytes: number) => Uint8Array;

  constructor(random: (bytes: number) => Uint8Array) {
    this.#random = random;
  }

  /** Creates the id of a new version, a TIMEUUID. @param above id of a version that the new id must exceed. */
  mint(nowMs: number, above: string | null = null): string {
    const floor = above === null ? 0n : (parseTimeuuid(above) ?? 0n);
    let ticks = toTicks(nowMs);
    if (ticks <= this.#last) ticks = this.#last + 1n;
    // `last` advances only by the clock, so a name whose newest version is in the future does not affect other names.
    this.#last = ticks;
    if (ticks <= floor) ticks = floor + 1n;
    return formatTimeuuid(ticks, this.#random(8));
  }
}

const boundAt = (ticks: bigint, filler: string): VersionOrder =>
  invert(`${ticks.toString(16).padStart(15, '0')}${filler.repeat(17)}`);

/** The least `VersionOrder` of any version created up to this millisecond. The least order belongs to the newest version. */
export const newestOrderAt = (ms: number): VersionOrder => boundAt(toTicks(ms + 1) - 1n, 'f');

/**
 * The least and greatest `VersionOrder` of versions created within one second, because dates in conditions have a resolution of one
 * second.
 */
export const orderBoundsOfSecond = (second: number): { readonly min: VersionOrder; readonly max: VersionOrder } => ({
  min: newestOrderAt(second * 1000 + 999),
  max: boundAt(toTicks(second * 1000), '0'),
});
