/** Limits of the rate limiters that settings determine. wrangler.toml sets limits as constants, so it cannot read settings. */
import { RATE_POLICIES, type RatePolicy, requestsPerCallOf } from '../../workers/shared/json/request-rates.ts';
import { parseSettings } from '../../workers/shared/settings/settings.ts';

/**
 * Reads the limits from the settings.
 * @param vars variables of the Worker.
 * @returns the limit of each limiter that a setting determines.
 */
export function readRateLimits(vars: Readonly<Record<string, unknown>>): Record<string, number> {
  const { settings } = parseSettings(vars);
  return Object.fromEntries(
    Object.entries(RATE_POLICIES).map(([policy, { limiter, quota }]) => [
      limiter,
      Math.ceil(settings[quota] / requestsPerCallOf(policy as RatePolicy, settings)),
    ]),
  );
}
