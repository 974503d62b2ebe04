/**
 * Groups concurrent calls into rounds. A round is one transaction, and so one commit to disk. It pulls counts before
 * the transaction; each call pushes them afterwards. Each call's answer still waits for its rows to be durable.
 *
 * By design: a single call does not wait. While several calls are under way, a round begins some milliseconds after the
 * previous one. A loaded shard therefore makes few commits and exchanges, and all shards together make at most a
 * thousand exchanges per second, about the limit of one object.
 */
import type { ScoreUpdate } from '../../workers/leaderboard/domain/board.ts';
import type { CountExchange } from './count-exchange.ts';
import type { PendingResult } from './shard-board.ts';

/** Time from the start of one round to the start of the next. */
const ROUND_MS_MIN = 16;
/** A shard makes two exchanges per round. */
const ROUND_MS_PER_SHARD = 2;

/** Calls that share one commit. */
interface Round {
  readonly updates: ScoreUpdate[];
  readonly results: Promise<PendingResult[]>;
}

export class ScoreQueue {
  readonly #exchange: CountExchange;
  readonly #commit: (updates: readonly ScoreUpdate[]) => PendingResult[];
  readonly #roundMs: number;
  /** The round whose exchange has not begun. New calls may join it. */
  #next: Round | undefined;
  #beganAt = 0;
  /** Calls without an answer yet. */
  #calls = 0;

  /** @param commit writes all of the updates or, if it throws, none. */
  constructor(exchange: CountExchange, shards: number, commit: (updates: readonly ScoreUpdate[]) => PendingResult[]) {
    this.#exchange = exchange;
    this.#commit = commit;
    this.#roundMs = Math.max(ROUND_MS_MIN, ROUND_MS_PER_SHARD * shards);
  }

  /** @param answer builds the call's answer after its updates are written. */
  async take<T>(updates: readonly ScoreUpdate[], answer: (written: PendingResult[]) => Promise<T>): Promise<T> {
    this.#calls++;
    try {
      this.#next ??= this.#begin();
      const round = this.#next;
      const at = round.updates.length;
      for (const update of updates) round.updates.push(update);
      return await answer((await round.results).slice(at, at + updates.length));
    } finally {
      this.#calls--;
    }
  }

  #begin(): Round {
    const updates: ScoreUpdate[] = [];
    return { updates, results: this.#run(updates) };
  }

  async #run(updates: readonly ScoreUpdate[]): Promise<PendingResult[]> {
    await this.#gather();
    await this.#exchange.pull(() => {
      this.#next = undefined;
      this.#beganAt = Date.now();
    });
    return this.#commit(updates);
  }

  async #gather(): Promise<void> {
    if (this.#calls === 1) return;
    const ms = Math.max(0, this.#beganAt + this.#roundMs - Date.now());
    // Waits even if the time has come, so that calls of this moment join. A clock that was set back must not delay
    // calls.
    await new Promise((resolve) => setTimeout(resolve, ms > this.#roundMs ? 0 : ms));
  }
}
