/** Finds the name that takes the fewest edits to become the text. @returns the name, and the number of edits. */
export function closestName(text: string, names: readonly string[]): { name: string; edits: number } {
  let best = { name: '', edits: Number.POSITIVE_INFINITY };
  for (const name of names) {
    const edits = countEdits(text, name);
    if (edits < best.edits) best = { name, edits };
  }
  return best;
}

/** The Levenshtein distance of two texts: the number of insertions, deletions and replacements of one character. */
function countEdits(from: string, to: string): number {
  let row = Array.from({ length: to.length + 1 }, (_, at) => at);
  for (let i = 1; i <= from.length; i++) {
    const next = [i];
    for (let j = 1; j <= to.length; j++) {
      const replaced = (row[j - 1] ?? 0) + (from[i - 1] === to[j - 1] ? 0 : 1);
      next.push(Math.min(replaced, (row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1));
    }
    row = next;
  }
  return row[to.length] ?? 0;
}
