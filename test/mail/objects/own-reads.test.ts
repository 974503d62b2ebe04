/** Tests that a request that only reads mail calls the mailbox once, and that an invalid credential reads nothing. */

import { createExecutionContext, env } from 'cloudflare:test';
import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import worker from '../../../workers/index.ts';
import { openMailbox } from '../../../workers/mail/bindings/mailbox.ts';

// biome-ignore lint/suspicious/noExplicitAny: answers of many routes; each test asserts the members it needs
type Json = any;
type Headers = Readonly<Record<string, string>>;
const ROOT = (env as Env).ROOT_TOKEN;
const bearer = (token: string): Headers => ({ authorization: `Bearer ${token}` });
const sha256 = (secret: string) => createHash('sha256').update(secret).digest('hex');

async function call(
  method: string,
  path: string,
  { body, headers, bindings = {} }: { body?: unknown; headers: Headers; bindings?: Partial<Env> },
): Promise<{ status: number; body: Json }> {
  const text = body === undefined ? undefined : typeof body === 'string' ? body : JSON.stringify(body);
  const request = new Request(`http://localhost${path}`, {
    method,
    headers: {
      ...(text === undefined
        ? {}
        : { 'content-type': 'application/json', 'content-length': String(Buffer.byteLength(text)) }),
      ...headers,
    },
    ...(text === undefined ? {} : { body: text }),
  }) as Request<unknown, IncomingRequestCfProperties>;
  const answer = await worker.fetch(request, { ...(env as Env), ...bindings }, createExecutionContext());
  const answered = await answer.text();
  return { status: answer.status, body: /^[[{]/.test(answered) ? JSON.parse(answered) : answered };
}

/** Returns mailbox bindings that record the names of the calls that reach them. */
function listening(): { calls: string[]; bindings: Partial<Env> } {
  const { MAILBOX } = env as Env;
  const calls: string[] = [];
  const wrap = (stub: Json) => ({
    inTrace: (trace: string, method: string, args: unknown[]) => {
      calls.push(method);
      return stub.inTrace(trace, method, args);
    },
  });
  const bindings = {
    MAILBOX: {
      idFromName: (name: string) => MAILBOX.idFromName(name),
      get: (id: DurableObjectId, options: object) => wrap(MAILBOX.get(id, options)),
    } as unknown as Env['MAILBOX'],
  };
  return { calls, bindings };
}

const PASSWORD = 'correct horse battery';

/** Creates a user with a message and every kind of credential. */
async function makePerson() {
  const email = `p${crypto.randomUUID()}@example.test`;
  const network = `10.${[1, 2, 3].map(() => Math.floor(Math.random() * 256)).join('.')}`;
  const registration = { email, password: PASSWORD, name: 'Person' };
  const made = await call('POST', '/v1/auth/register', {
    body: registration,
    headers: { 'cf-connecting-ip': network },
  });
  expect(made.status).toBe(201);
  const { token: session, user } = made.body;
  const userId: string = user.user_id;
  const raw = `From: a@elsewhere.test\r\nTo: ${email}\r\nSubject: zanzibar\r\n\r\nText.\r\n`;
  const imported = await call('POST', '/v1/import', {
    body: raw,
    headers: { ...bearer(session), 'content-type': 'message/rfc822' },
  });
  expect(imported.status).toBeLessThan(300);
  const own = { name: 'app', password: PASSWORD };
  const { token } = (await call('POST', '/v1/me/tokens', { body: own, headers: bearer(session) })).body;
  const scoped = { name: 'operator', user_id: userId, scopes: ['mail'] };
  const issued = (await call('POST', '/v1/iam/tokens', { body: scoped, headers: bearer(ROOT) })).body.token as string;
  const list = await call('GET', '/v1/folders/inbox/messages', { headers: bearer(session) });
  const [message] = list.body.data;
  const paths = [
    '/v1/folders',
    '/v1/folders/inbox/messages',
    '/v1/messages?q=zanzibar',
    `/v1/messages/${message.id}`,
    `/v1/messages/${message.id}/raw`,
    `/v1/threads/${message.thread_id}`,
    '/v1/labels',
    '/v1/filters',
    '/v1/contacts',
  ];
  const credentials: Readonly<Record<string, Headers>> = {
    session: bearer(session),
    cookie: { cookie: `session=${session}` },
    'app token': bearer(token),
    'token of an operator': bearer(issued),
  };
  return { email, userId, session: session as string, token: token as string, paths, credentials };
}

const FIRST_SCREEN = (accountId: string) => ({
  using: ['urn:ietf:params:jmap:core', 'urn:ietf:params:jmap:mail'],
  methodCalls: [
    ['Mailbox/get', { accountId }, 'a'],
    ['Email/query', { accountId }, 'b'],
    ['Email/get', { accountId, '#ids': { resultOf: 'b', name: 'Email/query', path: '/ids' } }, 'c'],
  ],
});
const methodsOf = (body: Json): string[] => body.methodResponses.map(([name]: [string]) => name);

describe('a request that only reads mail', () => {
  it('asks the mailbox once, with every kind of credential', async () => {
    const { paths, credentials, session } = await makePerson();
    const draft = await call('POST', '/v1/drafts', { body: { subject: 'draft' }, headers: bearer(session) });
    expect(draft.status).toBe(201);
    for (const [kind, headers] of Object.entries(credentials))
      for (const path of [...paths, `/v1/drafts/${draft.body.id}`]) {
        const { calls, bindings } = listening();
        expect([kind, path, (await call('GET', path, { headers, bindings })).status]).toEqual([kind, path, 200]);
        expect([kind, path, calls.length]).toEqual([kind, path, 1]);
      }
  });

  it('reads nothing with a credential that is unknown, of another user, ended, or of a suspended user', async () => {
    const [person, other] = [await makePerson(), await makePerson()];
    const mailbox = openMailbox(env as Env, person.userId);
    const read = (secret: string) => mailbox.searchOwn({ secretSha256: sha256(secret) }, SEARCH);
    for (const secret of ['', 'x', other.session, other.token]) expect(await read(secret)).toBeNull();
    expect((await read(person.session))?.caller).toMatchObject({ kind: 'session', email: person.email });
    expect((await read(person.token))?.caller).toMatchObject({ kind: 'token' });
    await mailbox.endCredentials({ kind: 'session' });
    expect(await read(person.session)).toBeNull();
    await mailbox.setSuspended(1);
    expect(await read(person.token)).toBeNull();
    await mailbox.setSuspended(null);
    expect((await read(person.token))?.answer.ok).toBe(true);
  });

  it('is 401 for an unknown caller, also where it is malformed', async () => {
    const { paths, session, userId } = await makePerson();
    const headers = bearer(session.replace(/.$/, (last) => (last === 'A' ? 'B' : 'A')));
    const malformed = [
      '/v1/folders?none=1',
      '/v1/folders/inbox/messages?cursor=!',
      '/v1/messages?cursor=!',
      '/v1/labels?cursor=!',
      '/v1/contacts?cursor=!',
    ];
    for (const path of [...paths, ...malformed])
      expect([path, (await call('GET', path, { headers })).status]).toEqual([path, 401]);
    for (const path of malformed)
      expect([path, (await call('GET', path, { headers: bearer(session) })).status]).toEqual([path, 400]);
    for (const body of [FIRST_SCREEN(userId), 'no JSON', {}, { ...FIRST_SCREEN(userId), using: ['none'] }])
      expect((await call('POST', '/v1/jmap/api', { body, headers })).status).toBe(401);
  });

  it('reads nothing for a user who was just refused by the rate', async () => {
    const { credentials, paths } = await makePerson();
    const headers = credentials.session ?? {};
    const limited = { RATE_LIMIT_USER: { limit: async () => ({ success: false }) } };
    const [path = ''] = paths;
    expect((await call('GET', path, { headers, bindings: limited })).status).toBe(429);
    const { calls, bindings } = listening();
    expect((await call('GET', path, { headers, bindings: { ...bindings, ...limited } })).status).toBe(429);
    expect(calls).toEqual(['identify']);
    expect((await call('GET', path, { headers })).status).toBe(200);
  });
});

describe('the first screen of a JMAP client', () => {
  it('asks the mailbox three times', async () => {
    const { userId, credentials } = await makePerson();
    const kinds = Object.entries(credentials).filter(([kind]) => kind !== 'cookie');
    for (const [kind, headers] of kinds) {
      const { calls, bindings } = listening();
      const { body } = await call('POST', '/v1/jmap/api', { body: FIRST_SCREEN(userId), headers, bindings });
      expect([kind, methodsOf(body)]).toEqual([kind, ['Mailbox/get', 'Email/query', 'Email/get']]);
      expect(body.methodResponses[0][1].list.length).toBeGreaterThan(4);
      expect(body.methodResponses[2][1].list.length).toBeGreaterThan(0);
      expect([kind, calls.length]).toEqual([kind, 3]);
    }
  });

  it('reads the folders again for each later call', async () => {
    const { userId, session } = await makePerson();
    const get = (id: string) => ['Mailbox/get', { accountId: userId, properties: ['name'] }, id];
    const create = ['Mailbox/set', { accountId: userId, create: { k: { name: 'Made between' } } }, 'b'];
    const body = { ...FIRST_SCREEN(userId), methodCalls: [get('a'), create, get('c')] };
    const answer = await call('POST', '/v1/jmap/api', { body, headers: bearer(session) });
    const names = (at: number): string[] =>
      answer.body.methodResponses[at][1].list.map(({ name }: { name: string }) => name);
    expect(names(0)).not.toContain('Made between');
    expect(names(2)).toContain('Made between');
  });
});

const SEARCH = { query: '', sort: 'newest', page: null, limit: 10 } as const;
