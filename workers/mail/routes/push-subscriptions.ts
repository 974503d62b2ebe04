/**
 * `/v1/push-subscriptions`: Web Push to browsers (RFC 8030) when new mail arrives. A push contains no data of messages; the browser
 * then reads the new mail with its own session. A subscription ends with the session or token that created it.
 */
import { createHash } from 'node:crypto';
import { createRoute, type OpenAPIHono, z } from '@hono/zod-openapi';
import { type JsonApiEnv, jsonBody, jsonContent, problemResponses, sendProblem } from '../../shared/json/json-api.ts';
import { createClock } from '../../shared/settings/clock.ts';
import { isPublicUrl } from '../../shared/settings/public-url.ts';
import { readVapidKey } from '../push/send-push.ts';
import { areKeys } from '../push/web-push.ts';
import { toMailProblem } from '../schemas/errors.ts';
import { openOwnMailbox, toTime, USER_ROUTE } from './route.ts';

const AGE_MS = 30 * 24 * 3_600_000;

const keySchema = z
  .object({ application_server_key: z.string() })
  .openapi('PushKey', { description: 'The key for `PushManager.subscribe` (VAPID, RFC 8292), in base64url.' });
const requestSchema = z
  .strictObject({
    endpoint: z.string().max(2_000),
    keys: z
      .strictObject({ p256dh: z.string().max(200), auth: z.string().max(100) })
      .refine(areKeys, 'must be keys of RFC 8291'),
  })
  .openapi('PushSubscriptionRequest', {
    description: 'As `PushSubscription.toJSON()` of a browser, without `expirationTime`.',
    example: {
      endpoint: 'https://push.example.com/p/4f2c',
      keys: {
        p256dh: 'BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4',
        auth: 'BTBZMqHH6r4Tts7J_aSIgg',
      },
    },
  });
const answerSchema = z.object({ subscription_id: z.string(), expires_at: z.string() }).openapi('PushSubscription', {
  description: 'Subscribe again before it expires.',
  example: { subscription_id: '9f86d081884c7d659a2feaa0c55ad015', expires_at: '2026-12-22T09:00:00.000Z' },
});

export function addPushSubscriptions(api: OpenAPIHono<JsonApiEnv>): void {
  api.openapi(
    createRoute({
      ...USER_ROUTE,
      method: 'get',
      path: '/v1/push-key',
      operationId: 'getPushKey',
      summary: 'Read the key with which pushes are signed',
      responses: { 200: jsonContent(keySchema, 'The key'), ...problemResponses(401, 403, 404, 503) },
    }),
    async (c) => {
      const own = await openOwnMailbox(c);
      if (!own.ok) return sendProblem(c, own.error);
      return c.json({ application_server_key: (await readVapidKey(c.env)).publicKey }, 200);
    },
  );
  api.openapi(
    createRoute({
      ...USER_ROUTE,
      method: 'post',
      path: '/v1/push-subscriptions',
      operationId: 'subscribeToPush',
      summary: 'Notify a browser of new mail',
      description: 'The same endpoint again prolongs its subscription.',
      request: jsonBody(requestSchema),
      responses: {
        201: jsonContent(answerSchema, 'The subscription'),
        ...problemResponses(400, 401, 403, 404, 409, 503),
      },
    }),
    async (c) => {
      const own = await openOwnMailbox(c);
      if (!own.ok) return sendProblem(c, own.error);
      const { endpoint, keys } = c.req.valid('json');
      if (!isPublicUrl(c.env, endpoint)) {
        const message = 'An https address of a public host is needed.';
        return sendProblem(c, toMailProblem({ kind: 'bad_request', path: 'endpoint', message }));
      }
      const id = createHash('sha256').update(endpoint).digest('hex').slice(0, 32);
      const expiresAt = createClock(c.env)() + AGE_MS;
      const { credentialId } = own.value.user;
      const made = await own.value.ask((mailbox) =>
        mailbox.insertPushSubscription(credentialId, {
          id,
          deviceClientId: 'web',
          url: endpoint,
          keys,
          types: ['EmailDelivery'],
          expiresAt,
          code: '',
          isVerified: true,
        }),
      );
      if (!made.ok) return sendProblem(c, made.error);
      return c.json({ subscription_id: id, expires_at: toTime(expiresAt) }, 201);
    },
  );
  api.openapi(
    createRoute({
      ...USER_ROUTE,
      method: 'delete',
      path: '/v1/push-subscriptions/{subscription_id}',
      operationId: 'unsubscribeFromPush',
      summary: 'Stop notifying a browser of new mail',
      request: { params: z.object({ subscription_id: z.string().max(100) }) },
      responses: { 204: { description: 'It is deleted' }, ...problemResponses(401, 403, 404, 503) },
    }),
    async (c) => {
      const own = await openOwnMailbox(c);
      if (!own.ok) return sendProblem(c, own.error);
      const { subscription_id: id } = c.req.valid('param');
      const gone = await own.value.ask((mailbox) => mailbox.deletePushSubscription(own.value.user.credentialId, id));
      return gone.ok ? c.body(null, 204) : sendProblem(c, gone.error);
    },
  );
}
