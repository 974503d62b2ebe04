import type { AttemptWindow } from '../../../workers/mail/domain/recipient-state.ts';

/**
 * The times of the next attempts of a mailbox's outgoing mail for which a hint is in the queue. Attempts of about the same time join,
 * so one hint serves many recipients. It is only in memory: without it, a time gets a second hint, which finds nothing to do.
 */
export class AttemptPlan {
  /** Times with a hint, in milliseconds since 1970. */
  #hinted: readonly number[] = [];
  /** The times among them whose hint is not sent yet. */
  #requested: readonly number[] = [];

  /**
   * Plans an attempt.
   * @param at the wanted time.
   * @returns the time of another attempt in the window; if there is none, `at`, for which it requests a hint.
   */
  join(at: number, { earliest, latest }: AttemptWindow, now: number): number {
    this.#hinted = this.#hinted.filter((each) => each > now);
    const other = this.#hinted.find((each) => each >= earliest && each <= latest);
    if (other !== undefined) return other;
    this.#hinted = [...this.#hinted, at];
    this.#requested = [...this.#requested, at];
    return at;
  }

  /** @returns the delays in milliseconds of the hints to send. The caller sends them: they are not returned again. */
  takeDelays(now: number): number[] {
    const delaysMs = this.#requested.map((at) => Math.max(0, at - now));
    this.#requested = [];
    return delaysMs;
  }
}
