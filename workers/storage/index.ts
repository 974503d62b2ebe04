/**
 * Object storage: Amazon S3's REST API at the root of the origin, and the operator's API.
 *
 * `s3/pipeline.ts` answers a request. `s3/operations/` has one file per S3 action, `domain/` the rules, `engine/` the
 * stored bytes, `maintenance/` the background work.
 *
 * Gaps: replication, website, inventory and logging are not implemented. Reading
 * such a configuration reports that it is not set; writing it is 501. SSE-KMS, SSE-C, SigV4A and metadata that is not
 * UTF-8 are not supported.
 * By design: any region is accepted. New buckets have ACLs enabled and no public access block, as S3 buckets had before
 * April 2023. Owners may create a bucket that they own again (us-east-1).
 */
import { createClock } from '../shared/settings/clock.ts';
import { findMisconfigured } from '../shared/settings/settings.ts';
import { s3Failure } from './domain/failure.ts';
import { createEngine } from './engine/index.ts';
import { answerS3 } from './s3/pipeline.ts';
import { failureAnswer, misconfiguredFailure } from './s3/protocol/answer.ts';

export async function serveStorage(request: Request, env: Env, ctx: ExecutionContext): Promise<Response> {
  const requestId = crypto.randomUUID();
  try {
    const clock = createClock(env);
    const waitUntil = (work: Promise<unknown>) => ctx.waitUntil(work);
    const sourceIp = request.headers.get('cf-connecting-ip') ?? '127.0.0.1';
    const origin = { requestId, sourceIp, principalId: null };
    const wire = {
      env,
      engine: createEngine(env, clock, ctx, {
        cache: caches.default,
        origin,
        client: request.cf as IncomingRequestCfProperties | undefined,
      }),
      now: clock(),
      requestId,
      cache: caches.default,
      waitUntil,
    };
    return await answerS3(request, wire);
  } catch (error) {
    const found = findMisconfigured(error);
    if (found === null) throw error;
    const response = failureAnswer(misconfiguredFailure(found), '/', requestId, request.method);
    response.headers.set('x-request-id', requestId);
    return response;
  }
}

/** Answers a request over plain HTTP when only HTTPS is allowed. */
export function refusePlainHttp({ method }: Request): Response {
  const requestId = crypto.randomUUID();
  const failure = s3Failure('AccessDenied', 'Send the request over HTTPS.', { headers: { 'x-request-id': requestId } });
  return failureAnswer(failure, '/', requestId, method);
}
