/**
 * Requests of a bridge: the program through which mail programs reach the service. One bridge serves many people from one address, so
 * limits and the audit log would take all of them for one client. A token of the scope `bridge` lets it name the client.
 */
import { type Problem, problem } from '../../shared/json/problem.ts';
import { parseIp } from '../../shared/pure/ip-address.ts';
import { err, ok, type Result } from '../../shared/pure/result.ts';
import { authenticateBearer } from './authenticate.ts';

const TOKEN_HEADER = 'x-bridge-token';
const CLIENT_HEADER = 'x-client-ip';

/**
 * Replaces the address of a bridge by that of its client. The token opens nothing: the person's credential is in `Authorization`.
 * @returns the request as it came if it names no bridge, and a problem if the token is not valid.
 */
export async function withClientOfBridge(
  request: Request,
  env: Env,
  now: () => number,
): Promise<Result<Request, Problem>> {
  const token = request.headers.get(TOKEN_HEADER);
  if (token === null) return ok(request);
  const caller = await authenticateBearer(`Bearer ${token}`, env, now());
  const isBridge = caller.ok && caller.value?.kind === 'service' && caller.value.scopes.includes('bridge');
  if (!isBridge) return err(problem(403, 'bridge_token_invalid'));
  const ip = parseIp(request.headers.get(CLIENT_HEADER) ?? '');
  const headers = new Headers(request.headers);
  headers.delete(TOKEN_HEADER);
  if (ip !== null) headers.set('cf-connecting-ip', ip.toString());
  return ok(new Request(request, { headers }));
}
