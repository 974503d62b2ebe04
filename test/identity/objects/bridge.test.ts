/** Tests the scope `bridge`: it names the client of a request for limits and the audit log, and opens nothing. */
import { createExecutionContext, env } from 'cloudflare:test';
import { beforeAll, describe, expect, it } from 'vitest';
import worker from '../../../workers/index.ts';

// biome-ignore lint/suspicious/noExplicitAny: answers of many routes; each test asserts the members it needs
type Json = any;
const ROOT = (env as Env).ROOT_TOKEN;
const PASSWORD = 'correct horse battery';
const BRIDGE_IP = '192.0.2.200';

async function call(
  method: string,
  path: string,
  { token = null, body, headers = {} }: { token?: string | null; body?: unknown; headers?: Record<string, string> },
): Promise<{ status: number; body: Json }> {
  const request = new Request(`http://localhost${path}`, {
    method,
    headers: {
      ...(token === null ? {} : { authorization: `Bearer ${token}` }),
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      ...headers,
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  }) as Request<unknown, IncomingRequestCfProperties>;
  const answer = await worker.fetch(request, env as Env, createExecutionContext());
  const text = await answer.text();
  return { status: answer.status, body: text === '' ? null : JSON.parse(text) };
}

let bridge = '';
let person = { userId: '', token: '' };
const by = (client: string, token = bridge) => ({
  'cf-connecting-ip': BRIDGE_IP,
  'x-bridge-token': token,
  'x-client-ip': client,
});
beforeAll(async () => {
  bridge = (await call('POST', '/v1/iam/tokens', { token: ROOT, body: { name: 'b', scopes: ['bridge'] } })).body.token;
  const request = { email: 'bridged@example.test', password: PASSWORD, name: 'Bridged' };
  const { body } = await call('POST', '/v1/auth/register', { body: request });
  person = { userId: body.user.user_id, token: body.token };
});

describe('a token of the scope bridge', () => {
  it('opens nothing by itself', async () => {
    for (const path of ['/v1/imap', '/v1/me', '/v1/iam/users', '/v1/inbound'])
      expect([path, (await call('GET', path, { token: bridge })).status]).toEqual([path, 403]);
    expect((await call('GET', '/v1/imap', { headers: by('198.51.100.1') })).status).toBe(401);
  });

  it('keeps a person’s rights as they are, and is refused if it is another token', async () => {
    const { token } = person;
    expect((await call('GET', '/v1/imap', { token, headers: by('198.51.100.1') })).status).toBe(200);
    for (const wrong of ['tok_nonsense', token, ROOT]) {
      const refused = await call('GET', '/v1/imap', { token, headers: by('198.51.100.1', wrong) });
      expect([refused.status, refused.body.code]).toEqual([403, 'bridge_token_invalid']);
    }
  });

  it('makes one guesser lock out nobody else, and names the client in the audit log', async () => {
    const guess = (headers: Record<string, string>) =>
      call('POST', '/v1/auth/login', { body: { email: 'nobody@example.test', password: 'wrong' }, headers });
    let status = 401;
    for (let n = 0; n < 200 && status === 401; n += 1) ({ status } = await guess(by('198.51.100.66')));
    expect(status).toBe(429);
    const login = { email: 'bridged@example.test', password: PASSWORD };
    const other = await call('POST', '/v1/auth/login', { body: login, headers: by('203.0.113.9') });
    expect(other.status).toBe(200);
    // Without the token, the address in the header means nothing: the connection is the guesser's.
    const { 'x-bridge-token': _, ...bare } = { ...by('203.0.113.10'), 'cf-connecting-ip': '198.51.100.66' };
    expect((await guess(bare)).status).toBe(429);

    const headers = by('203.0.113.9');
    await call('POST', '/v1/auth/confirm', { token: person.token, body: { password: PASSWORD }, headers });
    const made = await call('POST', '/v1/me/tokens', { token: person.token, body: { name: 'Phone' }, headers });
    expect(made.status).toBe(201);
    const log = await call('GET', `/v1/audit?target=${made.body.token_id}`, { token: ROOT });
    expect(log.body.data[0].network).toBe('203.0.113.0/24');
  });
});
