/**
 * Keeps a board's counts and the season's in step: an exchange takes the shard's news there and brings back all others'.
 *
 * A score is acknowledged after an exchange that took it along, and every rank is answered after an exchange that began when
 * it was asked for. So a rank counts all that was acknowledged before, by whichever shard, to whichever isolate of the
 * Worker; nobody has to remember who wrote what.
 *
 * By design: one exchange at a time, for all who wait for one: the season's load follows the number of shards, however many
 * scores and reads there are.
 */
import { PUSH_INTERVAL_MS } from '../../workers/leaderboard/domain/board.ts';
import { logError } from '../../workers/shared/log.ts';
import type { SeasonLine } from './season-line.ts';
import type { ShardBoard } from './shard-board.ts';

/** The season may ask for everything, and be cut anew before that arrives. */
const REPORTS_MAX = 4;
/** An object that was restarted fails the call that finds it so. */
const ATTEMPTS = 2;

export class CountExchange {
  readonly #board: ShardBoard;
  readonly #line: SeasonLine;
  readonly #now: () => number;
  readonly #waitUntil: (work: Promise<void>) => void;
  #underWay: Promise<void> | undefined;
  /** Has not begun: whoever comes now may wait for it. */
  #next: Promise<void> | undefined;
  #onBegin: (() => void)[] = [];
  #isPushPlanned = false;
  #isStopped = false;

  constructor(board: ShardBoard, line: SeasonLine, now: () => number, waitUntil: (work: Promise<void>) => void) {
    this.#board = board;
    this.#line = line;
    this.#now = now;
    this.#waitUntil = waitUntil;
  }

  /** When the board's ranks were true: milliseconds since 1970. */
  get asOf(): number {
    const { address, report } = this.#board;
    return address.shards === 1 ? this.#now() : Math.min(this.#now(), report.othersAsOf);
  }

  /**
   * Before a rank is answered: what any shard acknowledged before this call counts in it. Throws when the season is away.
   * @param onBegin runs when the exchange begins.
   */
  async pull(onBegin?: () => void): Promise<void> {
    if (onBegin !== undefined) this.#onBegin.push(onBegin);
    if (this.#board.address.shards > 1) return this.#exchange();
    for (const begin of this.#onBegin.splice(0)) begin();
  }

  /**
   * Before a change is acknowledged: whoever asks afterwards, here or elsewhere, counts it. When the season cannot be
   * reached, the change is acknowledged all the same: its rows are durable, and within a second it is told or asked for.
   */
  async push(): Promise<void> {
    if (!this.#board.report.hasChanges) return;
    await this.#exchange().catch((error: unknown) => {
      const { season, shard } = this.#board.address;
      logError('leaderboard_counts_push_failed', error, { season, shard });
    });
  }

  /** What is not told yet is told soon. @returns whether there is anything. */
  planPush(): boolean {
    if (this.#isStopped || !this.#board.report.hasChanges) return false;
    if (this.#isPushPlanned) return true;
    this.#isPushPlanned = true;
    setTimeout(() => {
      this.#isPushPlanned = false;
      if (!this.#isStopped) this.#waitUntil(this.push());
    }, PUSH_INTERVAL_MS);
    return true;
  }

  /** The board is thrown away: what it counts is not told any more. */
  stop(): void {
    this.#isStopped = true;
  }

  /** An exchange that begins from now on. */
  #exchange(): Promise<void> {
    this.#next ??= this.#begin(this.#underWay);
    return this.#next;
  }

  async #begin(before: Promise<void> | undefined): Promise<void> {
    await before?.catch(() => {});
    this.#underWay = this.#next;
    this.#next = undefined;
    for (const onBegin of this.#onBegin.splice(0)) onBegin();
    for (let attempt = 1; ; attempt++) {
      try {
        return await this.#sendReports();
      } catch (error) {
        if (attempt === ATTEMPTS) throw error;
      }
    }
  }

  async #sendReports(): Promise<void> {
    for (let reports = 0; reports < REPORTS_MAX; reports++) {
      const report = this.#board.makeReport(this.#now());
      const answer = await this.#line.exchange(report);
      this.#board.report.acknowledge(report.number, answer);
      if (!answer.needsFull) return;
    }
    throw new Error('the season asks for everything again and again');
  }
}
