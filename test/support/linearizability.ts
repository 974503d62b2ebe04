/** Checks whether a history of one register has an order that explains every answer. */

/** An operation on the register. Times are positions in one global order of events. */
export interface RegisterEvent {
  readonly kind: 'write' | 'read';
  readonly value: string;
  readonly start: number;
  /** End of the operation; infinity if it got no answer. A write without an answer may take effect at any time or never. */
  readonly end: number;
}

/**
 * Searches for an order in which each operation takes effect between its start and its end, and each read has the value of the last
 * write before it (Wing and Gong, 1993).
 * @returns null if it finds one; else the events that are not part of the longest order found.
 */
export function findViolation(initial: string, events: readonly RegisterEvent[]): RegisterEvent[] | null {
  const sorted = [...events].sort((a, b) => a.start - b.start);
  const isDone = new Array<boolean>(sorted.length).fill(false);
  const seen = new Set<string>();
  let unexplained = sorted;
  const search = (value: string): boolean => {
    const open = sorted.filter((_, at) => !isDone[at]);
    // Only operations with an answer must take effect.
    const due = open.filter(({ end }) => end !== Number.POSITIVE_INFINITY);
    if (due.length === 0) return true;
    if (due.length < unexplained.length) unexplained = due;
    const state = `${value} ${isDone.map(Number).join('')}`;
    if (seen.has(state)) return false;
    seen.add(state);
    const firstEnd = Math.min(...due.map(({ end }) => end));
    for (const [at, event] of sorted.entries()) {
      if (isDone[at] || event.start > firstEnd) continue;
      if (event.kind === 'read' && event.value !== value) continue;
      isDone[at] = true;
      if (search(event.kind === 'write' ? event.value : value)) return true;
      isDone[at] = false;
      // Taking a fitting read next changes nothing for the others. If it leads to no order, no other choice does.
      if (event.kind === 'read') return false;
    }
    return false;
  };
  return search(initial) ? null : unexplained;
}
