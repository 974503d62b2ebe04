/** The callers of the routes of jobs: an operator, or a user with an access key (signed as for S3) or with a token for objects. */
import { createHash } from 'node:crypto';
import type { Context } from 'hono';
import {
  authenticateS3,
  type CredentialRef,
  createS3Credentials,
  isOperator,
  recordUse,
  requireOperatorOrScope,
  toCredentialRef,
  type UserPrincipal,
} from '../../identity/index.ts';
import { admitToRoute, type JsonApiEnv, rateLimited } from '../../shared/json/json-api.ts';
import { type Problem, problem } from '../../shared/json/problem.ts';
import { err, ok, type Result } from '../../shared/pure/result.ts';
import { createClock } from '../../shared/settings/clock.ts';
import { settingsOf } from '../../shared/settings/settings.ts';
import type { JobOrigin } from '../domain/jobs.ts';
import { toOrigin } from '../maintenance/job-rights.ts';
import { parseS3Request } from '../s3/protocol/request.ts';

export interface JobCaller {
  /** The user who calls; null for an operator. */
  readonly user: UserPrincipal | null;
  /** The credential of the call, with which a job ends. */
  readonly credential: CredentialRef;
  readonly origin: JobOrigin;
}

const TEMPORARY = problem(
  403,
  'temporary_key',
  'A temporary key starts no work that could outlive it. Use its access key.',
);
const INVALID = problem(401, 'invalid_credential', 'The signature or the access key is not valid.');

const callers = new WeakMap<Request, Promise<Result<JobCaller, Problem>>>();

/** Finds the caller of a job request and applies the caller's rate limit, once per request. */
export function requireJobCaller(c: Context<JsonApiEnv>): Promise<Result<JobCaller, Problem>> {
  const caller = callers.get(c.req.raw) ?? findCaller(c);
  callers.set(c.req.raw, caller);
  return caller;
}

async function findCaller(c: Context<JsonApiEnv>): Promise<Result<JobCaller, Problem>> {
  if (/^AWS4-/.test(c.req.header('authorization') ?? '')) return await findSigner(c);
  const isRead = c.req.method === 'GET' || c.req.method === 'HEAD';
  const caller = await requireOperatorOrScope(c, isRead ? 'objects:read' : 'objects:write');
  if (!caller.ok) return caller;
  const { value } = caller;
  const request = toRequest(c);
  const credential = toCredentialRef(value);
  if (!request.ok || credential === null) return err(INVALID);
  const from = { credential, origin: toOrigin(request.value, null) };
  if (isOperator(value)) return ok({ user: null, ...from });
  if (value.kind === 'user') return ok({ user: value, ...from });
  return err(problem(403, 'operator_only', 'The token belongs to no user.'));
}

const toRequest = (c: Context<JsonApiEnv>) =>
  parseS3Request(c.req.raw, { s3Host: '', rawTargetHeader: settingsOf(c.env).RAW_TARGET_HEADER });

async function findSigner(c: Context<JsonApiEnv>): Promise<Result<JobCaller, Problem>> {
  const { env, req } = c;
  const now = createClock(env)();
  const request = toRequest(c);
  if (!request.ok) return err(INVALID);
  const caller = await authenticateS3(request.value, createS3Credentials(env, now, 'primary'), now);
  if (!caller.ok || caller.value.principal === null) return err(INVALID);
  const { principal, payload } = caller.value;
  if (principal.sessionPolicy !== null) return err(TEMPORARY);
  const credential = toCredentialRef(principal);
  if (payload.kind === 'streaming' || credential === null) return err(INVALID);
  recordUse(env, principal, now, (work) => c.executionCtx.waitUntil(work));
  c.set('actor', { kind: 'user', id: principal.userId });
  if (!(await admitToRoute(c, 'user', principal.userId))) return err(rateLimited('user'));
  if (payload.kind === 'signed') {
    const body = Buffer.from(await req.arrayBuffer());
    if (createHash('sha256').update(body).digest('hex') !== payload.sha256Hex) return err(INVALID);
  }
  return ok({ user: principal, credential, origin: toOrigin(request.value, caller.value) });
}
