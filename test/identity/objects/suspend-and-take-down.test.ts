/** Tests how an operator suspends an account, or takes down a bucket or an object, without its owner, and reverts it. */
import { createExecutionContext, env } from 'cloudflare:test';
import { beforeAll, describe, expect, it } from 'vitest';
import worker from '../../../workers/index.ts';

// biome-ignore lint/suspicious/noExplicitAny: answers of many routes; each test asserts the members it needs
type Json = any;
const ROOT = (env as Env).ROOT_TOKEN;
const PASSWORD = 'correct horse battery';

async function call(
  method: string,
  path: string,
  body?: unknown,
  token: string | null = ROOT,
  headers: Record<string, string> = {},
): Promise<{ status: number; body: Json; headers: Headers }> {
  const isText = typeof body === 'string';
  const request = new Request(`http://localhost${path}`, {
    method,
    headers: {
      ...(token === null ? {} : { authorization: `Bearer ${token}` }),
      ...(body === undefined || isText ? {} : { 'content-type': 'application/json' }),
      // S3 requires the length of an upload.
      ...(isText ? { 'content-length': String(Buffer.byteLength(body)) } : {}),
      ...headers,
    },
    ...(body === undefined ? {} : { body: isText ? body : JSON.stringify(body) }),
  }) as Request<unknown, IncomingRequestCfProperties>;
  const answer = await worker.fetch(request, env as Env, createExecutionContext());
  const text = await answer.text();
  return { status: answer.status, body: text.startsWith('{') ? JSON.parse(text) : text, headers: answer.headers };
}
const SCOPES = ['objects:read', 'objects:write'];
async function createOwner(name: string): Promise<{ userId: string; token: string }> {
  const { user_id } = (await call('POST', '/v1/iam/users', { name })).body;
  const { token } = (await call('POST', '/v1/iam/tokens', { name, user_id, scopes: SCOPES })).body;
  return { userId: user_id, token };
}
const actionsOn = async (target: string): Promise<string[]> =>
  (await call('GET', `/v1/audit?target=${target}`)).body.data.map(({ action }: Json) => action).reverse();

describe('a suspended user', () => {
  it('cannot log in or use sessions, tokens and storage, until the suspension is lifted', async () => {
    const request = { email: 'suspended@example.test', password: PASSWORD, name: 'x' };
    const { token, user } = (await call('POST', '/v1/auth/register', request, null)).body;
    const id = user.user_id;
    const own = { password: PASSWORD, name: 'app' };
    const app = (await call('POST', '/v1/me/tokens', own, token)).body.token;
    const s3 = (await call('POST', '/v1/iam/tokens', { name: 's3', user_id: id, scopes: SCOPES })).body.token;
    expect((await call('PUT', '/suspended-bucket', undefined, s3)).status).toBe(200);
    const login = () => call('POST', '/v1/auth/login', { email: request.email, password: PASSWORD }, null);
    const uses = async () => [
      (await call('GET', '/v1/folders', undefined, token)).status,
      (await call('GET', '/v1/folders', undefined, app)).status,
      (await call('GET', '/suspended-bucket', undefined, s3)).status,
      (await login()).status,
    ];
    expect(await uses()).toEqual([200, 200, 200, 200]);
    const path = `/v1/accounts/${id}/suspension`;
    const put = await call('PUT', path, { reason: 'abuse report 12' });
    expect([put.status, put.body]).toEqual([200, { user_id: id, suspended_at: expect.stringMatching(/Z$/) }]);
    expect((await call('PUT', path, { reason: 'again' })).body).toEqual(put.body);
    expect(await uses()).toEqual([401, 401, 401, 403]);
    expect((await login()).body.code).toBe('account_suspended');
    const wrong = { email: request.email, password: 'wrong password' };
    expect((await call('POST', '/v1/auth/login', wrong, null)).body.code).toBe('wrong_login');
    // Mail to the suspended account must still be accepted.
    const check = await call('POST', '/v1/inbound/check', { from: 'a@far.test', to: request.email });
    expect(check.body.smtp_code).toBe(250);
    expect((await call('GET', path)).body).toEqual(put.body);
    expect((await call('DELETE', path)).status).toBe(204);
    expect(await uses()).toEqual([200, 200, 200, 200]);
    const recorded = (await actionsOn(id)).filter((action) => /suspend|resume/.test(action));
    expect(recorded).toEqual(['account.suspend', 'account.resume']);
    expect((await call('PUT', '/v1/accounts/none/suspension', { reason: 'x' })).status).toBe(404);
  });
});

