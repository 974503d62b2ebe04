/** Tests every route of the OpenAPI document with every kind of wrong caller. Declaring a new route includes it here. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type JsonSchema, sample } from '../../support/mail/json-schema-sample.ts';
import { confirmSession } from '../../support/mail/mail.ts';
import { startServer, type TestServer } from '../../support/server.ts';

interface Operation {
  operationId?: string;
  tags?: string[];
  security?: unknown[];
  summary?: string;
  parameters?: { name: string; in: string; required?: boolean; schema: JsonSchema }[];
  responses: Record<string, unknown>;
  requestBody?: { content: Record<string, { schema: JsonSchema }> };
}
interface Route {
  readonly method: string;
  readonly path: string;
  readonly operation: Operation;
}

/** Members of request bodies that are needed in addition to the required ones. */
const MORE: Readonly<Record<string, object>> = {
  'PATCH /v1/scores/{user_id}': { hidden: true },
  'PATCH /v1/boards/{board}/scores/{user_id}': { hidden: true },
};
/** Routes that a game server's token may use. */
const OF_GAME = /^POST \/v1(?:\/boards\/\{board\})?\/scores(?:\/batch)?$/;
/** Routes that a token for reading a user's objects may use: it may also read the user's jobs and links. */
const OF_STORAGE = /^GET \/v1\/storage\/(?:jobs|links)/;
const MARK = 'zanzibar-secret';
let server: TestServer;
let victim: { token: string; ids: Record<string, string> };
let stranger = '';
let document: {
  paths: unknown;
  components: { schemas: Record<string, JsonSchema>; securitySchemes: Record<string, object> };
};
let components: Record<string, JsonSchema> = {};
/** Routes that authenticate: those of mail, and those of the other products. */
let routes: Route[] = [];
let otherRoutes: Route[] = [];
let openRoutes: Route[] = [];

/** Callback of a sign-in: a client must ignore parameters that it does not know (RFC 6749 §4.1.2). */
const CALLBACK = 'GET /v1/auth/oidc/callback';
/** Authorization endpoint of OAuth: a server must ignore parameters that it does not know (RFC 6749 §3.1). */
const AUTHORIZE = 'GET /v1/oauth/authorize';

/** Routes without authentication. An open route that is not listed here fails the test. */
const OPEN = [
  'GET /.well-known/oauth-authorization-server',
  'GET /.well-known/oauth-protected-resource/v1/mcp',
  CALLBACK,
  'GET /v1/boards',
  'GET /v1/boards/{board}',
  'GET /v1/boards/{board}/logo/{hash}',
  'GET /v1/boards/{board}/players',
  'GET /v1/boards/{board}/scores',
  'GET /v1/boards/{board}/scores/{user_id}',
  'GET /v1/boards/{board}/scores/{user_id}/neighbors',
  'GET /v1/boards/{board}/seasons',
  'GET /v1/boards/{board}/seasons/{season}/distribution',
  'GET /v1/health',
  AUTHORIZE,
  'GET /v1/openapi.json',
  'GET /v1/players',
  'GET /v1/scores',
  'GET /v1/scores/{user_id}',
  'GET /v1/scores/{user_id}/neighbors',
  'GET /v1/seasons',
  'GET /v1/seasons/{season}/distribution',
  'GET /v1/shared/{secret}',
  'POST /v1/auth/access',
  'POST /v1/auth/forgot',
  'POST /v1/auth/login',
  'POST /v1/auth/login-code',
  'POST /v1/auth/oidc',
  'POST /v1/auth/oidc/logout',
  'POST /v1/auth/oidc/session',
  'POST /v1/auth/oidc/storage',
  'POST /v1/auth/passkey/login',
  'POST /v1/auth/passkey/options',
  'POST /v1/auth/register',
  'POST /v1/auth/reset',
  'POST /v1/boards/{board}/plays',
  'POST /v1/boards/{board}/plays/{play}/result',
  'POST /v1/oauth/token',
  'POST /v1/operators/access',
  'POST /v1/operators/login',
  'POST /v1/operators/oidc',
  'POST /v1/operators/passkey/login',
  'POST /v1/operators/passkey/options',
  'POST /v1/shared/{secret}',
];

