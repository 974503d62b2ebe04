/** Tests checks that stop mail in both directions: exact size limits, quota, loops, viruses, outbound spam. */
import { randomBytes } from 'node:crypto';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, expect, it } from 'vitest';
import {
  awaitMessage,
  listFolder,
  type MailUser,
  postInbound,
  readSink,
  registerUser,
  until,
} from '../../support/mail/mail.ts';
import { startServer, type TestServer } from '../../support/server.ts';

/**
 * Limits of the server, smaller to save time: attachments of 100,000 bytes and mailboxes of 2 MB follow the same rules as 25 MB and
 * 5 GB.
 */
const ATTACHMENT_BYTES = 100_000;
const ROOM_BYTES = 2 * 1024 * 1024;
const QUOTA_BYTES = 3_000_000;

/** DNS records that the tests' DNS server returns. It speaks the protocol of DNS over HTTPS, but without TLS. */
const RECORDS: Record<string, string> = {
  '_dmarc.strict.test': 'v=DMARC1; p=reject',
  'strict.test': 'v=spf1 ip4:203.0.113.5 -all',
};
let dns: Server;
let server: TestServer;
let ann: MailUser;
beforeAll(async () => {
  dns = createServer((request, response) => {
    const query = new URL(request.url ?? '', 'http://dns').searchParams;
    const text = query.get('type') === 'TXT' ? RECORDS[query.get('name') ?? ''] : undefined;
    const answer = text === undefined ? [] : [{ name: query.get('name'), type: 16, TTL: 60, data: `"${text}"` }];
    response.setHeader('content-type', 'application/dns-json');
    response.end(JSON.stringify({ Status: text === undefined ? 3 : 0, Answer: answer }));
  });
  await new Promise<void>((resolve) => dns.listen(0, '127.0.0.1', resolve));
  server = await startServer({
    vars: {
      MAIL_HOLD_SECONDS: '0',
      MAIL_RETRY_SECONDS: '1',
      PERSONAL_ATTACHMENT_BYTES: String(ATTACHMENT_BYTES),
      PERSONAL_QUOTA_BYTES: String(QUOTA_BYTES),
      DNS_OVER_HTTPS_URL: `http://127.0.0.1:${(dns.address() as AddressInfo).port}/dns-query`,
    },
  });
  ann = await registerUser(server, 'ann');
});
afterAll(async () => {
  await server[Symbol.asyncDispose]();
  dns.close();
});

const HEADER = 'From: Far Away <a@far.test>\r\nTo: ann@example.test\r\nSubject: size\r\n\r\n';
const ofSize = (size: number): Buffer =>
  Buffer.concat([Buffer.from(HEADER), Buffer.alloc(size - HEADER.length, 'x\r\n')]);
const envelope = { from: 'a@far.test', to: 'ann@example.test' };
const send = (message: object, user = ann) => server.call('POST', '/v1/messages', message, user.token);

const EICAR = ['X5O!P%@AP[4\\PZX54(P^)7CC)7}', '$EICAR-STANDARD-ANTIVIRUS-TEST-FILE!', '$H+H*'].join('');
const GTUBE = ['XJS*C4JDBQADN1.NSBN3*2IDNEN*', 'GTUBE-STANDARD-ANTI-UBE-TEST-EMAIL*C.34X'].join('');

it('a message of the largest size is accepted, and one byte more gets 552, by declared and by actual size', async () => {
  const lines = Math.ceil(ATTACHMENT_BYTES / 57);
  const largest = Math.ceil(ATTACHMENT_BYTES / 3) * 4 + (lines - 1) * 2 + ROOM_BYTES;
  const check = async (size: number) =>
    (await server.call('POST', '/v1/inbound/check', { from: 'a@far.test', to: ann.email, size })).body.smtp_code;
  expect([await check(largest), await check(largest + 1)]).toEqual([250, 552]);
  expect((await postInbound(server, ofSize(largest), envelope)).body.recipients).toMatchObject([{ smtp_code: 250 }]);
  const over = await postInbound(server, ofSize(largest + 1), envelope);
  expect([over.status, over.body.recipients[0].smtp_code]).toEqual([413, 552]);
});

