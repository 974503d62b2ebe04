/**
 * Counts the leading items of an ordered list that are before a place, by binary search.
 * @param isBefore true for these items, false for all others.
 */
export function countFirst(length: number, isBefore: (at: number) => boolean): number {
  let low = 0;
  let high = length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (isBefore(middle)) low = middle + 1;
    else high = middle;
  }
  return low;
}
