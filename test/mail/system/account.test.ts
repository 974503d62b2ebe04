import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { toCode } from '../../../workers/identity/secrets/totp.ts';
import { confirmSession } from '../../support/mail/mail.ts';
import { startServer, type TestServer } from '../../support/server.ts';

let server: TestServer;
beforeAll(async () => {
  server = await startServer();
});
afterAll(() => server[Symbol.asyncDispose]());

const register = async (name: string) => {
  const email = `${name}@example.test`;
  const { status, body } = await server.call(
    'POST',
    '/v1/auth/register',
    { email, password: `${name}-password`, name },
    null,
  );
  expect([status, body.code]).toEqual([201, undefined]);
  return { email, token: body.token as string, user: body.user };
};

describe('an account', () => {
  it('can be registered, has folders, and logs in and out', async () => {
    const ada = await register('ada');
    expect(ada.user).toMatchObject({
      email: 'ada@example.test',
      account_type: 'personal',
      quota: { used_bytes: 0, limit_bytes: 5 * 1024 ** 3 },
    });
    const folders = await server.call('GET', '/v1/folders', undefined, ada.token);
    expect(folders.body.map((folder: { role: string }) => folder.role)).toEqual([
      'inbox',
      'all',
      'archive',
      'drafts',
      'flagged',
      'junk',
      'sent',
      'trash',
    ]);
    const login = await server.call(
      'POST',
      '/v1/auth/login',
      { email: 'ADA@example.test', password: 'ada-password' },
      null,
    );
    expect(login.status).toBe(200);
    expect(login.headers.getSetCookie()[0]).toMatch(
      /^session=ses_[\w-]+; Max-Age=\d+; Path=\/; HttpOnly; SameSite=Strict$/,
    );
    expect((await server.call('POST', '/v1/auth/logout', undefined, login.body.token)).status).toBe(204);
    expect((await server.call('GET', '/v1/me', undefined, login.body.token)).status).toBe(401);
    expect((await server.call('GET', '/v1/me', undefined, ada.token)).status).toBe(200);
  });

  it('is not created for a foreign domain, a reserved name, a taken address or unknown members', async () => {
    const attempt = (body: object) =>
      server.call('POST', '/v1/auth/register', { password: 'long enough', name: 'X', ...body }, null);
    expect((await attempt({ email: 'x@elsewhere.test' })).status).toBe(400);
    expect((await attempt({ email: 'Postmaster@example.test' })).body.code).toBe('address_reserved');
    expect((await attempt({ email: 'Ada@Example.test' })).body.code).toBe('address_taken');
    expect((await attempt({ email: 'y@example.test', admin: true })).body.errors).toEqual([
      { path: 'admin', message: 'unknown member' },
    ]);
    expect((await attempt({ email: 'ü@example.test' })).status).toBe(400);
  });

  it('gives the same answer to an unknown address and to a wrong password', async () => {
    const wrong = await server.call('POST', '/v1/auth/login', { email: 'ada@example.test', password: 'wrong' }, null);
    const unknown = await server.call(
      'POST',
      '/v1/auth/login',
      { email: 'nobody@example.test', password: 'wrong' },
      null,
    );
    expect([wrong.status, wrong.body.code, wrong.body.detail]).toEqual([
      unknown.status,
      unknown.body.code,
      unknown.body.detail,
    ]);
    expect(wrong.status).toBe(401);
  });

  it('blocks password guesses before hashing, only for that address and client', async () => {
    await register('guessed');
    const guess = () =>
      server.call('POST', '/v1/auth/login', { email: 'guessed@example.test', password: 'wrong' }, null);
    for (let n = 0; n < 10; n += 1) expect((await guess()).status).toBe(401);
    const stopped = await guess();
    expect(stopped.status).toBe(429);
    expect(Number(stopped.headers.get('retry-after'))).toBeGreaterThan(0);
    expect(
      (await server.call('POST', '/v1/auth/login', { email: 'ada@example.test', password: 'ada-password' }, null))
        .status,
    ).toBe(200);
  });

  it('is not locked out by guesses from its own network, because devices and sessions are counted separately', async () => {
    const { token, email } = await register('owner');
    const log = (password: string, cookie?: string) =>
      fetch(`${server.url}/v1/auth/login`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', ...(cookie ? { cookie } : {}) },
        body: JSON.stringify({ email, password }),
      });
    const first = await log('owner-password');
    const device = first.headers.getSetCookie().find((cookie) => cookie.startsWith('device='));
    expect(device).toMatch(/HttpOnly.*SameSite=Strict/);
    const cookie = device?.split(';')[0] ?? '';
    for (let n = 0; n < 10; n += 1) await log('wrong');
    expect((await log('owner-password')).status).toBe(429);
    expect((await log('owner-password', 'device=AAAAAAAAAAAAAAAAAAAAAAAA')).status).toBe(429);
    expect((await log('owner-password', cookie)).status).toBe(200);
    const change = { current_password: 'owner-password', new_password: 'another-password' };
    expect((await server.call('POST', '/v1/me/password', change, token)).status).toBe(204);
    // Wrong guesses from a known device must count as well, and the device must not open another account.
    for (let n = 0; n < 10; n += 1) await log('wrong', cookie);
    expect((await log('another-password', cookie)).status).toBe(429);
  });

  it('accepts its cookie for reads, and for writes only from the same origin', async () => {
    const login = await fetch(`${server.url}/v1/auth/login`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ email: 'ada@example.test', password: 'ada-password' }),
    });
    const cookie = (login.headers.get('set-cookie') ?? '').split(';')[0] ?? '';
    const patch = (origin?: string) =>
      fetch(`${server.url}/v1/me`, {
        method: 'PATCH',
        headers: { cookie, 'content-type': 'application/json', ...(origin ? { origin } : {}) },
        body: JSON.stringify({ signature: 'Ada' }),
      });
    expect((await fetch(`${server.url}/v1/me`, { headers: { cookie } })).status).toBe(200);
    expect((await patch()).status).toBe(403);
    expect((await patch('https://evil.test')).status).toBe(403);
    expect((await patch(server.url)).status).toBe(200);
    expect(
      (await fetch(`${server.url}/v1/me`, { headers: { cookie, authorization: 'Bearer ses_wrong' } })).status,
    ).toBe(401);
  });

  it('changes its password, which ends all other sessions, and lists and ends sessions', async () => {
    const { token, email } = await register('pia');
    const other = await server.call('POST', '/v1/auth/login', { email, password: 'pia-password' }, null);
    const sessions = await server.call('GET', '/v1/me/sessions', undefined, token);
    expect(sessions.body.data.map((session: { is_current: boolean }) => session.is_current).sort()).toEqual([
      false,
      true,
    ]);
    const change = (current_password: string) =>
      server.call('POST', '/v1/me/password', { current_password, new_password: 'a better one' }, token);
    expect((await change('wrong')).status).toBe(403);
    expect((await change('pia-password')).status).toBe(204);
    expect((await server.call('GET', '/v1/me', undefined, other.body.token)).status).toBe(401);
    expect((await server.call('GET', '/v1/me', undefined, token)).status).toBe(200);
    expect((await server.call('POST', '/v1/auth/login', { email, password: 'pia-password' }, null)).status).toBe(401);
    const again = await server.call('POST', '/v1/auth/login', { email, password: 'a better one' }, null);
    const listed = await server.call('GET', '/v1/me/sessions', undefined, token);
    const { session_id } = listed.body.data.find((session: { is_current: boolean }) => !session.is_current);
    expect((await server.call('DELETE', `/v1/me/sessions/${session_id}`, undefined, token)).status).toBe(204);
    expect((await server.call('GET', '/v1/me', undefined, again.body.token)).status).toBe(401);
  });

  it('has a second factor with one-time codes, and recovery codes', async () => {
    const { token, email } = await register('theo');
    const begun = await server.call('POST', '/v1/me/totp', { password: 'theo-password' }, token);
    expect(begun.status).toBe(201);
    const step = () => Math.floor(Date.now() / 30_000);
    const login = (more: object) =>
      server.call('POST', '/v1/auth/login', { email, password: 'theo-password', ...more }, null);
    expect((await login({})).status).toBe(200);
    const confirmed = await server.call(
      'POST',
      '/v1/me/totp/confirm',
      { totp: toCode(begun.body.secret, step()) },
      token,
    );
    expect(confirmed.body.recovery_codes).toHaveLength(10);
    expect((await login({})).body.code).toBe('second_factor_required');
    // Use a code that is one 30-second step ahead. It is accepted too, and is always later than the first code.
    const code = toCode(begun.body.secret, step() + 1);
    expect((await login({ totp: code })).status).toBe(200);
    expect((await login({ totp: code })).body.code).toBe('wrong_second_factor');
    const [recovery, another] = confirmed.body.recovery_codes;
    expect((await login({ recovery_code: recovery.toUpperCase() })).status).toBe(200);
    expect((await login({ recovery_code: recovery })).status).toBe(401);
    const off = { password: 'theo-password', recovery_code: another };
    expect((await server.call('DELETE', '/v1/me/totp', off, token)).status).toBe(204);
    expect((await login({})).status).toBe(200);
  });

  it('accepts codes with a clock skew of one step, once even in a race, and counts wrong codes as guesses', async () => {
    const { token, email } = await register('tick');
    const { secret } = (await server.call('POST', '/v1/me/totp', { password: 'tick-password' }, token)).body;
    const codeAt = (off: number) => toCode(secret, Math.floor(Date.now() / 30_000) + off);
    const login = (more: object) =>
      server.call('POST', '/v1/auth/login', { email, password: 'tick-password', ...more }, null);
    const confirmed = await server.call('POST', '/v1/me/totp/confirm', { totp: codeAt(-1) }, token);
    expect(confirmed.status).toBe(200);
    for (const off of [-3, 3]) expect((await login({ totp: codeAt(off) })).body.code).toBe('wrong_second_factor');
    const code = codeAt(1);
    const raced = await Promise.all([1, 2, 3].map(() => login({ totp: code })));
    expect(raced.filter(({ status }) => status === 200)).toHaveLength(1);
    // After a later code, an earlier code must be rejected.
    expect((await login({ totp: codeAt(-1) })).status).toBe(401);
    const [recovery] = confirmed.body.recovery_codes;
    const recovered = await Promise.all([1, 2, 3].map(() => login({ recovery_code: recovery })));
    expect(recovered.filter(({ status }) => status === 200)).toHaveLength(1);
    const guesses = await Promise.all(
      Array.from({ length: 12 }, (_, n) => login({ totp: String(n).padStart(6, '0') })),
    );
    expect(guesses.some(({ status }) => status === 200)).toBe(false);
    expect(guesses.some(({ status }) => status === 429)).toBe(true);
  });

  it('lists its labels with counts that exclude Junk and Trash', async () => {
    const { token } = await register('lab');
    const ids: string[] = [];
    for (let n = 0; n < 5; n += 1) {
      await fetch(`${server.url}/v1/import`, {
        method: 'POST',
        headers: { authorization: `Bearer ${token}`, 'content-type': 'message/rfc822' },
        body: `Subject: ${n}\r\n\r\nbody ${n}\r\n`,
      });
    }
    const { body: page } = await server.call('GET', '/v1/folders/inbox/messages', undefined, token);
    for (const { id } of page.data) ids.push(id);
    const patch = (n: number, change: object) =>
      server.call('PATCH', `/v1/messages/${ids[n]}`, change, token).then(({ status }) => expect(status).toBe(200));
    await patch(0, { labels: ['Work', 'ångström', 'a/b %'] });
    await patch(1, { labels: ['Work'], is_read: true });
    await patch(2, { labels: ['Work', 'gone'] });
    await patch(2, { folder_id: 'trash' });
    const labels = async (query = '') => (await server.call('GET', `/v1/labels${query}`, undefined, token)).body;
    expect((await labels()).data).toEqual([
      { label: 'Work', total: 2, unread: 1 },
      { label: 'a/b %', total: 1, unread: 1 },
      { label: 'gone', total: 0, unread: 0 },
      { label: 'ångström', total: 1, unread: 1 },
    ]);
    const first = await labels('?limit=3');
    expect(first.data).toHaveLength(3);
    const second = await labels(`?limit=3&cursor=${first.next_cursor}`);
    expect(second).toMatchObject({ data: [{ label: 'ångström' }], next_cursor: null });
    // Change a thousand ids at once, including unknown and repeated ids.
    const named = Array.from({ length: 1_000 }, (_, n) => (n % 100 < 5 ? (ids[n % 100] ?? '') : crypto.randomUUID()));
    const batch = (message_ids: string[], change: object) =>
      server.call('POST', '/v1/messages/batch', { message_ids, ...change }, token);
    const { results } = (await batch(named, { is_flagged: true })).body as {
      results: { id: string; status: string }[];
    };
    expect(results.map(({ id }) => id)).toEqual(named);
    const counted = (status: string) => results.filter((each) => each.status === status).length;
    expect(['updated', 'unchanged', 'not_found'].map(counted)).toEqual([5, 45, 950]);
    for (const change of [{}, { delete: true, is_read: true }, { is_flagged: 1 }])
      expect((await batch(named, change)).status).toBe(400);
    expect((await batch([...named, ids[0] ?? ''], { is_flagged: false })).status).toBe(400);
    expect((await batch(named, { folder_id: 'all' })).status).toBe(404);
    const twice = await server.call('GET', '/v1/folders/inbox/messages?offset=1&cursor=WzFd', undefined, token);
    expect([twice.status, twice.body.errors[0].path]).toEqual([400, 'offset']);
    await patch(0, { labels: [] });
    expect((await labels()).data.map(({ label }: { label: string }) => label)).toEqual(['Work', 'gone']);
  });

  it('has app tokens that read mail and cannot change the account', async () => {
    const { token } = await register('toni');
    await confirmSession(server, token, 'toni-password');
    const made = await server.call('POST', '/v1/me/tokens', { name: 'laptop' }, token);
    expect((await server.call('GET', '/v1/folders', undefined, made.body.token)).status).toBe(200);
    expect((await server.call('DELETE', '/v1/me', undefined, made.body.token)).body.code).toBe('session_only');
    expect((await server.call('DELETE', `/v1/me/tokens/${made.body.token_id}`, undefined, token)).status).toBe(204);
    expect((await server.call('GET', '/v1/folders', undefined, made.body.token)).status).toBe(401);
  });

  it('is erased with its mail, and its address is never issued again', async () => {
    const { token, email, user } = await register('gone');
    const upload = await fetch(`${server.url}/v1/attachments?file_name=a.bin`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}` },
      body: new Uint8Array(1000),
    });
    expect(upload.status).toBe(201);
    expect((await server.call('DELETE', '/v1/me', { password: 'gone-password' }, token)).status).toBe(204);
    expect((await server.call('GET', '/v1/me', undefined, token)).status).toBe(401);
    const again = await server.call('POST', '/v1/auth/register', { email, password: 'long enough', name: 'X' }, null);
    expect(again.body.code).toBe('address_taken');
    expect((await server.call('GET', `/v1/iam/users/${user.user_id}`)).status).toBe(404);
  });
});
