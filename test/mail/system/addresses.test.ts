/** Tests addresses other than the account's own: aliases of domains, and addresses that forward. */

import PostalMime from 'postal-mime';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  awaitMessage,
  awaitSunk,
  confirmSession,
  listFolder,
  type MailUser,
  postInbound,
  readSink,
  registerUser,
  until,
} from '../../support/mail/mail.ts';
import { type ApiAnswer, startServer, type TestServer } from '../../support/server.ts';

let server: TestServer;
let ann: MailUser;
let bob: MailUser;
beforeAll(async () => {
  server = await startServer({ vars: { MAIL_HOLD_SECONDS: '0' } });
  ann = await registerUser(server, `ann-${crypto.randomUUID()}`);
  bob = await registerUser(server, `bob-${crypto.randomUUID()}`);
});
afterAll(() => server[Symbol.asyncDispose]());

const callAs = (user: MailUser, method: string, path: string, body?: unknown): Promise<ApiAnswer> =>
  server.call(method, path, body, user.token);
const newDomain = () => `${crypto.randomUUID()}.test`;
const localOf = (user: MailUser) => user.email.split('@')[0] ?? '';

async function addDomain(body: object): Promise<string> {
  const domain = newDomain();
  const made = await server.call('POST', '/v1/domains', { domain, ...body });
  expect(made.status, JSON.stringify(made.body)).toBe(201);
  return domain;
}
const addAlias = (main = 'example.test') => addDomain({ alias_of: main });

async function arrivesAt(user: MailUser, to: string): Promise<void> {
  const subject = `to ${crypto.randomUUID()}`;
  const raw = `From: a@far.test\r\nTo: ${to}\r\nSubject: ${subject}\r\nDate: ${new Date().toUTCString()}\r\n\r\nhi\r\n`;
  expect((await postInbound(server, raw, { from: 'a@far.test', to })).status).toBe(202);
  await awaitMessage(server, user, 'inbox', subject);
}
const isRefusedAt = async (to: string) =>
  (await postInbound(server, 'From: a@far.test\r\n\r\nx', { from: 'a@far.test', to })).status === 422;

