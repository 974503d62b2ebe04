/** Counts the calls of each operation inside the Worker. The driver reads the counts over HTTP. */

/** Name of the trace that counts events without a request: queues, alarms, cron. */
export const BACKGROUND = 'background';
/**
 * Name of the trace that counts comparisons of a database's age (docs/design/restores.md). An isolate makes one in ten seconds for
 * each database, whatever the number of requests, so no operation is charged for it.
 */
export const COMPARISON = 'comparison';

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
  /** Number of calls by binding and method, and number of rows written by statement or by method of an object. */
  calls: Record<string, number>;
  long_haul_serial: number;
}

type Cursor = Pick<SqlStorageCursor<never>, 'rowsRead' | 'rowsWritten'>;

interface Trace {
  readonly counts: Counts;
  readonly legs: Leg[];
  readonly cursors: { readonly name: string; readonly cursor: Cursor }[];
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
  /** Messages that a queue delivers soon. It waits up to a second for a batch, which would look idle. */
  #inQueue = 0;

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

  /** Counts the rows of a query of an object's storage. Their numbers are known only once the cursor has been read. */
  addCursor(trace: string, name: string, cursor: Cursor): void {
    this.#trace(trace).cursors.push({ name, cursor });
  }

  addRows(trace: string, name: string, { rowsRead, rowsWritten }: Cursor): void {
    addRows(this.counts(trace), name, { rowsRead, rowsWritten });
  }

  enter(): void {
    this.#busy++;
  }

  leave(): void {
    this.#busy--;
    this.#lastAt = Date.now();
  }

  addQueued(messages: number): void {
    this.#inQueue += messages;
  }

  endQueued(messages: number): void {
    this.#inQueue = Math.max(0, this.#inQueue - messages);
  }

  /** Returns the milliseconds since the last activity; 0 while a call is in progress or a queue has a message. */
  get idleMs(): number {
    return this.#busy > 0 || this.#inQueue > 0 ? 0 : Date.now() - this.#lastAt;
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
  for (const { name, cursor } of cursors) addRows(total, name, cursor);
  return total;
}

export function addCall({ calls }: Counts, name: string, count = 1): void {
  calls[name] = (calls[name] ?? 0) + count;
}

function addRows(counts: Counts, name: string, { rowsRead, rowsWritten }: Cursor): void {
  counts.rows_read += rowsRead;
  counts.rows_written += rowsWritten;
  if (rowsWritten > 0) addCall(counts, `rows written: ${name}`, rowsWritten);
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
