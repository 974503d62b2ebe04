/** Compares two texts line by line: finds the lines that only one of them has. Pure. */

export interface Line {
  text: string;
  isOnlyHere: boolean;
}

/** Above this product of line counts, only the lines before the first and after the last difference count as shared. */
const TABLE_CELLS_MAX = 1_000_000;

/** Compares two texts. @returns the lines of both. `isOnlyHere` marks lines that the other text does not have in this order. */
export function compareLines(mine: string, theirs: string): { mine: Line[]; theirs: Line[] } {
  const a = mine.split('\n');
  const b = theirs.split('\n');
  let head = 0;
  while (head < a.length && head < b.length && a[head] === b[head]) head += 1;
  let tail = 0;
  while (tail < a.length - head && tail < b.length - head && a.at(-1 - tail) === b.at(-1 - tail)) tail += 1;
  const common = commonLines(a.slice(head, a.length - tail), b.slice(head, b.length - tail));
  const mark = (lines: string[], kept: ReadonlySet<number>): Line[] =>
    lines.map((text, at) => ({
      text,
      isOnlyHere: at >= head && at < lines.length - tail && !kept.has(at - head),
    }));
  return { mine: mark(a, common.a), theirs: mark(b, common.b) };
}

/** Returns the line numbers of a longest common subsequence, for each of the two texts. */
function commonLines(a: readonly string[], b: readonly string[]): { a: Set<number>; b: Set<number> } {
  const kept = { a: new Set<number>(), b: new Set<number>() };
  if (a.length * b.length > TABLE_CELLS_MAX) return kept;
  const width = b.length + 1;
  const lengths = new Uint32Array((a.length + 1) * width);
  const at = (i: number, j: number) => lengths[i * width + j] ?? 0;
  for (let i = a.length - 1; i >= 0; i -= 1) {
    for (let j = b.length - 1; j >= 0; j -= 1) {
      lengths[i * width + j] = a[i] === b[j] ? at(i + 1, j + 1) + 1 : Math.max(at(i + 1, j), at(i, j + 1));
    }
  }
  for (let i = 0, j = 0; i < a.length && j < b.length; ) {
    if (a[i] === b[j]) {
      kept.a.add(i);
      kept.b.add(j);
      i += 1;
      j += 1;
    } else if (at(i + 1, j) >= at(i, j + 1)) i += 1;
    else j += 1;
  }
  return kept;
}
