/**
 * Keeps a board's counts and the season's in step. News go out 100 ms after the last ones, and the answer brings the news
 * of all other shards; a read that needs newer counts than these asks for them.
 *
 * By design: an exchange that fails is not repeated at once; the next score, read or alarm sends what is still untold.
 */
import { isStale, PUSH_INTERVAL_MS, type Requirement } from '../../workers/leaderboard/domain/board.ts';
import type { CountAnswer, CountReport } from '../../workers/leaderboard/domain/shard-report.ts';
import { logError } from '../../workers/shared/log.ts';
import type { ShardBoard } from './shard-board.ts';

export interface ExchangeWish {
  /** The season asks the shards that it has not heard for a second. */
  readonly isFresh: boolean;
  readonly requirement: Requirement;
}

const NEWS_ONLY: ExchangeWish = { isFresh: false, requirement: null };
/** The first push after a quiet time takes along what comes in the same moment. */
const PUSH_WAIT_MIN_MS = 5;

export class CountExchange {
  readonly #board: ShardBoard;
  readonly #tellSeason: (report: CountReport, wish: ExchangeWish) => Promise<CountAnswer>;
  readonly #now: () => number;
  readonly #waitUntil: (work: Promise<void>) => void;
  #underWay: Promise<void> | undefined;
  #endedAt = 0;
  #isPushPlanned = false;
  #isStopped = false;

  constructor(
    board: ShardBoard,
    tellSeason: (report: CountReport, wish: ExchangeWish) => Promise<CountAnswer>,
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

  isFresh(requirement: Requirement): boolean {
    const { address, report } = this.#board;
    if (address.shards === 1) return true;
    if (isStale(report.othersAsOf, this.#now())) return false;
    return (
      requirement === null ||
      requirement.every((through, shard) => shard === address.shard || (report.othersThrough[shard] ?? 0) >= through)
    );
  }

  /** Brings the others' counts up to date, when they are not; one exchange serves all who wait. */
  async refresh(requirement: Requirement): Promise<void> {
    if (this.isFresh(requirement)) return;
    // One that is under way may have asked too early for us; the next one does not.
    if (this.#underWay !== undefined) await this.#underWay;
    for (let attempt = 0; attempt < 2 && !this.isFresh(requirement); attempt++) {
      await (this.#underWay ?? this.#start({ isFresh: true, requirement }));
    }
  }

  /** Soon tells what is not told yet. @returns whether there is anything. */
  planPush(): boolean {
    if (this.#isStopped || !this.#board.report.hasNews) return false;
    if (this.#isPushPlanned) return true;
    this.#isPushPlanned = true;
    const { season, shard } = this.#board.address;
    const waitMs = Math.max(PUSH_WAIT_MIN_MS, this.#endedAt + PUSH_INTERVAL_MS - Date.now());
    setTimeout(() => {
      this.#isPushPlanned = false;
      if (this.#isStopped || this.#underWay !== undefined) return;
      const push = this.#start(NEWS_ONLY);
      this.#waitUntil(push.catch((error: unknown) => logError('leaderboard_push_failed', error, { season, shard })));
    }, waitMs);
    return true;
  }

  /** The board is thrown away: what it counts is not told any more. */
  stop(): void {
    this.#isStopped = true;
  }

  #start(wish: ExchangeWish): Promise<void> {
    const exchange = this.#talk(wish).finally(() => {
      this.#underWay = undefined;
      this.#endedAt = Date.now();
    });
    this.#underWay = exchange;
    exchange.then(
      () => this.planPush(),
      () => {},
    );
    return exchange;
  }

  async #talk(wish: ExchangeWish): Promise<void> {
    const report = this.#board.makeReport(this.#now());
    const answer = await this.#tellSeason(report, wish);
    this.#board.report.acknowledge(report.number, answer);
    if (!answer.needsFull) return;
    const full = this.#board.makeReport(this.#now());
    this.#board.report.acknowledge(full.number, await this.#tellSeason(full, wish));
  }
}
