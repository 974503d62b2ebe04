/** The victims, their property and the credentials of the attackers, on one running server. */

import { createOperator } from '../../../support/operators.ts';
import { startServer, type TestServer } from '../../../support/server.ts';
import type { Credentials } from '../../../support/storage/s3-client.ts';
import { parsed, type Reply, SECRET, send, sendJson, sendSigned } from './attack.ts';

/** Lifetime in milliseconds of credentials that must expire before the attacks begin. */
const SOON_MS = 5_000;
export const PASSWORD = 'correct horse battery';

export interface S3User extends Credentials {
  readonly userId: string;
}
export interface Person {
  readonly email: string;
  readonly userId: string;
  /** Token of a session. */
  readonly token: string;
  /** Value of the header `Cookie`: `session=…`. */
  readonly cookie: string;
}

export interface World {
  readonly server: TestServer;
  /** S3 user who owns all buckets except `mallory-own`. */
  readonly alice: S3User;
  readonly mallory: S3User;
  readonly revokedKey: Credentials;
  readonly expiredKey: Credentials;
  readonly suspendedKey: Credentials;
  /** Version id of the object `secret.txt` in `alice-versions`. */
  readonly versionId: string;
  /** Id of an unfinished upload of the object `big` in `alice-private`. */
  readonly uploadId: string;
  readonly victim: Person;
  readonly eve: Person;
  /** Ids of the victim's message and other resources, by the names of path parameters. */
  readonly ids: Readonly<Record<string, string>>;
  /** Bearer tokens, one of each kind. */
  readonly tokens: Readonly<
    Record<'game' | 'inbound' | 'bridge' | 'objects' | 'mailApp' | 'revoked' | 'expired' | 'suspended', string>
  >;
  readonly operators: Readonly<Record<'admin' | 'support' | 'read', string>>;
}

function must(reply: Reply, ...statuses: number[]): Reply {
  if (!statuses.includes(reply.status)) throw new Error(`Set-up failed with ${reply.status}: ${reply.text}`);
  return reply;
}

/** Makes a bucket policy that allows some actions. */
export const allow = (principal: unknown, action: unknown, resource: unknown, condition?: object): string =>
  JSON.stringify({
    Version: '2012-10-17',
    Statement: [
      {
        Effect: 'Allow',
        Principal: principal,
        Action: action,
        Resource: resource,
        ...(condition ? { Condition: condition } : {}),
      },
    ],
  });

export async function registerPerson(world: Pick<World, 'server'>, name: string): Promise<Person> {
  const email = `${name}@example.test`;
  const body = { email, password: PASSWORD, name };
  const reply = must(await sendJson(world as World, 'POST', '/v1/auth/register', null, body), 201);
  const { token, user } = parsed(reply);
  return { email, userId: user.user_id, token, cookie: cookieOf(reply) };
}

export const cookieOf = (reply: Reply): string => String(reply.headers['set-cookie'] ?? '').split(';')[0] ?? '';

