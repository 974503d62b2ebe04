/** Counts the calls of each operation inside the Worker. The driver reads the counts over HTTP. */
import type { BindingKind } from '../../test/support/platform/wrap-bindings.ts';

/** Name of the trace that counts events without a request: queues, alarms, cron. */
export const BACKGROUND = 'background';

/** One direction (there or back) of a call that takes more than `LONG_HAUL_MS`. `start` and `end` are times in milliseconds. */
interface Leg {
  readonly start: number;
  readonly end: number;
}

export interface Counts {
  rows_read: number;
  rows_written: number;
  r2_a: number;
  r2_b: number;
  do_requests: number;
  queue_ops: number;
  log_lines: number;
  events: number;
  /** Number of queries that the primary of DIRECTORY answered. */
  directory_primary: number;
  calls: Partial<Record<BindingKind, number>>;
  long_haul_serial: number;
}

interface Trace {
  readonly counts: Counts;
  readonly legs: Leg[];
  readonly cursors: { readonly rowsRead: number; readonly rowsWritten: number }[];
}

const emptyCounts = (): Counts => ({
  rows_read: 0,
  rows_written: 0,
  r2_a: 0,
  r2_b: 0,
  do_requests: 0,
  queue_ops: 0,
  log_lines: 0,
  events: 0,
  directory_primary: 0,
  calls: {},
  long_haul_serial: 0,
});

export class Meter {
  #traces = new Map<string, Trace>();
  #busy = 0;
  #lastAt = 0;

  #trace(name: string): Trace {
    const known = this.#traces.get(name);
    if (known) return known;
    const trace = { counts: emptyCounts(), legs: [], cursors: [] };
    this.#traces.set(name, trace);
    return trace;
  }

  counts(trace: string): Counts {
    return this.#trace(trace).counts;
  }

  addLeg(trace: string, leg: Leg): void {
    this.#trace(trace).legs.push(leg);
  }

  addCursor(trace: string, cursor: Trace['cursors'][number]): void {
    this.#trace(trace).cursors.push(cursor);
  }

  enter(): void {
    this.#busy++;
  }

  leave(): void {
    this.#busy--;
    this.#lastAt = Date.now();
  }

  /** Returns the milliseconds since the last activity; 0 while a call is in progress. */
  get idleMs(): number {
    return this.#busy > 0 ? 0 : Date.now() - this.#lastAt;
  }

  /** Returns the counts since the last call of this function, by trace. */
  take(): Record<string, Counts> {
    const taken = Object.fromEntries([...this.#traces].map(([name, trace]) => [name, sum(trace)]));
    this.#traces = new Map();
    return taken;
  }
}

function sum({ counts, legs, cursors }: Trace): Counts {
  const total = { ...counts, long_haul_serial: longestChain(legs) / 2 };
  for (const cursor of cursors) {
    total.rows_read += cursor.rowsRead;
    total.rows_written += cursor.rowsWritten;
  }
  return total;
}

/** Returns the greatest number of legs in a chain in which no two legs overlap in time. */
function longestChain(legs: readonly Leg[]): number {
  const byEnd = [...legs].sort((a, b) => a.end - b.end);
  let count = 0;
  let freeAt = Number.NEGATIVE_INFINITY;
  // Greedy choice: taking the earliest end each time gives the longest chain of intervals that do not overlap.
  for (const { start, end } of byEnd) {
    if (start < freeAt) continue;
    count++;
    freeAt = end;
  }
  return count;
}
