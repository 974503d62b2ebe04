/** Attacks by an agent that its person connected: on what waits for the person, on ids of others, and on the route itself. */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type AgentClient, connectAgent, makeAgentToken } from '../../support/mail/agent-client.ts';
import {
  confirmSession,
  listFolder,
  type MailUser,
  postInbound,
  readSink,
  registerUser,
  until,
} from '../../support/mail/mail.ts';
import { startServer, type TestServer } from '../../support/server.ts';

let server: TestServer;
let ann: MailUser;
let bob: MailUser;
let token: string;
beforeAll(async () => {
  server = await startServer({ vars: { MAIL_HOLD_SECONDS: '0' } });
  [ann, bob] = [
    await registerUser(server, `ann-${crypto.randomUUID()}`),
    await registerUser(server, `bob-${crypto.randomUUID()}`),
  ];
  token = await makeAgentToken(server, ann, ['mail:read', 'mail:draft', 'mail:send']);
});
afterAll(() => server[Symbol.asyncDispose]());

const WAITING = '/v1/me/waiting-messages';
const waitingOf = async (user: MailUser, id: string) =>
  (await server.call('GET', WAITING, undefined, user.token)).body.find((one: { id: string }) => one.id === id);
async function makeWaiting(agent: AgentClient, body: string, to = 'boss@far.test'): Promise<string> {
  const [, id = ''] = /^draft (\S+)/.exec(await agent.call('draft', { to: [to], subject: 'please', body })) ?? [];
  expect(await agent.call('send_draft', { draft_id: id })).toMatch(/^waits/);
  return id;
}
const approve = (user: MailUser, id: string, shown: { to: string[]; sha256: string }, more = {}) =>
  server.call('POST', `${WAITING}/${id}/send`, { recipients: shown.to, sha256: shown.sha256, ...more }, user.token);

it('sends what the person saw or nothing, while the agent writes it anew at the same time', async () => {
  await using agent = await connectAgent(server, token);
  for (let round = 0; round < 6; round++) {
    const good = `good ${crypto.randomUUID()}`;
    const evil = `evil ${crypto.randomUUID()}`;
    const id = await makeWaiting(agent, good);
    const shown = await waitingOf(ann, id);
    expect(shown.body).toBe(good);
    const change = { draft_id: id, to: ['eve@evil.test'], subject: 'please', body: evil };
    const [sent] = await Promise.all([
      approve(ann, id, shown),
      agent.call('draft', change),
      agent.call('send_draft', { draft_id: id }),
    ]);
    expect([202, 404, 412]).toContain(sent.status);
    if (sent.status === 202)
      await until(
        'the good one',
        async () => readSink(server).some(({ raw }) => String(raw).includes(good)) || undefined,
      );
    expect(
      readSink(server).some(({ raw, envelope }) => String(raw).includes(evil) || envelope.to.includes('eve@evil.test')),
    ).toBe(false);
  }
}, 90_000);

it('sends once however often it is approved, and nothing that was refused or is of another', async () => {
  await using agent = await connectAgent(server, token);
  const text = `once ${crypto.randomUUID()}`;
  const id = await makeWaiting(agent, text);
  const shown = await waitingOf(ann, id);
  expect((await approve(bob, id, shown)).status).toBe(404);
  expect((await server.call('DELETE', `${WAITING}/${id}`, undefined, bob.token)).status).toBe(404);
  for (const more of [
    { recipients: [] },
    { recipients: ['boss@far.test', 'eve@evil.test'] },
    { recipients: ['eve@evil.test'] },
    { sha256: '0'.repeat(64) },
    { sha256: '' },
    { recipients: undefined },
    { approvedRevision: 1 },
  ])
    expect([400, 412], JSON.stringify(more)).toContain((await approve(ann, id, shown, more)).status);
  for (const credential of [token, (await server.call('POST', '/v1/me/tokens', { name: 'app' }, ann.token)).body.token])
    expect((await approve({ ...ann, token: credential }, id, shown)).status).toBe(403);
  const answers = await Promise.all(Array.from({ length: 8 }, () => approve(ann, id, shown)));
  expect(answers.filter(({ status }) => status === 202).length).toBe(1);
  const copies = async () => readSink(server).filter(({ raw }) => String(raw).includes(text)).length;
  await until('the message', async () => ((await copies()) > 0 ? true : undefined));
  const second = await makeWaiting(agent, 'refused');
  const seen = await waitingOf(ann, second);
  expect((await server.call('DELETE', `${WAITING}/${second}`, undefined, ann.token)).status).toBe(204);
  expect((await approve(ann, second, seen)).status).toBe(404);
  expect(await copies()).toBe(1);
}, 90_000);

