/** Masked addresses, as a password manager makes them over JMAP (Fastmail's `MaskedEmail`), and as the web app lists and ends them. */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { awaitMessage, awaitSunk, type MailUser, postInbound, registerUser } from '../../support/mail/mail.ts';
import { type ApiAnswer, startServer, type TestServer } from '../../support/server.ts';

const CAPABILITY = 'https://www.fastmail.com/dev/maskedemail';
const PATH = '/v1/me/masked-addresses';

let server: TestServer;
let ann: MailUser;
let bob: MailUser;
beforeAll(async () => {
  server = await startServer({ vars: { MAIL_HOLD_SECONDS: '0', MAX_MASKED_ADDRESSES_PER_ACCOUNT: '4' } });
  ann = await registerUser(server, `ann-${crypto.randomUUID()}`);
  bob = await registerUser(server, `bob-${crypto.randomUUID()}`);
});
afterAll(() => server[Symbol.asyncDispose]());

const callAs = (user: MailUser, method: string, path: string, body?: unknown): Promise<ApiAnswer> =>
  server.call(method, path, body, user.token);

/** Runs one JMAP method as a password manager does, which names only `core` and the capability of masked addresses. */
async function jmap(user: MailUser, name: string, args: object): Promise<ApiAnswer['body']> {
  const using = ['urn:ietf:params:jmap:core', CAPABILITY];
  const request = { using, methodCalls: [[name, { accountId: user.userId, ...args }, 'k']] };
  const { body } = await callAs(user, 'POST', '/v1/jmap/api', request);
  return body.methodResponses[0][1];
}
async function createMasked(user: MailUser, object: object): Promise<{ id: string; email: string; state: string }> {
  const { created, notCreated } = await jmap(user, 'MaskedEmail/set', { create: { k1: object } });
  expect(notCreated).toBeNull();
  return created.k1;
}
const setState = (user: MailUser, id: string, state: string) =>
  jmap(user, 'MaskedEmail/set', { update: { [id]: { state } } });

const toRaw = (to: string, subject: string) =>
  `From: Shop <shop@far.test>\r\nTo: ${to}\r\nSubject: ${subject}\r\nDate: ${new Date().toUTCString()}\r\nMessage-ID: <${crypto.randomUUID()}@far.test>\r\n\r\nhi\r\n`;
const send = async (to: string, subject = 'x', shown = to) =>
  (await postInbound(server, toRaw(shown, subject), { from: 'shop@far.test', to })).status;

it('is made by a password manager, receives, shows its note, answers, ends at SMTP and opens again', async () => {
  const session = (await callAs(ann, 'GET', '/v1/jmap/session')).body;
  expect(session.primaryAccounts[CAPABILITY]).toBe(ann.userId);
  const made = await createMasked(ann, {
    state: 'enabled',
    forDomain: 'https://shop.far.test',
    description: 'Running shoes',
    url: 'manager://item/1',
  });
  expect(made.email).toMatch(/^[a-z]+\.[a-z]+\.\d{4}@example\.test$/);
  const [name] = made.email.split('@');
  expect(ann.email).not.toContain(name);

  expect(await send(made.email, 'welcome')).toBe(202);
  const arrived = await awaitMessage(server, ann, 'inbox', 'welcome');
  const { list } = await jmap(ann, 'MaskedEmail/get', { ids: null });
  expect(list).toEqual([
    {
      id: made.id,
      email: made.email,
      state: 'enabled',
      forDomain: 'https://shop.far.test',
      description: 'Running shoes',
      url: 'manager://item/1',
      createdBy: 'Tessera',
      createdAt: expect.stringMatching(/Z$/),
      lastMessageAt: expect.stringMatching(/Z$/),
    },
  ]);
  const listed = (await callAs(ann, 'GET', PATH)).body;
  expect(listed).toMatchObject([{ email: made.email, state: 'enabled', note: 'Running shoes' }]);

  const sent = await callAs(ann, 'POST', '/v1/messages', {
    from: { email: made.email },
    to: [{ email: 'shop@far.test' }],
    subject: 'Re: welcome',
    body: 'thanks',
    in_reply_to: arrived.headers?.message_id,
  });
  expect(sent.status, JSON.stringify(sent.body)).toBe(202);
  const sunk = await awaitSunk(server, 'the reply', ({ raw }) => String(raw).includes('Re: welcome'));
  expect(String(sunk.raw)).not.toContain(ann.email);
  // No name stands before the address, also not the one of the account.
  expect(String(sunk.raw)).toMatch(new RegExp(`^From: <?${made.email}>?\r?$`, 'm'));

  expect((await callAs(ann, 'PATCH', `${PATH}/${made.email}`, { state: 'deleted' })).status).toBe(200);
  expect(await send(made.email)).toBe(422);
  expect(await send(made.email.replace('@', '+tag@').toUpperCase())).toBe(422);
  const refused = await callAs(ann, 'POST', '/v1/messages', {
    from: { email: made.email },
    to: [{ email: 'shop@far.test' }],
    subject: 'no',
    body: 'no',
  });
  expect(refused.body.code).toBe('foreign_sender');

  expect((await setState(ann, made.id, 'enabled')).updated).toEqual({ [made.id]: null });
  expect(await send(made.email, 'again')).toBe(202);
  await awaitMessage(server, ann, 'inbox', 'again');
});

