/**
 * Synchronizes the counts of a board with the season: an exchange sends the shard's changes and returns those of the
 * other shards. Changes are pushed in the background; no score waits for it.
 *
 * By design: one exchange at a time. They share an RPC session, which the platform bills as one request
 * (developers.cloudflare.com/durable-objects/platform/pricing, note 1). An open session keeps both objects awake, so an
 * idle one is closed. An old one is replaced, so that its processor time stays below the limit.
 */

import { inTime } from '../../../workers/shared/concurrency/in-time.ts';
import { logError } from '../../../workers/shared/telemetry/log.ts';
import type { CountAnswer, CountReport } from '../domain/shard-counts.ts';
import { isStale, PUSH_INTERVAL_MS, REFRESH_MS, SKIP_MS } from '../protocol.ts';
import type { ShardBoard } from './shard-board.ts';

/**
 * Minimum interval of pushes per shard of the season. The season then makes at most 500 exchanges per second, whatever the number
 * of shards.
 */
const PUSH_MS_PER_SHARD = 2;
const IDLE_MS = 1_000;
const SESSION_MS = 20_000;
/** Attempts per exchange. The first call to a restarted object fails, and a season may request a full report. */
const ATTEMPTS = 4;

/** RPC session of a shard with its season, as `openLine` of the season object returns it. */
export type Line = Disposable & ((report: CountReport) => Promise<CountAnswer>);

export class SeasonLink {
  readonly #board: ShardBoard;
  readonly #open: () => Promise<Line>;
  readonly #now: () => number;
  readonly #waitUntil: (work: Promise<void>) => void;
  #line: Promise<Line> | undefined;
  #openedAt = 0;
  #idle: ReturnType<typeof setTimeout> | undefined;
  #exchanging: Promise<void> | undefined;
  #exchangedAt = 0;
  #failedAt = 0;
  #isPushPlanned = false;
  #isStopped = false;
  /** Whether the season asked for counts since the last exchange. A new life of the shard tells the season once. */
  #isAsked = true;

  constructor(
    board: ShardBoard,
    open: () => Promise<Line>,
    now: () => number,
    waitUntil: (work: Promise<void>) => void,
  ) {
    this.#board = board;
    this.#open = open;
    this.#now = now;
    this.#waitUntil = waitUntil;
  }

  /** Exchanges counts if those of the other shards are over a second old. Returns after a short time even if the exchange fails. */
  async refresh(): Promise<void> {
    const now = this.#now();
    const isSkipped = !isStale(this.#failedAt, now);
    if (this.#board.address.shards === 1 || isSkipped || !isStale(this.#exchangedAt, now)) return;
    await this.push();
  }

  async push(): Promise<void> {
    if ((await inTime(this.#exchange(), REFRESH_MS, 'late')) === 'late') this.#failedAt = this.#now();
  }

  /** Pushes changes after the season asked for the counts. A shard that is alone pushes again while a view shows its lists. */
  pushFor(): void {
    this.#isAsked = true;
    this.planPush();
  }

  /** Whether the season needs changes. The posts to a shard that is alone and that nobody reads cost no other object. */
  get #isNeeded(): boolean {
    const { address, counts } = this.#board;
    return address.shards > 1 || this.#isAsked || counts.views.length > 0;
  }

  planPush(): void {
    if (this.#isStopped || this.#isPushPlanned || !this.#board.counts.hasChanges || !this.#isNeeded) return;
    this.#isPushPlanned = true;
    const isSkipped = !isStale(this.#failedAt, this.#now());
    const ms = isSkipped ? SKIP_MS : Math.max(PUSH_INTERVAL_MS, PUSH_MS_PER_SHARD * this.#board.address.shards);
    setTimeout(() => {
      this.#isPushPlanned = false;
      // A shard that lost players exchanges only when it is called.
      const goOn = () => this.#board.counts.lostFrom === undefined && this.planPush();
      if (!this.#isStopped) this.#waitUntil(this.#exchange().then(() => void goOn()));
    }, ms);
  }

  /** Stops the exchanges of a board that was discarded. */
  stop(): void {
    this.#isStopped = true;
    this.#hangUp();
  }

  #exchange(): Promise<void> {
    this.#exchanging ??= this.#sendReports().finally(() => {
      this.#exchanging = undefined;
    });
    return this.#exchanging;
  }

  async #sendReports(): Promise<void> {
    const { counts, address } = this.#board;
    let failure: unknown = new Error('the season keeps requesting full reports');
    for (let attempt = 0; attempt < ATTEMPTS && !this.#isStopped; attempt++) {
      try {
        const report = this.#board.players.makeReport(this.#now());
        const answer = await this.#send(report);
        counts.acknowledge(report.number, answer);
        this.#isAsked = false;
        this.#exchangedAt = this.#now();
        if (!answer.needsFull || answer.lostFrom !== undefined) return;
      } catch (error) {
        this.#hangUp();
        failure = error;
        if (attempt > 0) break;
      }
    }
    this.#failedAt = this.#now();
    logError('leaderboard_counts_push_failed', failure, { season: address.season, shard: address.shard });
  }

  async #send(report: CountReport): Promise<CountAnswer> {
    const now = Date.now();
    if (now - this.#openedAt > SESSION_MS) this.#hangUp();
    clearTimeout(this.#idle);
    if (this.#line === undefined) {
      this.#openedAt = now;
      this.#line = this.#open();
    }
    const line = await this.#line;
    const answer = await line(report);
    this.#idle = setTimeout(() => this.#hangUp(), IDLE_MS);
    return answer;
  }

  #hangUp(): void {
    clearTimeout(this.#idle);
    this.#line?.then(
      (line) => line[Symbol.dispose](),
      () => {},
    );
    this.#line = undefined;
  }
}
