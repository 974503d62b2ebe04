import { randomBytes } from 'node:crypto';
import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import PostalMime from 'postal-mime';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  awaitMessage,
  awaitSunk,
  type MailUser,
  postInbound,
  readSink,
  registerUser,
  swaks,
  until,
} from '../../support/mail/mail.ts';
import { hasClient } from '../../support/real-client.ts';
import { startServer, type TestServer } from '../../support/server.ts';

let server: TestServer;
let ann: MailUser;
let bob: MailUser;
beforeAll(async () => {
  server = await startServer({ vars: { MAIL_HOLD_SECONDS: '0', MAIL_RETRY_SECONDS: '1' } });
  ann = await registerUser(server, 'ann');
  bob = await registerUser(server, 'bob');
});
afterAll(() => server[Symbol.asyncDispose]());

const send = (user: MailUser, message: object, key?: string) =>
  fetch(`${server.url}/v1/messages`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${user.token}`,
      'content-type': 'application/json',
      ...(key ? { 'idempotency-key': key } : {}),
    },
    body: JSON.stringify(message),
    // biome-ignore lint/suspicious/noExplicitAny: the response of the API; each test asserts the members it needs
  }).then(async (response) => ({ status: response.status, body: (await response.json()) as any }));

/** Makes a plain raw message as a person writes it. */
const toRaw = (subject: string, body: string): string =>
  [
    'From: Far Away <a@far.test>',
    'To: ann@example.test',
    `Subject: ${subject}`,
    `Date: ${new Date().toUTCString().replace('GMT', '+0000')}`,
    `Message-ID: <${subject.replaceAll(' ', '.')}@far.test>`,
    'MIME-Version: 1.0',
    'Content-Type: text/plain; charset=utf-8',
    '',
    body,
    '',
  ].join('\r\n');

describe.skipIf(!hasClient('swaks'))('swaks', () => {
  it('delivers a message with an attachment; body, file and raw bytes are unchanged', async () => {
    const file = randomBytes(200_000);
    const path = join(mkdtempSync(join(tmpdir(), 'tessera-swaks-')), 'data.bin');
    writeFileSync(path, file);
    const subject = `with a file ${Date.now()}`;
    const sent = await swaks(
      server,
      ...['--from', 'far@elsewhere.test', '--to', ann.email, '--header', `Subject: ${subject}`],
      ...['--body', 'Hello Ann.\n.dot\nBye.', '--attach-name', 'data.bin', '--attach-type', 'application/x-data'],
      ...['--attach', `@${path}`],
    );
    expect(sent.output).toContain('250 accepted');
    const message = await awaitMessage(server, ann, 'inbox', subject);
    expect(message.body.replaceAll('\r\n', '\n').trim()).toBe('Hello Ann.\n.dot\nBye.');
    expect(message.attachments).toMatchObject([{ file_name: 'data.bin', size: file.length }]);
    const download = await fetch(`${server.url}/v1/messages/${message.id}/attachments/data.bin`, {
      headers: { authorization: `Bearer ${ann.token}` },
    });
    expect(Buffer.from(await download.arrayBuffer()).equals(file)).toBe(true);
  });

  it('gets 550 for an unknown recipient and for a domain that Tessera does not host', async () => {
    const unknown = await swaks(server, '--from', 'far@elsewhere.test', '--to', 'nobody@example.test');
    expect(unknown.output).toMatch(/550 5\.1\.1/);
    expect(unknown.code).toBe(24);
    const relay = await swaks(server, '--from', 'far@elsewhere.test', '--to', 'x@other.test');
    expect(relay.output).toMatch(/550 5\.7\.1/);
  });

  it('reaches a mailbox at a tagged address, also from the null sender', async () => {
    const subject = `tagged ${Date.now()}`;
    await swaks(server, '--from', '<>', '--to', 'ann+shop@example.test', '--header', `Subject: ${subject}`);
    expect(await awaitMessage(server, ann, 'inbox', subject)).toBeTruthy();
  });
});

describe('sending', () => {
  it('reaches a local account and an outside address, and the Sent copy shows the delivery', async () => {
    const subject = `Grüße ${Date.now()}`;
    const answer = await send(ann, {
      to: [{ name: 'Bob', email: bob.email }, { email: 'Far@Outside.test' }],
      cc: [{ email: 'carol@bücher.test' }],
      bcc: [{ email: 'secret@outside.test' }],
      subject,
      body: 'Hello from Ann',
      html: '<p>Hello <b>from</b> Ann</p>',
      attachments: [{ file_name: 'a.txt', content_type: 'text/plain', content: Buffer.from('abc').toString('base64') }],
    });
    expect(answer).toMatchObject({ status: 202, body: { status: 'queued' } });
    expect(answer.body.delivery).toHaveLength(4);

    const received = await awaitMessage(server, bob, 'inbox', subject);
    expect(received).toMatchObject({
      from: { name: 'ann', email: ann.email },
      body: expect.stringContaining('Hello from Ann'),
    });
    expect(received.attachments).toMatchObject([{ file_name: 'a.txt', size: 3 }]);
    expect(received.bcc).toBeUndefined();

    const sunk = await awaitSunk(server, subject, (message) => message.envelope.to.includes('Far@outside.test'));
    expect(sunk.envelope.from).toBe(ann.email);
    expect(new Set(sunk.envelope.to)).toEqual(
      new Set(['Far@outside.test', 'secret@outside.test', 'carol@bücher.test']),
    );
    expect(sunk.raw.toString()).not.toMatch(/secret@outside/);
    expect(sunk.raw.toString().replaceAll('\r\n', '')).not.toMatch(/[\r\n]/);
    // Look at the raw bytes, which have A-labels (ASCII). The SMTP library of the sink decodes them in the envelope.
    expect(sunk.raw.toString('latin1')).toMatch(/carol@xn--bcher-kva\.test/);
    expect(new Set([...sunk.raw].map((byte: number) => byte < 128))).toEqual(new Set([true]));
    const parsed = await PostalMime.parse(sunk.raw);
    expect(parsed).toMatchObject({ subject, messageId: received.headers.message_id });
    expect(parsed.date).toBeTruthy();

    const copy = await until('every recipient is final', async () => {
      const { body } = await server.call('GET', `/v1/messages/${answer.body.id}`, undefined, ann.token);
      const isFinal = body.delivery.every((each: { state: string }) => ['sent', 'delivered'].includes(each.state));
      return isFinal ? body : undefined;
    });
    expect(copy.bcc).toEqual([{ name: '', email: 'secret@outside.test' }]);
    const states = Object.fromEntries(
      copy.delivery.map((each: { email: string; state: string }) => [each.email, each.state]),
    );
    expect(states).toEqual({
      [bob.email]: 'delivered',
      'Far@outside.test': 'sent',
      'carol@xn--bcher-kva.test': 'sent',
      'secret@outside.test': 'sent',
    });
    expect((await awaitMessage(server, ann, 'sent', subject)).id).toBe(answer.body.id);
  });

  it('happens once per Idempotency-Key', async () => {
    const subject = `once ${Date.now()}`;
    const message = { to: [{ email: 'once@outside.test' }], subject, body: 'x' };
    const key = `key-${Date.now()}`;
    const answers = await Promise.all(Array.from({ length: 5 }, () => send(ann, message, key)));
    expect(new Set(answers.map((answer) => answer.status))).toEqual(new Set([202]));
    expect(new Set(answers.map((answer) => answer.body.id)).size).toBe(1);
    expect((await send(ann, { ...message, body: 'y' }, key)).status).toBe(409);
    await awaitSunk(server, subject, (sunk) => sunk.envelope.to[0] === 'once@outside.test');
    // A message that was accepted later left too, so a second copy would have left before it.
    const later = `later ${Date.now()}`;
    await send(ann, { to: [{ email: 'later@outside.test' }], subject: later, body: 'x' });
    await awaitSunk(server, later, (sunk) => sunk.envelope.to[0] === 'later@outside.test');
    expect(readSink(server).filter((sunk) => sunk.envelope.to[0] === 'once@outside.test')).toHaveLength(1);
  });
});

describe('/v1/inbound', () => {
  it('recognises a retry of the same message, and delivers it once', async () => {
    const subject = `retried ${Date.now()}`;
    const raw = toRaw(subject, 'Is it one message or three?');
    for (let n = 0; n < 3; n++) {
      const { status } = await postInbound(server, raw, { from: 'a@far.test', to: ann.email });
      expect(status).toBe(202);
    }
    await awaitMessage(server, ann, 'inbox', subject);
    const again = await server.call(
      'GET',
      `/v1/messages?q=${encodeURIComponent(`subject:"${subject}"`)}`,
      undefined,
      ann.token,
    );
    expect(again.body.data).toHaveLength(1);
  });
});
