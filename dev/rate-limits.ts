/** Quotas of the rate limiters that settings decide. The limiters of wrangler.toml do not read settings. */
import { RATE_POLICIES } from '../workers/shared/request-rates.ts';
import { parseSettings } from '../workers/shared/settings.ts';

/** @param vars variables of the Worker. @returns the quota of each limiter that a setting decides. */
export function readRateLimits(vars: Readonly<Record<string, unknown>>): Record<string, number> {
  const { settings } = parseSettings(vars);
  return Object.fromEntries(
    Object.values(RATE_POLICIES).map(({ limiter, quota, requestsPerCall }) => [
      limiter,
      Math.ceil(settings[quota] / requestsPerCall),
    ]),
  );
}
