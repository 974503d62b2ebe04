/** Object storage's door. */
import { createJsonApi } from '../shared/json-api.ts';

export const storageApi = createJsonApi();

export async function serveStorage(_request: Request, _env: Env, _ctx: ExecutionContext): Promise<Response> {
  return new Response(null, { status: 501 });
}
export async function consumeStorageTasks(_batch: MessageBatch, _env: Env, _ctx: ExecutionContext): Promise<void> {}
export async function runStorageSchedule(
  _controller: ScheduledController,
  _env: Env,
  _ctx: ExecutionContext,
): Promise<void> {}
