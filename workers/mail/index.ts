/**
 * Mail's door: the JSON API (each part adds its own routes), the email handler, the queue consumer and the schedule.
 *
 * A mailbox is one Durable Object a user (`durable-objects/mailbox`); every route asks the caller's own and no other, so
 * another user's ids are simply not there.
 */
import { createJsonApi } from '../shared/json-api.ts';
import { addAuth } from './routes/auth.ts';
import { addDrafts } from './routes/drafts.ts';
import { addEvents } from './routes/events.ts';
import { addFolders } from './routes/folders.ts';
import { addMe } from './routes/me.ts';
import { addMessageChanges } from './routes/message-changes.ts';
import { addMessages } from './routes/messages.ts';
import { addSearch } from './routes/search.ts';

export const mailApi = createJsonApi();
addAuth(mailApi);
addMe(mailApi);
addFolders(mailApi);
addMessageChanges(mailApi);
addMessages(mailApi);
addSearch(mailApi);
addEvents(mailApi);
addDrafts(mailApi);

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
