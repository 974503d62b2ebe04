/**
 * Findings 14 and 19 of the security review: headers of the JSON APIs, the length of bodies that come without a credential, and of
 * error lists.
 */
import { request as httpRequest } from 'node:http';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { confirmSession, registerUser } from '../../support/mail/mail.ts';
import { startServer, type TestServer } from '../../support/server.ts';

const KIB = 1024;
let server: TestServer;
let token = '';

beforeAll(async () => {
  server = await startServer({ vars: { REGISTRATION: 'open' } });
  token = (await registerUser(server, 'reader')).token;
  await confirmSession(server, token);
});
afterAll(() => server[Symbol.asyncDispose]());

const POLICY = ['cache-control', 'x-content-type-options', 'cross-origin-resource-policy'];
const policyOf = ({ headers }: { headers: Headers }) => POLICY.map((name) => headers.get(name));
const PRIVATE = ['no-store', 'nosniff', 'same-origin'];

describe('answers of /v1', () => {
  it('are neither stored by caches nor embedded by other sites, errors included', async () => {
    const { body: user } = await server.call('POST', '/v1/iam/users', { name: 'x' });
    const answers = [
      await server.call('GET', '/v1/me', undefined, token),
      await server.call('GET', '/v1/messages', undefined, token),
      await server.call('POST', '/v1/me/tokens', { name: 'x' }, token),
      await server.call('POST', `/v1/iam/users/${user.user_id}/access-keys`, {}),
      await server.call('GET', '/v1/storage/stats'),
      await server.call('GET', '/v1/export', undefined, token),
      await server.call('GET', '/v1/me', undefined, null),
      await server.call('GET', '/v1/me?unknown=1', undefined, token),
      await server.call('GET', '/v1/no-such-path'),
      await server.call('DELETE', '/v1/auth/login'),
    ];
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 201, 201, 200, 200, 401, 400, 404, 405]);
    for (const answer of answers) expect(policyOf(answer)).toEqual(PRIVATE);
  });

  it('may be embedded by every site if they are public reads of scores', async () => {
    for (const path of ['/v1/scores', '/v1/seasons', '/v1/scores/nobody']) {
      const answer = await server.call('GET', path, undefined, null);
      expect([path, ...policyOf(answer)]).toEqual([path, 'no-store', 'nosniff', 'cross-origin']);
    }
    const refused = await server.call('POST', '/v1/scores', { user_id: 'a', points: 1 }, null);
    expect([refused.status, ...policyOf(refused)]).toEqual([401, ...PRIVATE]);
  });

  it('keep the Cache-Control of stored bytes and of the API document', async () => {
    expect(policyOf(await server.call('GET', '/v1/openapi.json'))).toEqual(['no-cache', 'nosniff', 'same-origin']);
  });
});

/** Makes a JSON body of an exact length. */
function padded(bytes: number): string {
  const empty = JSON.stringify({ email: 'a@example.test', password: '' });
  return empty.replace('""', JSON.stringify('x'.repeat(bytes - empty.length)));
}

const PUBLIC_ROUTES = ['/v1/auth/login', '/v1/auth/register'];
const post = (path: string, body: string, headers: Record<string, string> = {}) =>
  fetch(server.url + path, { method: 'POST', headers: { 'content-type': 'application/json', ...headers }, body });

/** Sends a body in chunks, without a Content-Length. */
function postChunked(path: string, body: string): Promise<number> {
  return new Promise((resolve, reject) => {
    const headers = { 'content-type': 'application/json', 'transfer-encoding': 'chunked' };
    const sent = httpRequest(server.url + path, { method: 'POST', headers }, (answer) => {
      answer.resume();
      resolve(answer.statusCode ?? 0);
    });
    sent.on('error', reject);
    sent.end(body);
  });
}

describe('JSON that comes without a credential', () => {
  it.each(PUBLIC_ROUTES)('has at most 16 KB at %s', async (path) => {
    const atLimit = await post(path, padded(16 * KIB));
    expect([atLimit.status, ((await atLimit.json()) as { code: string }).code]).toEqual([400, 'invalid_request']);
    const over = await post(path, padded(16 * KIB + 1));
    expect([over.status, ((await over.json()) as { code: string }).code]).toEqual([413, 'request_too_large']);
    expect(await postChunked(path, padded(16 * KIB + 1))).toBe(413);
  });

  it('is limited on every public route of the API document', async () => {
    const { body: document } = await server.call('GET', '/v1/openapi.json');
    type Operation = { security?: unknown[]; requestBody?: { content: object } };
    const routes = Object.entries<Record<string, Operation>>(document.paths).flatMap(([path, { post: route }]) =>
      route?.security?.length === 0 && route.requestBody !== undefined
        ? [[path, Object.keys(route.requestBody.content)[0] ?? ''] as const]
        : [],
    );
    expect(routes.map(([path]) => path)).toEqual(expect.arrayContaining(PUBLIC_ROUTES));
    for (const [path, type] of routes) {
      const target = path.replaceAll(/\{\w+\}/g, 'x');
      const { status } = await post(target, padded(17 * KIB), { 'content-type': type });
      expect([path, status]).toEqual([path, 413]);
    }
  });

  it('may be longer on a route with a credential', async () => {
    const body = JSON.stringify({ body: 'x'.repeat(100 * KIB) });
    expect((await post('/v1/drafts', body, { authorization: `Bearer ${token}` })).status).toBe(201);
  });
});

describe('a list of errors', () => {
  const members = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, n) => [`k${n}`, 1]));

  it('has at most 20 members', async () => {
    const open = await server.call('POST', '/v1/auth/login', members(500), null);
    expect([open.status, open.body.errors.length]).toEqual([400, 20]);
    const authorized = await server.call('POST', '/v1/drafts', members(50_000), token);
    expect([authorized.status, authorized.body.errors.length]).toEqual([400, 20]);
    const query = new URLSearchParams(Object.entries(members(100)).map(([name]) => [name, '1']));
    const asked = await server.call('GET', `/v1/me?${query}`, undefined, token);
    expect([asked.status, asked.body.errors.length]).toEqual([400, 20]);
  });

  it('names every one of a few', async () => {
    const sent = { email: 'a@example.test', password: 'x', ...members(20) };
    const { body } = await server.call('POST', '/v1/auth/login', sent, null);
    expect(body.errors.map(({ path }: { path: string }) => path)).toEqual(Object.keys(members(20)));
  });
});
