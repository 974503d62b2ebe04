/** The objects of a season: their names and location, and calls to them that may fail. */

import { type ShardAddress, toShardName } from '../../durable-objects/leaderboard/protocol.ts';
import { inTime } from '../shared/concurrency/in-time.ts';
import { ProblemError, problem } from '../shared/json/problem.ts';
import { settingsOf } from '../shared/settings/settings.ts';
import { openObject } from '../shared/stores/object-namespace.ts';

export const shardStub = (env: Env, address: ShardAddress) =>
  openObject(env, env.LEADERBOARD_SHARD, toShardName(address), locationOf(env));

export const seasonStub = (env: Env, season: string) =>
  openObject(env, env.LEADERBOARD_SEASON, season, locationOf(env));

/** @param view `REGION:NUMBER`. */
export const toViewName = (season: string, view: string): string => `${season}:${view}`;

/** The object of a view. @param view `REGION:NUMBER`. */
export const viewStub = (env: Env, season: string, view: string) =>
  openObject(env, env.LEADERBOARD_VIEW, toViewName(season, view), {
    locationHint: view.slice(0, view.indexOf(':')) as DurableObjectLocationHint,
  });

/** The region of the view for readers of a continent (Cloudflare's code). Readers of other continents use eastern North America. */
export function regionOf(continent: string | undefined): string {
  const regions: Readonly<Record<string, string>> = { AF: 'afr', AS: 'apac', EU: 'weur', OC: 'oc', SA: 'sam' };
  return regions[continent ?? ''] ?? 'enam';
}

/** Location at which an object is created if it does not exist yet. */
function locationOf(env: Env): DurableObjectNamespaceGetDurableObjectOptions {
  const locationHint = settingsOf(env).LEADERBOARD_LOCATION;
  return locationHint === '' ? {} : { locationHint: locationHint as DurableObjectLocationHint };
}

/** Counts the players of some shards above each score. @throws UnavailableError if a shard does not answer in time. */
export async function countAboveIn(
  env: Env,
  addresses: readonly ShardAddress[],
  scores: readonly number[],
  ms: number,
): Promise<number[]> {
  const calls = addresses.map((each) => within(toShardName(each), ms, shardStub(env, each).countAbove(each, scores)));
  const answers = await Promise.all(calls);
  return scores.map((_, i) => answers.reduce((sum, answer) => sum + (answer[i] as number), 0));
}

export const UNAVAILABLE = problem(503, 'unavailable', 'A leaderboard shard is unavailable. Retry.', {
  retryAfterSeconds: 1,
});

/** Thrown if an object does not answer. Routes then answer 503. */
export class UnavailableError extends ProblemError {
  constructor(name: string, cause: unknown) {
    const message = `${name} does not answer`;
    super(UNAVAILABLE, new Error(message, { cause }));
    this.message = message;
  }
}

/** Thrown if an object takes too long. */
export class LateError extends UnavailableError {
  constructor(name: string, ms: number) {
    super(name, new Error(`no answer in ${ms} ms`));
  }
}

const LATE = Symbol('late');

/** Waits for a call to an object. @throws UnavailableError if the call fails. @throws LateError if it takes too long. */
export async function within<T>(name: string, ms: number, call: PromiseLike<T>): Promise<T> {
  const answer = await inTime(call, ms, LATE).catch((error: unknown) => {
    throw new UnavailableError(name, error);
  });
  if (answer === LATE) throw new LateError(name, ms);
  return answer;
}
