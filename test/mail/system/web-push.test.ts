/** Tests Web Push of new mail to browsers: the routes, and what a push service receives. */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { awaitMessage, type MailUser, postInbound, registerUser } from '../../support/mail/mail.ts';
import { makeDevice, readVapid, startPushService } from '../../support/mail/push-service.ts';
import { startServer, type TestServer } from '../../support/server.ts';

let server: TestServer;
beforeAll(async () => {
  server = await startServer();
});
afterAll(() => server[Symbol.asyncDispose]());

const receive = async (user: MailUser, subject: string) => {
  const raw = `From: Carol <carol@outside.test>\r\nTo: ${user.email}\r\nSubject: ${subject}\r\nMessage-ID: <${crypto.randomUUID()}@outside.test>\r\n\r\nHello.\r\n`;
  const { status } = await postInbound(server, raw, { from: 'carol@outside.test', to: user.email });
  expect(status).toBe(202);
  return awaitMessage(server, user, 'inbox', subject);
};
const signIn = async ({ email }: MailUser): Promise<string> =>
  (await server.call('POST', '/v1/auth/login', { email, password: 'correct horse battery' }, null)).body.token;
const subscribe = async (token: string, url: string) => {
  const device = await makeDevice();
  const request = { endpoint: url, keys: device.keys };
  const { status, body } = await server.call('POST', '/v1/push-subscriptions', request, token);
  return { ...device, status, body };
};

it('notifies a browser of new mail only, until its session ends', async () => {
  const user = await registerUser(server, `push-${crypto.randomUUID().slice(0, 8)}`);
  const [phone, laptop] = [await signIn(user), await signIn(user)];
  await using service = await startPushService();
  const old = await subscribe(phone, service.url);
  // A subscription with the same endpoint and other keys must replace the first.
  const { status, body, read } = await subscribe(phone, service.url);
  expect([old.status, status, old.body.subscription_id]).toEqual([201, 201, body.subscription_id]);

  const { id } = await receive(user, 'one');
  const push = await service.next('the push');
  expect(push.headers).toMatchObject({ 'content-encoding': 'aes128gcm', ttl: '86400' });
  expect(Object.keys(read(push).changed[user.userId])).toEqual(['EmailDelivery']);
  const { key, claims } = readVapid(push);
  const { body: known } = await server.call('GET', '/v1/push-key', undefined, phone);
  expect([key, claims.aud]).toEqual([known.application_server_key, new URL(service.url).origin]);

  await server.call('PATCH', `/v1/messages/${id}`, { is_read: true }, phone);
  await receive(user, 'two');
  const second = read(await service.next('the second push')).changed[user.userId];
  expect(Object.keys(second)).toEqual(['EmailDelivery']);

  await server.call('POST', '/v1/auth/logout', undefined, phone);
  await using other = await startPushService();
  const { read: readOther } = await subscribe(laptop, other.url);
  await receive(user, 'three');
  // Once the laptop has received its push, a push to the phone would have arrived too.
  expect(Object.keys(readOther(await other.next('the third push')).changed[user.userId])).toEqual(['EmailDelivery']);
  expect(service.received).toEqual([]);
});

it('refuses addresses inside a network and keys that are none, and forgets a subscription', async () => {
  const user = await registerUser(server, `push-${crypto.randomUUID().slice(0, 8)}`);
  for (const url of ['http://push.example/x', 'https://10.0.0.1/x', 'https://localhost/x', 'nothing'])
    expect((await subscribe(user.token, url)).body.code).toBe('invalid_request');
  const request = { endpoint: 'https://push.example.com/x', keys: { p256dh: 'AA', auth: 'AA' } };
  expect((await server.call('POST', '/v1/push-subscriptions', request, user.token)).status).toBe(400);
  const { body } = await subscribe(user.token, 'https://push.example.com/x');
  const path = `/v1/push-subscriptions/${body.subscription_id}`;
  expect((await server.call('DELETE', path, undefined, await signIn(user))).status).toBe(404);
  expect((await server.call('DELETE', path, undefined, user.token)).status).toBe(204);
  expect((await server.call('DELETE', path, undefined, user.token)).status).toBe(404);
});
