/**
 * The simulated globe: regions and distances. Prices are in `workers/shared/telemetry/prices.ts`. All other numbers of the benchmark are
 * derived from these.
 *
 * Round-trip times: typical values between cloud regions as published by CloudPing (cloudping.co, AWS regions, median of a year)
 * and WonderNetwork (wondernetwork.com/pings), rounded to 5 ms; read in November 2026. `syd`–`iad` is 200 ms.
 */

export const REGIONS = ['syd', 'nrt', 'sin', 'bom', 'fra', 'iad', 'pdx', 'gru'] as const;
export type Region = (typeof REGIONS)[number];
export const isRegion = (value: string): value is Region => (REGIONS as readonly string[]).includes(value);

/** Round-trip times in milliseconds. Rows and columns are in the order of `REGIONS`. */
const ROUND_TRIPS: readonly (readonly number[])[] = [
  [2, 105, 95, 150, 250, 200, 140, 310],
  [105, 2, 70, 125, 230, 150, 100, 255],
  [95, 70, 2, 60, 155, 215, 165, 320],
  [150, 125, 60, 2, 115, 190, 220, 300],
  [250, 230, 155, 115, 2, 90, 145, 205],
  [200, 150, 215, 190, 90, 2, 65, 115],
  [140, 100, 165, 220, 145, 65, 2, 175],
  [310, 255, 320, 300, 205, 115, 175, 2],
];

export function roundTripMs(from: Region, to: Region): number {
  return ROUND_TRIPS[REGIONS.indexOf(from)]?.[REGIONS.indexOf(to)] ?? 0;
}

/** Round-trip time in milliseconds between a client and the nearest data centre. */
export const CLIENT_MS = 10;
/**
 * Time in milliseconds that each store takes to answer, beside the distance.
 * - `d1`, `object` and reads of `r2`: assumptions. Cloudflare publishes no figure.
 * - `queue`: the median time to send a message to Cloudflare Queues since October 2024, which includes the way to a part of the queue:
 *   https://blog.cloudflare.com/how-we-built-cloudflare-queues/. So a queue has no distance here.
 *
 * Uploads to R2 take the time of their bytes too, below.
 */
export const SERVICE_MS = { d1: 5, r2: 5, object: 5, queue: 60 } as const;
/**
 * Bytes per millisecond of an upload to an R2 bucket, in the same region and in another one. Cloudflare's changelog of 2026-02-03: 5 MB to another
 * region take about 2 s, of which one round trip of 200 ms is distance, and about 0.5 s if they are stored in the client's region (Local
 * Uploads, which no deployment of ours turns on). For larger uploads both are extrapolated.
 */
export const NEAR_UPLOAD_BANDWIDTH = 5_000_000 / 500;
export const FAR_UPLOAD_BANDWIDTH = 5_000_000 / 1_800;
/** Time in milliseconds of a look-up in the cache of the data centre. */
export const CACHE_MS = 2;
/** Bandwidth between regions in bytes per millisecond: 100 MB/s. */
export const BANDWIDTH = 100_000;
/** Calls that take longer than this are long-haul: they cross a continent or an ocean. In milliseconds. */
export const LONG_HAUL_MS = 20;

/** Region of each location hint of Durable Objects, D1 and R2. */
export const HINT_REGIONS: Readonly<Record<string, Region>> = {
  wnam: 'pdx',
  enam: 'iad',
  sam: 'gru',
  weur: 'fra',
  eeur: 'fra',
  apac: 'sin',
  'apac-ne': 'nrt',
  'apac-se': 'sin',
  oc: 'syd',
  afr: 'fra',
  me: 'bom',
};

/** Continent of a client in each region, in the form of `request.cf.continent`. */
export const CONTINENTS: Readonly<Record<Region, ContinentCode>> = {
  syd: 'OC',
  nrt: 'AS',
  sin: 'AS',
  bom: 'AS',
  fra: 'EU',
  iad: 'NA',
  pdx: 'NA',
  gru: 'SA',
};

/** Region of the D1 primaries, the queues and the first bucket. */
export const HOME: Region = 'iad';
/** Region of each R2 bucket. `iad` is in `enam`, `pdx` in `wnam`. */
export const BUCKET_REGIONS: Readonly<Record<string, Region>> = { BLOBS: 'iad', BLOBS_2: 'pdx' };
