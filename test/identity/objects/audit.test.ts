/** Tests the audit log: which entries are recorded, how they are read, and which of them retention and erasure remove. */
import { createExecutionContext, createScheduledController, env } from 'cloudflare:test';
import { beforeAll, describe, expect, it } from 'vitest';
import worker from '../../../workers/index.ts';

// biome-ignore lint/suspicious/noExplicitAny: answers of many routes; each test asserts the members it needs
type Json = any;
const ROOT = (env as Env).ROOT_TOKEN;
const DAY_MS = 24 * 3_600_000;
const PASSWORD = 'correct horse battery';

async function call(
  method: string,
  path: string,
  body?: unknown,
  { token = ROOT, headers = {} }: { token?: string | null; headers?: Record<string, string> } = {},
): Promise<{ status: number; body: Json; headers: Headers }> {
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
  return { status: answer.status, body: text.startsWith('{') ? JSON.parse(text) : text, headers: answer.headers };
}
const list = async (query = ''): Promise<Json[]> => (await call('GET', `/v1/audit${query}`)).body.data;
const actionsOn = async (target: string) => (await list(`?target=${target}`)).map(({ action }) => action).reverse();

async function register(name: string): Promise<{ userId: string; token: string }> {
  const request = { email: `${name}@example.test`, password: PASSWORD, name };
  const { status, body } = await call('POST', '/v1/auth/register', request, { token: null });
  expect(status).toBe(201);
  expect((await call('POST', '/v1/auth/confirm', { password: PASSWORD }, { token: body.token })).status).toBe(204);
  return { userId: body.user.user_id, token: body.token };
}

describe('failed logins', () => {
  const login = (body: object, host: number, path = '/v1/auth/login') =>
    call('POST', path, body, { token: null, headers: { 'cf-connecting-ip': `198.51.100.${host}` } });
  const failuresOf = async (target: string, wanted: number) =>
    (await list(`?action=login.failed&target=${target}`)).map(({ details }) => details.failures).slice(0, wanted);

  it('are recorded at the first and the tenth of an hour, for each account and network', async () => {
    const { userId } = await register('guessed');
    const wrong = { email: 'guessed@example.test', password: 'not the password' };
    for (let host = 1; host <= 11; host += 1) expect((await login(wrong, host)).status).toBe(401);
    expect(await failuresOf(userId, 9)).toEqual([10, 1]);
    const [entry] = await list(`?action=login.failed&target=${userId}`);
    expect([entry.actor.kind, entry.network]).toEqual(['system', '198.51.100.0/24']);
    const elsewhere = { token: null, headers: { 'cf-connecting-ip': '192.0.2.7' } };
    expect((await call('POST', '/v1/auth/login', wrong, elsewhere)).status).toBe(401);
    expect(await failuresOf(userId, 9)).toEqual([1, 10, 1]);
  });

  it('to an unknown name are recorded without the name', async () => {
    expect((await login({ email: 'nobody-at-all@example.test', password: 'x' }, 50)).status).toBe(401);
    const operator = { login: 'nobody-at-all', password: 'a wrong password' };
    expect((await login(operator, 51, '/v1/operators/login')).status).toBe(401);
    const entries = await list('?action=login.failed&target=service');
    expect(entries[0].details).toEqual({ failures: 1, unknown: true });
    expect(JSON.stringify(entries)).not.toContain('nobody');
  });

  it('of an operator are recorded', async () => {
    const body = { login: 'guessed-operator', name: 'x', role: 'read', password: 'a long operator password' };
    const { operator_id } = (await call('POST', '/v1/operators', body)).body;
    const guess = { login: 'guessed-operator', password: 'a wrong password' };
    expect((await login(guess, 60, '/v1/operators/login')).status).toBe(401);
    expect(await failuresOf(operator_id, 9)).toEqual([1]);
  });
});