async function register(name: string): Promise<{ token: string; userId: string }> {
  const { body } = await server.call(
    'POST',
    '/v1/auth/register',
    { email: `${name}@example.test`, password: 'long enough', name },
    null,
  );
  return { token: body.token, userId: body.user.user_id };
}

/** Creates every kind of resource in a mailbox, each with the text `MARK` in its content. */
async function furnish(name: string): Promise<typeof victim> {
  const { token, userId } = await register(name);
  await confirmSession(server, token, 'long enough');
  const post = async (path: string, body: unknown) => (await server.call('POST', path, body, token)).body;
  const raw = `From: ${MARK}@elsewhere.test\r\nSubject: ${MARK}\r\nMIME-Version: 1.0\r\nContent-Type: multipart/mixed; boundary=b\r\n\r\n--b\r\n\r\n${MARK}\r\n--b\r\nContent-Type: text/plain; name="${MARK}.txt"\r\nContent-Disposition: attachment\r\n\r\n${MARK}\r\n--b--\r\n`;
  await fetch(`${server.url}/v1/import`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'message/rfc822' },
    body: raw,
  });
  const [message] = (await server.call('GET', '/v1/folders/inbox/messages', undefined, token)).body.data;
  const folder = await post('/v1/folders', { name: MARK });
  const draft = await post('/v1/drafts', { subject: MARK });
  const filter = await post('/v1/filters', { name: MARK, conditions: [], actions: [{ type: 'label', label: MARK }] });
  const contact = await post('/v1/contacts', { name: MARK, email: `${MARK}@elsewhere.test` });
  const sender = await post('/v1/senders', { sender: `${MARK}@elsewhere.test`, status: 'trusted' });
  const pull = await post('/v1/import/pulls', { host: 'imap.elsewhere.test', user_name: MARK, password: MARK });
  const app = await post('/v1/me/tokens', { name: MARK });
  const sessions = (await server.call('GET', '/v1/me/sessions', undefined, token)).body.data;
  await post('/v1/me/forward-targets', { email: `${MARK}@elsewhere.test` });
  const ids = {
    message_id: message.id,
    thread_id: message.thread_id,
    file_name: `${MARK}.txt`,
    folder_id: folder.id,
    draft_id: draft.id,
    filter_id: filter.id,
    contact_id: contact.id,
    sender_id: sender.id,
    pull_id: pull.id,
    token_id: app.token_id,
    session_id: sessions[0].session_id,
    email: `${MARK}@elsewhere.test`,
    user_id: userId,
    // An id of no passkey: making one needs a device. test/identity/security/passkeys.test.ts tests a passkey of another user.
    passkey_id: 'cGFzc2tleQ',
    sign_in_id: 'any',
    // Parameters of operator routes, which reject tokens of users before they look at the id.
    id: '00000000-0000-4000-8000-000000000000',
    quarantine_id: '00000000-0000-4000-8000-000000000000',
    outbox_id: '00000000-0000-4000-8000-000000000000',
    domain: 'example.test',
    selector: 'any',
    access_key_id: 'AKIAIOSFODNN7EXAMPLE',
    name: 'any',
    season: '2026-01',
    board: 'default',
    shard: '0',
    erasure: '00000000-0000-4000-8000-000000000000',
    play: '0mi000000-00000000-0000-4000-8000-000000000000',
    hash: '0000000000000000',
    bucket: 'any-bucket',
    collector: 'mail',
    operator_id: 'any',
    link_id: '00000000-0000-4000-8000-000000000000',
    secret: 'shr_none',
    job_id: '00000000-0000-4000-8000-000000000000',
    account_id: userId,
    subscription_id: 'any',
    blob_id: `m${message.id}`,
  };
  return { token, ids };
}