it('keeps the recipient of the envelope when the header does not name it', async () => {
  const made = await createMasked(bob, { state: 'enabled', description: 'Newsletter' });
  expect(await send(made.email, 'hidden recipient', 'undisclosed@far.test')).toBe(202);
  const arrived = await awaitMessage(server, bob, 'inbox', 'hidden recipient');
  expect((await callAs(bob, 'GET', `/v1/messages/${arrived.id}`)).body.delivered_to).toBe(made.email);
});

it('goes to Trash while it is disabled, and is no address of the profile or of another user', async () => {
  const made = await createMasked(bob, { state: 'disabled' });
  expect(await send(made.email, 'unwanted')).toBe(202);
  await awaitMessage(server, bob, 'trash', 'unwanted');
  expect((await callAs(bob, 'GET', '/v1/me')).body.addresses).toEqual([bob.email]);
  expect((await setState(ann, made.id, 'enabled')).notUpdated[made.id].type).toBe('notFound');
  expect((await callAs(ann, 'PATCH', `${PATH}/${made.email}`, { state: 'enabled' })).status).toBe(404);
  const foreign = { from: { email: made.email }, to: [{ email: bob.email }], subject: 'x', body: 'x' };
  expect((await callAs(ann, 'POST', '/v1/messages', foreign)).body.code).toBe('foreign_sender');
});

it('is refused after it ended although a catch-all and a wildcard would receive it', async () => {
  const domain = `${crypto.randomUUID()}.test`;
  expect((await server.call('POST', '/v1/domains', { domain, catch_all: bob.email })).status).toBe(201);
  const email = `carl-${crypto.randomUUID()}@${domain}`;
  const made = await server.call('POST', '/v1/auth/register', { email, password: 'correct horse battery', name: 'C' });
  const carl = { email, userId: made.body.user.user_id, token: made.body.token } as MailUser;
  const masked = await createMasked(carl, { state: 'enabled', emailPrefix: 'zz' });
  expect(masked.email).toMatch(new RegExp(`^zz\\.[a-z]+\\.\\d{4}@${domain}$`));
  const wildcard = { email: `zz*@${domain}` };
  expect((await server.call('POST', `/v1/accounts/${carl.userId}/addresses`, wildcard)).status).toBe(201);
  await setState(carl, masked.id, 'deleted');
  expect(await send(masked.email)).toBe(422);
  expect(await send(`someone@${domain}`)).toBe(202);
});

it('has a limit for each account, never gives one out again, and refuses what Fastmail refuses', async () => {
  const made = (await callAs(ann, 'GET', PATH)).body.length;
  for (let at = made; at < 4; at++) expect((await callAs(ann, 'POST', PATH, { note: `n${at}` })).status).toBe(201);
  expect((await callAs(ann, 'POST', PATH, {})).body.code).toBe('too_many');
  const over = await jmap(ann, 'MaskedEmail/set', { create: { k1: {} } });
  expect(over.notCreated.k1.type).toBe('overQuota');
  const [first] = (await callAs(ann, 'GET', PATH)).body;
  const taken = { email: first.email, password: 'correct horse battery', name: 'x' };
  expect((await server.call('POST', '/v1/auth/register', taken)).status).not.toBe(201);
  const { list } = await jmap(ann, 'MaskedEmail/get', { ids: null });
  const [{ id }] = list;
  const refused = await jmap(ann, 'MaskedEmail/set', { update: { [id]: { state: 'pending' } }, destroy: ['x'] });
  expect(refused.notUpdated[id].type).toBe('invalidProperties');
  expect(refused.notDestroyed.x.type).toBe('notFound');
  expect((await jmap(ann, 'MaskedEmail/set', { destroy: [id] })).notDestroyed[id].type).toBe('forbidden');
});
