/**
 * Calls that wait for the same exchange of counts are one transaction, and so one commit to the disk; the next exchange tells
 * of them all, and brings what the next transaction needs. So a shard under load makes one exchange and one commit a round,
 * however many calls it has. Each call's answer still waits for its rows to be durable.
 */
import type { ScoreUpdate } from '../../workers/leaderboard/domain/board.ts';
import type { CountExchange } from './count-exchange.ts';
import type { PendingResult } from './shard-board.ts';

/** Calls that are one commit. */
interface Round {
  calls: number;
  readonly updates: ScoreUpdate[];
  readonly results: Promise<PendingResult[]>;
}

export class ScoreQueue {
  readonly #exchange: CountExchange;
  readonly #commit: (updates: readonly ScoreUpdate[]) => PendingResult[];
  /** Its exchange has not begun: whoever comes now may join. */
  #next: Round | undefined;

  /** @param commit takes all of the updates or, when it throws, none. */
  constructor(exchange: CountExchange, commit: (updates: readonly ScoreUpdate[]) => PendingResult[]) {
    this.#exchange = exchange;
    this.#commit = commit;
  }

  async add(updates: readonly ScoreUpdate[]): Promise<PendingResult[]> {
    this.#next ??= this.#begin();
    const round = this.#next;
    round.calls++;
    const at = round.updates.length;
    for (const update of updates) round.updates.push(update);
    return (await round.results).slice(at, at + updates.length);
  }

  #begin(): Round {
    const updates: ScoreUpdate[] = [];
    const begun = this.#exchange.hearTogether(() => {
      this.#next = undefined;
      return round.calls > 1;
    });
    const round: Round = { calls: 0, updates, results: begun.then(() => this.#commit(updates)) };
    return round;
  }
}
