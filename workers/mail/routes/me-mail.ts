/** Routes under `/v1/me` for the vacation reply and forward targets. */

import { createRoute, type OpenAPIHono, z } from '@hono/zod-openapi';
import type { VacationSettings } from '../../../durable-objects/mail/contract/mailbox.ts';

import { recordAudit } from '../../shared/audit/audit.ts';
import { type JsonApiEnv, jsonBody, jsonContent, problemResponses, sendProblem } from '../../shared/json/json-api.ts';
import { problem } from '../../shared/json/problem.ts';
import { createClock } from '../../shared/settings/clock.ts';
import { userDatabaseOf } from '../../shared/stores/directories.ts';
import { admitForwardInvitation } from '../accounts/forward-invitations.ts';
import { noticeOwner } from '../accounts/security-notices.ts';
import { readTransportSettings } from '../bindings/transport-settings.ts';
import { toBadRequest } from '../schemas/errors.ts';
import { vacationSchema } from '../schemas/filter.ts';
import { createAccountStore } from '../store/account-store.ts';
import { listSenders } from '../store/address-store.ts';
import { CONFIRMATION, requireConfirmed, SESSION_ROUTE } from './confirmed.ts';
import { openOwnMailbox, toTime, USER_ROUTE } from './route.ts';

const toVacationJson = (vacation: VacationSettings | null) => ({
  enabled: vacation?.isEnabled ?? false,
  subject: vacation?.subject ?? '',
  body: vacation?.body ?? '',
  starts_at: vacation?.startsAt == null ? null : toTime(vacation.startsAt),
  ends_at: vacation?.endsAt == null ? null : toTime(vacation.endsAt),
});
const parseTime = (time: string | null) => (time === null ? null : Date.parse(time));

const targetSchema = z.object({ email: z.string(), confirmed_at: z.string().nullable() }).openapi('ForwardTarget');
const emailSchema = z.email().max(254).toLowerCase();

export function addVacation(api: OpenAPIHono<JsonApiEnv>): void {
  api.openapi(
    createRoute({
      ...USER_ROUTE,
      method: 'get',
      path: '/v1/me/vacation',
      operationId: 'getVacation',
      summary: 'Read the vacation reply',
      responses: { 200: jsonContent(vacationSchema, 'The current settings'), ...problemResponses(401, 403, 404, 503) },
    }),
    async (c) => {
      const own = await openOwnMailbox(c);
      if (!own.ok) return sendProblem(c, own.error);
      const profile = await own.value.ask((mailbox) => mailbox.readProfile());
      if (!profile.ok) return sendProblem(c, profile.error);
      return c.json(toVacationJson(profile.value.settings.vacation), 200);
    },
  );
  api.openapi(
    createRoute({
      ...USER_ROUTE,
      method: 'put',
      path: '/v1/me/vacation',
      operationId: 'setVacation',
      summary: 'Set the vacation reply: sent once a week to each sender, never to lists, machines or reports',
      request: jsonBody(vacationSchema),
      responses: { 200: jsonContent(vacationSchema, 'The new settings'), ...problemResponses(400, 401, 403, 404, 503) },
    }),
    async (c) => {
      const own = await openOwnMailbox(c);
      if (!own.ok) return sendProblem(c, own.error);
      const body = c.req.valid('json');
      const [startsAt, endsAt] = [parseTime(body.starts_at), parseTime(body.ends_at)];
      if (startsAt !== null && endsAt !== null && endsAt <= startsAt) {
        return sendProblem(c, toBadRequest('ends_at', 'The end must be after the start.'));
      }
      const addresses = await createAccountStore(userDatabaseOf(c.env, own.value.user.userId)).listAddresses(
        own.value.user.userId,
      );
      const vacation = { isEnabled: body.enabled, subject: body.subject, body: body.body, startsAt, endsAt, addresses };
      const written = await own.value.ask((mailbox) => mailbox.writeSettings({ vacation }));
      return written.ok ? c.json(toVacationJson(vacation), 200) : sendProblem(c, written.error);
    },
  );
}

