/** Maximum price and duration of a trial. */
import { CPU_MS, OBJECT_GB, priceOf, STORED_PRICES, USAGE } from '../../workers/shared/telemetry/prices.ts';

export const MINUTES_MAX = 30;
export const DOLLARS_MAX = 2;
/** Time that is kept for the removal. */
export const REMOVAL_MINUTES = 5;

/** Measured operations of each kind. */
export const SAMPLES = 30;
/** Requests that a trial sends at most, of each kind, with those of its upgrade under traffic. */
const REQUESTS = { storage_read: 2_000, storage_write: 2_000, score_write: 100, mail_out: 100, other: 2_000 } as const;
/** Objects that may be awake: season, shard, view and two mailboxes. */
const OBJECTS = 5;
/** Runs of cron: each writes journals and counters into both locations. */
const CRON_USAGE = { workerRequest: 1, cpuMs: 1_000, rowRead: 10_000, rowWritten: 100, classA: 50, classB: 50 };

/** The most that a trial can cost in US dollars at list prices, beyond the monthly fee of the plan. */
export function estimateTrial(): number {
  const requests = Object.entries(REQUESTS).reduce(
    (sum, [name, count]) =>
      sum + count * priceOf({ workerRequest: 1, cpuMs: CPU_MS, ...USAGE[name as keyof typeof REQUESTS] }),
    0,
  );
  const awake = (MINUTES_MAX * 60 * OBJECTS * OBJECT_GB * STORED_PRICES.objectDuration) / 1e6;
  return requests + MINUTES_MAX * priceOf(CRON_USAGE) + awake + priceOf({ recipient: 1 });
}

/** Says what a trial does, costs and takes. */
export function describePrice(worker: string): string {
  const dollars = Math.max(0.01, Math.ceil(estimateTrial() * 100) / 100).toFixed(2);
  return [
    `This deploys "${worker}", uses it, and removes it. It costs at most $${dollars} (limit $${DOLLARS_MAX}) beside the plan Workers Paid,`,
    `and takes about 15 minutes. It ends itself after ${MINUTES_MAX - REMOVAL_MINUTES} minutes and then has ${REMOVAL_MINUTES} for the removal.`,
    'Not tried in production: until now, only a stand-in of Cloudflare was used.',
  ].join('\n');
}