describe('a take-down', () => {
  let owner: Awaited<ReturnType<typeof createOwner>>;
  const PUBLIC = {
    Version: '2012-10-17',
    Statement: [{ Effect: 'Allow', Principal: '*', Action: 's3:GetObject', Resource: 'arn:aws:s3:::shared-files/*' }],
  };
  const read = async (path: string, token: string | null = null) => (await call('GET', path, undefined, token)).status;
  beforeAll(async () => {
    owner = await createOwner('owner');
    expect((await call('PUT', '/shared-files', undefined, owner.token)).status).toBe(200);
    const policy = await call('PUT', '/shared-files?policy', JSON.stringify(PUBLIC), owner.token);
    expect(policy.status).toBe(204);
    for (const name of ['good', 'bad']) {
      expect((await call('PUT', `/shared-files/${name}`, `bytes of ${name}`, owner.token)).status).toBe(200);
    }
  });

  it('of an object prevents reading and copying it, and nothing else, and can be lifted', async () => {
    const path = '/v1/storage/buckets/shared-files/take-down';
    expect(await read('/shared-files/bad')).toBe(200);
    expect((await call('PUT', path, { name: 'bad', reason: 'court order' })).status).toBe(204);
    const refused = await call('GET', '/shared-files/bad', undefined, null);
    expect([refused.status, refused.body]).toEqual([451, expect.stringContaining('<Code>UnavailableForLegalReasons')]);
    expect((await call('HEAD', '/shared-files/bad', undefined, owner.token)).status).toBe(451);
    const copy = { 'x-amz-copy-source': '/shared-files/bad' };
    expect((await call('PUT', '/shared-files/copy', undefined, owner.token, copy)).status).toBe(451);
    const stranger = await createOwner('stranger');
    expect(await read('/shared-files/bad?tagging', stranger.token)).toBe(403);
    expect([await read('/shared-files/good'), await read('/shared-files', owner.token)]).toEqual([200, 200]);
    expect((await call('GET', `${path}?name=bad`)).body).toEqual({ taken_down: true });
    expect((await call('GET', `${path}?name=good`)).body).toEqual({ taken_down: false });
    expect((await call('PUT', path, { name: 'none', reason: 'x' })).body.code).toBe('no_such_object');
    expect((await call('DELETE', `${path}?name=bad`)).status).toBe(204);
    expect((await call('GET', '/shared-files/bad', undefined, null)).body).toBe('bytes of bad');
  });

  it('of one version leaves the other versions', async () => {
    expect((await call('PUT', '/versioned-files', undefined, owner.token)).status).toBe(200);
    const on = '<VersioningConfiguration><Status>Enabled</Status></VersioningConfiguration>';
    expect((await call('PUT', '/versioned-files?versioning', on, owner.token)).status).toBe(200);
    const put = async (text: string) =>
      (await call('PUT', '/versioned-files/a', text, owner.token)).headers.get('x-amz-version-id') ?? '';
    const [first, second] = [await put('one'), await put('two')];
    const take = { name: 'a', version_id: first, reason: 'court order' };
    expect((await call('PUT', '/v1/storage/buckets/versioned-files/take-down', take)).status).toBe(204);
    const versions = [first, second].map((id) => read(`/versioned-files/a?versionId=${id}`, owner.token));
    expect(await Promise.all(versions)).toEqual([451, 200]);
    expect(await read('/versioned-files/a', owner.token)).toBe(200);
  });

  it('of a bucket stops its website, also one that only redirects', async () => {
    const path = '/v1/storage/buckets/site-files/take-down';
    expect((await call('PUT', '/site-files', undefined, owner.token)).status).toBe(200);
    const all = '<RedirectAllRequestsTo><HostName>far.test</HostName></RedirectAllRequestsTo>';
    const website = `<WebsiteConfiguration>${all}</WebsiteConfiguration>`;
    expect((await call('PUT', '/site-files?website', website, owner.token)).status).toBe(200);
    const open = async () => {
      const request = new Request('http://site-files.s3.test/a', { redirect: 'manual' });
      const withHost = { ...(env as Env), S3_HOST: 's3.test' } as Env;
      const page = await worker.fetch(request as never, withHost, createExecutionContext());
      return [page.status, page.headers.get('location')];
    };
    expect(await open()).toEqual([301, 'http://far.test/a']);
    expect((await call('PUT', path, { reason: 'phishing' })).status).toBe(204);
    expect(await open()).toEqual([451, null]);
  });

  it('of a bucket stops every S3 request to it, those of its owner too, and can be lifted', async () => {
    const path = '/v1/storage/buckets/shared-files/take-down';
    const { headers } = await call('HEAD', '/shared-files', undefined, owner.token);
    const bucketId = headers.get('x-bucket-id') ?? '';
    expect((await call('PUT', path, { reason: 'phishing' })).status).toBe(204);
    const attempts = [
      await read('/shared-files/good'),
      await read('/shared-files', owner.token),
      (await call('PUT', '/shared-files/new', 'x', owner.token)).status,
      (await call('DELETE', '/shared-files/good', undefined, owner.token)).status,
      (await call('DELETE', '/shared-files?policy', undefined, owner.token)).status,
      (await call('PUT', '/versioned-files/c', undefined, owner.token, { 'x-amz-copy-source': '/shared-files/good' }))
        .status,
    ];
    expect(attempts).toEqual([451, 451, 451, 451, 451, 451]);
    expect(await read('/versioned-files/a', owner.token)).toBe(200);
    expect((await call('GET', path)).body).toEqual({ taken_down: true });
    expect((await call('DELETE', path)).status).toBe(204);
    expect(await read('/shared-files/good')).toBe(200);
    expect(await actionsOn(bucketId)).toEqual([
      'object.take_down',
      'object.restore',
      'bucket.take_down',
      'bucket.restore',
    ]);
    expect((await call('PUT', '/v1/storage/buckets/none/take-down', { reason: 'x' })).body.code).toBe('no_such_bucket');
  });
});
