/**
 * Object storage's door: Amazon S3's REST API at the root of the origin, on the engine of versions, extents and blobs.
 *
 * `wire.ts` tells how a request goes: parse, authenticate, detect, authorise, run. `operations/` holds one file for each S3
 * action, `domain/` the rules, `engine.ts` the bytes.
 *
 * Gaps: object lock, lifecycle, replication, notification, website, inventory and logging are not there and say so (reading such a
 * configuration tells that it is not set, writing it is 501); nor are SSE-KMS and SSE-C, SigV4A, and metadata that is not UTF-8.
 * By design: any region is accepted; new buckets have ACLs in force and no public access block, as S3 buckets had
 * before April 2023; the owner's own bucket may be created again (us-east-1).
 */
import { createClock } from '../shared/clock.ts';
import { MisconfiguredError } from '../shared/settings.ts';
import { createEngine } from './engine/index.ts';
import { createStorageApi } from './operator-routes.ts';
import { answerS3 } from './s3/pipeline.ts';
import { failureAnswer, misconfiguredFailure } from './s3/protocol/answer.ts';

export { consumeStorageTasks, runStorageSchedule } from './maintenance/schedule.ts';

/** `/v1/storage/…`, the operator's. */
export const storageApi = createStorageApi();

export async function serveStorage(request: Request, env: Env, ctx: ExecutionContext): Promise<Response> {
  const requestId = crypto.randomUUID();
  try {
    const clock = createClock(env);
    return await answerS3(request, { env, engine: createEngine(env, clock, ctx), now: clock(), requestId });
  } catch (error) {
    if (!(error instanceof MisconfiguredError)) throw error;
    const response = failureAnswer(misconfiguredFailure(error), '/', requestId, request.method);
    response.headers.set('x-request-id', requestId);
    return response;
  }
}
