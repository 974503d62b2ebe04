/** Makes what the answer to a request of object storage needs from the Worker. */
import { createClock } from '../../shared/settings/clock.ts';
import { createEngine } from '../engine/index.ts';
import type { Wire } from './admission.ts';

type Context = Pick<ExecutionContext, 'waitUntil'>;

export function createWire(request: Request, env: Env, ctx: Context, requestId: string): Wire {
  const clock = createClock(env);
  const sourceIp = request.headers.get('cf-connecting-ip') ?? '127.0.0.1';
  return {
    env,
    engine: createEngine(env, clock, ctx, {
      cache: caches.default,
      origin: { requestId, sourceIp, principalId: null },
      client: request.cf as IncomingRequestCfProperties | undefined,
    }),
    now: clock(),
    requestId,
    cache: caches.default,
    waitUntil: (work) => ctx.waitUntil(work),
  };
}