/** Creates the buckets of alice, each with a secret. */
async function furnishStorage(world: World): Promise<{ versionId: string; uploadId: string }> {
  const { alice, mallory } = world;
  const put = async (path: string, body: string, headers: Record<string, string> = {}) =>
    must(await sendSigned(world, alice, 'PUT', path, { body, headers }), 200, 204);
  const putQuery = async (path: string, name: string, body: string) =>
    must(await sendSigned(world, alice, 'PUT', path, { body, query: { [name]: '' } }), 200, 204);
  must(await sendSigned(world, mallory, 'PUT', '/mallory-own', { body: '' }), 200);
  must(await sendSigned(world, mallory, 'PUT', '/mallory-own/mine.txt', { body: 'mine' }), 200);
  for (const bucket of ['alice-private', 'alice-versions', 'alice-partly', 'alice-public', 'alice-conditions']) {
    await put(`/${bucket}`, '');
    await put(`/${bucket}/secret.txt`, SECRET, { 'x-amz-meta-mark': SECRET });
  }
  await put('/alice-private/a-b/secret.txt', SECRET);
  await putQuery(
    '/alice-versions',
    'versioning',
    '<VersioningConfiguration xmlns="http://s3.amazonaws.com/doc/2006-03-01/"><Status>Enabled</Status></VersioningConfiguration>',
  );
  const version = await put('/alice-versions/secret.txt', SECRET);
  const initiated = must(
    await sendSigned(world, alice, 'POST', '/alice-private/big', { query: { uploads: '' }, body: '' }),
    200,
  );
  const uploadId = /<UploadId>(.*?)</.exec(initiated.text)?.[1] ?? '';
  await put('/alice-partly/open/hello.txt', 'hello');
  await put('/alice-partly/openly-not/secret.txt', SECRET);
  await putQuery(
    '/alice-partly',
    'policy',
    allow({ AWS: mallory.userId }, 's3:GetObject', 'arn:aws:s3:::alice-partly/open/*'),
  );
  await put('/alice-public/open/hello.txt', 'hello');
  await put('/alice-public/down.txt', SECRET);
  await putQuery('/alice-public', 'policy', allow('*', 's3:GetObject', ['arn:aws:s3:::alice-public/*']));
  await putQuery(
    '/alice-conditions',
    'policy',
    allow({ AWS: mallory.userId }, 's3:*', ['arn:aws:s3:::alice-conditions', 'arn:aws:s3:::alice-conditions/*'], {
      IpAddress: { 'aws:SourceIp': '198.51.100.7/32' },
    }),
  );
  const taken = { name: 'down.txt', reason: 'court order 7' };
  const down = await world.server.call('PUT', '/v1/storage/buckets/alice-public/take-down', taken);
  const secret = { name: 'secret.txt', reason: 'court order 8' };
  const alsoDown = await world.server.call('PUT', '/v1/storage/buckets/alice-public/take-down', secret);
  if (down.status !== 204 || alsoDown.status !== 204) throw new Error(`take-down: ${down.status} ${alsoDown.status}`);
  return { versionId: String(version.headers['x-amz-version-id']), uploadId };
}

const RAW = [
  `From: Friend <friend@elsewhere.test>`,
  `Subject: ${SECRET}`,
  'MIME-Version: 1.0',
  'Content-Type: multipart/mixed; boundary=b',
  '',
  '--b',
  '',
  SECRET,
  '--b',
  'Content-Type: text/html; name="page.html"',
  'Content-Disposition: attachment; filename="page.html"',
  '',
  '<script>alert(1)</script>',
  '--b',
  'Content-Type: image/svg+xml; name="picture.svg"',
  'Content-Disposition: inline; filename="picture.svg"',
  '',
  '<svg xmlns="http://www.w3.org/2000/svg" onload="alert(1)"/>',
  '--b--',
  '',
].join('\r\n');

/** Fills the victim's mailbox. @returns the ids of its resources, by the names of path parameters. */
async function furnishMailbox(world: World): Promise<Record<string, string>> {
  const { server, victim } = world;
  const post = async (path: string, body: unknown) => {
    const { status, body: made } = await server.call('POST', path, body, victim.token);
    if (status > 299) throw new Error(`${path}: ${status} ${JSON.stringify(made)}`);
    return made;
  };
  await post('/v1/auth/confirm', { password: PASSWORD });
  must(
    await send(world, 'POST', '/v1/import', {
      headers: { authorization: `Bearer ${victim.token}`, 'content-type': 'message/rfc822' },
      body: RAW,
    }),
    200,
    201,
    202,
  );
  const { body: page } = await server.call('GET', '/v1/folders/inbox/messages', undefined, victim.token);
  const [message] = page.data;
  const sender = { sender: `${SECRET}@elsewhere.test`, status: 'trusted' };
  const filter = { name: SECRET, conditions: [], actions: [{ type: 'label', label: SECRET }] };
  await post('/v1/me/forward-targets', { email: 'friend@elsewhere.test' });
  const { body: sessions } = await server.call('GET', '/v1/me/sessions', undefined, victim.token);
  return {
    message_id: message.id,
    thread_id: message.thread_id,
    file_name: 'page.html',
    folder_id: (await post('/v1/folders', { name: SECRET })).id,
    draft_id: (await post('/v1/drafts', { subject: SECRET })).id,
    filter_id: (await post('/v1/filters', filter)).id,
    contact_id: (await post('/v1/contacts', { name: SECRET, email: 'friend@elsewhere.test' })).id,
    sender_id: (await post('/v1/senders', sender)).id,
    pull_id: (await post('/v1/import/pulls', { host: 'imap.elsewhere.test', user_name: SECRET, password: SECRET })).id,
    session_id: sessions.data[0].session_id,
    token_id: (await post('/v1/me/tokens', { name: SECRET })).token_id,
    user_id: victim.userId,
    email: victim.email,
    access_key_id: world.alice.accessKeyId,
    domain: 'example.test',
    bucket: 'alice-private',
    season: new Date().toISOString().slice(0, 7),
    passkey_id: 'cGFzc2tleQ',
    sign_in_id: 'any',
    name: 'any',
    collector: 'mail',
    operator_id: 'any',
    board: 'default',
    shard: '0',
    erasure: '00000000-0000-4000-8000-000000000000',
    hash: '0000000000000000',
    // A job id that does not exist. test/storage/security/jobs.test.ts tests jobs of another user.
    link_id: '00000000-0000-4000-8000-000000000000',
    secret: 'shr_none',
    job_id: '00000000-0000-4000-8000-000000000000',
    account_id: victim.userId,
    blob_id: `m${message.id}`,
    subscription_id: 'any',
    id: '00000000-0000-4000-8000-000000000000',
  };
}

