/** Exchanges mail in both directions with a real Postfix as the outside world. */
import { spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import PostalMime from 'postal-mime';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { awaitMessage, listFolder, type MailUser, registerUser, until } from '../../support/mail/mail.ts';
import { hasPostfix, type Postfix, startPostfix } from '../../support/mail/postfix.ts';
import { hasClient } from '../../support/real-client.ts';
import { freePort, startServer, type TestServer } from '../../support/server.ts';

describe.skipIf(!hasPostfix() || !hasClient('swaks', 'openssl'))('with Postfix as the outside world', () => {
  let server: TestServer;
  let postfix: Postfix;
  let ann: MailUser;
  beforeAll(async () => {
    const port = await freePort();
    const certificates = process.env.NODE_EXTRA_CA_CERTS;
    // Starts the server twice: Postfix needs the server's ports, and the server reads the certificate of Postfix's authority at its
    // start.
    server = await startServer({ vars: { MAIL_HOLD_SECONDS: '0', MAIL_RETRY_SECONDS: '1' } });
    const mailboxes = ['good', 'other'];
    postfix = startPostfix({ port, mailboxes, sizeBytesMax: 300_000, ourPort: server.smtpPort });
    await server.stop();
    process.env.NODE_EXTRA_CA_CERTS = postfix.authorityPath;
    await server.start();
    if (certificates === undefined) delete process.env.NODE_EXTRA_CA_CERTS;
    else process.env.NODE_EXTRA_CA_CERTS = certificates;
    ann = await registerUser(server, 'ann');
    const transport = `smtp://localhost:${port}?tls=required`;
    await server.call('POST', '/v1/domains', { domain: 'outside.test', is_hosted: false, transport });
  });
  afterAll(async () => {
    await server?.[Symbol.asyncDispose]();
    await postfix?.[Symbol.asyncDispose]();
  });

  const send = (message: object) => server.call('POST', '/v1/messages', message, ann.token);
  const awaitStates = (id: string) =>
    until('every state is final', async () => {
      const { body } = await server.call('GET', `/v1/messages/${id}`, undefined, ann.token);
      const isFinal = body.delivery.every((each: { state: string }) => ['sent', 'failed'].includes(each.state));
      return isFinal ? body.delivery : undefined;
    });

  it('delivers an attachment unchanged over verified STARTTLS, and reports an unknown recipient', async () => {
    const file = randomBytes(100_000);
    const { body } = await send({
      to: ['good', 'nobody', 'other'].map((name) => ({ email: `${name}@outside.test` })),
      subject: 'Grüße',
      body: '.dots\n..and\n.\nmore\nFrom here on\n',
      attachments: [{ file_name: 'a.bin', content_type: 'application/x-data', content: file.toString('base64') }],
    });
    const delivery = await awaitStates(body.id);
    expect(delivery.map((each: { state: string }) => each.state)).toEqual(['sent', 'failed', 'sent']);
    expect(delivery[1].last_reply).toMatch(/^550 5\.1\.1/);
    const raw = await until('the message is in the mailbox', async () => postfix.read('good')[0]);
    const parsed = await PostalMime.parse(raw);
    expect(parsed.subject).toBe('Grüße');
    expect(parsed.text?.trimEnd()).toBe('.dots\n..and\n.\nmore\nFrom here on');
    expect(Buffer.from(parsed.attachments[0]?.content as ArrayBuffer).equals(file)).toBe(true);
    expect(postfix.log()).toMatch(/connect from/);
    expect(raw.toString('latin1')).toMatch(/with ESMTPS/);
    expect((await awaitMessage(server, ann, 'inbox', 'Undelivered mail returned to sender')).body).toContain(
      'nobody@outside.test',
    );
  });

  it('stops at Postfix’s size limit before it sends a byte of the body', async () => {
    const file = {
      file_name: 'a.bin',
      content_type: 'application/x-data',
      content: randomBytes(300_000).toString('base64'),
    };
    const { body } = await send({ to: [{ email: 'good@outside.test' }], subject: 'too large', attachments: [file] });
    expect(await awaitStates(body.id)).toMatchObject([
      { state: 'failed', last_reply: expect.stringMatching(/5\.3\.4/) },
    ]);
  });

  it('retries while Postfix is down, and delivers when it is back', async () => {
    await server.call('PATCH', '/v1/domains/outside.test', { transport: 'smtp://localhost:1?tls=required' });
    const { body } = await send({ to: [{ email: 'other@outside.test' }], subject: 'later', body: 'x' });
    await until('the message is deferred', async () => {
      const { body: message } = await server.call('GET', `/v1/messages/${body.id}`, undefined, ann.token);
      return message.delivery[0].state === 'deferred' ? true : undefined;
    });
    await server.call('PATCH', '/v1/domains/outside.test', {
      transport: `smtp://localhost:${postfix.port}?tls=required`,
    });
    expect(await awaitStates(body.id)).toMatchObject([{ state: 'sent' }]);
  });

  it('accepts mail that Postfix relays, and Postfix bounces rejected mail', async () => {
    const subject = `relayed ${Date.now()}`;
    const args = [
      '--server',
      `127.0.0.1:${postfix.port}`,
      '--from',
      'good@outside.test',
      '--header',
      `Subject: ${subject}`,
    ];
    for (const to of [ann.email, 'nobody@example.test']) spawnSync('swaks', [...args, '--to', to], { timeout: 60_000 });
    const message = await awaitMessage(server, ann, 'inbox', subject);
    const raw = await fetch(`${server.url}/v1/messages/${message.id}/raw`, {
      headers: { authorization: `Bearer ${ann.token}` },
    });
    expect(await raw.text()).toMatch(/^Received: .*\r\n\s+by mx\.outside\.test \(Postfix\)/m);
    const bounce = await until('the bounce from Postfix', async () =>
      postfix.read('good').find((each) => each.includes('delivery-status')),
    );
    expect(bounce.toString('latin1')).toMatch(/550 5\.1\.1/);
    expect((await listFolder(server, ann, 'inbox')).filter((each) => each.subject === subject)).toHaveLength(1);
  });
});
