/**
 * Prices of the platform, and the resources that each operation uses. The benchmark, the daily estimate and docs/costs.md share
 * these numbers. Prices: Cloudflare's pricing pages for Workers, D1, Durable Objects, R2, Queues and Logs, read in November 2026.
 */

/** Prices in US dollars per million units. */
export const PRICES = {
  workerRequest: 0.3,
  cpuMs: 0.02,
  rowRead: 0.001,
  rowWritten: 1,
  classA: 4.5,
  classB: 0.36,
  objectRequest: 0.15,
  queueOperation: 0.4,
  logLine: 0.6,
} as const;

/**
 * Processor time of one event in milliseconds. This is an assumption. The duration of objects ($12.50 per million GB-s) is not
 * counted.
 */
export const CPU_MS = 2;

export const OPERATIONS = [
  'storage_read',
  'storage_write',
  'storage_delete',
  'score_read',
  'score_write',
  'mail_read',
  'mail_in',
  'mail_out',
  'other',
] as const;
export type Operation = (typeof OPERATIONS)[number];

export type Usage = Readonly<Partial<Record<keyof typeof PRICES, number>>>;

/**
 * Resources that one operation uses, including the background work that follows it. The counts are those of `bench/budget.json`:
 * reads and writes of 1 MiB, single scores, mail without attachments. The background work of a leaderboard is omitted, because it
 * is the same for one score a second and for many. Each request also counts as `workerRequest` and `CPU_MS`.
 */
export const USAGE: Readonly<Record<Operation, Usage>> = {
  storage_read: { classB: 1 },
  storage_write: { rowWritten: 4, classA: 2 },
  storage_delete: { rowWritten: 3 },
  score_read: { objectRequest: 3 },
  score_write: { rowWritten: 1, objectRequest: 2 },
  mail_read: { objectRequest: 1 },
  mail_in: { rowWritten: 16, classA: 2, objectRequest: 4 },
  mail_out: { rowWritten: 22, classA: 2, objectRequest: 3, queueOperation: 3 },
  other: {},
};

/** @returns the price of a usage in US dollars. */
export const priceOf = (usage: Usage): number =>
  Object.entries(usage).reduce((sum, [name, count]) => sum + (count * PRICES[name as keyof typeof PRICES]) / 1e6, 0);

/** Estimates the cost of operations, without stored bytes, the duration of objects and what the plan includes. */
export const estimateDollars = (counts: Readonly<Partial<Record<Operation, number>>>): number =>
  OPERATIONS.reduce(
    (sum, name) => sum + (counts[name] ?? 0) * priceOf({ workerRequest: 1, cpuMs: CPU_MS, ...USAGE[name] }),
    0,
  );

/**
 * Prices in US dollars per GB and month, and per million GB-seconds of an object in memory. From the same pages, read at the same
 * time.
 */
export const STORED_PRICES = { r2: 0.015, database: 0.75, objectStorage: 0.2, objectDuration: 12.5 } as const;