it('touches no message, draft, folder or file of another account', async () => {
  const subject = crypto.randomUUID();
  const raw = `From: A <a@far.test>\r\nTo: ${bob.email}\r\nSubject: ${subject}\r\nDate: ${new Date().toUTCString()}\r\nMessage-ID: <${subject}@far.test>\r\n\r\nprivate words of bob\r\n`;
  expect((await postInbound(server, raw, { from: 'a@far.test', to: bob.email })).status).toBe(202);
  const foreign = await until(
    'the mail',
    async () => (await listFolder(server, bob, 'inbox'))[0] ?? (await listFolder(server, bob, 'junk'))[0],
  );
  const bobs = await connectAgent(server, await makeAgentToken(server, bob, ['mail:read', 'mail:draft']));
  const [, draftId = ''] =
    /^draft (\S+)/.exec(await bobs.call('draft', { to: ['x@far.test'], body: 'bobs draft' })) ?? [];
  const folders = (await server.call('GET', '/v1/folders', undefined, bob.token)).body;
  await using agent = await connectAgent(server, token);
  const ids = [
    foreign.id,
    draftId,
    '../x',
    `${bob.userId}/${foreign.id}`,
    '%',
    "' OR 1=1 --",
    '\u0000',
    '__proto__',
    'x'.repeat(101),
  ];
  for (const id of ids)
    for (const [tool, args] of [
      ['get_message', { message_id: id }],
      ['get_thread', { thread_id: id }],
      ['trace', { message_id: id }],
      ['get_attachment', { message_id: id, file_name: 'a' }],
      ['draft', { reply_to_message_id: id, body: 'x' }],
      ['draft', { draft_id: id, to: ['x@far.test'], body: 'taken' }],
      ['send_draft', { draft_id: id }],
      ['update', { message_ids: [id], read: true, add_labels: ['taken'] }],
    ] as [string, Record<string, unknown>][]) {
      const answer = await agent.call(tool, args).catch((error: unknown) => `ERROR ${error}`);
      expect(answer, `${tool} ${id}`).not.toMatch(/private words|bobs draft/);
      if (tool !== 'update' && tool !== 'get_thread') expect(answer, `${tool} ${id}`).toMatch(/^ERROR/);
    }
  for (const { folder_id, id } of folders)
    await agent.call('update', { message_ids: [foreign.id], folder_id: folder_id ?? id ?? 'inbox' }).catch(() => '');
  expect(
    (await server.call('GET', `/v1/messages/${foreign.id}`, undefined, bob.token)).body.labels ?? [],
  ).not.toContain('taken');
  expect(await bobs.call('search', { query: 'in:any is:read' })).not.toContain(subject);
  await bobs[Symbol.asyncDispose]();
}, 120_000);

it('cannot go round its scopes by odd calls, and many calls in one request are not answered', async () => {
  const readOnly = await makeAgentToken(server, ann, ['mail:read']);
  const post = async (body: unknown, headers: Record<string, string> = {}) => {
    const response = await fetch(`${server.url}/v1/mcp`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${readOnly}`,
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
        ...headers,
      },
      body: typeof body === 'string' ? body : JSON.stringify(body),
    });
    return { status: response.status, text: await response.text() };
  };
  const callOf = (name: unknown, args: unknown = {}, id: unknown = 1) => ({
    jsonrpc: '2.0',
    id,
    method: 'tools/call',
    params: { name, arguments: args },
  });
  for (const name of [
    'draft',
    'send_draft',
    'update',
    'DRAFT',
    'draft\u0000',
    '__proto__',
    'constructor',
    ['draft'],
    { name: 'draft' },
    null,
  ])
    expect((await post(callOf(name, { to: ['x@far.test'], body: 'x' }))).text, JSON.stringify(name)).not.toMatch(
      /"text":"draft /,
    );
  const many = await post(Array.from({ length: 60 }, (_, id) => callOf('whoami', {}, id)));
  expect((many.text.match(/address: /g) ?? []).length, many.text.slice(0, 300)).toBe(0);
  expect((await post('x'.repeat(300_000))).status).toBe(413);
  expect((await post('[['.repeat(50_000))).status).toBeLessThan(500);
  expect((await post(callOf('search', { query: '('.repeat(990) }))).status).toBeLessThan(500);
  expect((await post(callOf('search', { query: 'a* '.repeat(330) }))).status).toBeLessThan(500);
  for (const method of ['GET', 'DELETE', 'PUT', 'PATCH'])
    expect(
      (await fetch(`${server.url}/v1/mcp`, { method, headers: { authorization: `Bearer ${readOnly}` } })).status,
    ).toBeGreaterThanOrEqual(400);
  for (const credential of [ann.token, server.rootToken, 'tok_x', `${readOnly}x`])
    expect([401, 403]).toContain((await post(callOf('whoami'), { authorization: `Bearer ${credential}` })).status);
  await confirmSession(server, ann.token);
}, 60_000);
