/** Tests how users manage their own access keys: creation, expiry, rotation, deletion, and the last use of keys and tokens. */
import { CreateBucketCommand, ListBucketsCommand, type S3Client } from '@aws-sdk/client-s3';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { confirmSession, type MailUser, registerUser } from '../../support/mail/mail.ts';
import { startServer, type TestServer } from '../../support/server.ts';
import { createSdkClient } from '../../support/storage/s3-client.ts';

const HOUR_SECONDS = 3_600;
let server: TestServer;
let offsetSeconds = 0;

beforeAll(async () => {
  server = await startServer({ vars: { REGISTRATION: 'open' } });
});
afterAll(() => server[Symbol.asyncDispose]());

/** Restarts the server with its clock moved forward. */
async function advance(seconds: number): Promise<void> {
  offsetSeconds += seconds;
  await server.stop();
  await server.start({ CLOCK_OFFSET_SECONDS: String(offsetSeconds) });
}
const nowMs = () => Date.now() + offsetSeconds * 1000;
const inSeconds = (seconds: number) => new Date(nowMs() + seconds * 1000).toISOString();

interface Key {
  readonly access_key_id: string;
  readonly secret_access_key: string;
}
const PATH = '/v1/me/access-keys';
const PASSWORD = 'correct horse battery';
async function registerConfirmed(name: string): Promise<MailUser> {
  const user = await registerUser(server, name);
  await confirmSession(server, user.token);
  return user;
}
const create = (user: MailUser, body: object = {}) =>
  server.call('POST', PATH, { password: PASSWORD, ...body }, user.token);
const rotate = (user: MailUser, { access_key_id: id }: Key, body: object = {}) =>
  server.call('POST', `${PATH}/${id}/rotate`, { password: PASSWORD, ...body }, user.token);
const list = async (user: MailUser) => (await server.call('GET', PATH, undefined, user.token)).body.data;
const find = async (user: MailUser, { access_key_id: id }: Key) =>
  (await list(user)).find((key: Key) => key.access_key_id === id);

/** An S3 client with the server's clock, because SigV4 signs the time. */
function clientOf(key: Key): S3Client {
  const client = createSdkClient(server.url, {
    accessKeyId: key.access_key_id,
    secretAccessKey: key.secret_access_key,
  });
  client.config.systemClockOffset = offsetSeconds * 1000;
  return client;
}
const use = (key: Key): Promise<string> =>
  clientOf(key)
    .send(new ListBucketsCommand())
    .then(
      () => 'works',
      (error: Error) => error.name,
    );

it('a user creates a key that works for storage, and sees its last use', async () => {
  const user = await registerConfirmed('maker');
  const made = await create(user);
  expect(made.status).toBe(201);
  expect(made.body).toMatchObject({ expires_at: null, last_used_at: null });
  await clientOf(made.body).send(new CreateBucketCommand({ Bucket: 'own-keys' }));
  expect((await clientOf(made.body).send(new ListBucketsCommand())).Buckets?.map(({ Name }) => Name)).toEqual([
    'own-keys',
  ]);
  await expect.poll(async () => (await find(user, made.body)).last_used_at).not.toBeNull();
  const [listed] = await list(user);
  expect(Math.abs(Date.parse(listed.last_used_at) - nowMs())).toBeLessThan(600_000);
  expect(JSON.stringify(await list(user))).not.toContain(made.body.secret_access_key);
  // The operator must see the same last use.
  const byOperator = await server.call('GET', `/v1/iam/users/${user.userId}/access-keys`);
  expect(byOperator.body.data).toMatchObject([
    { access_key_id: listed.access_key_id, last_used_at: listed.last_used_at },
  ]);
});

it('the last use is written at most once an hour', async () => {
  const user = await registerConfirmed('frequent');
  const { body: key } = await create(user);
  await use(key);
  await expect.poll(async () => (await find(user, key)).last_used_at).not.toBeNull();
  const { last_used_at: first } = await find(user, key);
  await advance(HOUR_SECONDS / 2);
  for (let n = 0; n < 3; n++) expect(await use(key)).toBe('works');
  // Wait until a later use of another key is recorded. A further use of the first key would have been recorded before it.
  const { body: marker } = await create(user);
  await use(marker);
  await expect.poll(async () => (await find(user, marker)).last_used_at).not.toBeNull();
  expect((await find(user, key)).last_used_at).toBe(first);
  await advance(HOUR_SECONDS);
  await use(key);
  await expect.poll(async () => (await find(user, key)).last_used_at).not.toBe(first);
});

it('keys of users and of the operator end when they expire', async () => {
  const user = await registerConfirmed('temporary');
  const own = await create(user, { expires_at: inSeconds(HOUR_SECONDS) });
  const path = `/v1/iam/users/${user.userId}/access-keys`;
  const assigned = await server.call('POST', path, { expires_at: inSeconds(HOUR_SECONDS) });
  expect([own.status, assigned.status]).toEqual([201, 201]);
  expect([await use(own.body), await use(assigned.body)]).toEqual(['works', 'works']);
  expect((await create(user, { expires_at: inSeconds(-1) })).status).toBe(400);
  await advance(2 * HOUR_SECONDS);
  expect([await use(own.body), await use(assigned.body)]).toEqual(['InvalidAccessKeyId', 'InvalidAccessKeyId']);
  expect((await rotate(user, own.body)).status).toBe(404);
});

