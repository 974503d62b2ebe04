/** Limits of every collector of orphans. */

const DAY_MS = 86_400_000;

/** Time between the round that first finds an orphan and its deletion in the first location. */
export const ORPHAN_WAIT_MS = DAY_MS;

/** Time for which the other locations keep an object after the first location deleted it. */
export const SECOND_COPY_MS = DAY_MS;

/** Maximum share of the scanned objects that a round may remove. A round over it stops. */
export const REMOVED_SHARE_MAX = 0.02;

/**
 * Number of orphans that a round may always remove, regardless of their share: in a small service, one crash can leave more than
 * 2%.
 */
export const REMOVED_MIN = 20;

/** @returns the number of orphans among `total` objects that may be removed without an operator. */
export const allowedLoss = (total: number): number => Math.max(REMOVED_MIN, Math.floor(total * REMOVED_SHARE_MAX));
