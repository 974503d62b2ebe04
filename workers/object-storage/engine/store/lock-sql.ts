/**
 * Object Lock in SQL. Every batch that removes versions of a client's choice has this guard: deletes by name and version,
 * many at once, and lifecycle. Nothing else removes a version that can be locked: a bucket is deleted only when it has no
 * version, a slot is removed only after its rows were copied, and a rebuild repeats removals that passed the guard.
 */

/**
 * Whether a version must stay.
 * @param alias of a row of `version`. @param now SQL of the time in milliseconds.
 * @param bypasses SQL, 1 if the caller may and wants to remove what is retained in the mode GOVERNANCE.
 */
export const isLocked = (alias: string, now: string, bypasses: string): string =>
  `(${alias}.legal_hold = 1 OR (${alias}.retain_until > ${now} AND (${alias}.lock_mode = 'COMPLIANCE' OR ${bypasses} = 0)))`;

/** Whether a retention may replace the one of a version: a longer one of the same mode, or any with a bypass of GOVERNANCE. */
export const mayReplaceRetention = (alias: string, now: string): string =>
  `(COALESCE(${alias}.retain_until, 0) <= ${now} OR (:mode IS ${alias}.lock_mode AND COALESCE(:until, 0) >= ${alias}.retain_until)
    OR (${alias}.lock_mode = 'GOVERNANCE' AND :bypasses = 1))`;
