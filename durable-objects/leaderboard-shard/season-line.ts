/**
 * A shard's line to its season: one RPC session that many exchanges go over. The platform bills a session as one request
 * (developers.cloudflare.com/durable-objects/platform/pricing, note 1), and a call in it takes less work than a new one.
 *
 * By design: an open line keeps both objects awake, so one that nobody uses is given up within a second; one that is old is
 * opened anew, so that no session's processor time adds up to its limit; one that failed is of no more use.
 */
import type { CountAnswer, CountReport } from '../../workers/leaderboard/domain/shard-report.ts';

const LOOK_INTERVAL_MS = 500;
/** 20 seconds. */
const LOOKS_MAX = 40;

/** What a season object's `openLine` gives. */
interface Line extends Disposable {
  exchange(report: CountReport): Promise<CountAnswer>;
}

export class SeasonLine {
  readonly #open: () => Promise<Line>;
  #line: Promise<Line> | undefined;
  #isBusy = false;
  /** Whether it was used since the last look, and how often it was looked at. */
  #isUsed = false;
  #looks = 0;
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(open: () => Promise<Line>) {
    this.#open = open;
  }

  /** One at a time. Throws when the season is away; the next call opens a new line. */
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
