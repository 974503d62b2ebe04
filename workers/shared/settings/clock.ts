import { settingsOf } from './settings.ts';

/**
 * Creates the service's clock. `CLOCK_OFFSET_SECONDS` moves it for tests. Only a local server (`LOCAL`, set by `npm start`) reads
 * it; production ignores it.
 */
export type Clock = () => number;

/** @returns a clock that counts milliseconds since 1970 UTC. @throws MisconfiguredError if a setting has a bad value. */
export function createClock(env: Env): Clock {
  const settings = settingsOf(env);
  const offsetMs = settings.LOCAL === '1' ? settings.CLOCK_OFFSET_SECONDS * 1000 : 0;
  return () => Date.now() + offsetMs;
}
