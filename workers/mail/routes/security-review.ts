/** `/v1/me/security-review`: what a new password ended, and what else could lead mail or the account to somebody else. */
import { createRoute, type OpenAPIHono, z } from '@hono/zod-openapi';
import { endReview, readRecoveryAddress, readReview } from '../../identity/index.ts';
import { type JsonApiEnv, jsonContent, problemResponses, sendProblem } from '../../shared/json/json-api.ts';
import { ok } from '../../shared/pure/result.ts';
import { createClock } from '../../shared/settings/clock.ts';
import { userDatabaseOf } from '../../shared/stores/directories.ts';
import { requireSession, SESSION_ROUTE } from './confirmed.ts';
import { callMailbox, toTime } from './route.ts';

const endedSchema = z.object({
  kind: z.enum(['passkey', 'access_key', 'token']),
  name: z.string(),
  created_at: z.string(),
});
const openSchema = z.object({
  kind: z.enum(['recovery_address', 'forward_target', 'address_forward', 'filter']),
  name: z.string(),
  remove: z.string().openapi({ description: 'Path to which a `DELETE` removes it' }),
});
const reviewSchema = z
  .object({
    pending: z.boolean().openapi({ description: 'Whether a new password was set and its review has not ended' }),
    changed_at: z.string().nullable(),
    since: z.string().nullable().openapi({ description: 'Start of the time whose passkeys and keys ended' }),
    ended: z.array(endedSchema),
    open: z.array(openSchema).openapi({ description: 'Settings that stay until you remove them' }),
  })
  .openapi('SecurityReview');
type Open = z.infer<typeof openSchema>;

const named = (kind: Open['kind'], name: string, remove: string): Open => ({ kind, name, remove });

async function listOpen(env: Env, userId: string, now: number) {
  const [recovery, filters, targets, forwards] = await Promise.all([
    readRecoveryAddress(env, userId, now),
    callMailbox(env, userId, (mailbox) => mailbox.listFilters()),
    callMailbox(env, userId, (mailbox) => mailbox.listForwardTargets()),
    callMailbox(env, userId, (mailbox) => mailbox.listAddressForwards()),
  ]);
  if (!filters.ok) return filters;
  if (!targets.ok) return targets;
  if (!forwards.ok) return forwards;
  const addresses = [recovery.email, recovery.pendingEmail].filter((email) => email !== null);
  const open: Open[] = [
    ...addresses.map((email) => named('recovery_address', email, '/v1/me/recovery-address')),
    ...targets.value.map(({ email }) =>
      named('forward_target', email, `/v1/me/forward-targets/${encodeURIComponent(email)}`),
    ),
    ...forwards.value.map(({ email, targets: to }) =>
      named('address_forward', `${email} → ${to.join(', ')}`, `/v1/me/address-forwards/${encodeURIComponent(email)}`),
    ),
    ...filters.value.map(({ filterId, name }) => named('filter', name, `/v1/filters/${encodeURIComponent(filterId)}`)),
  ];
  return ok(open);
}

export function addSecurityReview(api: OpenAPIHono<JsonApiEnv>): void {
  api.openapi(
    createRoute({
      ...SESSION_ROUTE,
      method: 'get',
      path: '/v1/me/security-review',
      operationId: 'getSecurityReview',
      summary: 'Read what a new password ended, and which recovery addresses, forwards and filters stay',
      responses: { 200: jsonContent(reviewSchema, 'The review'), ...problemResponses(401, 403, 404, 503) },
    }),
    async (c) => {
      const caller = await requireSession(c);
      if (!caller.ok) return sendProblem(c, caller.error);
      const { userId } = caller.value;
      const open = await listOpen(c.env, userId, createClock(c.env)());
      if (!open.ok) return sendProblem(c, open.error);
      const review = await readReview(userDatabaseOf(c.env, userId), userId);
      const ended = (review?.ended ?? []).map(({ kind, name, createdAt }) => ({
        kind,
        name,
        created_at: toTime(createdAt),
      }));
      const times = {
        changed_at: review && toTime(review.changedAt),
        since: review && toTime(review.since),
      };
      return c.json({ pending: review !== null, ...times, ended, open: open.value }, 200);
    },
  );
  api.openapi(
    createRoute({
      ...SESSION_ROUTE,
      method: 'post',
      path: '/v1/me/security-review/done',
      operationId: 'endSecurityReview',
      summary: 'End the review: the user has seen it',
      responses: { 204: { description: 'Ended' }, ...problemResponses(401, 403) },
    }),
    async (c) => {
      const caller = await requireSession(c);
      if (!caller.ok) return sendProblem(c, caller.error);
      await endReview(userDatabaseOf(c.env, caller.value.userId), caller.value.userId);
      return c.body(null, 204);
    },
  );
}
