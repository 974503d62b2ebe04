/**
 * Object Lock in SQL. Every batch that removes versions at a client's request has this guard: deletes by name, by version, and of
 * many names. No other code removes a version that can be locked, for these reasons. A bucket with Object Lock stays versioned, so
 * a new version replaces none. A bucket is deleted only when it has no version. A slot is removed only after its rows were copied.
 * A rebuild repeats removals that passed the guard.
 */

/**
 * SQL of whether Object Lock forbids the removal of a version.
 * @param alias of a row of `version`.
 * @param now SQL of the time in milliseconds.
 * @param bypasses SQL that is 1 if the caller requests to bypass the mode GOVERNANCE and is allowed to.
 */
export const isLocked = (alias: string, now: string, bypasses: string): string =>
  `(${alias}.legal_hold = 1 OR (${alias}.retain_until > ${now} AND (${alias}.lock_mode = 'COMPLIANCE' OR ${bypasses} = 0)))`;

/**
 * SQL of whether a new retention may replace that of a version: a longer one of the same mode, or any if GOVERNANCE is bypassed.
 */
export const mayReplaceRetention = (alias: string, now: string): string =>
  `(COALESCE(${alias}.retain_until, 0) <= ${now} OR (:mode IS ${alias}.lock_mode AND COALESCE(:until, 0) >= ${alias}.retain_until)
    OR (${alias}.lock_mode = 'GOVERNANCE' AND :bypasses = 1))`;
