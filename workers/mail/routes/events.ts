/** `GET /v1/events`: changes by WebSocket or by long poll. Both first send the changes since `since`. */
import { createRoute, type OpenAPIHono, z } from '@hono/zod-openapi';
import { requireMailUserStill } from '../../identity/index.ts';
import { type JsonApiEnv, jsonContent, problemResponses, sendProblem, unchecked } from '../../shared/json/json-api.ts';
import { logError } from '../../shared/telemetry/log.ts';
import { openMailbox } from '../bindings/mailbox.ts';
import { MAILBOX_UNAVAILABLE } from '../schemas/errors.ts';
import { flagMembers } from '../schemas/message.ts';
import { openOwnMailbox, USER_ROUTE } from './route.ts';

/** Maximum time of a long poll. Some proxies close a silent connection after 30 s. */
const POLL_MS = 25_000;

const changeSchema = z
  .object({
    type: z.string().openapi({
      description:
        'message_created, message_updated, message_deleted, delivery_updated, folder_created, folder_updated, folder_deleted, mailbox_updated, filters_updated, contacts_updated, senders_updated, thread_updated; of JMAP: identity_created, identity_updated, identity_deleted, submission_created, submission_deleted. Ignore other types.',
    }),
    message_id: z.string().optional(),
    email_id: z.string().optional().openapi({ description: 'The id of the JMAP email, if it is not message_id.' }),
    replaced_email_id: z
      .string()
      .optional()
      .openapi({ description: 'A draft was saved: the id of the JMAP email that email_id replaces.' }),
    folder_id: z.string().optional().openapi({ description: 'The first folder of the message, or the folder itself.' }),
    folder_ids: z
      .array(z.string())
      .optional()
      .openapi({ description: 'All folders of the message, if it is in several.' }),
    left_folder_ids: z.array(z.string()).optional().openapi({ description: 'Folders that the message left.' }),
    thread_id: z.string().optional(),
    left_thread_id: z.string().optional().openapi({ description: 'The thread that a saved draft left.' }),
    thread: z.enum(['began', 'ended']).optional().openapi({
      description:
        'The message began its thread, or was the last one in it; of a saved draft, the last one in left_thread_id.',
    }),
    identity_id: z.string().optional(),
    submission_id: z.string().optional(),
    is_delivered: z.literal(true).optional().openapi({
      description: 'The message came by mail into a folder other than Junk and Trash, and its thread is not muted.',
    }),
    ...flagMembers(z.boolean().optional()),
    snoozed_until: z.string().nullable().optional().openapi({ description: 'Set if it changed.' }),
    is_muted: z.boolean().optional().openapi({ description: 'Of thread_updated.' }),
    labels: z.array(z.string()).optional(),
  })
  .openapi('Change');
const eventsSchema = z
  .object({ state: z.string(), changes: z.array(changeSchema).optional(), resync: z.literal(true).optional() })
  .openapi('Events');

export function addEvents(api: OpenAPIHono<JsonApiEnv>): void {
  api.openapi(
    createRoute({
      ...USER_ROUTE,
      method: 'get',
      path: '/v1/events',
      operationId: 'getEvents',
      summary: 'Read changes since a state: by WebSocket if requested, otherwise by a long poll of up to 25 s',
      description:
        'A state is a decimal string; "0" is before everything. `resync: true` means that `since` is too old or from another mailbox: read everything again and continue from `state`. Without `since`: the current state. The socket answers the text "ping" with "pong".',
      request: {
        query: z.strictObject({
          since: z
            .string()
            .regex(/^\d{1,15}$/)
            .optional(),
        }),
      },
      responses: {
        101: { description: 'The socket sends messages of the same form' },
        200: jsonContent(eventsSchema, 'The changes; empty after a timeout'),
        ...problemResponses(400, 401, 403, 404, 503),
      },
    }),
    async (c) => {
      const own = await openOwnMailbox(c);
      if (!own.ok) return sendProblem(c, own.error);
      const since = c.req.valid('query').since;
      const { userId, credentialId, expiresAt } = own.value.user;
      if (c.req.header('upgrade')?.toLowerCase() === 'websocket') {
        const target = new URL('https://mailbox/events');
        target.searchParams.set('credential', credentialId);
        if (expiresAt !== null) target.searchParams.set('expires', String(expiresAt));
        if (since !== undefined) target.searchParams.set('since', since);
        try {
          return unchecked(await openMailbox(c.env, userId).fetch(target, { headers: { upgrade: 'websocket' } }));
        } catch (error) {
          logError('mailbox_call_failed', error);
          return sendProblem(c, MAILBOX_UNAVAILABLE);
        }
      }
      const events = await own.value.ask((mailbox) =>
        mailbox.pollEvents(since === undefined ? null : Number(since), POLL_MS),
      );
      if (!events.ok) return sendProblem(c, events.error);
      // Checks the credential again, because it may have ended during the poll.
      const still = await requireMailUserStill(c);
      if (!still.ok) return sendProblem(c, still.error);
      const { state, changes, resync } = events.value;
      return c.json(
        { state, ...(changes ? { changes: [...changes] as never } : {}), ...(resync ? { resync } : {}) },
        200,
      );
    },
  );
}
