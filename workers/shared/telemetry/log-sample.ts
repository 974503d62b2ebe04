/**
 * Decides which requests are logged. A log line costs twice as much as a request, so of the successful requests only a sample is
 * logged.
 */
import { settingProblemsOf, settingsOf } from '../settings/settings.ts';

const SLOW_MS = 2_000;
/** Under overload every request is slow, and a log line for each would slow them further. */
const SLOW_LOGGED_PER_SECOND = 10;
const slowLogged = { second: 0, requests: 0 };

/** @param ms duration of the request. @returns whether the request is logged. */
export function isLogged(status: number, ms: number, env: Env): boolean {
  if (status >= 500 || settingProblemsOf(env).length > 0) return true;
  if (Math.random() * 100 < settingsOf(env).LOG_SAMPLE_PERCENT) return true;
  if (ms < SLOW_MS) return false;
  const second = Math.floor(Date.now() / 1_000);
  if (second !== slowLogged.second) Object.assign(slowLogged, { second, requests: 0 });
  return slowLogged.requests++ < SLOW_LOGGED_PER_SECOND;
}