it('rotation gives a new key, and the old one works until the overlap ends', async () => {
  const user = await registerConfirmed('rotator');
  const { body: first } = await create(user);
  const second = await rotate(user, first, { overlap_seconds: HOUR_SECONDS });
  expect(second.status).toBe(201);
  expect(second.body.access_key_id).not.toBe(first.access_key_id);
  expect([await use(first), await use(second.body)]).toEqual(['works', 'works']);
  const third = await rotate(user, second.body, { overlap_seconds: 0 });
  expect([await use(second.body), await use(third.body)]).toEqual(['InvalidAccessKeyId', 'works']);
  await advance(2 * HOUR_SECONDS);
  expect([await use(first), await use(third.body)]).toEqual(['InvalidAccessKeyId', 'works']);
  // A rotation must not lengthen the life of a key.
  const { body: short } = await create(user, { expires_at: inSeconds(HOUR_SECONDS) });
  await rotate(user, short, { overlap_seconds: 7 * 86_400 });
  expect(Date.parse((await find(user, short)).expires_at)).toBeLessThanOrEqual(nowMs() + HOUR_SECONDS * 1000);
});

it('a user deletes and rotates own keys only, with a session', async () => {
  const [owner, thief] = [await registerConfirmed('owner'), await registerConfirmed('thief')];
  const { body: key } = await create(owner);
  expect((await rotate(thief, key)).status).toBe(404);
  expect((await server.call('DELETE', `${PATH}/${key.access_key_id}`, undefined, thief.token)).status).toBe(404);
  const app = await server.call('POST', '/v1/me/tokens', { name: 'app' }, owner.token);
  expect((await server.call('POST', PATH, {}, app.body.token)).body.code).toBe('session_only');
  expect(await use(key)).toBe('works');
  expect((await server.call('DELETE', `${PATH}/${key.access_key_id}`, undefined, owner.token)).status).toBe(204);
  expect(await use(key)).toBe('InvalidAccessKeyId');
  const { body: log } = await server.call('GET', `/v1/audit?actor=${owner.userId}`);
  expect(log.data.map(({ action }: { action: string }) => action)).toEqual(
    expect.arrayContaining(['access_key.create', 'access_key.delete']),
  );
});

it('a user has at most 20 valid keys, also with concurrent requests', async () => {
  const user = await registerConfirmed('collector');
  const answers = await Promise.all(Array.from({ length: 30 }, () => create(user, { password: undefined })));
  expect(answers.filter(({ status }) => status === 201)).toHaveLength(20);
  expect(answers.find(({ status }) => status !== 201)).toMatchObject({ status: 409, body: { code: 'too_many' } });
});

it('a session that is not confirmed creates and rotates no key', async () => {
  const user = await registerUser(server, 'careful');
  const made = await create(user);
  expect(made.status).toBe(201);
  for (const path of [PATH, `${PATH}/${made.body.access_key_id}/rotate`]) {
    const refused = await server.call('POST', path, {}, user.token);
    expect([refused.status, refused.body.code]).toEqual([403, 'confirmation_required']);
  }
});

it('a log-in counts for ten minutes as the confirmation of a key of a working day', async () => {
  const user = await registerUser(server, 'fresh');
  const keyOf = (seconds: number | null) =>
    server.call('POST', PATH, seconds === null ? {} : { expires_at: inSeconds(seconds) }, user.token);
  const made = await keyOf(12 * HOUR_SECONDS);
  expect([made.status, await use(made.body)]).toEqual([201, 'works']);
  for (const seconds of [14 * HOUR_SECONDS, null])
    expect((await keyOf(seconds)).body.code).toBe('confirmation_required');
  expect((await rotate(user, made.body, { password: undefined })).body.code).toBe('confirmation_required');
  await advance(601);
  expect((await keyOf(12 * HOUR_SECONDS)).body.code).toBe('confirmation_required');
});

it('tokens show their last use', async () => {
  const user = await registerConfirmed('app-user');
  const { body: app } = await server.call('POST', '/v1/me/tokens', { name: 'app' }, user.token);
  const { body: game } = await server.call('POST', '/v1/iam/tokens', { name: 'game', scopes: ['scores:write'] });
  expect([app.last_used_at, game.last_used_at]).toEqual([null, null]);
  expect((await server.call('GET', '/v1/folders', undefined, app.token)).status).toBe(200);
  expect((await server.call('POST', '/v1/scores', { user_id: 'p', points: 1 }, game.token)).status).toBe(200);
  const lastUses = async () => {
    const own = await server.call('GET', '/v1/me/tokens', undefined, user.token);
    const all = await server.call('GET', '/v1/iam/tokens?limit=200');
    const used = all.body.data.find(({ token_id: id }: { token_id: string }) => id === game.token_id);
    return [own.body.data[0].last_used_at, used.last_used_at];
  };
  await expect.poll(lastUses).toEqual([expect.any(String), expect.any(String)]);
});

it('the operator may reserve the creation of keys', async () => {
  const user = await registerConfirmed('assigned');
  const { body: key } = await create(user);
  await server.stop();
  await server.start({ CLOCK_OFFSET_SECONDS: String(offsetSeconds), OWN_ACCESS_KEYS: 'false' });
  const refused = await create(user);
  expect([refused.status, refused.body.code]).toEqual([403, 'keys_assigned']);
  expect((await rotate(user, key)).status).toBe(201);
});
