/**
 * `/v1/me/waiting-messages` and `/v1/me/agent-recipients`: what the person decides about agents. Only a session may: no token can
 * approve what an agent wrote.
 */
import { createRoute, type OpenAPIHono, z } from '@hono/zod-openapi';
import { recordAudit } from '../../shared/audit/audit.ts';
import { type JsonApiEnv, jsonBody, jsonContent, problemResponses, sendProblem } from '../../shared/json/json-api.ts';
import { CONFIRMATION, requireConfirmed, requireSession, SESSION_ROUTE } from '../routes/confirmed.ts';
import { callMailbox, toTime } from '../routes/route.ts';
import { agentRecipientsSchema, approvalSchema, waitingSchema } from '../schemas/agent.ts';
import { approveWaiting, declineWaiting, listWaiting, type WaitingDraft } from './waiting.ts';

const params = z.object({ draft_id: z.string().max(100) });

const toJson = ({ draft: { messageId, content, attachments }, sha256, since, tokenId }: WaitingDraft) => ({
  id: messageId,
  token_id: tokenId,
  waiting_since: toTime(since),
  from: content.from?.email ?? null,
  to: content.to.map(({ email }) => email),
  cc: content.cc.map(({ email }) => email),
  subject: content.subject,
  body: content.body,
  file_names: attachments.map(({ fileName }) => fileName),
  sha256,
});

export function addAgents(api: OpenAPIHono<JsonApiEnv>): void {
  addWaiting(api);
  addRecipients(api);
}

function addWaiting(api: OpenAPIHono<JsonApiEnv>): void {
  api.openapi(
    createRoute({
      ...SESSION_ROUTE,
      method: 'get',
      path: '/v1/me/waiting-messages',
      operationId: 'listWaitingMessages',
      summary: 'List messages that agents ask to send, with recipients and text as they will leave',
      responses: { 200: jsonContent(z.array(waitingSchema), 'All of them'), ...problemResponses(401, 403, 404, 503) },
    }),
    async (c) => {
      const caller = await requireSession(c);
      if (!caller.ok) return sendProblem(c, caller.error);
      const waiting = await listWaiting(c.env, caller.value.userId);
      return waiting.ok ? c.json(waiting.value.map(toJson), 200) : sendProblem(c, waiting.error);
    },
  );
  api.openapi(
    createRoute({
      ...SESSION_ROUTE,
      method: 'post',
      path: '/v1/me/waiting-messages/{draft_id}/send',
      operationId: 'approveWaitingMessage',
      summary: 'Send a message of an agent, exactly as it was listed',
      description:
        'Names the recipients and the hash of the message that the person saw. If either differs, nothing is sent.',
      request: { params, ...jsonBody(approvalSchema) },
      responses: {
        202: jsonContent(z.object({ id: z.string() }), 'It is in Sent; the sending can be undone for a few seconds'),
        ...problemResponses(400, 401, 403, 404, 412, 413, 429, 503),
      },
    }),
    async (c) => {
      const caller = await requireSession(c);
      if (!caller.ok) return sendProblem(c, caller.error);
      const sent = await approveWaiting(c.env, caller.value, c.req.valid('param').draft_id, c.req.valid('json'));
      if (!sent.ok) return sendProblem(c, sent.error);
      await recordAudit(c, 'agent_message.approve', { type: 'user', id: caller.value.userId });
      return c.json({ id: sent.value }, 202);
    },
  );
  api.openapi(
    createRoute({
      ...SESSION_ROUTE,
      method: 'delete',
      path: '/v1/me/waiting-messages/{draft_id}',
      operationId: 'declineWaitingMessage',
      summary: 'Refuse to send a message of an agent; it stays a draft',
      request: { params },
      responses: { 204: { description: 'It no longer waits' }, ...problemResponses(401, 403, 404, 412, 503) },
    }),
    async (c) => {
      const caller = await requireSession(c);
      if (!caller.ok) return sendProblem(c, caller.error);
      const declined = await declineWaiting(c.env, caller.value.userId, c.req.valid('param').draft_id);
      if (!declined.ok) return sendProblem(c, declined.error);
      await recordAudit(c, 'agent_message.decline', { type: 'user', id: caller.value.userId });
      return c.body(null, 204);
    },
  );
}

function addRecipients(api: OpenAPIHono<JsonApiEnv>): void {
  api.openapi(
    createRoute({
      ...SESSION_ROUTE,
      method: 'get',
      path: '/v1/me/agent-recipients',
      operationId: 'getAgentRecipients',
      summary: 'Addresses to which agents with the scope mail:send send without asking',
      responses: { 200: jsonContent(agentRecipientsSchema, 'The addresses'), ...problemResponses(401, 403, 404, 503) },
    }),
    async (c) => {
      const caller = await requireSession(c);
      if (!caller.ok) return sendProblem(c, caller.error);
      const profile = await callMailbox(c.env, caller.value.userId, (mailbox) => mailbox.readProfile());
      if (!profile.ok) return sendProblem(c, profile.error);
      return c.json({ emails: [...(profile.value.settings.agentRecipients ?? [])] }, 200);
    },
  );
  api.openapi(
    createRoute({
      ...SESSION_ROUTE,
      method: 'put',
      path: '/v1/me/agent-recipients',
      operationId: 'setAgentRecipients',
      summary: 'Set the addresses to which agents with the scope mail:send send without asking',
      request: jsonBody(z.strictObject({ ...agentRecipientsSchema.shape, ...CONFIRMATION })),
      responses: {
        200: jsonContent(agentRecipientsSchema, 'The addresses'),
        ...problemResponses(400, 401, 403, 404, 429, 503),
      },
    }),
    async (c) => {
      const { emails, ...given } = c.req.valid('json');
      const caller = await requireConfirmed(c, given);
      if (!caller.ok) return sendProblem(c, caller.error);
      const { userId } = caller.value;
      const agentRecipients = [...new Set(emails)];
      const saved = await callMailbox(c.env, userId, (mailbox) => mailbox.writeSettings({ agentRecipients }));
      if (!saved.ok) return sendProblem(c, saved.error);
      await recordAudit(c, 'agent_recipients.set', { type: 'user', id: userId }, { count: agentRecipients.length });
      return c.json({ emails: agentRecipients }, 200);
    },
  );
}
