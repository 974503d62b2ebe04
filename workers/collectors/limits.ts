/** Limits of every collector. */

const DAY_MS = 86_400_000;

/** Time between the round that first finds an orphan and its deletion. */
export const ORPHAN_WAIT_MS = DAY_MS;

/** Time that the other locations keep an object after the first one deleted it. */
export const SECOND_COPY_MS = DAY_MS;

/** A round that would remove a larger share of what it scanned stops. */
export const REMOVED_SHARE_MAX = 0.02;

/** Orphans that a round may remove whatever their share: in a small service, one crash can leave more than 2%. */
export const REMOVED_MIN = 20;

/** @returns how many of `total` may disappear without an operator. */
export const allowedLoss = (total: number): number => Math.max(REMOVED_MIN, Math.floor(total * REMOVED_SHARE_MAX));
