/** Tests what the service refuses of incoming mail before it stores it, on each way in. */
import { createTransport } from 'nodemailer';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { JmapClient } from '../../support/mail/jmap.ts';
import { listFolder, type MailUser, postInbound, registerUser, until } from '../../support/mail/mail.ts';
import { startServer, type TestServer } from '../../support/server.ts';

let server: TestServer;
let ann: MailUser;
beforeAll(async () => {
  server = await startServer();
  ann = await registerUser(server, 'ann');
});
afterAll(() => server[Symbol.asyncDispose]());

const transport = () => createTransport({ host: '127.0.0.1', port: server.smtpPort, secure: false, ignoreTLS: true });
const sendRaw = (raw: string, to: readonly string[]) =>
  transport().sendMail({ envelope: { from: 'a@far.test', to: [...to] }, raw });

it.each([
  ['without a header', '\r\nhello\r\n'],
  ['without From', 'Subject: no sender\r\n\r\nhello\r\n'],
])('mail %s is 550 at the gateway and over SMTP, and an import keeps it', async (_, raw) => {
  const posted = await postInbound(server, raw, { from: 'a@far.test', to: ann.email });
  expect([posted.status, posted.body.recipients[0].smtp_code]).toEqual([422, 550]);
  await expect(sendRaw(raw, [ann.email])).rejects.toMatchObject({ responseCode: 550 });
  const imported = await fetch(`${server.url}/v1/import?folder_id=archive`, {
    method: 'POST',
    headers: { authorization: `Bearer ${ann.token}`, 'content-type': 'message/rfc822' },
    body: raw,
  });
  expect(await imported.json()).toMatchObject({ imported: 1, failed: 0 });
});

it('a JMAP import keeps mail without From', async () => {
  const client = new JmapClient(server, ann.userId, `Bearer ${ann.token}`);
  const { blobId } = await client.upload('Subject: kept by JMAP\r\n\r\nhello\r\n', 'message/rfc822');
  const mailboxIds = { [(await client.roles()).archive ?? '']: true };
  const { created } = await client.call('Email/import', { emails: { m: { blobId, mailboxIds } } });
  const { list } = await client.call('Email/get', { ids: [created.m.id], properties: ['subject', 'from'] });
  expect(list[0]).toMatchObject({ subject: 'kept by JMAP', from: null });
});

it('of a message to more than 100 recipients, the others are deferred at RCPT, so a client sends them the rest', async () => {
  const everyone = Array.from({ length: 110 }, (_, n) => `ann+${n}@example.test`);
  const raw = 'From: a@far.test\r\nSubject: to many\r\nMessage-ID: <many@far.test>\r\n\r\nhello\r\n';
  const first = await sendRaw(raw, everyone);
  expect([first.accepted.length, first.rejected]).toEqual([100, everyone.slice(100)]);
  expect(first.rejectedErrors?.map(({ responseCode }) => responseCode)).toEqual(Array(10).fill(452));
  const second = await sendRaw(raw, first.rejected.map(String));
  expect(second.accepted).toEqual(everyone.slice(100));
  await until('all copies', async () => ((await listFolder(server, ann, 'inbox')).length === 110 ? true : undefined));
  const check = { from: 'a@far.test', to: ann.email };
  const codeOf = async (recipients?: number) =>
    (await server.call('POST', '/v1/inbound/check', { ...check, recipients })).body.smtp_code;
  expect([await codeOf(), await codeOf(99), await codeOf(100)]).toEqual([250, 250, 452]);
});

it('mail to <postmaster> without a domain is accepted for the operator (RFC 5321 §4.5.1)', async () => {
  const raw = 'From: a@far.test\r\nSubject: to postmaster\r\n\r\nhello\r\n';
  for (const to of ['postmaster', 'Postmaster']) {
    const { body } = await server.call('POST', '/v1/inbound/check', { from: 'a@far.test', to });
    expect(body).toMatchObject({ smtp_code: 250, email: 'postmaster@example.test' });
  }
  expect(await postInbound(server, raw, { from: 'a@far.test', to: 'PostMaster' })).toMatchObject({
    status: 202,
    body: { recipients: [{ smtp_code: 250 }] },
  });
  const other = await server.call('POST', '/v1/inbound/check', { from: 'a@far.test', to: 'ann' });
  expect(other.body.smtp_code).toBe(553);
  await until('the message in the quarantine of the operator', async () => {
    const { body } = await server.call('GET', '/v1/quarantine');
    return JSON.stringify(body).includes('to postmaster') ? true : undefined;
  });
});
