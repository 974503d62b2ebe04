/**
 * Object storage: Amazon S3's REST API at the root of the origin, and the operator's API.
 *
 * `s3/pipeline.ts` answers a request. `s3/operations/` has one file per S3 action, `domain/` the rules, `engine/` the
 * stored bytes, `maintenance/` the background work.
 *
 * Gaps: replication, inventory and logging are not implemented. Reading
 * such a configuration reports that it is not set; writing it is 501. SSE-KMS, SigV4A and metadata that is not
 * UTF-8 are not supported.
 * By design: any region is accepted. New buckets have ACLs enabled and no public access block, as S3 buckets had before
 * April 2023. Owners may create a bucket that they own again (us-east-1).
 */
import { findMisconfigured } from '../shared/settings/settings.ts';
import { s3Failure } from './domain/failure.ts';
import { answerS3 } from './s3/pipeline.ts';
import { failureAnswer, misconfiguredFailure } from './s3/protocol/answer.ts';
import { createWire } from './s3/wire.ts';

export async function serveStorage(request: Request, env: Env, ctx: ExecutionContext): Promise<Response> {
  const requestId = crypto.randomUUID();
  try {
    return await answerS3(request, createWire(request, env, ctx, requestId));
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
