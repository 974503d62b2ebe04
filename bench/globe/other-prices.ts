/**
 * Prices of alternatives to Tessera, in US dollars. Amazon: list prices of us-east-1 for S3 Standard, data transfer out and
 * ElastiCache on demand. A rented server: one of a large European provider with 2 × 8 TB of disk, 64 GB of memory and 20 TB or more
 * of traffic; these prices changed several times in 2026, so the number is rounded up. All prices are from memory of the price
 * lists and were not checked again. Change them here.
 */
export const S3 = { perGbMonth: 0.023, perMillionWrites: 5, perMillionReads: 0.4 } as const;
/** Price tiers of data transfer out: upper limit in GB, dollars per GB. */
export const S3_TRANSFER: readonly (readonly [upToGb: number, perGb: number])[] = [
  [10_240, 0.09],
  [51_200, 0.085],
  [153_600, 0.07],
  [Number.POSITIVE_INFINITY, 0.05],
];
/** Dollars per month for a cache node with 13 GB of memory and its replica. */
export const MANAGED_REDIS_PAIR = 2 * 0.219 * 730;
export const RENTED_SERVER = 90;
export const RENTED_SERVER_TB = 8;
