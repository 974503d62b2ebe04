/**
 * Calls that come in the same moment are one transaction, and so one commit to the disk: under load the commits are what a
 * score costs. Each call's answer still waits for its rows to be durable.
 */
import type { ScoreUpdate } from '../../workers/leaderboard/domain/board.ts';
import type { PendingResult } from './shard-board.ts';

interface Call {
  readonly updates: readonly ScoreUpdate[];
  readonly resolve: (results: PendingResult[]) => void;
  readonly reject: (error: unknown) => void;
}

export class ScoreQueue {
  readonly #commit: (updates: readonly ScoreUpdate[]) => PendingResult[];
  readonly #calls: Call[] = [];

  /** @param commit all of the updates or, when it throws, none. */
  constructor(commit: (updates: readonly ScoreUpdate[]) => PendingResult[]) {
    this.#commit = commit;
  }

  add(updates: readonly ScoreUpdate[]): Promise<PendingResult[]> {
    return new Promise((resolve, reject) => {
      this.#calls.push({ updates, resolve, reject });
      if (this.#calls.length === 1) setTimeout(() => this.#flush(), 0);
    });
  }

  #flush(): void {
    const calls = this.#calls.splice(0);
    try {
      const results = this.#commit(calls.flatMap(({ updates }) => updates));
      let at = 0;
      for (const { updates, resolve } of calls) {
        resolve(results.slice(at, at + updates.length));
        at += updates.length;
      }
    } catch (error) {
      for (const { reject } of calls) reject(error);
    }
  }
}
