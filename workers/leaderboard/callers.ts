/** Who may: asked before a path, query or body is looked at, so that a stranger learns nothing from how it is refused. */
import type { Context, Next } from 'hono';
import { type Principal, requireOperator } from '../identity/index.ts';
import { type JsonApiEnv, sendProblem } from '../shared/json-api.ts';

/** `root`, or the id of the token. */
export function nameCaller(caller: Principal): string {
  if (caller.kind === 'root') return 'root';
  return caller.kind === 'service' ? caller.tokenId : caller.credentialId;
}

/** Lets operators through, and says which one as `operator`. */
export async function operatorOnly(c: Context<JsonApiEnv>, next: Next) {
  const caller = await requireOperator(c);
  if (!caller.ok) return sendProblem(c, caller.error);
  c.set('operator', nameCaller(caller.value));
  await next();
}
