/** Sends a request to the Worker's own entry point, inside workerd. */
import { createExecutionContext } from 'cloudflare:test';
import worker from '../../workers/index.ts';

export function requestApi(
  env: Env,
  path: string,
  init: RequestInit = {},
  ctx: ExecutionContext = createExecutionContext(),
): Promise<Response> {
  const request = new Request(`http://localhost${path}`, init);
  return worker.fetch(request as Request<unknown, IncomingRequestCfProperties>, env, ctx);
}
