/**
 * The rate of posts that a shard takes, as a token bucket: a second of posts may come at once. A post above it is refused before it is looked
 * at, so the shard keeps answering. The clock is that of the object.
 */
import { UPDATES_PER_POST } from '../protocol.ts';

/** Seconds with refused posts after which the board needs more shards. A burst of retries has fewer. */
const BUSY_SECONDS_MAX = 30;

export class PostRate {
  #tokens = Number.POSITIVE_INFINITY;
  #at = 0;
  #busySecond = 0;
  #busySeconds = 0;

  /**
   * Takes the place of a post.
   * @param updates number of its updates. @param perSecond posts a second. @param now milliseconds since 1970
   * @returns milliseconds until there is a place; 0 if the post may be written
   */
  take(updates: number, perSecond: number, now: number): number {
    const passedMs = Math.max(0, now - this.#at);
    this.#tokens = Math.min(perSecond, this.#tokens + (passedMs * perSecond) / 1000);
    this.#at = now;
    const cost = Math.max(1, updates / UPDATES_PER_POST);
    if (this.#tokens >= cost) {
      this.#tokens -= cost;
      return 0;
    }
    this.#noteBusy(Math.floor(now / 1000));
    return Math.ceil(((cost - this.#tokens) * 1000) / perSecond);
  }

  /** Whether posts were refused in so many seconds since the last call that the board needs more shards. */
  takeVerdict(): boolean {
    const isTooSmall = this.#busySeconds >= BUSY_SECONDS_MAX;
    this.#busySeconds = 0;
    return isTooSmall;
  }

  #noteBusy(second: number): void {
    if (second !== this.#busySecond) this.#busySeconds++;
    this.#busySecond = second;
  }
}