describe('an action of an operator', () => {
  it('is recorded with its actor, target, origin and request id', async () => {
    const headers = { 'cf-connecting-ip': '203.0.113.77', 'user-agent': 'probe/1' };
    const made = await call('POST', '/v1/iam/users', { name: 'Ada Lovelace', email: 'ada@far.test' }, { headers });
    const [entry] = await list(`?target=${made.body.user_id}`);
    expect(entry).toEqual({
      id: expect.stringMatching(/^[\w-]{36}$/),
      at: expect.stringMatching(/Z$/),
      action: 'user.create',
      actor: { kind: 'root', id: 'root' },
      target: { type: 'user', id: made.body.user_id },
      network: '203.0.113.0/24',
      // The expected hash is the output of: printf %s probe/1 | sha256sum
      user_agent_digest: 'fb116ce107dd5494',
      request_id: made.headers.get('x-request-id'),
      details: {},
    });
    expect(JSON.stringify(await list())).not.toMatch(/Lovelace|far\.test|203\.0\.113\.77/);
  });

  it('is recorded if it changed something, and not if it was refused', async () => {
    const { user_id: id } = (await call('POST', '/v1/iam/users', { name: 'audited' })).body;
    const policy = { Version: '2012-10-17', Statement: [{ Effect: 'Allow', Action: 's3:*', Resource: '*' }] };
    const key = { access_key_id: `AUDIT.${id}`, secret_access_key: 'long enough' };
    expect((await call('PUT', `/v1/iam/users/${id}/policies/all`, policy)).status).toBe(204);
    expect((await call('DELETE', `/v1/iam/users/${id}/policies/none`)).status).toBe(404);
    expect((await call('DELETE', `/v1/iam/users/${id}/policies/all`)).status).toBe(204);
    expect((await call('POST', `/v1/iam/users/${id}/access-keys`, key)).status).toBe(201);
    expect((await call('POST', `/v1/iam/users/${id}/access-keys`, key)).status).toBe(409);
    expect(await actionsOn(id)).toEqual(['user.create', 'policy.set', 'policy.delete', 'access_key.create']);
    expect((await call('DELETE', `/v1/iam/access-keys/AUDIT.${id}`)).status).toBe(204);
    expect((await call('DELETE', `/v1/iam/access-keys/AUDIT.${id}`)).status).toBe(404);
    expect(await actionsOn(`AUDIT.${id}`)).toEqual(['access_key.delete']);
  });

  it('names the token that did it', async () => {
    const { body: admin } = await call('POST', '/v1/iam/tokens', { name: 'ops', scopes: ['admin'] });
    const by = { token: admin.token };
    expect(
      (await call('POST', '/v1/domains', { domain: 'audited.test', transport: 'smtp://u:p@relay' }, by)).status,
    ).toBe(201);
    expect((await call('PATCH', '/v1/domains/audited.test', { is_held: true }, by)).status).toBe(200);
    expect((await call('POST', '/v1/domains/audited.test/dkim-keys', undefined, by)).status).toBe(201);
    expect((await call('DELETE', '/v1/domains/audited.test', undefined, by)).status).toBe(204);
    expect((await call('POST', '/v1/invites', undefined, by)).status).toBe(201);
    const acknowledged = await call('POST', '/v1/collectors/mail/acknowledge', { remove: true }, by);
    expect(acknowledged.status).toBe(204);
    const entries = await list(`?actor=${admin.token_id}`);
    expect(entries.map(({ action }) => action).reverse()).toEqual([
      'domain.create',
      'domain.update',
      'dkim_keys.create',
      'domain.delete',
      'invite.create',
      'collector.acknowledge',
    ]);
    expect(entries.at(-1).details).toEqual({ transport: 'set' });
    expect(new Set(entries.map(({ actor }) => actor.kind))).toEqual(new Set(['token']));
  });

  it('on storage is recorded, but a dry run is not', async () => {
    const before = (await list('?limit=200')).length;
    expect((await call('POST', '/v1/storage/fsck', {})).status).toBe(200);
    expect((await list('?limit=200')).length).toBe(before);
    expect((await call('POST', '/v1/storage/fsck', { dry_run: false })).status).toBe(200);
    expect((await call('POST', '/v1/storage/gc', {})).status).toBe(200);
    expect((await list('?limit=2')).map(({ action }) => action)).toEqual(['storage.gc', 'storage.fsck']);
  });

  it('on a player is recorded with its reason, until the player is erased', async () => {
    const { body: game } = await call('POST', '/v1/iam/tokens', { name: 'game', scopes: ['scores:write'] });
    const score = { user_id: 'audited-player', points: 7 };
    const { body } = await call('POST', '/v1/scores', score, { token: game.token });
    const { season } = body.user_info;
    const correction = { hidden: true, reason: 'cheats' };
    expect((await call('PATCH', '/v1/scores/audited-player', correction)).status).toBe(200);
    expect((await list('?target=audited-player'))[0].details).toEqual({ season, hidden: true, reason: 'cheats' });
    expect((await call('DELETE', '/v1/scores/audited-player')).status).toBe(204);
    expect(await list('?target=audited-player')).toEqual([]);
    const [erased, corrected] = await list('?limit=2');
    expect([erased.action, corrected.action, corrected.details]).toEqual(['player.erase', 'player.correct', {}]);
    expect(erased.target).toEqual(corrected.target);
  });
});

