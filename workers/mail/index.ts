/** Mail's door. */
import { createJsonApi } from '../shared/json-api.ts';

export const mailApi = createJsonApi();

export async function receiveEmail(
  _message: ForwardableEmailMessage,
  _env: Env,
  _ctx: ExecutionContext,
): Promise<void> {}
export async function consumeMail(_batch: MessageBatch, _env: Env, _ctx: ExecutionContext): Promise<void> {}
export async function runMailSchedule(
  _controller: ScheduledController,
  _env: Env,
  _ctx: ExecutionContext,
): Promise<void> {}