beforeAll(async () => {
  server = await startServer();
  document = (await server.call('GET', '/v1/openapi.json', undefined, null)).body;
  components = document.components.schemas;
  const all = Object.entries(document.paths as Record<string, Record<string, Operation>>).flatMap(
    ([path, operations]) => Object.entries(operations).map(([method, operation]) => ({ method, path, operation })),
  );
  const isMail = ({ operation }: Route) => operation.tags?.some((tag) => tag.startsWith('mail')) ?? false;
  const isGuarded = ({ operation }: Route) => operation.security?.length !== 0;
  openRoutes = all.filter((route) => !isGuarded(route));
  routes = all.filter((route) => isGuarded(route) && isMail(route));
  otherRoutes = all.filter((route) => isGuarded(route) && !isMail(route));
  victim = await furnish('victim');
  stranger = (await register('stranger')).token;
});
afterAll(() => server[Symbol.asyncDispose]());

async function attempt(
  route: Route,
  token: string | null,
  ids: Readonly<Record<string, string>>,
  badBody?: string,
  moreQuery: Readonly<Record<string, string>> = {},
) {
  const path = route.path.replace(/\{(\w+)\}/g, (_, name: string) => {
    const value = ids[name];
    if (value === undefined)
      throw new Error(`No value for {${name}} of ${route.method} ${route.path}. Add one to the ids of furnish().`);
    return encodeURIComponent(value);
  });
  const query = new URLSearchParams(moreQuery);
  for (const { name, in: place, required, schema } of route.operation.parameters ?? []) {
    if (place === 'query' && required) query.set(name, String(sample(schema, components, name)));
  }
  const json = route.operation.requestBody?.content['application/json'];
  const response = await fetch(`${server.url}${path}${query.size > 0 ? `?${query}` : ''}`, {
    method: route.method.toUpperCase(),
    headers: {
      ...(token === null ? {} : { authorization: `Bearer ${token}` }),
      ...(json ? { 'content-type': 'application/json' } : {}),
    },
    ...(json
      ? { body: badBody ?? JSON.stringify({ ...(sample(json.schema, components) as object), ...MORE[nameOf(route)] }) }
      : {}),
  });
  const text = await response.text();
  return { status: response.status, text: text.replace(/"request_id":"[^"]*"/, '') };
}

const nameOf = (route: Route) => `${route.method.toUpperCase()} ${route.path}`;
/** Reads the victim's resources that may not change: state of the change log, folders, rules, sessions. */
async function snapshot(): Promise<unknown[]> {
  const paths = [
    '/v1/events',
    '/v1/folders',
    '/v1/filters',
    '/v1/contacts',
    '/v1/senders',
    '/v1/me',
    '/v1/me/sessions',
    '/v1/me/tokens',
    '/v1/me/vacation',
    '/v1/me/address-forwards',
  ];
  return Promise.all(paths.map(async (path) => (await server.call('GET', path, undefined, victim.token)).body));
}

/** Reads the victim's mail, and the operator's view of it. Leaves out `as_of`, the time of the read. */
async function operatorSnapshot(): Promise<unknown[]> {
  const user = `/v1/iam/users/${victim.ids.user_id}`;
  const paths = [
    user,
    `${user}/access-keys`,
    `${user}/policies`,
    `/v1/scores/${victim.ids.user_id}`,
    '/v1/iam/users',
    '/v1/iam/tokens',
    '/v1/domains',
    '/v1/seasons',
  ];
  const answers = await Promise.all(paths.map((path) => server.call('GET', path)));
  return [...(await snapshot()), ...answers.map(({ body: { as_of: _, ...rest }, status }) => ({ status, rest }))];
}

describe('every route', () => {
  it('is in the OpenAPI document, with its kind of caller', () => {
    expect(routes.length).toBeGreaterThan(45);
    expect(otherRoutes.length).toBeGreaterThan(10);
    expect(openRoutes.map(nameOf).sort()).toEqual(OPEN);
  });

  it('answers 401 without a credential, and with a wrong, expired or revoked one', async () => {
    const soon = new Date(Date.now() + 1_000).toISOString();
    const expired = await server.call('POST', '/v1/me/tokens', { name: 'short', expires_at: soon }, victim.token);
    const revoked = await server.call('POST', '/v1/me/tokens', { name: 'revoked' }, victim.token);
    await server.call('DELETE', `/v1/me/tokens/${revoked.body.token_id}`, undefined, victim.token);
    await new Promise((resolve) => setTimeout(resolve, 1_100));
    const wrong: string[] = [];
    for (const route of [...routes, ...otherRoutes]) {
      for (const token of [null, 'ses_wrong', expired.body.token, revoked.body.token]) {
        const { status, text } = await attempt(route, token, victim.ids);
        if (status !== 401 || text.includes(MARK))
          wrong.push(`${nameOf(route)} ${String(token).slice(0, 4)} ${status}`);
      }
    }
    expect(wrong).toEqual([]);
  });

  it('authorizes the caller before it validates the request', async () => {
    const game = await server.call('POST', '/v1/iam/tokens', { name: 'game', scopes: ['scores:write'] });
    const wrong: string[] = [];
    const ours = [...routes, ...otherRoutes].filter((route) => !OF_GAME.test(nameOf(route)));
    for (const route of ours) {
      for (const body of ['{"a":', '{"no_such_member":1}']) {
        for (const [token, expected] of [
          [null, 401],
          ['ses_wrong', 401],
          [game.body.token, 403],
        ] as const) {
          const { status } = await attempt(route, token, victim.ids, body);
          if (status !== expected) wrong.push(`${nameOf(route)} ${body} ${status} for ${expected}`);
        }
      }
    }
    expect(wrong).toEqual([]);
  });

  it('documents its callers and its error responses', () => {
    const { securitySchemes } = document.components;
    const wrong: string[] = [];
    const ids = [...openRoutes, ...routes, ...otherRoutes].map(({ operation }) => operation.operationId ?? '');
    expect(ids.filter((id, i) => !/^[a-z][A-Za-z]+$/.test(id) || ids.indexOf(id) !== i)).toEqual([]);
    for (const route of [...routes, ...otherRoutes]) {
      const { security = [], tags, responses, requestBody } = route.operation;
      const schemes = security.flatMap((each) => Object.keys(each as object));
      if (schemes.length === 0 || schemes.some((name) => securitySchemes[name] === undefined))
        wrong.push(`${nameOf(route)} names no scheme of the document`);
      if (!tags?.length) wrong.push(`${nameOf(route)} has no tag`);
      const needed = ['401', '403', ...(requestBody ? ['400'] : [])];
      for (const status of needed) if (!responses[status]) wrong.push(`${nameOf(route)} lacks ${status}`);
    }
    expect(wrong).toEqual([]);
  });

  it('answers 403 to tokens with another scope', async () => {
    const game = await server.call('POST', '/v1/iam/tokens', { name: 'game', scopes: ['scores:write'] });
    const storage = await server.call('POST', '/v1/iam/tokens', {
      name: 'storage',
      scopes: ['objects:read'],
      user_id: victim.ids.user_id,
    });
    const wrong: string[] = [];
    for (const route of [...routes, ...otherRoutes]) {
      for (const token of [game.body.token, storage.body.token, stranger]) {
        // A token may use the routes of its scope: for example, a game server's token posts scores.
        const isOwn =
          (token === game.body.token && OF_GAME.test(nameOf(route))) ||
          (token === storage.body.token && OF_STORAGE.test(nameOf(route))) ||
          (token === stranger && routes.includes(route));
        if (isOwn) continue;
        const { status, text } = await attempt(route, token, victim.ids);
        if (status !== 403 || text.includes(MARK)) wrong.push(`${nameOf(route)} ${status}`);
      }
    }
    expect(wrong).toEqual([]);
  });

  it('does not reveal, change or confirm the existence of data of another user', async () => {
    const before = await snapshot();
    expect(JSON.stringify(before)).toContain(MARK);
    const nowhere = Object.fromEntries(
      Object.entries(victim.ids).map(([name, value]) => [
        name,
        name === 'email'
          ? 'nobody@elsewhere.test'
          : value.replace(/[0-9a-z]/g, (c) => (/\d/.test(c) ? String((Number(c) + 1) % 10) : c)),
      ]),
    );
    const wrong: string[] = [];
    for (const route of routes) {
      // Routes that act only on the caller: on its session, or on the request body.
      if (['DELETE /v1/me', 'POST /v1/auth/logout'].includes(nameOf(route))) continue;
      // Skip the event stream: it has only the caller's own changes, and it does not end.
      if (nameOf(route) === 'GET /v1/jmap/event-source') continue;
      const real = await attempt(route, stranger, victim.ids);
      if (real.text.includes(MARK)) wrong.push(`${nameOf(route)} shows the mark`);
      if (!route.path.includes('{')) continue;
      const unreal = await attempt(route, stranger, nowhere);
      const isRefused = [400, 403, 404, 409].includes(real.status);
      const sameText = real.text === unreal.text;
      if (!isRefused || real.status !== unreal.status || !sameText)
        wrong.push(`${nameOf(route)} ${real.status}/${unreal.status} ${real.text}`);
    }
    expect(wrong).toEqual([]);
    expect(await snapshot()).toEqual(before);
  });

  it('rejects unknown query parameters by name, even for authorized callers, and changes nothing', async () => {
    const user = `/v1/iam/users/${victim.ids.user_id}`;
    const { token: game } = (await server.call('POST', '/v1/iam/tokens', { name: 'game', scopes: ['scores:write'] }))
      .body;
    const ofAgent = { name: 'agent', scopes: ['mail:read'], user_id: victim.ids.user_id };
    const { token: agent } = (await server.call('POST', '/v1/iam/tokens', ofAgent)).body;
    const { access_key_id } = (await server.call('POST', `${user}/access-keys`, {})).body;
    const policy = { Version: '2012-10-17', Statement: [{ Effect: 'Allow', Action: 's3:*', Resource: '*' }] };
    expect((await server.call('PUT', `${user}/policies/${victim.ids.name}`, policy)).status).toBe(204);
    const points = { user_id: victim.ids.user_id, points: 5 };
    expect((await server.call('POST', '/v1/scores', points, game)).status).toBe(200);
    const ping = { jsonrpc: '2.0', id: 1, method: 'ping' };
    expect((await server.call('POST', '/v1/mcp', ping, agent)).status).toBeLessThan(500);
    const before = await operatorSnapshot();
    const wrong: string[] = [];
    for (const route of [...openRoutes, ...routes, ...otherRoutes]) {
      if ([CALLBACK, AUTHORIZE].includes(nameOf(route))) continue;
      const isOfUser = /"(?:session|basic)"/.test(JSON.stringify(route.operation.security ?? []));
      const isOfGame = OF_GAME.test(nameOf(route));
      const ofProgram = isOfGame ? game : nameOf(route) === 'POST /v1/mcp' ? agent : server.rootToken;
      const token = isOfUser ? victim.token : ofProgram;
      const query = { no_such_parameter: '1' };
      const { status, text } = await attempt(route, token, { ...victim.ids, access_key_id }, undefined, query);
      const isNamed = text.includes('{"path":"no_such_parameter","message":"unknown query parameter"}');
      if (status !== 400 || !isNamed) wrong.push(`${nameOf(route)} ${status} ${text.slice(0, 80)}`);
    }
    expect(wrong).toEqual([]);
    expect(await operatorSnapshot()).toEqual(before);
  });
});