describe('a security action of a person', () => {
  it('is recorded: password, second factor, tokens, addresses, forwards', async () => {
    const { userId, token } = await register('audited-person');
    const own = { token };
    const app = (await call('POST', '/v1/me/tokens', { name: 'Phone' }, own)).body;
    expect((await call('DELETE', `/v1/me/tokens/${app.token_id}`, undefined, own)).status).toBe(204);
    expect((await call('POST', '/v1/me/addresses', { email: 'audited-alias@example.test' }, own)).status).toBe(201);
    expect((await call('POST', '/v1/me/forward-targets', { email: 'someone@far.test' }, own)).status).toBe(202);
    const change = { current_password: PASSWORD, new_password: 'another long password' };
    expect((await call('POST', '/v1/me/password', change, own)).status).toBe(204);
    const entries = await list(`?actor=${userId}`);
    expect(entries.map(({ action }) => action).reverse()).toEqual([
      'token.create',
      'token.delete',
      'address.create',
      'forward_target.create',
      'password.change',
    ]);
    expect(JSON.stringify(entries)).not.toMatch(/Phone|alias|far\.test/);
  });

  it('includes logins from new places, but not from known ones', async () => {
    const { userId } = await register('traveller');
    const login = (ip: string) =>
      call(
        'POST',
        '/v1/auth/login',
        { email: 'traveller@example.test', password: PASSWORD },
        { token: null, headers: { 'cf-connecting-ip': ip } },
      );
    expect((await login('198.51.100.9')).status).toBe(200);
    expect((await login('198.51.100.9')).status).toBe(200);
    const entries = await list(`?target=${userId}`);
    expect(entries.map(({ action, network }) => [action, network])).toEqual([['login.new_place', '198.51.100.0/24']]);
  });
});

