/** Sets of sequence numbers or UIDs (RFC 3501 §9, sequence-set). Pure. */

/** Ranges with both ends included. `*` is Infinity. */
export type SequenceSet = readonly (readonly [from: number, to: number])[];

const SET = /^(?:\d{1,10}|\*)(?::(?:\d{1,10}|\*))?(?:,(?:\d{1,10}|\*)(?::(?:\d{1,10}|\*))?)*$/;

/** @returns the set, or null if the text is none. */
export function parseSequenceSet(text: string): SequenceSet | null {
  if (!SET.test(text)) return null;
  const toNumber = (part: string): number => (part === '*' ? Number.POSITIVE_INFINITY : Number(part));
  const ranges = text.split(',').map((range): [number, number] => {
    const [one = '', other = one] = range.split(':');
    const ends = [toNumber(one), toNumber(other)] as const;
    return [Math.min(...ends), Math.max(...ends)];
  });
  return ranges.every(([from]) => from > 0) ? ranges : null;
}

/**
 * Selects the numbers of an ascending list that are in a set. `*` is the last number of the list.
 * @returns them in ascending order, each once.
 */
export function selectNumbers(set: SequenceSet, numbers: readonly number[]): number[] {
  const last = numbers.at(-1);
  if (last === undefined) return [];
  const found = new Set<number>();
  for (const [from, to] of set) {
    // A range `n:*` has the last number even if n is above it (RFC 3501 §6.4.8).
    const start = Number.isFinite(to) ? from : Math.min(from, last);
    const end = Math.min(to, last);
    for (let at = findAtLeast(numbers, start); at < numbers.length; at++) {
      const number = numbers[at] as number;
      if (number > end) break;
      found.add(number);
    }
  }
  return set.length === 1 ? [...found] : [...found].sort((a, b) => a - b);
}

/** @returns the index of the first number of an ascending list that is at least `wanted`. */
export function findAtLeast(numbers: readonly number[], wanted: number): number {
  let low = 0;
  let high = numbers.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((numbers[middle] as number) < wanted) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** @returns the shortest text of a list of numbers in the given order: `1:3,7`. */
export function toSequenceText(numbers: readonly number[]): string {
  const ranges: string[] = [];
  for (let at = 0; at < numbers.length; ) {
    const from = numbers[at] as number;
    let end = at;
    while (end + 1 < numbers.length && numbers[end + 1] === (numbers[end] as number) + 1) end++;
    ranges.push(end === at ? String(from) : `${from}:${numbers[end]}`);
    at = end + 1;
  }
  return ranges.join(',');
}
