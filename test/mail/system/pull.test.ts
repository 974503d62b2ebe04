/** Pulls mail from a real Dovecot, as a person does who moves in. */
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Dovecot, hasDovecot, PASSWORD, startDovecot } from '../../support/mail/dovecot.ts';
import { listFolder, type MailUser, registerUser, until } from '../../support/mail/mail.ts';
import { startServer, type TestServer } from '../../support/server.ts';

const message = (n: number, subject = `Old ${n}`) =>
  `From: Friend <friend@elsewhere.test>\r\nTo: me@old.test\r\nSubject: ${subject}\r\nMessage-ID: <${n}@elsewhere.test>\r\n\r\nText ${n}\r\n`;
const DATE = new Date('2019-03-04T05:06:07Z');

describe.skipIf(!hasDovecot())('with Dovecot as the old provider', () => {
  let server: TestServer;
  let dovecot: Dovecot;
  /** A resolver by which every name has a private address. */
  let dns: Server;
  let ann: MailUser;
  beforeAll(async () => {
    dovecot = await startDovecot();
    const certificates = process.env.NODE_EXTRA_CA_CERTS;
    process.env.NODE_EXTRA_CA_CERTS = dovecot.certificatePath;
    const { imaps, imap } = dovecot.ports;
    dns = createServer((request, response) => {
      const isIpv6 = request.url?.includes('type=AAAA');
      response.end(JSON.stringify({ Status: 0, Answer: isIpv6 ? [] : [{ type: 1, data: '127.0.0.1' }] }));
    });
    await new Promise<void>((resolve) => dns.listen(0, '127.0.0.1', resolve));
    const dnsUrl = `http://127.0.0.1:${(dns.address() as AddressInfo).port}/`;
    server = await startServer({
      vars: { IMAP_STAND_IN: `localhost:${imaps}:${imap}`, DNS_OVER_HTTPS_URL: dnsUrl },
    });
    if (certificates === undefined) delete process.env.NODE_EXTRA_CA_CERTS;
    else process.env.NODE_EXTRA_CA_CERTS = certificates;
    ann = await registerUser(server, 'ann');
  });
  afterAll(async () => {
    await server?.[Symbol.asyncDispose]();
    dns?.close();
    await dovecot?.[Symbol.asyncDispose]();
  });

  const start = (user: MailUser, request: object) =>
    server.call('POST', '/v1/import/pulls', { host: 'localhost', password: PASSWORD, ...request }, user.token);
  const awaitPull = (user: MailUser, isReached: (pull: { state: string; passes: number }) => boolean) =>
    until('the pull gets there', async () => {
      const { body } = await server.call('GET', '/v1/import/pulls', undefined, user.token);
      return body.items.find(isReached);
    });

  it('brings folders, flags, dates and labels, and later only what is new', async () => {
    const old = await dovecot.open('ann');
    await old.append('INBOX', message(1), ['\\Seen', '\\Flagged', 'holiday', '$MDNSent'], DATE);
    await old.append('INBOX', message(2), [], DATE);
    await old.append('Sent', message(3), ['\\Seen'], DATE);
    await old.mailboxCreate('Work.Größe');
    await old.append('Work.Größe', message(4), ['\\Seen'], DATE);
    await old.append('Drafts', message(5), ['\\Draft', '\\Seen'], DATE);
    expect((await start(ann, { user_name: 'ann' })).status).toBe(201);
    expect(await awaitPull(ann, ({ passes }) => passes === 1)).toMatchObject({
      state: 'waiting',
      fault: null,
      imported: 5,
      duplicates: 0,
      failed: 0,
      remaining: 0,
    });
    const inbox = (await listFolder(server, ann, 'inbox')).filter(({ subject }) => subject.startsWith('Old'));
    expect(
      inbox.map(({ subject, is_read, is_flagged, labels, received_at }) => [
        subject,
        is_read,
        is_flagged,
        labels,
        received_at,
      ]),
    ).toEqual(
      expect.arrayContaining([
        ['Old 1', true, true, ['holiday'], DATE.toISOString()],
        ['Old 2', false, false, [], DATE.toISOString()],
      ]),
    );
    expect((await listFolder(server, ann, 'sent')).map(({ subject }) => subject)).toEqual(['Old 3']);
    expect((await listFolder(server, ann, 'archive')).map(({ subject, labels }) => [subject, labels])).toEqual([
      ['Old 5', ['Drafts']],
    ]);
    const { body: folders } = await server.call('GET', '/v1/folders', undefined, ann.token);
    expect(folders.find(({ name }: { name: string }) => name === 'Work/Größe')).toMatchObject({ total: 1 });

    await old.append('INBOX', message(6), [], DATE);
    await server.stop();
    process.env.NODE_EXTRA_CA_CERTS = dovecot.certificatePath;
    await server.start({ CLOCK_OFFSET_SECONDS: '1000' });
    // Any write sets the alarm by the moved clock.
    await server.call('POST', '/v1/folders', { name: 'Later' }, ann.token);
    expect(await awaitPull(ann, ({ passes }) => passes === 2)).toMatchObject({ imported: 6, duplicates: 0 });
    expect(dovecot.countLogins('ann')).toBe(3);
    await old.logout();
  });

  it('uses STARTTLS on port 143, and ends with a refused password', async () => {
    const [bob, cat] = await Promise.all(['bob', 'cat'].map((name) => registerUser(server, name)));
    if (!bob || !cat) throw new Error('no users');
    const old = await dovecot.open('bob');
    await old.append('INBOX', message(7), [], DATE);
    await old.logout();
    await start(bob, { user_name: 'bob', port: 143 });
    await start(cat, { user_name: 'cat', password: 'wrong' });
    expect(await awaitPull(bob, ({ passes }) => passes === 1)).toMatchObject({ imported: 1 });
    expect(await awaitPull(cat, ({ state }) => state === 'ended')).toMatchObject({
      fault: 'login_refused',
      next_at: null,
    });
  });

  it('reaches public hosts only', async () => {
    for (const host of ['127.0.0.1', '10.0.0.1', 'db.internal', '[::1]', 'intranet', 'printer.local'])
      expect([host, (await start(ann, { user_name: 'ann', host })).status]).toEqual([host, 400]);
    expect((await start(ann, { user_name: 'ann', port: 25 })).status).toBe(400);
    const dan = await registerUser(server, 'dan');
    await start(dan, { user_name: 'dan', host: 'imap.rebound.test' });
    expect(await awaitPull(dan, ({ state }) => state === 'ended')).toMatchObject({ fault: 'host_not_allowed' });
  });
});
