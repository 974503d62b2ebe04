/**
 * Adds to the counts of a report that several steps fill. It is the one function of storage that writes on an argument
 * (`dev/rules/parameter-writes.ts`).
 */

/** The members of a report that are counts, each with an amount. */
type Amounts<T> = { readonly [K in keyof T as T[K] extends number | undefined ? K : never]?: number };

export function count<T extends object>(report: T, amounts: Amounts<T>): void {
  const counts = report as Record<string, number | undefined>;
  for (const [name, by] of Object.entries(amounts as Record<string, number>)) counts[name] = (counts[name] ?? 0) + by;
}