describe('a domain alias', () => {
  it('receives mail for the same local part at the main domain, with tags, wildcards and the catch-all', async () => {
    const main = await addDomain({ catch_all: bob.email });
    const alias = await addAlias(main);
    const start = `w${crypto.randomUUID().slice(0, 8)}`;
    for (const email of [`${start}@${main}`, `${start}-*@${main}`])
      expect((await server.call('POST', `/v1/accounts/${ann.userId}/addresses`, { email })).status).toBe(201);
    await arrivesAt(ann, `${start}@${alias}`);
    await arrivesAt(ann, `${start.toUpperCase()}+tag@${alias.toUpperCase()}`);
    await arrivesAt(ann, `${start}-shop@${alias}`);
    await arrivesAt(bob, `nobody@${alias}`);
  });

  it('refuses mail for a local part that the main domain does not have', async () => {
    const alias = await addAlias();
    expect(await isRefusedAt(`${crypto.randomUUID()}@${alias}`)).toBe(true);
    expect(await isRefusedAt(`${localOf(ann)}@not-${alias}`)).toBe(true);
  });

  it('may be the sender of the owner only, and is one of the identities', async () => {
    const alias = await addAlias();
    const email = `${localOf(ann)}@${alias}`;
    const message = (from: string) => ({
      from: { email: from },
      to: [{ email: bob.email }],
      subject: email,
      body: 'x',
    });
    expect((await callAs(ann, 'POST', '/v1/messages', message(email))).status).toBe(202);
    await awaitMessage(server, bob, 'inbox', email);
    expect((await callAs(ann, 'POST', '/v1/messages', message(`${localOf(ann)}+tag@${alias}`))).status).toBe(202);
    expect((await callAs(bob, 'POST', '/v1/messages', message(email))).body.code).toBe('foreign_sender');
    expect((await callAs(ann, 'GET', '/v1/me')).body.addresses).toContain(email);
    expect((await callAs(bob, 'GET', '/v1/me')).body.addresses).toContain(`${localOf(bob)}@${alias}`);
    await server.call('DELETE', `/v1/domains/${alias}`);
    expect((await callAs(ann, 'POST', '/v1/messages', message(email))).body.code).toBe('foreign_sender');
    expect(await isRefusedAt(email)).toBe(true);
  });

  it('has its own DNS records: MX, SPF, DMARC and two DKIM keys', async () => {
    const alias = await addAlias();
    const { body } = await server.call('GET', `/v1/domains/${alias}`);
    expect(body).toMatchObject({ is_hosted: true, alias_of: 'example.test', catch_all: null });
    const records: { type: string; name: string; purpose: string }[] = body.dns_records;
    expect(records.map(({ type, name }) => `${type} ${name.replace(/^[a-z0-9]+\._domainkey/, 'key')}`)).toEqual([
      `MX ${alias}`,
      `TXT ${alias}`,
      `TXT _dmarc.${alias}`,
      `TXT key.${alias}`,
      `TXT key.${alias}`,
    ]);
  });

  it('issues no new addresses, and keeps those that it issued before', async () => {
    const domain = await addDomain({});
    const local = `old-${crypto.randomUUID()}`;
    const give = (user: MailUser, email: string) =>
      server.call('POST', `/v1/accounts/${user.userId}/addresses`, { email });
    expect((await give(bob, `${local}@${domain}`)).status).toBe(201);
    expect((await give(ann, `${local}@example.test`)).status).toBe(201);
    expect((await server.call('PATCH', `/v1/domains/${domain}`, { alias_of: 'example.test' })).status).toBe(200);
    expect((await give(bob, `${localOf(ann)}@${domain}`)).status).toBe(400);
    const taken = { email: `${localOf(ann)}@${domain}`, password: 'correct horse battery', name: 'x' };
    expect((await server.call('POST', '/v1/auth/register', taken)).status).toBe(400);
    await arrivesAt(bob, `${local}@${domain}`);
    await arrivesAt(ann, `${localOf(ann)}@${domain}`);
  });

  it('is refused for chains, itself, unknown domains, and with a catch-all', async () => {
    const main = await addDomain({});
    const alias = await addAlias(main);
    const change = (domain: string, body: object) => server.call('PATCH', `/v1/domains/${domain}`, body);
    const other = await addDomain({});
    for (const [domain, body] of [
      [other, { alias_of: alias }],
      [other, { alias_of: other }],
      [other, { alias_of: 'not-hosted.test' }],
      [other, { alias_of: 'example.test', is_hosted: false }],
      [other, { alias_of: 'example.test', catch_all: ann.email }],
      ['example.test', { alias_of: main }],
    ] as const)
      expect((await change(domain, body)).status, JSON.stringify(body)).toBe(400);
    expect((await change(main, { alias_of: 'example.test' })).body.code).toBe('domain_has_aliases');
    expect((await change(main, { is_hosted: false })).body.code).toBe('domain_has_aliases');
    expect((await server.call('DELETE', `/v1/domains/${main}`)).body.code).toBe('domain_has_aliases');
    expect((await change(alias, { alias_of: null })).body.alias_of).toBeNull();
    expect((await server.call('DELETE', `/v1/domains/${main}`)).status).toBe(204);
  });
});

/** Confirms a new forward target with the code that was mailed to it. @returns its address. */
async function confirmTarget(user: MailUser): Promise<string> {
  await confirmSession(server, user.token);
  const email = `${crypto.randomUUID()}@far.test`;
  expect((await callAs(user, 'POST', '/v1/me/forward-targets', { email })).status).toBe(202);
  const invitation = await awaitSunk(server, 'the code', ({ envelope }) => envelope.to[0] === email);
  const code = /code: (\d{8})/.exec((await PostalMime.parse(invitation.raw)).text ?? '')?.[1];
  expect((await callAs(user, 'POST', '/v1/me/forward-targets/confirm', { email, code })).status).toBe(204);
  return email;
}
const setForward = (user: MailUser, email: string, body: object) =>
  callAs(user, 'PUT', `/v1/me/address-forwards/${encodeURIComponent(email)}`, body);
/** Delivers mail to an address. @returns its subject. */
async function postTo(to: string, headers = '', from = 'a@far.test'): Promise<string> {
  const subject = `for ${crypto.randomUUID()}`;
  const raw = `${headers}From: a@far.test\r\nTo: ${to}\r\nSubject: ${subject}\r\nDate: ${new Date().toUTCString()}\r\n\r\nhi\r\n`;
  expect((await postInbound(server, raw, { from, to })).status).toBe(202);
  return subject;
}
const awaitForward = (to: string, subject: string) =>
  awaitSunk(server, 'the forward', (sunk) => sunk.envelope.to[0] === to && sunk.raw.includes(subject));

