/**
 * The service's clock. `CLOCK_OFFSET_SECONDS` moves it for tests; it is read only when the deployment says that it is
 * local (`LOCAL` is set by `npm start`), so production ignores it.
 */
export type Clock = () => number;

/** @returns a clock that gives milliseconds since 1970 UTC. */
export function createClock(env: { LOCAL?: string; CLOCK_OFFSET_SECONDS?: string }): Clock {
  const offsetMs = env.LOCAL === '1' ? Number(env.CLOCK_OFFSET_SECONDS ?? 0) * 1000 || 0 : 0;
  return () => Date.now() + offsetMs;
}
