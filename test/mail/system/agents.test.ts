/** Agents at `/v1/mcp`: scopes, drafts that wait for the person, and what is withheld. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { connectAgent, makeAgentToken } from '../../support/mail/agent-client.ts';
import {
  awaitMessage,
  awaitSunk,
  confirmSession,
  listFolder,
  type MailUser,
  postInbound,
  readSink,
  registerUser,
} from '../../support/mail/mail.ts';
import { type ApiAnswer, startServer, type TestServer } from '../../support/server.ts';

let server: TestServer;
let ann: MailUser;
beforeAll(async () => {
  server = await startServer({ vars: { MAIL_HOLD_SECONDS: '0' } });
  ann = await registerUser(server, `ann-${crypto.randomUUID()}`);
});
afterAll(() => server[Symbol.asyncDispose]());

const callAs = (user: MailUser, method: string, path: string, body?: unknown): Promise<ApiAnswer> =>
  server.call(method, path, body, user.token);
const WAITING = '/v1/me/waiting-messages';

/** Delivers a message to Ann. @returns its id. */
async function deliver(from: string, subject: string, body: string, more = ''): Promise<string> {
  const raw = `From: ${from}\r\nTo: ${ann.email}\r\nSubject: ${subject}\r\nDate: ${new Date().toUTCString()}\r\nMessage-ID: <${crypto.randomUUID()}@far.test>\r\n${more}\r\n${body}\r\n`;
  expect((await postInbound(server, raw, { from: 'a@far.test', to: ann.email })).status).toBe(202);
  return (await awaitMessage(server, ann, 'inbox', subject)).id;
}
/** @returns the id of the draft that a tool wrote. */
const idOf = (answer: string): string => /^draft (\S+)/.exec(answer)?.[1] ?? '';

describe('the scopes of an agent', () => {
  it('open /v1/mcp and nothing else, and no other credential opens it', async () => {
    const token = await makeAgentToken(server, ann, ['mail:read', 'mail:draft', 'mail:send', 'mail:codes']);
    for (const [method, path] of [
      ['GET', '/v1/messages'],
      ['GET', '/v1/folders'],
      ['GET', '/v1/me'],
      ['GET', '/v1/me/masked-addresses'],
      ['POST', '/v1/drafts'],
      ['POST', '/v1/messages'],
      ['GET', '/v1/jmap/session'],
      ['POST', '/v1/jmap/api'],
      ['GET', '/v1/imap'],
      ['GET', '/v1/export'],
      ['GET', WAITING],
      ['POST', `${WAITING}/x/send`],
      ['PUT', '/v1/me/agent-recipients'],
      ['POST', '/v1/me/tokens'],
    ] as const)
      expect((await server.call(method, path, method === 'GET' ? undefined : {}, token)).status, path).toBe(403);
    const app = (await callAs(ann, 'POST', '/v1/me/tokens', { name: 'app' })).body.token;
    const ping = { jsonrpc: '2.0', id: 1, method: 'ping' };
    for (const other of [app, ann.token]) {
      const refused = await server.call('POST', '/v1/mcp', ping, other);
      expect(refused.status).toBe(403);
      expect(refused.body.code).toBe('missing_scope');
    }
    expect((await server.call('POST', '/v1/mcp', ping, 'tok_wrong')).status).toBe(401);
    const mixed = await callAs(ann, 'POST', '/v1/me/tokens', { name: 'x', scopes: ['mail', 'mail:read'] });
    expect(mixed.status).toBe(400);
  });

  it('decide the tools, and end at once with the token and with the password', async () => {
    const token = await makeAgentToken(server, ann, ['mail:read']);
    await using reader = await connectAgent(server, token);
    const { tools } = await reader.client.listTools();
    expect(tools.map(({ name }) => name).sort()).toEqual(
      [
        'get_attachment',
        'get_message',
        'get_thread',
        'list_changes',
        'list_folders',
        'search',
        'trace',
        'whoami',
      ].sort(),
    );
    expect(
      new Set(tools.map(({ annotations }) => annotations?.readOnlyHint && annotations.destructiveHint === false)),
    ).toEqual(new Set([true]));
    expect(await reader.call('whoami')).toContain(ann.email);
    await expect(reader.call('draft', { to: ['x@far.test'], body: 'x' })).rejects.toThrow(/draft/);
    const { data } = (await callAs(ann, 'GET', '/v1/me/tokens?limit=200')).body;
    const own = data.find((one: { scopes: string[] }) => one.scopes.join() === 'mail:read');
    expect((await callAs(ann, 'DELETE', `/v1/me/tokens/${own.token_id}`)).status).toBe(204);
    expect((await server.call('POST', '/v1/mcp', {}, token)).status).toBe(401);

    const bob = await registerUser(server, `bob-${crypto.randomUUID()}`);
    const bobs = await makeAgentToken(server, bob, ['mail:read']);
    const change = { current_password: 'correct horse battery', new_password: 'another horse battery' };
    expect((await callAs(bob, 'POST', '/v1/me/password', change)).status).toBeLessThan(300);
    expect((await server.call('POST', '/v1/mcp', {}, bobs)).status).toBe(401);
  });
});