describe('an address that forwards', () => {
  it('keeps no forwarded mail, whichever form of the address the mail was for', async () => {
    const user = await registerUser(server, `f${crypto.randomUUID().slice(0, 8)}`);
    const [first, second] = [await confirmTarget(user), await confirmTarget(user)];
    const saved = await setForward(user, user.email, { to: [first, second], keeps_copy: false });
    expect(saved.body).toEqual({ email: user.email, to: [first, second], keeps_copy: false });
    const alias = await addAlias();
    for (const to of [user.email, `${localOf(user)}+tag@example.test`, `${localOf(user)}@${alias}`]) {
      const subject = await postTo(to);
      for (const target of [first, second])
        expect((await awaitForward(target, subject)).envelope.from).toMatch(/\+SRS0=/);
      const found = `/v1/messages?q=${encodeURIComponent(`in:any subject:"${subject}"`)}`;
      await until('the message is erased', async () =>
        (await callAs(user, 'GET', found)).body.data.length === 0 ? true : undefined,
      );
    }
    const { body } = await callAs(user, 'GET', '/v1/folders');
    expect(body.find(({ role }: { role: string }) => role === 'trash')).toMatchObject({ total: 0 });
  });

  it('keeps a copy if it shall, and leaves the other addresses of the account alone', async () => {
    const user = await registerUser(server, `f${crypto.randomUUID().slice(0, 8)}`);
    const target = await confirmTarget(user);
    const other = `sales-${crypto.randomUUID().slice(0, 8)}`;
    const path = `/v1/accounts/${user.userId}/addresses`;
    for (const email of [`${other}-*@example.test`, `${other}@example.test`])
      expect((await server.call('POST', path, { email })).status).toBe(201);
    expect((await setForward(user, `${other}-*@example.test`, { to: [target] })).body.keeps_copy).toBe(true);
    const copied = await postTo(`${other}-x@example.test`);
    await awaitForward(target, copied);
    await awaitMessage(server, user, 'inbox', copied);
    const kept = await postTo(`${other}@example.test`);
    await awaitMessage(server, user, 'inbox', kept);
    const last = await postTo(`${other}-y@example.test`);
    await awaitForward(target, last);
    expect(readSink(server).filter(({ raw }) => raw.includes(kept))).toEqual([]);
  });

  it('keeps mail that must not be forwarded: reports, loops, and all mail without a confirmed target', async () => {
    const user = await registerUser(server, `f${crypto.randomUUID().slice(0, 8)}`);
    const target = await confirmTarget(user);
    await setForward(user, user.email, { to: [target], keeps_copy: false });
    await awaitMessage(server, user, 'inbox', await postTo(user.email, '', ''));
    const looped = await postTo(user.email, `X-Tessera-Forwarded-By: ${user.userId}\r\n`);
    await awaitMessage(server, user, 'inbox', looped);
    const gone = await callAs(user, 'DELETE', `/v1/me/forward-targets/${encodeURIComponent(target)}`);
    expect(gone.status).toBe(204);
    await awaitMessage(server, user, 'inbox', await postTo(user.email));
  });

  it('is one of the own addresses, its targets are confirmed, and so is the session', async () => {
    const user = await registerUser(server, `f${crypto.randomUUID().slice(0, 8)}`);
    const body = { to: ['never-confirmed@far.test'], keeps_copy: false };
    expect((await setForward(user, user.email, body)).body.code).toBe('confirmation_required');
    const target = await confirmTarget(user);
    expect((await setForward(user, user.email, body)).body.errors).toMatchObject([{ path: 'to.0' }]);
    expect((await setForward(user, bob.email, { to: [target] })).status).toBe(404);
    expect((await setForward(user, user.email, { to: [] })).status).toBe(400);
    expect((await setForward(user, user.email.toUpperCase(), { to: [target] })).status).toBe(200);
    expect((await callAs(user, 'GET', '/v1/me/address-forwards')).body).toMatchObject([{ email: user.email }]);
    const path = `/v1/me/address-forwards/${encodeURIComponent(user.email)}`;
    expect((await callAs(user, 'DELETE', path)).status).toBe(204);
    expect((await callAs(user, 'DELETE', path)).status).toBe(404);
    expect(await listFolder(server, user, 'trash')).toEqual([]);
  });
});
