/**
 * Authorization of operators. It runs before the path, query and body are validated, so that an unknown caller learns
 * nothing from errors.
 */
import type { Context, Next } from 'hono';
import { type Principal, requireOperator } from '../identity/index.ts';
import { type JsonApiEnv, sendProblem } from '../shared/json-api.ts';

/** `root`, or the id of the operator or token. */
export function nameCaller(caller: Principal): string {
  if (caller.kind === 'root') return 'root';
  if (caller.kind === 'operator') return caller.operatorId;
  return caller.kind === 'service' ? caller.tokenId : caller.credentialId;
}

/** Lets operators through and sets `operator` to the caller's name. */
export async function operatorOnly(c: Context<JsonApiEnv>, next: Next) {
  const caller = await requireOperator(c);
  if (!caller.ok) return sendProblem(c, caller.error);
  c.set('operator', nameCaller(caller.value));
  await next();
}

/** Common parts of routes: those for everyone, and those for operators. */
export const PUBLIC = { tags: ['leaderboard'], security: [] };
export const OPERATOR = { tags: ['leaderboard'], security: [{ bearer: [] }], middleware: operatorOnly };
