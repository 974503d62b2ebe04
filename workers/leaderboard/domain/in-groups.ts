/** Work on parts of a list, with results in the order of the list. */

/**
 * Works on groups of items, one group after the other.
 * @param work gives one result per item of the group, in order
 */
export async function inGroups<T, K, R>(
  items: readonly T[],
  keyOf: (item: T) => K,
  work: (group: readonly T[], key: K) => Promise<readonly R[]>,
): Promise<R[]> {
  const groups = toGroups(items, keyOf);
  const results: (readonly R[])[] = [];
  for (const [key, places] of groups) results.push(await work(pick(items, places), key));
  return inOrder([...groups.values()], results);
}

/** Works on groups of items, on all groups at once. See `inGroups`. */
export async function inParallelGroups<T, K, R>(
  items: readonly T[],
  keyOf: (item: T) => K,
  work: (group: readonly T[], key: K) => Promise<readonly R[]>,
): Promise<R[]> {
  const groups = toGroups(items, keyOf);
  const results = await Promise.all([...groups].map(([key, places]) => work(pick(items, places), key)));
  return inOrder([...groups.values()], results);
}

/** Completes results: the items with a null are left to `work`, which gives one result for each of them, in order. */
export async function fillOpen<T, R>(
  items: readonly T[],
  results: readonly (R | null)[],
  work: (open: readonly T[]) => Promise<readonly R[]>,
): Promise<R[]> {
  const open = items.filter((_, place) => results[place] === null);
  const rest = (open.length === 0 ? [] : await work(open)).values();
  return results.map((result) => result ?? (rest.next().value as R));
}

const toGroups = <T, K>(items: readonly T[], keyOf: (item: T) => K): Map<K, number[]> =>
  Map.groupBy(items.keys(), (place) => keyOf(items[place] as T));

const pick = <T>(items: readonly T[], places: readonly number[]): T[] => places.map((place) => items[place] as T);

function inOrder<R>(groups: readonly (readonly number[])[], results: readonly (readonly R[])[]): R[] {
  const placed = groups.flatMap((places, group) =>
    places.map((place, i) => [place, results[group]?.[i] as R] as const),
  );
  return placed.sort(([a], [b]) => a - b).map(([, result]) => result);
}
