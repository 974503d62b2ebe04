/** Request rates of object storage: per access key or token, per client of anonymous requests, and per bucket. */
import { readClient, UNKNOWN_CLIENT } from '../../../identity/index.ts';
import { admitRequest, RATE_POLICIES, type RatePolicy } from '../../../shared/json/request-rates.ts';
import { err, ok, type Result } from '../../../shared/pure/result.ts';
import { type S3Failure, s3Failure } from '../../domain/failure.ts';
import type { Caller } from '../protocol/operation.ts';

/** Error of a request over its rate. S3 clients retry SlowDown with a backoff. */
const SLOW_DOWN = err(
  s3Failure('SlowDown', undefined, { headers: { 'retry-after': String(RATE_POLICIES.access_key.periodSeconds) } }),
);

async function admit(env: Env, policy: RatePolicy, key: string): Promise<Result<null, S3Failure>> {
  return (await admitRequest(env, policy, key)) ? ok(null) : SLOW_DOWN;
}

/** Applies the rate of the caller. Called after authentication, because a forged access key id must not use up its owner's rate. */
export async function admitCaller(env: Env, { principal }: Caller, headers: Headers): Promise<Result<null, S3Failure>> {
  if (principal !== null) return admit(env, 'access_key', principal.credentialId);
  const client = readClient(headers);
  return client === UNKNOWN_CLIENT ? ok(null) : admit(env, 'client', client);
}

/**
 * Applies the rate of the bucket. Called after authorisation, because a caller without access must not use up the bucket's rate.
 */
export const admitToBucket = (env: Env, bucketId: string): Promise<Result<null, S3Failure>> =>
  admit(env, 'bucket', bucketId);