describe('a draft of an agent', () => {
  it('waits until the person approves these recipients and these bytes, in a session', async () => {
    await using agent = await connectAgent(
      server,
      await makeAgentToken(server, ann, ['mail:read', 'mail:draft', 'mail:send']),
    );
    const asked = await deliver('Carl <carl@far.test>', 'Lunch?', 'Shall we meet on Friday?');
    const id = idOf(await agent.call('draft', { reply_to_message_id: asked, body: 'Yes, gladly.' }));
    expect(await agent.call('send_draft', { draft_id: id })).toContain('waits');
    await awaitMessage(server, ann, 'inbox', 'Security notice: A message waits for you');
    const [seen] = (await callAs(ann, 'GET', WAITING)).body;
    expect(seen).toMatchObject({ id, to: ['carl@far.test'], cc: [], subject: 'Re: Lunch?', body: 'Yes, gladly.' });

    const approve = (body: object) => callAs(ann, 'POST', `${WAITING}/${id}/send`, body);
    const { sha256 } = seen;
    expect((await approve({ recipients: ['carl@far.test', 'eve@far.test'], sha256 })).status).toBe(412);
    expect((await approve({ recipients: ['carl@far.test'], sha256: '0'.repeat(64) })).status).toBe(412);
    const app = (await callAs(ann, 'POST', '/v1/me/tokens', { name: 'app' })).body.token;
    const byToken = await server.call('POST', `${WAITING}/${id}/send`, { recipients: ['carl@far.test'], sha256 }, app);
    expect(byToken.body.code).toBe('session_only');

    // The agent changes the draft: it no longer waits, and the approval of the old text is void.
    await agent.call('draft', { draft_id: id, to: ['eve@far.test'], body: 'Yes, gladly.', subject: 'Re: Lunch?' });
    expect((await approve({ recipients: ['carl@far.test'], sha256 })).status).toBe(404);
    await agent.call('draft', { draft_id: id, to: ['carl@far.test'], body: 'Yes, gladly!', subject: 'Re: Lunch?' });
    await agent.call('send_draft', { draft_id: id });
    expect((await approve({ recipients: ['carl@far.test'], sha256 })).status).toBe(412);
    const [again] = (await callAs(ann, 'GET', WAITING)).body;
    expect((await approve({ recipients: ['carl@far.test'], sha256: again.sha256 })).status).toBe(202);
    const sunk = await awaitSunk(server, 'the approved reply', ({ raw }) => String(raw).includes('Yes, gladly!'));
    expect(sunk.envelope.to).toEqual(['carl@far.test']);
    expect((await callAs(ann, 'GET', WAITING)).body).toEqual([]);
  });

  it('is the person’s after the person saved it', async () => {
    await using agent = await connectAgent(server, await makeAgentToken(server, ann, ['mail:read', 'mail:draft']));
    const id = idOf(await agent.call('draft', { to: ['carl@far.test'], subject: 'Plan', body: 'one' }));
    await agent.call('send_draft', { draft_id: id });
    const saved = { to: [{ email: 'carl@far.test' }], subject: 'Plan', body: 'two' };
    expect((await callAs(ann, 'PUT', `/v1/drafts/${id}`, saved)).status).toBe(200);
    expect((await callAs(ann, 'GET', WAITING)).body).toEqual([]);
    expect(await agent.call('draft', { draft_id: id, to: ['eve@far.test'], body: 'three' })).toMatch(/^ERROR .*person/);
    expect(await agent.call('send_draft', { draft_id: id })).toMatch(/^ERROR/);
  });

  it('leaves at once only with mail:send, and only if the person listed every recipient', async () => {
    await confirmSession(server, ann.token);
    expect((await callAs(ann, 'PUT', '/v1/me/agent-recipients', { emails: ['Boss@far.test'] })).status).toBe(200);
    await using agent = await connectAgent(
      server,
      await makeAgentToken(server, ann, ['mail:read', 'mail:draft', 'mail:send']),
    );
    const mail = { subject: `Report ${crypto.randomUUID()}`, body: 'Done.' };
    const mixed = idOf(await agent.call('draft', { ...mail, to: ['boss@far.test'], cc: ['eve@far.test'] }));
    expect(await agent.call('send_draft', { draft_id: mixed })).toContain('waits');
    const listed = idOf(await agent.call('draft', { ...mail, to: ['boss@far.test'] }));
    expect(await agent.call('send_draft', { draft_id: listed })).toMatch(/^sent as /);
    await awaitSunk(server, 'the report', ({ raw }) => String(raw).includes(mail.subject));
    await using drafter = await connectAgent(server, await makeAgentToken(server, ann, ['mail:read', 'mail:draft']));
    const without = idOf(await drafter.call('draft', { ...mail, to: ['boss@far.test'] }));
    expect(await drafter.call('send_draft', { draft_id: without })).toContain('waits');
    const to = readSink(server).flatMap(({ envelope }) => envelope.to);
    expect(to.filter((email) => email === 'eve@far.test')).toEqual([]);
    expect(to.filter((email) => email === 'boss@far.test').length).toBe(1);
  });
});