export function addForwardTargets(api: OpenAPIHono<JsonApiEnv>): void {
  api.openapi(
    createRoute({
      ...USER_ROUTE,
      method: 'get',
      path: '/v1/me/forward-targets',
      operationId: 'listForwardTargets',
      summary: 'List addresses that filters may forward to',
      responses: {
        200: jsonContent(z.array(targetSchema), 'All forward targets'),
        ...problemResponses(401, 403, 404, 503),
      },
    }),
    async (c) => {
      const own = await openOwnMailbox(c);
      if (!own.ok) return sendProblem(c, own.error);
      const targets = await own.value.ask((mailbox) => mailbox.listForwardTargets());
      if (!targets.ok) return sendProblem(c, targets.error);
      return c.json(
        targets.value.map(({ email, confirmedAt }) => ({
          email,
          confirmed_at: confirmedAt === null ? null : toTime(confirmedAt),
        })),
        200,
      );
    },
  );
  api.openapi(
    createRoute({
      ...SESSION_ROUTE,
      method: 'post',
      path: '/v1/me/forward-targets',
      operationId: 'createForwardTarget',
      summary: 'Mail a confirmation code to a forward target',
      request: jsonBody(z.strictObject({ ...CONFIRMATION, email: emailSchema })),
      responses: { 202: { description: 'The code was sent' }, ...problemResponses(400, 401, 403, 409, 429, 503) },
    }),
    async (c) => {
      const { email, ...given } = c.req.valid('json');
      const confirmed = await requireConfirmed(c, given);
      if (!confirmed.ok) return sendProblem(c, confirmed.error);
      const own = await openOwnMailbox(c);
      if (!own.ok) return sendProblem(c, own.error);
      const { userId } = own.value.user;
      if ((await listSenders(c.env, userId)).includes(email)) {
        return sendProblem(c, toBadRequest('email', 'This is one of your own addresses.'));
      }
      const admitted = await admitForwardInvitation(c.env, email, userId, createClock(c.env)());
      if (!admitted.ok) return sendProblem(c, admitted.error);
      const { sendLimits } = readTransportSettings(c.env);
      const asked = await own.value.ask((mailbox) => mailbox.requestForwardTarget(email, sendLimits));
      if (!asked.ok) return sendProblem(c, asked.error);
      await recordAudit(c, 'forward_target.create', { type: 'user', id: userId });
      return c.body(null, 202);
    },
  );
  api.openapi(
    createRoute({
      ...SESSION_ROUTE,
      method: 'post',
      path: '/v1/me/forward-targets/confirm',
      operationId: 'confirmForwardTarget',
      summary: 'Confirm a forward target with its code',
      request: jsonBody(z.strictObject({ ...CONFIRMATION, email: emailSchema, code: z.string().regex(/^\d{8}$/) })),
      responses: { 204: { description: 'Confirmed' }, ...problemResponses(400, 401, 403, 429, 503) },
    }),
    async (c) => {
      const { email, code, ...given } = c.req.valid('json');
      const confirmed = await requireConfirmed(c, given);
      if (!confirmed.ok) return sendProblem(c, confirmed.error);
      const own = await openOwnMailbox(c);
      if (!own.ok) return sendProblem(c, own.error);
      const done = await own.value.ask((mailbox) => mailbox.confirmForwardTarget(email, code));
      if (!done.ok) return sendProblem(c, problem(400, 'wrong_code', 'The code is wrong or expired.'));
      await recordAudit(c, 'forward_target.confirm', { type: 'user', id: own.value.user.userId });
      noticeOwner(c, own.value.user.userId, 'forward_target');
      return c.body(null, 204);
    },
  );
  api.openapi(
    createRoute({
      ...SESSION_ROUTE,
      method: 'delete',
      path: '/v1/me/forward-targets/{email}',
      operationId: 'deleteForwardTarget',
      summary: 'Remove a forward target',
      request: { params: z.object({ email: z.string().max(254) }) },
      responses: { 204: { description: 'Removed' }, ...problemResponses(401, 403, 404, 503) },
    }),
    async (c) => {
      const own = await openOwnMailbox(c);
      if (!own.ok) return sendProblem(c, own.error);
      const email = c.req.valid('param').email.toLowerCase();
      const gone = await own.value.ask((mailbox) => mailbox.deleteForwardTarget(email));
      if (!gone.ok) return sendProblem(c, gone.error);
      await recordAudit(c, 'forward_target.delete', { type: 'user', id: own.value.user.userId });
      return c.body(null, 204);
    },
  );
}
