/**
 * Runs the server with a real rspamd and a real clamd that fail in every way. Mail in both directions waits until both have
 * scanned it. No message passes unscanned, and none is lost.
 */
import { randomBytes } from 'node:crypto';
import { zipSync } from 'fflate';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { EICAR } from '../../../workers/mail/mime/virus-signatures.ts';
import { type FlakyScanner, SCANNER_FAULTS, startFlakyScanner } from '../../support/mail/flaky-scanner.ts';
import {
  awaitMessage,
  awaitSunk,
  listFolder,
  type MailUser,
  postInbound,
  readSink,
  registerUser,
  until,
} from '../../support/mail/mail.ts';
import { findFreePort, type Scanner, startClamd, startRspamd } from '../../support/mail/scanners.ts';
import { hasClient } from '../../support/real-client.ts';
import { startServer, type TestServer } from '../../support/server.ts';

const OWN_SIGNATURE = 'tessera test signature';

describe.skipIf(!hasClient('clamd', 'rspamd'))('scanners', () => {
  let server: TestServer;
  let ann: MailUser;
  let real: Scanner[];
  let clamd: FlakyScanner;
  let rspamd: FlakyScanner;
  beforeAll(async () => {
    const [realClamd, realRspamd] = await Promise.all([startClamd(), startRspamd()]);
    real = [realClamd, realRspamd];
    clamd = await startFlakyScanner('clamd', realClamd.port, await findFreePort());
    rspamd = await startFlakyScanner('rspamd', realRspamd.port, await findFreePort());
    server = await startServer({
      vars: {
        MAIL_HOLD_SECONDS: '0',
        MAIL_RETRY_SECONDS: '1',
        SCANNER_TIMEOUT_SECONDS: '5',
        CLAMD_ADDRESS: `127.0.0.1:${clamd.port}`,
        RSPAMD_URL: `http://127.0.0.1:${rspamd.port}`,
      },
    });
    ann = await registerUser(server, 'ann');
  });
  afterAll(async () => {
    await server?.[Symbol.asyncDispose]();
    for (const scanner of [clamd, rspamd, ...(real ?? [])]) await scanner?.stop();
  });

  const toRaw = (subject: string, attachment: Uint8Array, type = 'application/octet-stream'): string =>
    [
      'From: Far Away <a@far.test>',
      `To: ${ann.email}`,
      `Subject: ${subject}`,
      `Date: ${new Date().toUTCString()}`,
      `Message-ID: <${randomBytes(8).toString('hex')}@far.test>`,
      'MIME-Version: 1.0',
      'Content-Type: multipart/mixed; boundary=b',
      '',
      '--b',
      'Content-Type: text/plain',
      '',
      'See attached.',
      '--b',
      `Content-Type: ${type}; name=a.bin`,
      'Content-Disposition: attachment; filename=a.bin',
      ...(type.startsWith('message/')
        ? ['', Buffer.from(attachment).toString('latin1')]
        : [
            'Content-Transfer-Encoding: base64',
            '',
            Buffer.from(attachment).toString('base64').replace(/.{76}/g, '$&\r\n'),
          ]),
      '--b--',
      '',
    ].join('\r\n');
  const receive = async (raw: string) => {
    const { status } = await postInbound(server, raw, { from: 'a@far.test', to: ann.email });
    expect(status).toBe(202);
  };
  const send = async (subject: string, content: Uint8Array, to = 'x@outside.test') => {
    const attachments = [
      {
        file_name: 'a.bin',
        content_type: 'application/octet-stream',
        content: Buffer.from(content).toString('base64'),
      },
    ];
    const message = { to: [{ email: to }], subject, body: 'See attached.', attachments };
    const answer = await server.call('POST', '/v1/messages', message, ann.token);
    expect(answer.status).toBe(202);
    return async () =>
      (await server.call('GET', `/v1/messages/${answer.body.id}`, undefined, ann.token)).body.delivery[0];
  };
  const awaitLedger = (
    what: string,
    match: (ledger: { pending: number; outcomes: { quarantine: number } }) => boolean,
  ) =>
    until(what, async () => {
      const { body } = await server.call('GET', '/v1/inbound');
      expect(body.balanced).toBe(true);
      return match(body) ? body : undefined;
    });

  it('that hang, disconnect, send garbage, truncate or die defer mail, and each message arrives once when they recover', async () => {
    const subjects = ['clamd', 'rspamd'].flatMap((name) => SCANNER_FAULTS.map((fault) => `${name}-${fault} in`));
    // The message for the fault in the middle of the stream must be long, so that the scanner receives only a part of it.
    for (const subject of subjects)
      await receive(toRaw(subject, randomBytes(subject.includes('midstream') ? 400_000 : 100)));
    for (const subject of subjects) {
      const message = await awaitMessage(server, ann, 'inbox', subject);
      expect([subject, message.spam.engine, message.authentication.virus]).toEqual([subject, 'rspamd', 'clean']);
    }
    for (const scanner of [clamd, rspamd]) expect([...scanner.committed].sort()).toEqual([...SCANNER_FAULTS].sort());
    expect((await listFolder(server, ann, 'inbox')).map((message) => message.subject).sort()).toEqual(subjects.sort());
  });

  it('that are down hold mail in both directions, until they are back', async () => {
    for (const [name, scanner] of Object.entries({ clamd, rspamd })) {
      await scanner.goDown();
      await receive(toRaw(`${name} down`, randomBytes(100)));
      const readDelivery = await send(`${name} down out`, randomBytes(100));
      const deferred = await until('the message is deferred', async () => {
        const delivery = await readDelivery();
        return delivery.state === 'deferred' ? delivery : undefined;
      });
      expect(deferred.last_reply).toContain(`check deferred: ${name}: `);
      await awaitLedger('the ledger says so', (ledger) => ledger.pending === 1);
      expect(readSink(server).some((message) => message.raw.includes(`${name} down out`))).toBe(false);
      expect((await listFolder(server, ann, 'inbox')).some((each) => each.subject === `${name} down`)).toBe(false);
      await scanner.comeBack();
      await awaitMessage(server, ann, 'inbox', `${name} down`);
      await awaitSunk(server, `${name} down out`, (message) => message.raw.includes(`${name} down out`));
      await until('the message is sent', async () => ((await readDelivery()).state === 'sent' ? true : undefined));
      await awaitLedger('nothing is pending', (ledger) => ledger.pending === 0);
    }
  });

  it('find viruses in an attachment, a zip and an attached message: inbound quarantined, outbound stopped', async () => {
    const nested = (content: string) => Buffer.from(`From: b@far.test\r\nSubject: inner\r\n\r\n${content}\r\n`);
    for (const [kind, signature] of Object.entries({ eicar: EICAR, own: OWN_SIGNATURE })) {
      const file = Buffer.from(signature, 'latin1');
      await receive(toRaw(`${kind} file`, file));
      await receive(toRaw(`${kind} zip`, zipSync({ 'a.txt': file })));
      await receive(toRaw(`${kind} message`, nested(signature), 'message/rfc822'));
    }
    const before = await awaitLedger('all lie in quarantine', (ledger) => ledger.outcomes.quarantine === 6);
    expect(before.pending).toBe(0);
    await send('leaving virus', Buffer.from(OWN_SIGNATURE));
    const { id } = await awaitMessage(server, ann, 'drafts', 'leaving virus');
    const { body: draft } = await server.call('GET', `/v1/drafts/${id}`, undefined, ann.token);
    expect(draft.refusal).toContain('Tessera.Own');
    expect((await awaitMessage(server, ann, 'inbox', 'Undelivered mail returned to sender')).body).toContain(
      'x@outside.test',
    );
    expect(readSink(server).some((message) => message.raw.includes('leaving virus'))).toBe(false);
  });
});
