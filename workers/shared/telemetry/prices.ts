/**
 * Prices of the platform, and the resources that each operation uses. The benchmark, the daily estimate and docs/costs.md share
 * these numbers. Prices: Cloudflare's pricing pages for Workers, D1, Durable Objects (alarms count as requests), R2, Queues, Logs, Analytics
 * Engine (announced, not billed yet) and Email Service, read in November 2026.
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
  dataPoint: 0.25,
  /** A recipient of mail through Email Service. */
  recipient: 350,
} as const;

/** Processor time of one event in milliseconds. This is an assumption. */
export const CPU_MS = 2;

/**
 * Processor time of the start of an isolate in milliseconds: the script, and the code of the product of its first request. Measured
 * locally: 50 to 300.
 */
const START_CPU_MS = 150;

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

/** Recipients of a month that are part of the plan: https://developers.cloudflare.com/email-service/platform/pricing/ */
const RECIPIENTS_INCLUDED = 3_000;

/** @returns the price in US dollars of a month's recipients of mail through Email Service. */
export const priceOfSending = (recipients: number): number =>
  (Math.max(0, recipients - RECIPIENTS_INCLUDED) * PRICES.recipient) / 1e6;

/**
 * What each recipient of mail through Email Service uses beside the message: the fee, its row and the deletion of it after 14 days, and
 * the delivery event: a message in a queue, a call of the mailbox, three rows.
 */
export const RECIPIENT_USAGE: Usage = {
  recipient: 1,
  rowWritten: 5,
  objectRequest: 1,
  queueOperation: 3,
  dataPoint: 2,
};

/** Share of the requests that are written as data points (`counters.ts`). */
const DATA_POINTS_PER_OPERATION = 0.1;
/** Memory of an object in GB, for which its duration is billed. */
export const OBJECT_GB = 0.125;

/** @returns the price of a usage in US dollars. */
export const priceOf = (usage: Usage): number =>
  Object.entries(usage).reduce((sum, [name, count]) => sum + (count * PRICES[name as keyof typeof PRICES]) / 1e6, 0);

const OVERHEAD: Usage = { workerRequest: 1, cpuMs: CPU_MS, dataPoint: DATA_POINTS_PER_OPERATION };

/** What a deployment did in a period. */
export interface Activity {
  readonly operations: Readonly<Partial<Record<Operation, number>>>;
  /** Recipients of mail that Email Service accepted. */
  readonly recipients?: number;
  readonly isolateStarts?: number;
  readonly periodMs?: number;
  /** Objects of a season: its shards, itself and a view. */
  readonly seasonObjects?: number;
}

/** Estimates the cost of a period at list prices, without stored bytes and without what the plan includes. */
export const estimateDollars = ({ operations, recipients = 0, isolateStarts = 0, ...season }: Activity): number =>
  OPERATIONS.reduce((sum, name) => sum + (operations[name] ?? 0) * priceOf({ ...OVERHEAD, ...USAGE[name] }), 0) +
  recipients * priceOf(RECIPIENT_USAGE) +
  isolateStarts * priceOf({ cpuMs: START_CPU_MS, dataPoint: 1 }) +
  priceOfSeason(operations.score_write ?? 0, season);

/** Duration of the objects of a season. A post keeps all of them awake for at most a minute, because their timers are pending. */
function priceOfSeason(
  posts: number,
  { periodMs = 0, seasonObjects = 0 }: Pick<Activity, 'periodMs' | 'seasonObjects'>,
) {
  const minutes = Math.min(posts, periodMs / 60_000);
  return (minutes * 60 * seasonObjects * OBJECT_GB * STORED_PRICES.objectDuration) / 1e6;
}

/**
 * Prices in US dollars per GB and month, and per million GB-seconds of an object in memory. From the same pages, read at the same
 * time.
 */
export const STORED_PRICES = { r2: 0.015, database: 0.75, objectStorage: 0.2, objectDuration: 12.5 } as const;
