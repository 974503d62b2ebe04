/** Addresses beyond the one of an account: aliases of domains, and addresses that forward. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { awaitMessage, type MailUser, postInbound, registerUser } from '../support/mail.ts';
import { type ApiAnswer, startServer, type TestServer } from '../support/server.ts';

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