describe('the log', () => {
  it('is read in pages and filtered by action, actor, target and time', async () => {
    const { user_id: id } = (await call('POST', '/v1/iam/users', { name: 'paged' })).body;
    for (let n = 0; n < 5; n++)
      await call('PUT', `/v1/iam/users/${id}/policies/p${n}`, {
        Version: '2012-10-17',
        Statement: [{ Effect: 'Allow', Action: 's3:*', Resource: '*' }],
      });
    const all = await list(`?target=${id}`);
    expect(all).toHaveLength(6);
    const seen: Json[] = [];
    let cursor: string | null = null;
    do {
      const more: string = cursor === null ? '' : `&cursor=${encodeURIComponent(cursor)}`;
      const { body } = await call('GET', `/v1/audit?target=${id}&limit=2${more}`);
      seen.push(...body.data);
      cursor = body.next_cursor;
    } while (cursor !== null);
    expect(seen).toEqual(all);
    expect(await list(`?target=${id}&action=user.create`)).toEqual([all.at(-1)]);
    expect(await list(`?target=${id}&actor=system`)).toEqual([]);
    expect(await list(`?target=${id}&until=${all.at(-1).at}`)).toEqual([]);
    expect(await list(`?target=${id}&since=${all.at(-1).at}`)).toEqual(all);
    expect((await call('GET', '/v1/audit?action=no.such')).status).toBe(400);
    expect((await call('GET', '/v1/audit?cursor=x')).body.code).toBe('invalid_cursor');
  });

  it('is for operators only', async () => {
    expect((await call('GET', '/v1/audit', undefined, { token: null })).status).toBe(401);
    const { token } = await register('curious');
    expect((await call('GET', '/v1/audit', undefined, { token })).status).toBe(403);
  });

  it('loses entries after 400 days, on the daily run only, and records how many', async () => {
    const id = `old-${crypto.randomUUID()}`;
    const insert = (env as Env).DIRECTORY.prepare(
      `INSERT INTO audit_entry(at, entry_id, actor_kind, actor_id, action, target_type, target_id, details)
       VALUES (?1, ?2, 'root', 'root', 'user.create', 'user', ?3, '{}')`,
    );
    const now = Date.now();
    await (env as Env).DIRECTORY.batch([
      insert.bind(now - 401 * DAY_MS, 'expired', id),
      insert.bind(now - 399 * DAY_MS, 'kept', id),
    ]);
    const run = (cron: string) =>
      worker.scheduled(createScheduledController({ cron }), env as Env, createExecutionContext());
    await run('* * * * *');
    expect((await list(`?target=${id}`)).map((entry) => entry.id)).toEqual(['kept', 'expired']);
    await run('17 3 * * *');
    expect((await list(`?target=${id}`)).map((entry) => entry.id)).toEqual(['kept']);
    const [pruned] = await list('?action=audit.prune');
    expect([pruned.actor.kind, pruned.details]).toEqual(['system', { entries: 1 }]);
  });
});

describe('erasing a user', () => {
  let userId: string;
  beforeAll(async () => {
    const registered = await register('leaving');
    userId = registered.userId;
    await call('POST', '/v1/me/tokens', { name: 'Phone' }, { token: registered.token });
    await call('PATCH', `/v1/accounts/${userId}`, { account_type: 'business' });
    expect((await call('DELETE', `/v1/iam/users/${userId}`)).status).toBe(204);
  });

  it('leaves no origin in the entry of their own request', async () => {
    const leaver = await register('leaving-too');
    const headers = { 'cf-connecting-ip': '203.0.113.9', 'user-agent': 'probe/1' };
    expect((await call('DELETE', '/v1/me', undefined, { token: leaver.token, headers })).status).toBe(204);
    const [erased] = await list(`?target=${leaver.userId}`);
    expect(erased).toMatchObject({ action: 'account.delete', network: null, user_agent_digest: null });
  });

  it('replaces the person by one pseudonym and removes network, device and details', async () => {
    const [deleted] = await list(`?target=${userId}`);
    expect([deleted.action, deleted.actor.kind]).toEqual(['user.delete', 'root']);
    expect(await list(`?target=${userId}`)).toHaveLength(1);
    expect(await list(`?actor=${userId}`)).toEqual([]);
    const [updated] = await list('?action=account.update');
    expect([updated.target.id, updated.details]).toEqual([expect.stringMatching(/^erased-/), {}]);
    const [created] = await list(`?actor=${updated.target.id}`);
    expect(created).toMatchObject({ action: 'token.create', network: null, user_agent_digest: null, details: {} });
  });
});
