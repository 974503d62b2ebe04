/**
 * Tests sessions and app tokens, which are in the mailbox of their user. Requests query no other store, and each revocation takes
 * effect at once or not at all.
 */
import { createExecutionContext, env, runInDurableObject } from 'cloudflare:test';
import { beforeEach, describe, expect, it } from 'vitest';
import worker from '../../../workers/index.ts';
import { openMailbox } from '../../../workers/mail/bindings/mailbox.ts';
import { userDatabaseOf } from '../../../workers/shared/stores/directories.ts';

// biome-ignore lint/suspicious/noExplicitAny: answers of many routes; each test asserts the members it needs
type Json = any;
interface Options {
  readonly body?: unknown;
  readonly token?: string | null;
  readonly headers?: Record<string, string>;
  readonly bindings?: Partial<Env>;
}
const ROOT = (env as Env).ROOT_TOKEN;
const PASSWORD = 'correct horse battery';

async function fetchFrom(method: string, path: string, { body, token = ROOT, headers = {}, bindings = {} }: Options) {
  const request = new Request(`http://localhost${path}`, {
    method,
    headers: {
      ...(token === null ? {} : { authorization: `Bearer ${token}` }),
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      ...headers,
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  }) as Request<unknown, IncomingRequestCfProperties>;
  return worker.fetch(request, { ...(env as Env), ...bindings }, createExecutionContext());
}
async function call(method: string, path: string, options: Options = {}): Promise<{ status: number; body: Json }> {
  const answer = await fetchFrom(method, path, options);
  const text = await answer.text();
  return { status: answer.status, body: text.startsWith('{') || text.startsWith('[') ? JSON.parse(text) : text };
}

/** Client address: a random network per person, because registrations are limited by network. */
const network = () => `10.${[1, 2, 3].map(() => Math.floor(Math.random() * 256)).join('.')}`;

async function register() {
  const email = `p${crypto.randomUUID()}@example.test`;
  const body = { email, password: PASSWORD, name: 'Person' };
  const made = await call('POST', '/v1/auth/register', {
    body,
    token: null,
    headers: { 'cf-connecting-ip': network() },
  });
  expect(made.status).toBe(201);
  return { email, session: made.body.token as string, userId: made.body.user.user_id as string };
}
type Person = Awaited<ReturnType<typeof register>>;
const login = (email: string, password = PASSWORD) =>
  call('POST', '/v1/auth/login', {
    body: { email, password },
    token: null,
    headers: { 'cf-connecting-ip': network() },
  });
const addToken = async ({ session }: Person) =>
  (await call('POST', '/v1/me/tokens', { body: { name: 'app', password: PASSWORD }, token: session })).body as {
    token: string;
    token_id: string;
  };
const statusOf = async (token: string): Promise<number> => (await call('GET', '/v1/folders', { token })).status;

/** Opens a WebSocket of events. @returns a promise of the code with which the server closes it. */
async function openSocket(token: string): Promise<{ closed: Promise<number> }> {
  const answer = await fetchFrom('GET', '/v1/events', { token, headers: { upgrade: 'websocket' } });
  expect(answer.status).toBe(101);
  const socket = answer.webSocket;
  const closed = new Promise<number>((resolve) =>
    socket?.addEventListener('close', ({ code }) => {
      socket.close(code);
      resolve(code);
    }),
  );
  socket?.accept();
  return { closed };
}

/** Returns mailbox bindings of which some calls fail before they arrive. */
function mailboxesWithout(...methods: string[]): Partial<Env> {
  const { MAILBOX } = env as Env;
  const wrap = (stub: object) =>
    new Proxy(stub, {
      get: (target, name) =>
        name === 'inTrace'
          ? (trace: string, method: string, args: unknown[]) =>
              methods.includes(method)
                ? Promise.reject(new Error('Network connection lost.'))
                : (target as Json).inTrace(trace, method, args)
          : typeof Reflect.get(target, name) === 'function'
            ? (...args: unknown[]) => (target as Json)[name](...args)
            : Reflect.get(target, name),
    });
  return {
    MAILBOX: {
      idFromName: (name: string) => MAILBOX.idFromName(name),
      get: (id: DurableObjectId, options: object) => wrap(MAILBOX.get(id, options)),
    } as unknown as Env['MAILBOX'],
  };
}

/** Returns mailbox bindings that run some work just before each call of a method. */
function mailboxesBefore(method: string, work: () => Promise<unknown>): Partial<Env> {
  const { MAILBOX } = env as Env;
  const wrap = (stub: object) =>
    new Proxy(stub, {
      get: (target, name) =>
        name === 'inTrace'
          ? async (trace: string, called: string, args: unknown[]) => {
              if (called === method) await work();
              return (target as Json).inTrace(trace, called, args);
            }
          : typeof Reflect.get(target, name) === 'function'
            ? (...args: unknown[]) => (target as Json)[name](...args)
            : Reflect.get(target, name),
    });
  return {
    MAILBOX: {
      idFromName: (name: string) => MAILBOX.idFromName(name),
      get: (id: DurableObjectId, options: object) => wrap(MAILBOX.get(id, options)),
    } as unknown as Env['MAILBOX'],
  };
}

/** Counts the user's rows in the mailbox, and reads the user's names there. */
const keptOf = ({ userId }: Person) => {
  const { MAILBOX } = env as Env;
  return runInDurableObject(MAILBOX.get(MAILBOX.idFromName(userId)), (_, { storage: { sql } }) => ({
    credentials: sql.exec('SELECT 1 FROM credential').toArray().length,
    mailboxes: sql.exec('SELECT 1 FROM mailbox').toArray().length,
    names: sql
      .exec<{ user_name: string; name: string; email: string | null }>('SELECT * FROM holder')
      .toArray()
      .map(({ user_name, name, email }) => user_name + name + (email ?? '')),
  }));
};

describe('a request of mail', () => {
  it('asks DIRECTORY nothing, with a session, its cookie or an app token', async () => {
    const person = await register();
    const { token } = await addToken(person);
    let asked = 0;
    const DIRECTORY = new Proxy((env as Env).DIRECTORY, {
      get(target, name) {
        asked += 1;
        const member = Reflect.get(target, name);
        return typeof member === 'function' ? member.bind(target) : member;
      },
    });
    const credentials = [
      { token: person.session },
      { token },
      { token: null, headers: { cookie: `session=${person.session}` } },
    ];
    // Wait: the first use of a token in an hour is recorded in DIRECTORY, after the answer.
    expect(await statusOf(token)).toBe(200);
    for (const credential of credentials)
      for (const path of [
        '/v1/folders',
        '/v1/folders/inbox/messages',
        '/v1/messages?q=word',
        '/v1/labels',
        '/v1/filters',
      ])
        expect([path, (await call('GET', path, { ...credential, bindings: { DIRECTORY } })).status]).toEqual([
          path,
          200,
        ]);
    const folder = { body: { name: 'Own' }, token: person.session, bindings: { DIRECTORY } };
    expect((await call('POST', '/v1/folders', folder)).status).toBe(201);
    expect(asked).toBe(0);
    expect((await call('GET', '/v1/me', { token, bindings: { DIRECTORY } })).status).toBe(200);
    expect(asked).toBeGreaterThan(0);
  });

  it('is refused before its parameters and its body are checked', async () => {
    const { session } = await register();
    const other = session.replace(/.$/, (last) => (last === 'A' ? 'B' : 'A'));
    expect((await call('GET', '/v1/messages?none=1', { token: session })).status).toBe(400);
    expect((await call('GET', '/v1/messages?none=1', { token: other })).status).toBe(401);
    expect((await call('POST', '/v1/folders', { token: other, body: { none: 1 } })).status).toBe(401);
  });

  it('is 503 while the mailbox cannot be reached', async () => {
    const { session } = await register();
    const answer = await call('GET', '/v1/folders', { token: session, bindings: mailboxesWithout('listOwnFolders') });
    expect([answer.status, answer.body.code]).toEqual([503, 'mailbox_unavailable']);
    expect(await statusOf(session)).toBe(200);
  });
});

describe('a secret', () => {
  it('opens no other mailbox, and a malformed one opens none', async () => {
    const [one, other] = [await register(), await register()];
    const swapped = one.session.replace(one.userId, other.userId);
    const secret = one.session.split('_').slice(2).join('_');
    const made = [
      swapped,
      one.session.replace('ses_', 'tok_'),
      one.session.replace('ses_', 'ops_'),
      one.session.slice(0, -1),
      `${one.session}A`,
      `ses_${one.userId.toUpperCase()}_${secret}`,
      `ses__${secret}`,
      `ses_${secret}`,
      `ses_${one.userId}_`,
      `ses_../${one.userId}_${secret}`,
      `ses_${one.userId}%00_${secret}`,
      `ses_${one.userId}${one.userId}_${secret}`,
      one.userId,
    ];
    for (const token of made) expect([token, await statusOf(token)]).toEqual([token, 401]);
    for (const token of made) {
      const cookie = { token: null, headers: { cookie: `session=${token}` } };
      expect([token, (await call('GET', '/v1/folders', cookie)).status]).toEqual([token, 401]);
    }
    expect([await statusOf(one.session), await statusOf(other.session)]).toEqual([200, 200]);
    const { token } = await addToken(one);
    const asCookie = { token: null, headers: { cookie: `session=${token}` } };
    expect((await call('GET', '/v1/folders', asCookie)).status).toBe(401);
    for (const path of ['/v1/iam/users', '/v1/scores'])
      expect((await call('POST', path, { token, body: {} })).status).toBe(403);
  });

  it('of an unknown user creates no database', async () => {
    const userId = crypto.randomUUID();
    expect(await statusOf(`ses_${userId}_${'A'.repeat(43)}`)).toBe(401);
    const { MAILBOX } = env as Env;
    const tables = await runInDurableObject(MAILBOX.get(MAILBOX.idFromName(userId)), (_, state) =>
      [...state.storage.sql.exec<{ name: string }>('SELECT name FROM sqlite_master')].map(({ name }) => name),
    );
    expect(tables.filter((name) => !name.startsWith('_cf_'))).toEqual([]);
  });

  it('is stored nowhere, and its hash only in the mailbox', async () => {
    const person = await register();
    const { token_id } = await addToken(person);
    const DIRECTORY = userDatabaseOf(env as Env, person.userId);
    const row = await DIRECTORY.prepare('SELECT token_sha256 FROM token WHERE token_id = ?').bind(token_id).first();
    expect(row).toEqual({ token_sha256: null });
    const { results } = await DIRECTORY.prepare("SELECT name FROM sqlite_master WHERE name = 'session'").all();
    expect(results).toEqual([]);
  });
});

/** A way to revoke the credentials of a thief: the call, and the credentials that it ends. */
interface Revocation {
  readonly name: string;
  readonly run: (
    thief: { person: Person; sessionId: string; tokenId: string; session: string },
    more: Options,
  ) => Promise<number>;
  readonly done: number;
  readonly ends: readonly ('session' | 'token')[];
  /** Mailbox method by which the revocation takes effect. */
  readonly by: 'endCredentials' | 'setSuspended';
}
async function resetLink({ userId }: Person): Promise<string> {
  const { body } = await call('POST', `/v1/accounts/${userId}/password-reset`);
  return /rst_[\w-]+/.exec(body.url)?.[0] ?? '';
}
const changePassword = (session: string, more: object, options: Options) =>
  call('POST', '/v1/me/password', {
    ...options,
    token: session,
    body: { password: PASSWORD, new_password: 'a wholly new password', ...more },
  });
const links = new Map<string, string>();
const REVOCATIONS: readonly Revocation[] = [
  {
    name: 'a logout',
    run: async ({ session }, more) => (await call('POST', '/v1/auth/logout', { ...more, token: session })).status,
    done: 204,
    ends: ['session'],
    by: 'endCredentials',
  },
  {
    name: 'the end of one session',
    run: async ({ person, sessionId }, more) =>
      (await call('DELETE', `/v1/me/sessions/${sessionId}`, { ...more, token: person.session })).status,
    done: 204,
    ends: ['session'],
    by: 'endCredentials',
  },
  {
    name: 'the revocation of an app token',
    run: async ({ person, tokenId }, more) =>
      (await call('DELETE', `/v1/me/tokens/${tokenId}`, { ...more, token: person.session })).status,
    done: 204,
    ends: ['token'],
    by: 'endCredentials',
  },
  {
    name: "an operator's revocation of an app token",
    run: async ({ tokenId }, more) => (await call('DELETE', `/v1/iam/tokens/${tokenId}`, more)).status,
    done: 204,
    ends: ['token'],
    by: 'endCredentials',
  },
  {
    name: 'a new password',
    run: async ({ person }, more) => (await changePassword(person.session, {}, more)).status,
    done: 204,
    ends: ['session', 'token'],
    by: 'endCredentials',
  },
  {
    name: 'a new password that keeps the tokens',
    run: async ({ person }, more) => (await changePassword(person.session, { keep_tokens: true }, more)).status,
    done: 204,
    ends: ['session'],
    by: 'endCredentials',
  },
  {
    name: 'a reset of the password',
    run: async ({ person }, more) => {
      const token = links.get(person.userId) ?? (await resetLink(person));
      links.set(person.userId, token);
      const body = { token, password: 'a wholly new password' };
      const headers = { 'cf-connecting-ip': network() };
      return (await call('POST', '/v1/auth/reset', { ...more, token: null, body, headers })).status;
    },
    done: 204,
    ends: ['session', 'token'],
    by: 'endCredentials',
  },
  {
    name: 'a suspension',
    run: async ({ person }, more) =>
      (await call('PUT', `/v1/accounts/${person.userId}/suspension`, { ...more, body: { reason: 'abuse' } })).status,
    done: 200,
    ends: ['session', 'token'],
    by: 'setSuspended',
  },
  {
    name: 'the deletion of the user',
    run: async ({ person }, more) => (await call('DELETE', `/v1/iam/users/${person.userId}`, more)).status,
    done: 204,
    ends: ['session', 'token'],
    by: 'endCredentials',
  },
];

describe.each(REVOCATIONS)('$name', ({ run, done, ends, by, name }) => {
  let person: Person;
  let stolen: { session: string; token: string };
  let thief: { person: Person; sessionId: string; tokenId: string; session: string };
  beforeEach(async () => {
    person = await register();
    const session = (await login(person.email)).body.token as string;
    const { token, token_id: tokenId } = await addToken(person);
    const sessions = (await call('GET', '/v1/me/sessions', { token: session })).body.data as Json[];
    expect(sessions).toHaveLength(2);
    const sessionId = sessions.find((each) => each.is_current).session_id as string;
    stolen = { session, token };
    thief = { person, sessionId, tokenId, session };
    expect([await statusOf(session), await statusOf(token)]).toEqual([200, 200]);
  });
  const statuses = async () => [await statusOf(stolen.session), await statusOf(stolen.token)];
  const expected = [ends.includes('session') ? 401 : 200, ends.includes('token') ? 401 : 200];

  it('ends the credential and closes its connection', async () => {
    const { closed } = await openSocket(ends[0] === 'session' ? stolen.session : stolen.token);
    expect(await run(thief, {})).toBe(done);
    expect(await statuses()).toEqual(expected);
    expect(await closed).toBe(4401);
  });

  it('does nothing while the mailbox cannot be reached, and can be repeated', async () => {
    const failed = await run(thief, { bindings: mailboxesWithout(by) });
    expect(failed).toBe(503);
    if (name !== 'the deletion of the user') {
      expect(await statuses()).toEqual([200, 200]);
      expect((await login(person.email)).status).toBe(200);
      const listed = (await call('GET', '/v1/me/tokens', { token: person.session })).body.data;
      expect(listed).toHaveLength(1);
    }
    const again = await run(thief, {});
    // The repetition must complete the revocation. If the deletion of a user failed only at its end, the repetition finds no user.
    expect(again).toBe(name === 'the deletion of the user' ? 404 : done);
    expect(await statuses()).toEqual(expected);
  });
});

describe('a user', () => {
  it('keeps the connections of kept tokens through a change of the password', async () => {
    const person = await register();
    const { token } = await addToken(person);
    const { closed } = await openSocket(token);
    let isClosed = false;
    void closed.then(() => {
      isClosed = true;
    });
    expect((await changePassword(person.session, { keep_tokens: true }, {})).status).toBe(204);
    expect([await statusOf(token), await statusOf(person.session), isClosed]).toEqual([200, 200, false]);
    expect((await changePassword(person.session, { password: 'a wholly new password' }, {})).status).toBe(204);
    expect(await closed).toBe(4401);
  });

  it('uses every credential again after a suspension was lifted, also if the first attempt did not reach the mailbox', async () => {
    const person = await register();
    const path = `/v1/accounts/${person.userId}/suspension`;
    expect((await call('PUT', path, { body: { reason: 'abuse' } })).status).toBe(200);
    expect(await statusOf(person.session)).toBe(401);
    expect((await call('DELETE', path, { bindings: mailboxesWithout('setSuspended') })).status).toBe(503);
    expect(await statusOf(person.session)).toBe(401);
    expect((await call('DELETE', path)).status).toBe(204);
    expect(await statusOf(person.session)).toBe(200);
  });

  it('gets no session while suspended, even from a login that was checked before', async () => {
    const person = await register();
    const mailbox = openMailbox(env as Env, person.userId);
    await mailbox.setSuspended(1);
    const late = {
      credentialId: 'late',
      kind: 'session',
      userAgent: null,
      expiresAt: null,
      secretSha256: 'x',
    } as const;
    await mailbox.insertCredential(late, { userName: 'u', name: 'n', email: null });
    expect(await mailbox.identify('x')).toBeNull();
    await mailbox.setSuspended(null);
    expect(await mailbox.identify('x')).toMatchObject({ credentialId: 'late' });
  });

  it('logs in again after the mailbox was lost', async () => {
    const person = await register();
    const { MAILBOX } = env as Env;
    const stub = MAILBOX.get(MAILBOX.idFromName(person.userId));
    await runInDurableObject(stub, async (_, state) => {
      for (const table of ['credential', 'holder']) state.storage.sql.exec(`DELETE FROM ${table}`);
    });
    expect(await statusOf(person.session)).toBe(401);
    const again = await login(person.email);
    expect([again.status, await statusOf(again.body.token)]).toEqual([200, 200]);
  });

  it('repeats a deletion of the account that failed half-way', async () => {
    const person = await register();
    const own = { token: person.session, body: { password: PASSWORD } };
    expect((await call('POST', '/v1/auth/confirm', own)).status).toBe(204);
    // Make the state after a deletion of the account that died once the mailbox was erased.
    await openMailbox(env as Env, person.userId).erase();
    expect(await statusOf(person.session)).toBe(404);
    const bindings = mailboxesWithout('erase');
    expect((await call('DELETE', '/v1/me', { token: person.session, bindings })).status).toBe(503);
    expect((await call('DELETE', '/v1/me', { token: person.session })).status).toBe(204);
    expect(await statusOf(person.session)).toBe(401);
  });

  it('leaves no name in the mailbox when erased', async () => {
    const person = await register();
    expect((await call('DELETE', `/v1/iam/users/${person.userId}`)).status).toBe(204);
    expect(await keptOf(person)).toEqual({ credentials: 0, mailboxes: 0, names: [''] });
  });

  it('gets neither a session nor a mailbox by a login that an erasure overtakes', async () => {
    for (const method of ['createMailbox', 'insertCredential']) {
      const person = await register();
      const erase = async () => expect((await call('DELETE', `/v1/iam/users/${person.userId}`)).status).toBe(204);
      const bindings = mailboxesBefore(method, erase);
      const body = { email: person.email, password: PASSWORD };
      const headers = { 'cf-connecting-ip': network() };
      expect((await call('POST', '/v1/auth/login', { body, token: null, headers, bindings })).status).toBe(401);
      expect(await keptOf(person)).toEqual({ credentials: 0, mailboxes: 0, names: [''] });
    }
  });

  it('gets no session by a password that was replaced while the login was checked', async () => {
    const person = await register();
    const replace = async () => expect((await changePassword(person.session, {}, {})).status).toBe(204);
    let changes = 0;
    const bindings = mailboxesBefore('insertCredential', async () => (changes++ === 0 ? replace() : null));
    const body = { email: person.email, password: PASSWORD };
    const headers = { 'cf-connecting-ip': network() };
    expect((await call('POST', '/v1/auth/login', { body, token: null, headers, bindings })).status).toBe(401);
    expect(changes).toBe(1);
    expect((await keptOf(person)).credentials).toBe(1);
    expect(await statusOf(person.session)).toBe(200);
  });

  it('is suspended in the mailbox if it is in DIRECTORY, when one operator suspends while another lifts it', async () => {
    const person = await register();
    const path = `/v1/accounts/${person.userId}/suspension`;
    const suspend = (bindings: Partial<Env> = {}) => call('PUT', path, { body: { reason: 'abuse' }, bindings });
    const lift = (bindings: Partial<Env> = {}) => call('DELETE', path, { bindings });
    expect((await suspend()).status).toBe(200);
    const whileLifting = mailboxesBefore('setSuspended', () => suspend());
    expect((await lift(whileLifting)).status).toBe(204);
    expect((await call('GET', path)).body.suspended_at).not.toBeNull();
    expect(await statusOf(person.session)).toBe(401);

    expect((await lift()).status).toBe(204);
    let calls = 0;
    const whileSuspending = mailboxesBefore('setSuspended', async () => (++calls === 2 ? lift() : null));
    expect((await suspend(whileSuspending)).status).toBe(200);
    expect((await call('GET', path)).body.suspended_at).toBeNull();
    expect(await statusOf(person.session)).toBe(200);
  });

  it('makes no token with a session that ended while the request arrived', async () => {
    const person = await register();
    const confirmation = { token: person.session, body: { password: PASSWORD } };
    expect((await call('POST', '/v1/auth/confirm', confirmation)).status).toBe(204);
    const pull = async (controller: ReadableStreamDefaultController<Uint8Array>) => {
      await new Promise((resolve) => setTimeout(resolve, 1_100));
      expect((await call('POST', '/v1/auth/logout', { token: person.session })).status).toBe(204);
      controller.enqueue(new TextEncoder().encode(JSON.stringify({ name: 'late' })));
      controller.close();
    };
    const request = new Request('http://localhost/v1/me/tokens', {
      method: 'POST',
      headers: { authorization: `Bearer ${person.session}`, 'content-type': 'application/json' },
      body: new ReadableStream({ pull }, { highWaterMark: 0 }),
    }) as Request<unknown, IncomingRequestCfProperties>;
    expect((await worker.fetch(request, env as Env, createExecutionContext())).status).toBe(401);
    expect((await keptOf(person)).credentials).toBe(0);
  });

  it('has the new name in the next request', async () => {
    const person = await register();
    expect((await call('PATCH', '/v1/me', { token: person.session, body: { name: 'Renamed' } })).status).toBe(200);
    const mailbox = openMailbox(env as Env, person.userId);
    expect(
      await runInDurableObject(mailbox as never, (_, state: DurableObjectState) => [
        ...state.storage.sql.exec('SELECT name FROM holder'),
      ]),
    ).toEqual([{ name: 'Renamed' }]);
  });

  it('sees when a session and a token were last used', async () => {
    const mailbox = openMailbox(env as Env, crypto.randomUUID());
    const token = { credentialId: 'a', kind: 'token', userAgent: null, expiresAt: null, secretSha256: 'a' } as const;
    await mailbox.insertCredential(token, { userName: 'u', name: 'n', email: null });
    expect((await mailbox.identify('a'))?.lastUsedAt).toBeNull();
    expect((await mailbox.identify('a'))?.lastUsedAt).toBeGreaterThan(0);
    const expired = { ...token, credentialId: 'b', secretSha256: 'b', expiresAt: 1 };
    await mailbox.insertCredential(expired, { userName: 'u', name: 'n', email: null });
    expect(await mailbox.identify('b')).toBeNull();
  });
});
