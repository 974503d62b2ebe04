/** The times in which a right was held for certain, for the check that no write takes effect after its right was revoked. */

interface Change {
  readonly isAllowed: boolean;
  readonly start: number;
  /** Infinity if the change was not acknowledged. */
  readonly end: number;
}

export class RightChanges {
  readonly #changes = new Map<string, Change[]>();

  /** Records that a change of a right began. @returns a function that records its acknowledgement. */
  begin(right: string, isAllowed: boolean, start: number): (end: number) => void {
    const changes = this.#changes.get(right) ?? [];
    this.#changes.set(right, changes);
    const at = changes.push({ isAllowed, start, end: Number.POSITIVE_INFINITY }) - 1;
    return (end) => {
      changes[at] = { isAllowed, start, end };
    };
  }

  /**
   * Latest time at which a write may have taken effect. The write needed the right and was answered with success.
   * @param start time at which the write began. @param end time of its answer.
   * @returns the time of the first acknowledged revocation in between, unless the right may have been given again since; else `end`.
   */
  heldUntil(right: string, start: number, end: number): number {
    const changes = this.#changes.get(right) ?? [];
    const grants = changes.filter(({ isAllowed }) => isAllowed);
    const revoked = changes.filter(
      (change) =>
        !change.isAllowed &&
        change.end > start &&
        change.end < end &&
        !grants.some((grant) => grant.start < end && grant.end > change.start),
    );
    return Math.min(end, ...revoked.map((change) => change.end));
  }
}
