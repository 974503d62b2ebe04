/**
 * Request rates by the platform's limiter. It counts in memory at each Cloudflare location, so a check costs no network call, and a
 * client that uses several locations has several counts.
 *
 * The quotas are settings. `npm start` and `npm run deploy` write them into the limiters of wrangler.toml, because a limiter does
 * not take its quota from the call.
 */
import { logError } from './log.ts';
import type { Settings } from './settings-schema.ts';

interface RatePolicyRule {
  readonly limiter: keyof Env;
  /** The setting with the quota. */
  readonly quota: keyof Settings;
  /** `period` of the limiter in wrangler.toml. After it, a refused client can try again. */
  readonly periodSeconds: number;
  /** Requests that one call to the limiter counts for. */
  readonly requestsPerCall: number;
}

const PER_10_SECONDS = { periodSeconds: 10, requestsPerCall: 1 };
export const RATE_POLICIES = {
  access_key: { limiter: 'RATE_LIMIT_ACCESS_KEY', quota: 'REQUESTS_PER_ACCESS_KEY', ...PER_10_SECONDS },
  bucket: { limiter: 'RATE_LIMIT_BUCKET', quota: 'REQUESTS_PER_BUCKET', ...PER_10_SECONDS },
  client: { limiter: 'RATE_LIMIT_CLIENT', quota: 'REQUESTS_PER_CLIENT', ...PER_10_SECONDS },
  user: { limiter: 'RATE_LIMIT_USER', quota: 'REQUESTS_PER_USER', ...PER_10_SECONDS },
  token: { limiter: 'RATE_LIMIT_SCORES', quota: 'SCORE_POSTS_PER_TOKEN', periodSeconds: 60, requestsPerCall: 10 },
} as const satisfies Record<string, RatePolicyRule>;

export type RatePolicy = keyof typeof RATE_POLICIES;

/** Counts a request. @returns false if the key used up its quota. A limiter that fails admits the request. */
export async function admitRequest(env: Env, policy: RatePolicy, key: string): Promise<boolean> {
  try {
    return (await env[RATE_POLICIES[policy].limiter].limit({ key })).success;
  } catch (error) {
    logError('rate_limit_failed', error, { policy });
    return true;
  }
}

/**
 * Headers of draft-ietf-httpapi-ratelimit-headers-11: the policy on every answer, and `RateLimit` on a refusal. The limiter does
 * not report the remaining quota, so other answers have no `RateLimit`.
 */
export function toRateHeaders(policy: RatePolicy, quota: number, isRefused: boolean): Record<string, string> {
  const name = policy.replace('_', '-');
  const { periodSeconds } = RATE_POLICIES[policy];
  const known = { 'ratelimit-policy': `"${name}";q=${quota};w=${periodSeconds}` };
  return isRefused ? { ...known, ratelimit: `"${name}";r=0;t=${periodSeconds}` } : known;
}
