/**
 * A shard's RPC session with its season, which many exchanges share. The platform bills a session as one request
 * (developers.cloudflare.com/durable-objects/platform/pricing, note 1), and a call in it costs less work than a new
 * session.
 *
 * By design: an open session keeps both objects awake, so an idle one is closed within a second. An old one is
 * replaced, so that its processor time stays below the limit. One that failed is not used again.
 */
import type { CountAnswer, CountReport } from '../../workers/leaderboard/domain/shard-report.ts';

const LOOK_INTERVAL_MS = 500;
/** 20 seconds. */
const LOOKS_MAX = 40;

/** The result of `openLine` of a season object. */
interface Line extends Disposable {
  exchange(report: CountReport): Promise<CountAnswer>;
}

export class SeasonLine {
  readonly #open: () => Promise<Line>;
  #line: Promise<Line> | undefined;
  #isBusy = false;
  /** Whether it was used since the last look, and the number of looks. */
  #isUsed = false;
  #looks = 0;
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(open: () => Promise<Line>) {
    this.#open = open;
  }

  /** Call it once at a time. @throws if the season is unavailable; the next call opens a new session. */
  async exchange(report: CountReport): Promise<CountAnswer> {
    if (this.#looks >= LOOKS_MAX) this.close();
    this.#isBusy = true;
    this.#isUsed = true;
    this.#line ??= this.#begin();
    try {
      const line = await this.#line;
      return await line.exchange(report);
    } catch (error) {
      this.close();
      throw error;
    } finally {
      this.#isBusy = false;
    }
  }

  close(): void {
    clearTimeout(this.#timer);
    this.#line?.then(
      (line) => line[Symbol.dispose](),
      () => {},
    );
    this.#line = undefined;
  }

  #begin(): Promise<Line> {
    this.#looks = 0;
    this.#lookLater();
    return this.#open();
  }

  #lookLater(): void {
    this.#timer = setTimeout(() => {
      if (!this.#isUsed && !this.#isBusy) return this.close();
      this.#isUsed = false;
      this.#looks++;
      this.#lookLater();
    }, LOOK_INTERVAL_MS);
  }
}
