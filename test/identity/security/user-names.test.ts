/** Findings 1 and 20 of the security review: `aws:username` in a policy, and an email, identify exactly one user. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { registerUser } from '../../support/mail/mail.ts';
import { startServer, type TestServer } from '../../support/server.ts';

const BUCKET = 'homes';
const SCOPES = ['objects:read', 'objects:write'];
const HOMES = {
  Version: '2012-10-17',
  Statement: {
    Effect: 'Allow',
    Principal: '*',
    Action: 's3:*',
    // biome-ignore lint/suspicious/noTemplateCurlyInString: an IAM policy variable
    Resource: 'arn:aws:s3:::homes/home/${aws:username}/*',
  },
};
let server: TestServer;

const createUser = (body: object) => server.call('POST', '/v1/iam/users', body);
async function createToken(userId: string): Promise<string> {
  const made = await server.call('POST', '/v1/iam/tokens', { name: 's3', user_id: userId, scopes: SCOPES });
  return made.body.token;
}
const s3 = (token: string, method: string, path: string, body?: string) =>
  fetch(server.url + path, {
    method,
    headers: { authorization: `Bearer ${token}` },
    ...(body === undefined ? {} : { body }),
  });

beforeAll(async () => {
  server = await startServer({ vars: { REGISTRATION: 'open' } });
});
afterAll(() => server[Symbol.asyncDispose]());

describe('the user_name, to which aws:username in a policy refers', () => {
  const path = `/${BUCKET}/home/alice/d`;
  let owner = '';

  beforeAll(async () => {
    const { body } = await createUser({ name: 'owner' });
    owner = await createToken(body.user_id);
    expect((await s3(owner, 'PUT', `/${BUCKET}`)).status).toBe(200);
    expect((await s3(owner, 'PUT', path, 'of alice')).status).toBe(200);
    expect((await s3(owner, 'PUT', `/${BUCKET}?policy`, JSON.stringify(HOMES))).status).toBe(204);
  });

  it('grants access', async () => {
    const { status, body } = await createUser({ name: 'Alice A.', user_name: 'alice' });
    expect([status, body.user_name, body.name]).toEqual([201, 'alice', 'Alice A.']);
    const alice = await createToken(body.user_id);
    expect(await (await s3(alice, 'GET', path)).text()).toBe('of alice');
    expect((await s3(alice, 'GET', `/${BUCKET}/home/bob/d`)).status).toBe(403);
  });

  it('is independent of the display name, which mail accounts and IAM users choose freely', async () => {
    const eve = await registerUser(server, 'eve');
    const eveToken = await createToken(eve.userId);
    const renamed = await server.call('PATCH', '/v1/me', { name: 'alice' }, eve.token);
    expect([renamed.status, renamed.body.name]).toEqual([200, 'alice']);
    expect((await s3(eveToken, 'GET', path)).status).toBe(403);
    expect((await s3(eveToken, 'DELETE', path)).status).toBe(403);
    const { body: namesake } = await createUser({ name: 'alice' });
    expect((await s3(await createToken(namesake.user_id), 'GET', path)).status).toBe(403);
  });

  it('is unique regardless of case, and immutable', async () => {
    for (const taken of ['alice', 'ALICE']) {
      const { status, body } = await createUser({ name: 'x', user_name: taken });
      expect([taken, status, body.code]).toEqual([taken, 409, 'user_name_taken']);
    }
    const eve = await registerUser(server, 'eve2');
    const changed = await server.call('PATCH', '/v1/me', { user_name: 'alice2' }, eve.token);
    expect(changed.status).toBe(400);
    const { body } = await server.call('GET', `/v1/iam/users/${eve.userId}`);
    expect(body).toMatchObject({ user_name: eve.userId, name: 'eve2' });
  });

  it('is derived from the id if none is given, and shown everywhere', async () => {
    const { body: made } = await createUser({ name: 'no user_name' });
    expect(made.user_name).toBe(made.user_id);
    expect((await server.call('GET', `/v1/iam/users/${made.user_id}`)).body).toEqual(made);
    const { body: listed } = await server.call('GET', '/v1/iam/users?limit=200');
    expect(listed.data).toContainEqual(made);
  });

  it.each(['', 'a b', 'a/b', 'ä', '$a', '{b}', '*', 'x'.repeat(65)])('cannot be "%s"', async (name) => {
    const { status, body } = await createUser({ name: 'x', user_name: name });
    expect([status, body.errors?.[0]?.path]).toEqual([400, 'user_name']);
  });

  it.each(['a', 'A+b=c,d.e@f_g-h', 'y'.repeat(64)])('can be "%s"', async (name) => {
    expect((await createUser({ name: 'x', user_name: name })).body.user_name).toBe(name);
  });
});

describe('an email', () => {
  it('is refused for an IAM user if a mail account has it', async () => {
    await registerUser(server, 'mailed');
    for (const email of ['mailed@example.test', 'Mailed@Example.test']) {
      const { status, body } = await createUser({ name: 'x', email });
      expect([email, status, body.code]).toEqual([email, 409, 'email_taken']);
    }
  });

  it('is refused for a mail account if an IAM user has it, and nothing is left behind', async () => {
    const { body: user } = await createUser({ name: 'x', email: 'Owned@example.test' });
    expect(user.email).toBe('owned@example.test');
    const request = { email: 'owned@example.test', password: 'correct horse battery', name: 'x' };
    const refused = await server.call('POST', '/v1/auth/register', request, null);
    expect([refused.status, refused.body.code]).toEqual([409, 'address_taken']);
    expect((await server.call('DELETE', `/v1/iam/users/${user.user_id}`)).status).toBe(204);
    expect((await server.call('POST', '/v1/auth/register', request, null)).status).toBe(201);
  });

  it('identifies the user in a grant by email', async () => {
    const { body: owner } = await createUser({ name: 'x' });
    const token = await createToken(owner.user_id);
    expect((await s3(token, 'PUT', '/granted')).status).toBe(200);
    const controls = await fetch(`${server.url}/granted?ownershipControls`, {
      method: 'PUT',
      headers: { authorization: `Bearer ${token}` },
      body: '<OwnershipControls><Rule><ObjectOwnership>ObjectWriter</ObjectOwnership></Rule></OwnershipControls>',
    });
    expect(controls.status).toBe(200);
    const granted = await fetch(`${server.url}/granted?acl`, {
      method: 'PUT',
      headers: { authorization: `Bearer ${token}`, 'x-amz-grant-read': 'emailAddress="mailed@example.test"' },
    });
    expect([granted.status, await granted.text()]).toEqual([200, '']);
  });
});
