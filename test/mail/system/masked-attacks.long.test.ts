/**
 * Attacks on masked addresses: whoever has one must not learn the person's own address, by no answer that leaves. Each message names
 * the masked address in a way of its own, and the person then leaves the list or lets an agent answer.
 */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { connectAgent, makeAgentToken } from '../../support/mail/agent-client.ts';
import { confirmSession, type MailUser, postInbound, readSink, registerUser, until } from '../../support/mail/mail.ts';
import { startServer, type TestServer } from '../../support/server.ts';

const PATH = '/v1/me/masked-addresses';
const ALIAS = 'alias-of-example.test';

let server: TestServer;
let ann: MailUser;
beforeAll(async () => {
  server = await startServer({ vars: { MAIL_HOLD_SECONDS: '0' } });
  ann = await registerUser(server, `ann-${crypto.randomUUID()}`);
  await confirmSession(server, ann.token);
  await server.call('PUT', '/v1/me/agent-recipients', { emails: ['list@far.test'] }, ann.token);
  const alias = await server.call('POST', '/v1/domains', { domain: ALIAS, alias_of: 'example.test' });
  expect(alias.status, JSON.stringify(alias.body)).toBe(201);
});
afterAll(() => server[Symbol.asyncDispose]());

const makeMasked = async (): Promise<string> =>
  (await server.call('POST', PATH, { note: 'a shop' }, ann.token)).body.email;
const end = (email: string) => server.call('PATCH', `${PATH}/${email}`, { state: 'deleted' }, ann.token);

/** Delivers a newsletter. @returns its id. */
async function receive(to: string, shownTo: string): Promise<string> {
  const subject = crypto.randomUUID();
  const raw = `From: List <list@far.test>\r\n${shownTo}Subject: ${subject}\r\nDate: ${new Date().toUTCString()}\r\nMessage-ID: <${subject}@far.test>\r\nList-Id: <l.far.test>\r\nList-Unsubscribe: <mailto:list@far.test?subject=leave-${subject}>\r\n\r\nhello\r\n`;
  expect((await postInbound(server, raw, { from: 'list@far.test', to })).status).toBe(202);
  const found = await until('the newsletter', async () => {
    const { body } = await server.call(
      'GET',
      `/v1/messages?q=${encodeURIComponent(`in:any subject:"${subject}"`)}`,
      undefined,
      ann.token,
    );
    return body.data?.[0] ?? body.messages?.[0];
  });
  if (found.folder_role === 'junk' || found.folder === 'junk')
    await server.call('PATCH', `/v1/messages/${found.id}`, { folder_id: 'inbox' }, ann.token);
  return found.id;
}

/** Texts of what left for the list since a number of messages. */
const leftSince = (before: number) =>
  readSink(server)
    .slice(before)
    .map(({ raw }) => String(raw));

/** The person leaves the list. @returns what left. */
async function leave(id: string): Promise<string[]> {
  const before = readSink(server).length;
  const left = await server.call('POST', `/v1/messages/${id}/unsubscribe`, undefined, ann.token);
  if (left.status >= 400) return [];
  return until('the message', async () => (leftSince(before).length > 0 ? leftSince(before) : undefined));
}

/** An agent that may send to the list answers. @returns what left. */
async function answer(id: string): Promise<string[]> {
  await using agent = await connectAgent(
    server,
    await makeAgentToken(server, ann, ['mail:read', 'mail:draft', 'mail:send']),
  );
  const before = readSink(server).length;
  const drafted = await agent.call('draft', { reply_to_message_id: id, to: ['list@far.test'], body: 'yes' });
  const [, draftId = ''] = /^draft (\S+)/.exec(drafted) ?? [];
  if (draftId === '' || !(await agent.call('send_draft', { draft_id: draftId })).startsWith('sent')) return [];
  return until('the answer', async () => (leftSince(before).length > 0 ? leftSince(before) : undefined));
}

const tagged = (email: string) => email.replace('@', '+x@');
const WAYS: Record<string, (email: string) => { to: string; shown: string }> = {
  plain: (email) => ({ to: email, shown: `To: ${email}\r\n` }),
  'with a tag': (email) => ({ to: tagged(email), shown: `To: ${tagged(email)}\r\n` }),
  'in capitals': (email) => ({ to: email.toUpperCase(), shown: `To: ${email.toUpperCase()}\r\n` }),
  'at an alias of the domain': (email) => ({
    to: email.replace(/@.*/, `@${ALIAS}`),
    shown: `To: ${email.replace(/@.*/, `@${ALIAS}`)}\r\n`,
  }),
  'in no field': (email) => ({ to: email, shown: 'To: undisclosed-recipients:;\r\n' }),
  'behind a guess of the own address': (email) => ({ to: email, shown: `To: ${ann.email}, ${email}\r\n` }),
  'hidden beside a guess of the own address': (email) => ({ to: email, shown: `To: ${ann.email}\r\n` }),
  'behind a forged field': (email) => ({ to: email, shown: `To: x@far.test\r\nX-Tessera-Recipient: ${ann.email}\r\n` }),
};

for (const [way, toParts] of Object.entries(WAYS)) {
  for (const isEnded of [false, true]) {
    const state = isEnded ? 'that ended' : 'that is open';
    it(`leaving a list by mail does not tell the own address: ${way}, ${state}`, async () => {
      const email = await makeMasked();
      const { to, shown } = toParts(email);
      const id = await receive(to, shown);
      if (isEnded) await end(email);
      for (const raw of await leave(id)) expect(raw).not.toContain(ann.email);
    });
    it(`an agent's answer does not tell the own address: ${way}, ${state}`, async () => {
      const email = await makeMasked();
      const { to, shown } = toParts(email);
      const id = await receive(to, shown);
      if (isEnded) await end(email);
      for (const raw of await answer(id)) expect(raw).not.toContain(ann.email);
    });
  }
}