async function createTokens(world: World): Promise<World['tokens']> {
  const { server, victim } = world;
  const create = async (scope: string, more: object = {}) => {
    const { status, body } = await server.call('POST', '/v1/iam/tokens', { name: scope, scopes: [scope], ...more });
    if (status !== 201) throw new Error(`token: ${status} ${JSON.stringify(body)}`);
    return body;
  };
  const own = { user_id: victim.userId };
  const revoked = await create('mail', own);
  await server.call('DELETE', `/v1/iam/tokens/${revoked.token_id}`);
  const suspended = await registerPerson(world, 'suspended');
  const suspendedToken = await create('mail', { user_id: suspended.userId });
  await server.call('PUT', `/v1/accounts/${suspended.userId}/suspension`, { reason: 'abuse report 1' });
  const expired = await create('mail', { ...own, expires_at: new Date(Date.now() + SOON_MS).toISOString() });
  return {
    game: (await create('scores:write')).token,
    inbound: (await create('inbound')).token,
    bridge: (await create('bridge')).token,
    objects: (await create('objects:read', { user_id: world.alice.userId })).token,
    mailApp: (await create('mail', own)).token,
    revoked: revoked.token,
    expired: expired.token,
    suspended: suspendedToken.token,
  };
}

async function createKey(server: TestServer, userId: string, more: object = {}): Promise<Credentials> {
  const { body } = await server.call('POST', `/v1/iam/users/${userId}/access-keys`, more);
  return { accessKeyId: body.access_key_id, secretAccessKey: body.secret_access_key };
}

export async function createWorld(): Promise<World> {
  const server = await startServer();
  const world: { -readonly [name in keyof World]?: World[name] } = { server };
  const whole = world as World;
  world.alice = await server.createAccessKey('alice');
  world.mallory = await server.createAccessKey('mallory');
  world.revokedKey = await createKey(server, world.alice.userId);
  world.expiredKey = await createKey(server, world.alice.userId, {
    expires_at: new Date(Date.now() + SOON_MS).toISOString(),
  });
  const gone = await server.createAccessKey('gone');
  world.suspendedKey = gone;
  Object.assign(world, await furnishStorage(whole));
  // Use each key once before it is revoked or expires, so that the server may have cached it as valid.
  must(await sendSigned(whole, world.revokedKey, 'GET', '/alice-private/secret.txt'), 200);
  must(await sendSigned(whole, gone, 'PUT', '/gone-bucket', { body: '' }), 200);
  await server.call('DELETE', `/v1/iam/access-keys/${world.revokedKey.accessKeyId}`);
  await server.call('PUT', `/v1/accounts/${gone.userId}/suspension`, { reason: 'abuse report 2' });
  world.victim = await registerPerson(whole, 'victim');
  world.eve = await registerPerson(whole, 'eve');
  world.ids = await furnishMailbox(whole);
  world.tokens = await createTokens(whole);
  world.operators = {
    admin: (await createOperator(server, 'admin', 'op-admin')).token,
    support: (await createOperator(server, 'support', 'op-support')).token,
    read: (await createOperator(server, 'read', 'op-read')).token,
  };
  await new Promise((resolve) => setTimeout(resolve, SOON_MS));
  return whole;
}
