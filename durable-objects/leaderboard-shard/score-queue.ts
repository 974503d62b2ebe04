/**
 * Calls that come together are one transaction, and so one commit to the disk, between one exchange of counts that brings
 * what it needs and one that tells of it. Each call's answer still waits for its rows to be durable.
 *
 * By design: a call that comes alone waits for nobody. While several are under way, a round of them begins some milliseconds
 * after the one before it: so a shard under load makes few commits and exchanges, however many calls it has, and all shards
 * together ask the season for at most a thousand exchanges a second, about what one object can answer.
 */
import type { ScoreUpdate } from '../../workers/leaderboard/domain/board.ts';
import type { CountExchange } from './count-exchange.ts';
import type { PendingResult } from './shard-board.ts';

/** From the beginning of one round to that of the next. */
const ROUND_MS_MIN = 16;
/** A shard makes two exchanges a round. */
const ROUND_MS_PER_SHARD = 2;

/** Calls that are one commit. */
interface Round {
  readonly updates: ScoreUpdate[];
  readonly results: Promise<PendingResult[]>;
}

export class ScoreQueue {
  readonly #exchange: CountExchange;
  readonly #commit: (updates: readonly ScoreUpdate[]) => PendingResult[];
  readonly #roundMs: number;
  /** Its exchange has not begun: whoever comes now may join. */
  #next: Round | undefined;
  #beganAt = 0;
  /** Calls that are not answered yet. */
  #calls = 0;

  /** @param commit takes all of the updates or, when it throws, none. */
  constructor(exchange: CountExchange, shards: number, commit: (updates: readonly ScoreUpdate[]) => PendingResult[]) {
    this.#exchange = exchange;
    this.#commit = commit;
    this.#roundMs = Math.max(ROUND_MS_MIN, ROUND_MS_PER_SHARD * shards);
  }

  /** @param answer works out the call's answer, when its updates are written. */
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
    // Also when it is time: who came in this moment joins. A clock that was set back must not make anybody wait for it.
    await new Promise((resolve) => setTimeout(resolve, ms > this.#roundMs ? 0 : ms));
  }
}