it('withholds machine-made mail of strangers in every tool, and no search finds its text', async () => {
  const word = `w${crypto.randomUUID().slice(0, 8)}`;
  const id = await deliver('Bank <no-reply@bank.test>', `${word} 482913`, `Your code: 482913 ${word}`);
  const { thread_id } = (await callAs(ann, 'GET', `/v1/messages/${id}`)).body;
  await using agent = await connectAgent(server, await makeAgentToken(server, ann, ['mail:read', 'mail:draft']));
  const answers = [
    await agent.call('get_message', { message_id: id }),
    await agent.call('get_thread', { thread_id }),
    await agent.call('search', { query: '' }),
    await agent.call('search', { query: 'from:no-reply@bank.test' }),
    await agent.call('trace', { message_id: id }),
    await agent.call('list_changes', { since: '0' }),
    await agent.call('draft', { reply_to_message_id: id, body: 'x' }),
  ];
  for (const answer of answers) expect(answer).not.toMatch(new RegExp(`${word}|482913`));
  expect(answers[0]).toContain('WITHHELD');
  expect(answers[0]).toContain('no-reply@bank.test');
  expect(answers[3]).toContain(id);
  for (const query of [
    word,
    '482913',
    '48*',
    `subject:${word}`,
    `"${word}"`,
    `-zzz from:no-reply@bank.test`,
    `zzz OR 48*`,
  ])
    expect(await agent.call('search', { query }), query).not.toContain(id);
  await using trusted = await connectAgent(server, await makeAgentToken(server, ann, ['mail:read', 'mail:codes']));
  expect(await trusted.call('get_message', { message_id: id })).toContain('482913');
});

it('sorts mail, but not into or out of Trash and Junk', async () => {
  const id = await deliver('Carl <carl@far.test>', `Sort me ${crypto.randomUUID()}`, 'x');
  await using agent = await connectAgent(server, await makeAgentToken(server, ann, ['mail:read', 'mail:draft']));
  const change = { message_ids: [id], read: true, flagged: true, add_labels: ['Work'] };
  expect(await agent.call('update', change)).toContain('updated');
  for (const folder_id of ['trash', 'junk', 'drafts', 'sent'])
    expect(await agent.call('update', { message_ids: [id], folder_id })).toMatch(/^ERROR/);
  expect(await agent.call('update', { message_ids: [id], folder_id: 'archive' })).toContain('updated');
  const archived = (await callAs(ann, 'GET', `/v1/messages/${id}`)).body;
  expect(archived).toMatchObject({ is_read: true, is_flagged: true, labels: ['Work'] });
  expect((await listFolder(server, ann, 'archive')).map((one: { id: string }) => one.id)).toContain(id);
  const calls = (await server.call('GET', '/v1/audit?action=agent.call&limit=200')).body.data;
  expect(calls.filter((one: { details: { tool: string } }) => one.details.tool === 'update').length).toBeGreaterThan(0);
});