it.each(['base64', '8bit'])(
  'files of the limit are accepted, and one byte more gets 552 with both sizes: %s',
  async (encoding) => {
    const withFile = (size: number) => {
      const file = Buffer.alloc(size, 'x');
      const body =
        encoding === 'base64' ? file.toString('base64').replace(/.{76}/g, '$&\r\n') : file.toString('latin1');
      return `${HEADER.slice(0, -2)}Content-Type: multipart/mixed; boundary=b\r\n\r\n--b\r\n\r\nsee the file ${encoding}\r\n--b\r\nContent-Type: application/x-some\r\nContent-Disposition: attachment; filename=a.some\r\nContent-Transfer-Encoding: ${encoding}\r\n\r\n${body}\r\n--b--\r\n`;
    };
    expect((await postInbound(server, withFile(ATTACHMENT_BYTES), envelope)).body.recipients).toMatchObject([
      { smtp_code: 250 },
    ]);
    const over = await postInbound(server, withFile(ATTACHMENT_BYTES + 1), envelope);
    expect([over.status, over.body.recipients[0]]).toEqual([
      413,
      { email: ann.email, smtp_code: 552, detail: '5.3.4 the files have 100001 bytes, the limit is 100000 bytes' },
    ]);
  },
);

it('a full mailbox answers 452, and still accepts messages that fit', async () => {
  const bob = await registerUser(server, 'bob');
  const toBob = { from: 'a@far.test', to: bob.email };
  expect((await postInbound(server, ofSize(2_000_000), toBob)).status).toBe(202);
  const full = await postInbound(server, ofSize(QUOTA_BYTES - 2_000_000 + 1), toBob);
  expect([full.status, full.body.recipients[0].smtp_code]).toEqual([503, 452]);
  expect((await postInbound(server, ofSize(QUOTA_BYTES - 2_000_000), toBob)).status).toBe(202);
  expect((await postInbound(server, ofSize(200), toBob)).body.recipients[0].smtp_code).toBe(452);
});

it('each recipient gets its own reply, and one status if all fail in the same way', async () => {
  const raw = HEADER + randomBytes(8).toString('hex');
  const mixed = await postInbound(server, raw, {
    from: 'a@far.test',
    to: 'ann@example.test, nobody@example.test,x@far.test',
  });
  expect(mixed.status).toBe(202);
  expect(mixed.body.recipients.map((each: { smtp_code: number }) => each.smtp_code)).toEqual([250, 550, 550]);
  expect((await postInbound(server, raw, { from: '', to: 'nobody@example.test' })).status).toBe(422);
});

it('a looping message is rejected, and a message with fifty hops is accepted', async () => {
  const hops = (count: number) =>
    `${'Received: from a by b; Sat, 21 Nov 2026 00:00:00 +0000\r\n'.repeat(count)}${HEADER}x\r\n`;
  expect((await postInbound(server, hops(50), envelope)).status).toBe(202);
  expect((await postInbound(server, hops(51), envelope)).body.recipients[0]).toMatchObject({ smtp_code: 554 });
});

it('a message is rejected if its domain’s DMARC policy says so, and accepted from an authorized client', async () => {
  const raw = `From: Boss <boss@strict.test>\r\nTo: ann@example.test\r\nSubject: dmarc\r\nDate: ${new Date().toUTCString()}\r\n\r\nhi\r\n`;
  const from = { from: 'boss@strict.test', to: ann.email };
  const forged = await postInbound(server, raw, { ...from, clientIp: '198.51.100.7' });
  expect([forged.status, forged.body.recipients[0].detail]).toEqual([422, expect.stringContaining('5.7.26')]);
  expect((await postInbound(server, raw, { ...from, clientIp: '203.0.113.5' })).status).toBe(202);
  const message = await awaitMessage(server, ann, 'inbox', 'dmarc');
  expect(message.authentication).toMatchObject({ spf: { result: 'pass' }, dmarc: { result: 'pass' } });
});

