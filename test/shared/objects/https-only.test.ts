/**
 * Finding 9 of the security review: with APP_HOST set, every host answers over HTTPS only. Calls the Worker as Cloudflare's edge
 * does, without the variable `LOCAL`.
 */
import { createExecutionContext, env } from 'cloudflare:test';
import { expect, it } from 'vitest';
import worker from '../../../workers/index.ts';

const PRODUCTION = { LOCAL: '', APP_HOST: 'app.example', S3_HOST: 's3.example' };
const STRICT = 'max-age=31536000';

function send(url: string, init: RequestInit = {}, vars: Record<string, string> = PRODUCTION): Promise<Response> {
  const request = new Request(url, { redirect: 'manual', ...init }) as Request<unknown, IncomingRequestCfProperties>;
  return worker.fetch(request, { ...env, ...vars } as Env, createExecutionContext());
}

it.each([
  ['http://app.example/_/mail', 'https://app.example/_/mail'],
  ['http://app.example:8080/v1/health?a=%2B', 'https://app.example/v1/health?a=%2B'],
  ['http://app.example', 'https://app.example/'],
  ['http://s3.example/bucket/k?X-Amz-Signature=1', 'https://s3.example/bucket/k?X-Amz-Signature=1'],
  ['http://bucket.s3.example/a//b', 'https://bucket.s3.example/a//b'],
  ['http://other.example/bucket/k', 'https://other.example/bucket/k'],
])('GET and HEAD %s are redirected to %s', async (url, location) => {
  for (const method of ['GET', 'HEAD']) {
    const { status, headers } = await send(url, { method });
    expect([status, headers.get('location')]).toEqual([308, location]);
    expect(headers.get('x-request-id')).toMatch(/^[\w-]{36}$/);
    expect([headers.get('cache-control'), headers.get('set-cookie')]).toEqual(['no-store', null]);
  }
});

it.each(['POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'])('%s over plain HTTP is refused', async (method) => {
  const headers = { authorization: `Bearer ${(env as Env).ROOT_TOKEN}` };
  const refused = await send('http://app.example/v1/iam/users', { method, headers });
  expect([refused.status, await refused.json()]).toMatchObject([403, { code: 'https_required' }]);
  const storage = await send('http://s3.example/bucket/key', { method, headers });
  expect([storage.status, storage.headers.get('content-type')]).toEqual([403, 'application/xml']);
  expect(await storage.text()).toMatch(/<Code>AccessDenied<\/Code><Message>Send the request over HTTPS\.<\/Message>/);
});

it('every answer over HTTPS has Strict-Transport-Security', async () => {
  const paths: [string, number][] = [
    ['https://app.example/v1/health', 200],
    ['https://app.example/v1/me', 401],
    ['https://app.example/v1/no-such-path', 404],
    ['https://app.example/_/config.json', 200],
    ['https://app.example/', 302],
    ['https://s3.example/no-such-bucket', 404],
    ['https://bucket.s3.example/key', 404],
  ];
  for (const [url, expected] of paths) {
    const { status, headers } = await send(url);
    expect([url, status, headers.get('strict-transport-security')]).toEqual([url, expected, STRICT]);
  }
});

it('an event stream over HTTPS, which an object answers, has Strict-Transport-Security', async () => {
  const response = await send('https://app.example/v1/scores', { headers: { accept: 'text/event-stream' } });
  const { status, headers } = response;
  expect([status, headers.get('content-type'), headers.get('strict-transport-security')]).toEqual([
    200,
    'text/event-stream',
    STRICT,
  ]);
  expect([headers.get('x-content-type-options'), headers.get('cross-origin-resource-policy')]).toEqual([
    'nosniff',
    'cross-origin',
  ]);
  await response.body?.cancel();
});

it('a cookie of a login is Secure, and never set over plain HTTP', async () => {
  const body = JSON.stringify({ email: 'https@example.test', password: 'correct horse battery', name: 'https' });
  const init = { method: 'POST', headers: { 'content-type': 'application/json' }, body };
  const refused = await send('http://app.example/v1/auth/register', init);
  expect([refused.status, refused.headers.get('set-cookie')]).toEqual([403, null]);
  const registered = await send('https://app.example/v1/auth/register', init);
  expect(registered.status).toBe(201);
  expect(registered.headers.get('set-cookie')).toMatch(/__Host-session=[^;]+;.*Secure/);
});

it('a local server and one without APP_HOST answer plain HTTP, without Strict-Transport-Security', async () => {
  for (const vars of [
    { ...PRODUCTION, LOCAL: '1' },
    { ...PRODUCTION, APP_HOST: '' },
  ]) {
    for (const scheme of ['http', 'https']) {
      const { status, headers } = await send(`${scheme}://app.example/v1/health`, {}, vars);
      expect([status, headers.get('strict-transport-security')]).toEqual([200, null]);
    }
  }
});

it('a bad LOCAL counts as production, and health still names it', async () => {
  const vars = { ...PRODUCTION, LOCAL: 'yes' };
  expect((await send('http://app.example/v1/health', {}, vars)).status).toBe(308);
  const report = await send('https://app.example/v1/health', {}, vars);
  expect(report.headers.get('strict-transport-security')).toBe(STRICT);
  expect([report.status, await report.json()]).toMatchObject([503, { misconfigured: [{ name: 'LOCAL' }] }]);
});
