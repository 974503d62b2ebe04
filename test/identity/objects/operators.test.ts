/** Tests operators who log in as persons: second factor, sessions, and the routes that each role may call. */
import { createExecutionContext, env } from 'cloudflare:test';
import { beforeAll, describe, expect, it } from 'vitest';
import { toCode } from '../../../workers/identity/secrets/totp.ts';
import worker from '../../../workers/index.ts';

// biome-ignore lint/suspicious/noExplicitAny: answers of many routes; each test asserts the members it needs
type Json = any;
const ROOT = (env as Env).ROOT_TOKEN;
const PASSWORD = 'a long operator password';
const ROLES = ['admin', 'support', 'read'] as const;
type Role = (typeof ROLES)[number];

let clients = 0;
async function call(
  method: string,
  path: string,
  body?: unknown,
  token: string | null = ROOT,
): Promise<{ status: number; body: Json }> {
  const request = new Request(`http://localhost${path}`, {
    method,
    headers: {
      // Use another client address for each call, so that limits per client do not apply.
      'cf-connecting-ip': `10.0.${Math.floor(++clients / 250)}.${clients % 250}`,
      ...(token === null ? {} : { authorization: `Bearer ${token}` }),
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  }) as Request<unknown, IncomingRequestCfProperties>;
  const answer = await worker.fetch(request, env as Env, createExecutionContext());
  const text = await answer.text();
  return { status: answer.status, body: text.startsWith('{') ? JSON.parse(text) : text };
}

const step = () => Math.floor(Date.now() / 30_000);
const make = (login: string, role: Role, token = ROOT) =>
  call('POST', '/v1/operators', { login, name: login, role, password: PASSWORD }, token);
const login = (name: string, more: object) =>
  call('POST', '/v1/operators/login', { login: name, password: PASSWORD, ...more }, null);

/** Creates an operator and logs in. */
async function enter(name: string, role: Role): Promise<{ id: string; token: string; secret: string }> {
  const made = await make(name, role);
  expect(made.status).toBe(201);
  const { secret } = made.body.totp;
  const { status, body } = await login(name, { totp: toCode(secret, step()) });
  expect(status).toBe(200);
  return { id: made.body.operator_id, token: body.token, secret };
}

describe('an operator', () => {
  it('logs in with password and second factor, each code once', async () => {
    const { secret } = (await make('ada', 'read')).body.totp;
    expect((await login('ada', {})).body.code).toBe('second_factor_required');
    expect((await login('ada', { password: 'wrong', totp: toCode(secret, step()) })).body.code).toBe('wrong_login');
    expect((await login('nobody', { totp: toCode(secret, step()) })).body.code).toBe('wrong_login');
    expect((await login('ada', { totp: toCode(secret, step() + 9) })).body.code).toBe('wrong_second_factor');
    const code = toCode(secret, step() + 1);
    const { status, body } = await login('ADA', { totp: code });
    expect([status, body.operator.role, body.token]).toEqual([200, 'read', expect.stringMatching(/^ops_/)]);
    expect((await login('ada', { totp: code })).body.code).toBe('wrong_second_factor');
    expect((await call('GET', '/v1/operators/me', undefined, body.token)).body.login).toBe('ada');
    const audit = (await call('GET', `/v1/audit?actor=${body.operator.operator_id}`)).body.data;
    expect(audit.map(({ action }: Json) => action)).toEqual([
      'login.second_factor_failed',
      'operator.login',
      'login.second_factor_failed',
    ]);
    expect((await call('POST', '/v1/operators/logout', undefined, body.token)).status).toBe(204);
    expect((await call('GET', '/v1/operators/me', undefined, body.token)).status).toBe(401);
  });

  it('cannot act as a mail user or a gateway, or post scores', async () => {
    const { token } = await enter('outsider', 'admin');
    expect((await call('GET', '/v1/me', undefined, token)).status).toBe(403);
    expect((await call('POST', '/v1/inbound/check', { from: 'a@b.test', to: ['c@d.test'] }, token)).status).toBe(403);
    expect((await call('POST', '/v1/scores', { user_id: 'a', points: 1 }, token)).status).toBe(403);
  });

  it('changes the password, which ends the other sessions', async () => {
    const { secret } = (await make('changer', 'support')).body.totp;
    const now = step();
    const token = (await login('changer', { totp: toCode(secret, now - 1) })).body.token;
    const other = (await login('changer', { totp: toCode(secret, now) })).body.token;
    const change = (password: string, totp: string) =>
      call('POST', '/v1/operators/me/password', { password, totp, new_password: 'another operator password' }, token);
    expect((await change('wrong', toCode(secret, now + 1))).body.code).toBe('wrong_password');
    const used = await change(PASSWORD, toCode(secret, now));
    expect([used.status, used.body.code]).toEqual([403, 'wrong_second_factor']);
    expect((await change(PASSWORD, toCode(secret, now + 1))).status).toBe(204);
    expect((await call('GET', '/v1/operators/me', undefined, token)).status).toBe(200);
    expect((await call('GET', '/v1/operators/me', undefined, other)).status).toBe(401);
    expect((await login('changer', { totp: toCode(secret, now + 1) })).body.code).toBe('wrong_login');
  });

  it('loses access at once when it is deleted, or gets another role, password or second factor', async () => {
    for (const change of [{ role: 'support' }, { password: 'another operator password' }, { reset_totp: true }]) {
      const { id, token } = await enter(`changed-${Object.keys(change)[0]?.replace('_', '-')}`, 'read');
      expect((await call('PATCH', `/v1/operators/${id}`, { name: 'Renamed' })).status).toBe(200);
      expect((await call('GET', '/v1/outbound', undefined, token)).status).toBe(200);
      expect((await call('PATCH', `/v1/operators/${id}`, change)).status).toBe(200);
      expect([change, (await call('GET', '/v1/outbound', undefined, token)).status]).toEqual([change, 401]);
      expect((await call('DELETE', `/v1/operators/${id}`)).status).toBe(204);
      expect((await call('DELETE', `/v1/operators/${id}`)).status).toBe(404);
    }
  });

  it('with the role admin manages support and read, and only root manages admin', async () => {
    const admin = await enter('chief', 'admin');
    const another = await enter('deputy', 'admin');
    const made = await make('helper', 'support', admin.token);
    expect(made.status).toBe(201);
    expect((await make('helper', 'support', admin.token)).body.code).toBe('login_taken');
    const helper = `/v1/operators/${made.body.operator_id}`;
    const attempts = [
      await make('third', 'admin', admin.token),
      await call('PATCH', helper, { role: 'admin' }, admin.token),
      await call('PATCH', `/v1/operators/${another.id}`, { password: 'stolen operator password' }, admin.token),
      await call('DELETE', `/v1/operators/${another.id}`, undefined, admin.token),
    ];
    expect(attempts.map(({ status, body }) => [status, body.code])).toEqual(
      attempts.map(() => [403, 'role_not_allowed']),
    );
    expect((await call('PATCH', helper, { role: 'read' }, admin.token)).body.role).toBe('read');
    expect((await call('PATCH', helper, { role: 'admin' })).body.role).toBe('admin');
    const { token } = (await call('POST', '/v1/iam/tokens', { name: 'ops', scopes: ['admin'] })).body;
    expect((await make('fourth', 'read', token)).body.code).toBe('root_only');
  });
});

describe('each route for operators', () => {
  /** Routes with a bearer credential that operators may not call. */
  const OTHERS = [
    'POST /v1/scores',
    'POST /v1/scores/batch',
    'POST /v1/boards/{board}/scores',
    'POST /v1/boards/{board}/scores/batch',
    'POST /v1/inbound',
    'POST /v1/inbound/check',
    'POST /v1/mcp',
  ];
  const isOwn = (name: string) => / \/v1\/operators\/(?:logout$|me$|me\/)/.test(name);
  const HELP = [
    'PATCH /v1/accounts/{user_id}',
    'PUT /v1/accounts/{user_id}/suspension',
    'DELETE /v1/accounts/{user_id}/suspension',
    'POST /v1/accounts/{user_id}/password-reset',
    'POST /v1/invites',
  ];
  const isHelp = (name: string) => HELP.includes(name) || name.includes(' /v1/storage/quotas/');
  const isRead = (name: string) =>
    name.startsWith('GET ') && !/ \/v1\/(?:iam\/|operators$|quarantine\/\{id\}\/raw$)/.test(name);
  const expected: Record<Role, (name: string) => boolean> = {
    admin: () => true,
    support: (name) => isOwn(name) || isRead(name) || isHelp(name),
    read: (name) => isOwn(name) || isRead(name),
  };
  const tokens: Partial<Record<Role, string>> = {};
  const routes: string[] = [];

  beforeAll(async () => {
    for (const role of ROLES) tokens[role] = (await enter(`walker-${role}`, role)).token;
    const { paths } = (await call('GET', '/v1/openapi.json', undefined, null)).body;
    for (const [path, operations] of Object.entries<Json>(paths)) {
      for (const [method, { security }] of Object.entries<Json>(operations)) {
        const name = `${method.toUpperCase()} ${path}`;
        if (JSON.stringify(security) === '[{"bearer":[]}]' && !OTHERS.includes(name)) routes.push(name);
      }
    }
  });

  it.each(ROLES)('admits the role %s, or refuses it, as documented', async (role) => {
    expect(routes.length).toBeGreaterThan(45);
    const wrong: string[] = [];
    for (const name of routes) {
      const [method = '', path = ''] = name.split(' ');
      // Send an unknown parameter, so that a request that passes authorisation gets 400 and changes nothing.
      const target = `${path.replaceAll(/\{\w+\}/g, 'x')}?no_such_parameter=1`;
      const { status, body } = await call(method, target, method === 'GET' ? undefined : {}, tokens[role]);
      const isAdmitted = status === 400;
      const isRefused = status === 403 && body.code === 'role_not_allowed';
      if (isAdmitted === isRefused || isAdmitted !== expected[role](name)) wrong.push(`${name} ${status} ${body.code}`);
    }
    expect(wrong).toEqual([]);
  });
});