it('a virus goes into quarantine, where only an operator can open, delete or deliver it', async () => {
  const raw = (n: number) => `${HEADER.replace('size', `virus ${n}`)}${EICAR}\r\n`;
  for (const n of [1, 2]) expect((await postInbound(server, raw(n), envelope)).status).toBe(202);
  const [second, first] = await until('both are in quarantine', async () => {
    const { body } = await server.call('GET', '/v1/quarantine');
    return body.data.length === 2 ? body.data : undefined;
  });
  expect((await server.call('GET', `/v1/quarantine/${first.id}/raw`, undefined, ann.token)).status).toBe(403);
  expect((await server.call('GET', `/v1/quarantine/${first.id}/raw`)).body).toContain('EICAR');
  expect((await server.call('DELETE', `/v1/quarantine/${second.id}`)).status).toBe(204);
  expect((await server.call('POST', `/v1/quarantine/${first.id}/release`)).status).toBe(200);
  expect(await awaitMessage(server, ann, 'inbox', first.subject)).toBeTruthy();
  expect((await server.call('GET', '/v1/quarantine')).body.data).toEqual([]);
  const ledger = await until('the ledger balances', async () => {
    const { body } = await server.call('GET', '/v1/inbound');
    return body.pending === 0 && body.outcomes.refused === 1 ? body : undefined;
  });
  expect(ledger).toMatchObject({ balanced: true, outcomes: { quarantine: 0, refused: 1 } });
});

it('outbound viruses and spam come back to Drafts with the reason, and the error queue shows them', async () => {
  const virus = { file_name: 'a.txt', content_type: 'text/plain', content: Buffer.from(EICAR).toString('base64') };
  await send({ to: [{ email: 'v@outside.test' }], subject: 'virus', body: 'x', attachments: [virus] });
  await send({ to: [{ email: 's@outside.test' }], subject: 'spam', body: GTUBE });
  for (const subject of ['virus', 'spam']) {
    const draft = await until('the message is a draft', async () =>
      (await listFolder(server, ann, 'drafts')).find((each) => each.subject === subject),
    );
    const { body } = await server.call('GET', `/v1/drafts/${draft.id}`, undefined, ann.token);
    expect(body.refusal).toContain(`5.7.1 blocked by the ${subject} check`);
    await until('the entry', async () => {
      const { data } = (await server.call('GET', '/v1/outbound/errors')).body;
      return data.some(({ detail }: { detail: string }) => detail.includes(`the ${subject} check`)) || undefined;
    });
  }
  expect(await listFolder(server, ann, 'sent')).toEqual([]);
  await until('both reports', async () => {
    const reports = (await listFolder(server, ann, 'inbox')).filter((each) => each.subject.startsWith('Undelivered'));
    return reports.length === 2 ? reports : undefined;
  });
  expect(readSink(server)).toEqual([]);
});

it('attachments up to the account’s exact limit are accepted, uploaded or in the request', async () => {
  const upload = async (size: number) => {
    const response = await fetch(`${server.url}/v1/attachments?file_name=a.bin`, {
      method: 'POST',
      headers: { authorization: `Bearer ${ann.token}`, 'content-type': 'application/octet-stream' },
      body: new Uint8Array(randomBytes(size)),
    });
    return ((await response.json()) as { attachment_id: string }).attachment_id;
  };
  const inline = (size: number) => ({
    file_name: 'b.bin',
    content_type: 'application/octet-stream',
    content: randomBytes(size).toString('base64'),
  });
  const to = [{ email: 'size@outside.test' }];
  const half = ATTACHMENT_BYTES / 2;
  const fits = await send({ to, subject: 'fits', attachments: [{ attachment_id: await upload(half) }, inline(half)] });
  expect(fits.status).toBe(202);
  const over = await send({
    to,
    subject: 'over',
    attachments: [{ attachment_id: await upload(half) }, inline(half + 1)],
  });
  expect([over.status, over.body.code]).toEqual([413, 'too_large']);
});
