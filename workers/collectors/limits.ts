/** What every collector may do at most. */

const DAY_MS = 86_400_000;

/** An orphan waits this long between the round that first found it and its deletion. */
export const ORPHAN_WAIT_MS = DAY_MS;

/** The other locations keep an object this long after the first one deleted it. */
export const SECOND_COPY_MS = DAY_MS;

/** A round that would remove a larger share of what it scanned stops. */
export const REMOVED_SHARE_MAX = 0.02;

/** A round may always remove so many: in a small service one crash alone leaves more than 2%. */
export const REMOVED_MIN = 20;

/** @returns how many of `total` may disappear without an operator. */
export const allowedLoss = (total: number): number => Math.max(REMOVED_MIN, Math.floor(total * REMOVED_SHARE_MAX));
