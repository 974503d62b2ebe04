/**
 * Request rates by the platform's limiter. It counts in memory at each Cloudflare location, so a check costs no network call, and a
 * client that uses several locations has several counts.
 *
 * The quotas are settings. `npm start` and `npm run deploy` write them into the limiters of wrangler.toml, because a limiter does
 * not take its quota from the call.
 */

import { settingsOf } from '../settings/settings.ts';
import type { Settings } from '../settings/settings-schema.ts';
import { logError } from '../telemetry/log.ts';

interface RatePolicyRule {
  readonly limiter: keyof Env;
  /** Name of the setting with the quota. */
  readonly quota: keyof Settings;
  /** The `period` of the limiter in wrangler.toml, after which a refused client can try again. */
  readonly periodSeconds: number;
  /**
   * Whether one call to the limiter may stand for several requests. On a local server, a call takes half as much processor time as
   * a score post.
   */
  readonly isGrouped: boolean;
}

const PER_10_SECONDS = { periodSeconds: 10, isGrouped: false };
const GROUPED_PER_10_SECONDS = { periodSeconds: 10, isGrouped: true };
export const RATE_POLICIES = {
  access_key: { limiter: 'RATE_LIMIT_ACCESS_KEY', quota: 'REQUESTS_PER_ACCESS_KEY', ...GROUPED_PER_10_SECONDS },
  bucket: { limiter: 'RATE_LIMIT_BUCKET', quota: 'REQUESTS_PER_BUCKET', ...GROUPED_PER_10_SECONDS },
  client: { limiter: 'RATE_LIMIT_CLIENT', quota: 'REQUESTS_PER_CLIENT', ...PER_10_SECONDS },
  user: { limiter: 'RATE_LIMIT_USER', quota: 'REQUESTS_PER_USER', ...PER_10_SECONDS },
  play: { limiter: 'RATE_LIMIT_PLAYS', quota: 'PLAYS_PER_CLIENT', periodSeconds: 60, isGrouped: false },
  player: { limiter: 'RATE_LIMIT_PLAYER', quota: 'PLAYS_PER_PLAYER', periodSeconds: 60, isGrouped: false },
  token: { limiter: 'RATE_LIMIT_SCORES', quota: 'SCORE_POSTS_PER_TOKEN', periodSeconds: 60, isGrouped: true },
} as const satisfies Record<string, RatePolicyRule>;

export type RatePolicy = keyof typeof RATE_POLICIES;

/** @returns how many requests one call to the limiter stands for: 100 or 10 if that is at most 1% of the quota, else 1. */
export function requestsPerCallOf(policy: RatePolicy, settings: Settings): number {
  const { quota, isGrouped } = RATE_POLICIES[policy];
  return (isGrouped && [100, 10].find((requests) => settings[quota] >= requests * 100)) || 1;
}

/** The requests of a key in this isolate. */
interface Use {
  /** Number of requests since the last refusal. */
  requests: number;
  /** Time of the last refusal, in milliseconds; 0 if there was none. */
  refusedAt: number;
}

const uses = new Map<string, Use>();
const KEYS_MAX = 4_000;
/** Time for which a refused key is refused again without a call of the limiter, if a call stands for several requests. */
const PAUSE_MS = 1_000;

function readUse(policy: RatePolicy, key: string): Use {
  const name = `${policy} ${key}`;
  const known = uses.get(name);
  if (known !== undefined) return known;
  if (uses.size >= KEYS_MAX) uses.clear();
  const use = { requests: 0, refusedAt: 0 };
  uses.set(name, use);
  return use;
}

/** Counts a request of a key. @returns false if the key has used up its quota. If the limiter fails, the request is admitted. */
export async function admitRequest(env: Env, policy: RatePolicy, key: string): Promise<boolean> {
  const { limiter } = RATE_POLICIES[policy];
  const requestsPerCall = requestsPerCallOf(policy, settingsOf(env));
  const use = readUse(policy, key);
  if (requestsPerCall > 1 && Date.now() < use.refusedAt + PAUSE_MS) return false;
  if (use.requests++ % requestsPerCall !== 0) return true;
  try {
    if ((await env[limiter].limit({ key })).success) return true;
  } catch (error) {
    logError('rate_limit_failed', error, { policy });
    return true;
  }
  // The count is reset, so that the first request after the pause asks the limiter again.
  Object.assign(use, { requests: 0, refusedAt: Date.now() });
  return false;
}

/** Whether this isolate refused the key within the last period of the policy. */
export const wasRefused = (policy: RatePolicy, key: string): boolean =>
  Date.now() < readUse(policy, key).refusedAt + RATE_POLICIES[policy].periodSeconds * 1000;

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
