/**
 * Keeps a board's counts and the season's in step: an exchange takes the shard's news there and brings back all others'.
 *
 * A score is acknowledged after an exchange that took it along, and every rank is answered after an exchange that began when
 * it was asked for. So a rank counts all that was acknowledged before, by whichever shard, to whichever isolate of the
 * Worker; nobody has to remember who wrote what.
 *
 * By design: one exchange at a time, for all who wait for one; under load a shard lets some time pass from one to the next,
 * so that the season answers about 2,000 a second at most, however many scores and reads there are.
 */
import { PUSH_INTERVAL_MS } from '../../workers/leaderboard/domain/board.ts';
import type { CountAnswer, CountReport } from '../../workers/leaderboard/domain/shard-report.ts';
import { logError } from '../../workers/shared/log.ts';
import type { ShardBoard } from './shard-board.ts';

/** From the beginning of one exchange to that of the next but one, by each shard that the season has. */
const PAIR_INTERVAL_MS_A_SHARD = 1;
/** The same while calls come so fast that they share exchanges: then more of them shall share one. */
const SHARED_PAIR_INTERVAL_MS = 16;
/** The season may ask for everything, and be cut anew before that arrives. */
const REPORTS_MAX = 4;
/** An object that was restarted fails the call that finds it so. */
const ATTEMPTS = 2;

export class CountExchange {
  readonly #board: ShardBoard;
  readonly #tellSeason: (report: CountReport) => Promise<CountAnswer>;
  readonly #now: () => number;
  readonly #waitUntil: (work: Promise<void>) => void;
  #underWay: Promise<void> | undefined;
  /** Has not begun: whoever comes now may wait for it. */
  #next: Promise<void> | undefined;
  /** How many wait for the next one, and how many waited for the last. */
  #waiting = 0;
  #served = 0;
  /** When the last two began. */
  #began: readonly [number, number] = [0, 0];
  #isPushPlanned = false;
  #isStopped = false;

  constructor(
    board: ShardBoard,
    tellSeason: (report: CountReport) => Promise<CountAnswer>,
    now: () => number,
    waitUntil: (work: Promise<void>) => void,
  ) {
    this.#board = board;
    this.#tellSeason = tellSeason;
    this.#now = now;
    this.#waitUntil = waitUntil;
  }

  /** When the board's ranks were true: milliseconds since 1970. */
  get asOf(): number {
    const { address, report } = this.#board;
    return address.shards === 1 ? this.#now() : Math.min(this.#now(), report.othersAsOf);
  }

  /** Before a rank is answered: what any shard acknowledged before this call counts in it. Throws when the season is away. */
  async hear(): Promise<void> {
    if (this.#board.address.shards > 1) await this.#exchange();
  }

  /**
   * Before a change is acknowledged: whoever asks afterwards, here or elsewhere, counts it. When the season cannot be
   * reached, the change is acknowledged all the same: its rows are durable, and within a second it is told or asked for.
   */
  async tell(): Promise<void> {
    if (!this.#board.report.hasNews) return;
    await this.#exchange().catch((error: unknown) => {
      const { season, shard } = this.#board.address;
      logError('leaderboard_news_untold', error, { season, shard });
    });
  }

  /** What is not told yet is told soon. @returns whether there is anything. */
  planPush(): boolean {
    if (this.#isStopped || !this.#board.report.hasNews) return false;
    if (this.#isPushPlanned) return true;
    this.#isPushPlanned = true;
    setTimeout(() => {
      this.#isPushPlanned = false;
      if (!this.#isStopped) this.#waitUntil(this.tell());
    }, PUSH_INTERVAL_MS);
    return true;
  }

  /** The board is thrown away: what it counts is not told any more. */
  stop(): void {
    this.#isStopped = true;
  }

  /** An exchange that begins from now on. */
  #exchange(): Promise<void> {
    this.#waiting++;
    this.#next ??= this.#begin(this.#underWay);
    return this.#next;
  }

  async #begin(before: Promise<void> | undefined): Promise<void> {
    await before?.catch(() => {});
    const leastMs = PAIR_INTERVAL_MS_A_SHARD * this.#board.address.shards;
    const intervalMs = this.#served > 1 ? Math.max(leastMs, SHARED_PAIR_INTERVAL_MS) : leastMs;
    const waitMs = this.#began[0] + intervalMs - Date.now();
    // A clock that was set back must not make anybody wait for it.
    if (waitMs > 0 && waitMs <= intervalMs) await new Promise((resolve) => setTimeout(resolve, waitMs));
    this.#began = [this.#began[1], Date.now()];
    this.#underWay = this.#next;
    this.#next = undefined;
    this.#served = this.#waiting;
    this.#waiting = 0;
    for (let attempt = 1; ; attempt++) {
      try {
        return await this.#talk();
      } catch (error) {
        if (attempt === ATTEMPTS) throw error;
      }
    }
  }

  async #talk(): Promise<void> {
    for (let reports = 0; reports < REPORTS_MAX; reports++) {
      const report = this.#board.makeReport(this.#now());
      const answer = await this.#tellSeason(report);
      this.#board.report.acknowledge(report.number, answer);
      if (!answer.needsFull) return;
    }
    throw new Error('the season asks for everything again and again');
  }
}
