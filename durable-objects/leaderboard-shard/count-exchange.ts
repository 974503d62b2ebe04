/**
 * Synchronizes the counts of a board with the season: an exchange sends the shard's changes and returns those of the
 * other shards.
 *
 * A score is acknowledged after an exchange that included it. A rank is answered after an exchange that began after the
 * request. A rank therefore counts every score acknowledged before, by any shard and for any isolate of the Worker.
 *
 * By design: one exchange at a time serves all waiting calls. The season's load depends on the number of shards, not on
 * the number of scores and reads.
 */
import { PUSH_INTERVAL_MS } from '../../workers/leaderboard/domain/board.ts';
import { logError } from '../../workers/shared/log.ts';
import type { SeasonLine } from './season-line.ts';
import type { ShardBoard } from './shard-board.ts';

/** The season may request a full report, and change its layout before that arrives. */
const REPORTS_MAX = 4;
/** The first call to a restarted object fails. */
const ATTEMPTS = 2;

export class CountExchange {
  readonly #board: ShardBoard;
  readonly #line: SeasonLine;
  readonly #now: () => number;
  readonly #waitUntil: (work: Promise<void>) => void;
  #underWay: Promise<void> | undefined;
  /** An exchange that has not begun. New callers may wait for it. */
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

  /** When the board's ranks were exact, in milliseconds since 1970. */
  get asOf(): number {
    const { address, report } = this.#board;
    return address.shards === 1 ? this.#now() : Math.min(this.#now(), report.othersAsOf);
  }

  /**
   * Pulls counts before a rank is answered. Scores that any shard acknowledged before this call count in it. @throws if
   * the season is unavailable.
   * @param onBegin runs when the exchange begins.
   */
  async pull(onBegin?: () => void): Promise<void> {
    if (onBegin !== undefined) this.#onBegin.push(onBegin);
    if (this.#board.address.shards > 1) return this.#exchange();
    for (const begin of this.#onBegin.splice(0)) begin();
  }

  /**
   * Pushes changes before they are acknowledged, so that later reads anywhere count them. If the season is unavailable,
   * the change is acknowledged all the same: its rows are durable, and the counts are pushed or pulled within a second.
   */
  async push(): Promise<void> {
    if (!this.#board.report.hasChanges) return;
    await this.#exchange().catch((error: unknown) => {
      const { season, shard } = this.#board.address;
      logError('leaderboard_counts_push_failed', error, { season, shard });
    });
  }

  /** Schedules a push of changes. @returns whether there are any. */
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

  /** Stops pushes of a board that was discarded. */
  stop(): void {
    this.#isStopped = true;
  }

  /** Waits for an exchange that begins after this call. */
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
    throw new Error('the season keeps requesting full reports');
  }
}
