/** Programs that need no mailbox of their own, against a bridge and a running server. */
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { ImapFlow } from 'imapflow';
import { createTransport } from 'nodemailer';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startBridge } from '../../../bridge/start-bridge.ts';
import { type BridgeWorld, connectImapflow, type Person, startBridgeWorld } from '../../support/bridge/bridge-world.ts';
import { toMail } from '../../support/bridge/mails.ts';
import { awaitMessage, importWhole, listFolder } from '../../support/mail/mail.ts';
import { hasClient } from '../../support/real-client.ts';

const run = promisify(execFile);

let world: BridgeWorld;
let ann: Person;
const put = (subject: string) => importWhole(world.server, ann.token, toMail(subject), 'message/rfc822');
const connect = (): Promise<ImapFlow> => connectImapflow(world, ann);

beforeAll(async () => {
  world = await startBridgeWorld();
  ann = await world.addPerson('ann');
});
afterAll(async () => {
  await world?.[Symbol.asyncDispose]();
});

describe('imapflow', () => {
  it('reads, marks, moves and deletes, and the web app agrees', async () => {
    await put('flow-1');
    await put('flow-2');
    const client = await connect();
    const folders = await client.list({ statusQuery: { messages: true, unseen: true } });
    expect(folders.find(({ specialUse }) => specialUse === '\\Sent')).toBeDefined();
    const lock = await client.getMailboxLock('INBOX');
    const found = await client.search({ subject: 'flow-1' }, { uid: true });
    expect(found).toHaveLength(1);
    const [uid = 0] = found || [];
    const message = await client.fetchOne(
      String(uid),
      { envelope: true, bodyStructure: true, source: true, flags: true, size: true },
      { uid: true },
    );
    if (!message) throw new Error('The message is missing');
    expect([
      message.envelope?.subject,
      message.bodyStructure?.type,
      message.source?.toString().endsWith('Hello flow-1\r\n'),
    ]).toEqual(['flow-1', 'text/plain', true]);
    expect(message.source?.length).toBe(message.size);
    await client.messageFlagsAdd(String(uid), ['\\Flagged', 'Holiday'], { uid: true });
    const [stored] = (await listFolder(world.server, ann, 'inbox')).filter(({ subject }) => subject === 'flow-1');
    expect([stored.is_flagged, stored.labels]).toEqual([true, ['holiday']]);
    const moved = await client.messageMove(String(uid), 'Archive', { uid: true });
    expect(moved || null).toMatchObject({ uidMap: expect.objectContaining({ size: 1 }) });
    expect((await listFolder(world.server, ann, 'archive')).map(({ subject }) => subject)).toContain('flow-1');
    lock.release();
    await client.logout();
  });
  it('is told of mail and marks while it idles', async () => {
    const client = await connect();
    await client.mailboxOpen('INBOX');
    const exists = new Promise<number>((resolve) => client.once('exists', ({ count }) => resolve(count)));
    const before = client.mailbox ? client.mailbox.exists : 0;
    const idling = client.idle();
    await put('flow-idle');
    expect(await exists).toBe(before + 1);
    const flags = new Promise<Set<string>>((resolve) =>
      client.once('flags', ({ flags }) => resolve(flags ?? new Set())),
    );
    const { id } = await awaitMessage(world.server, ann, 'inbox', 'flow-idle');
    await world.server.call('PATCH', `/v1/messages/${id}`, { is_read: true }, ann.token);
    expect([...(await flags)]).toContain('\\Seen');
    const gone = new Promise<number>((resolve) => client.once('expunge', ({ seq }) => resolve(seq ?? 0)));
    await world.server.call('DELETE', `/v1/messages/${id}`, undefined, ann.token);
    expect(await gone).toBeGreaterThan(0);
    await client.logout();
    await idling.catch(() => {});
  });
  it('appends, and makes, renames and deletes folders', async () => {
    const client = await connect();
    await client.mailboxCreate('Projekte/Über');
    const appended = await client.append(
      'Projekte/Über',
      toMail('flow-append', `X-Long: ${'x'.repeat(70)}\r\n`.repeat(200)),
      ['\\Seen'],
    );
    if (!appended) throw new Error('APPEND was refused');
    expect(appended.uid).toBeGreaterThan(0);
    await client.mailboxRename('Projekte/Über', 'Projekte/Neu');
    await client.mailboxOpen('Projekte/Neu');
    const message = await client.fetchOne('1', { uid: true, flags: true, source: true });
    expect(message && [message.uid === appended.uid, [...(message.flags ?? [])]]).toEqual([true, ['\\Seen']]);
    await client.mailboxClose();
    await client.mailboxDelete('Projekte/Neu');
    await client.logout();
  });
});

describe('submission', () => {
  it.each(['PLAIN', 'LOGIN'])(
    'sends by nodemailer with AUTH %s, once, and keeps a copy in Sent',
    async (authMethod) => {
      const transport = createTransport({
        host: 'localhost',
        port: world.bridge.smtpPort,
        requireTLS: true,
        tls: { rejectUnauthorized: false },
        authMethod,
        auth: { user: ann.email, pass: ann.appToken },
      });
      const message = {
        from: ann.email,
        to: ann.email,
        bcc: 'ann+hidden@example.test',
        subject: `sent-${authMethod}`,
        text: 'Hello',
        messageId: `<sent-${authMethod}@example.test>`,
        date: new Date(1_767_323_045_000),
      };
      await transport.sendMail(message);
      await transport.sendMail(message);
      await awaitMessage(world.server, ann, 'inbox', message.subject);
      const sent = (await listFolder(world.server, ann, 'sent')).filter(({ subject }) => subject === message.subject);
      expect(sent).toHaveLength(1);
    },
  );
  it('refuses a password and the sender of another', async () => {
    const options = {
      host: 'localhost',
      port: world.bridge.smtpsPort,
      secure: true,
      tls: { rejectUnauthorized: false },
    };
    const wrong = createTransport({ ...options, auth: { user: ann.email, pass: 'correct horse battery' } });
    await expect(wrong.sendMail({ from: ann.email, to: ann.email, text: 'x' })).rejects.toMatchObject({
      responseCode: 535,
    });
    const right = createTransport({ ...options, auth: { user: ann.email, pass: ann.appToken } });
    await expect(right.sendMail({ from: 'eve@example.test', to: ann.email, text: 'x' })).rejects.toMatchObject({
      responseCode: 550,
    });
  });
});

describe.skipIf(!hasClient('python3'))('imaplib', () => {
  it('logs in after STARTTLS, appends, searches, copies, expunges and idles on', async () => {
    const script = `
import imaplib, ssl, sys
context = ssl._create_unverified_context()
box = imaplib.IMAP4('localhost', ${world.bridge.imapPort})
box.starttls(context)
box.login(sys.argv[1], sys.argv[2])
print(box.append('INBOX', '\\\\Flagged', None, b'Subject: by imaplib\\r\\n\\r\\nbody\\r\\n')[0])
print(box.select('INBOX')[0])
uid = box.uid('SEARCH', None, 'SUBJECT', '"imaplib"')[1][0].split()[-1]
print(box.uid('FETCH', uid, '(FLAGS BODY.PEEK[HEADER] BODY[TEXT])')[1][0][1])
print(box.uid('COPY', uid, 'Archive')[0])
print(box.uid('STORE', uid, '+FLAGS', '(\\\\Deleted)')[0], box.expunge()[0], box.close()[0], box.logout()[0])
`;
    const { stdout } = await run('python3', ['-c', script, ann.email, ann.appToken]);
    expect(stdout.trim().split('\n')).toEqual(['OK', 'OK', "b'Subject: by imaplib\\r\\n\\r\\n'", 'OK', 'OK OK OK BYE']);
  });
});

describe.skipIf(!hasClient('curl'))('curl', () => {
  const curl = (...args: string[]) =>
    run('curl', ['-sS', '--cacert', world.certificatePath, '-u', `${ann.email}:${ann.appToken}`, ...args]);
  it('reads over TLS and after STARTTLS, and sends', async () => {
    await put('curl-1');
    const search = await curl(`imaps://localhost:${world.bridge.imapsPort}/INBOX?SUBJECT%20curl-1`);
    const number = /\d+/.exec(search.stdout)?.[0];
    const { stdout } = await curl('--ssl-reqd', `imap://localhost:${world.bridge.imapPort}/INBOX;MAILINDEX=${number}`);
    expect(stdout).toContain('Hello curl-1');
  });
});

describe('the token of a bridge', () => {
  const logIn = async (bridgeToken: string): Promise<unknown> => {
    const ports = { imap: 0, smtp: 0 };
    const bridge = await startBridge({
      server: world.server.url,
      host: '127.0.0.1',
      ports,
      certificate: null,
      bridgeToken,
    });
    const auth = { user: ann.email, pass: ann.appToken };
    const client = new ImapFlow({
      host: '127.0.0.1',
      port: bridge.imapPort,
      secure: false,
      doSTARTTLS: false,
      auth,
      logger: false,
    });
    const outcome = await client.connect().then(
      () => 'logged in',
      (error: { serverResponseCode?: string }) => error.serverResponseCode,
    );
    client.close();
    await bridge.stop();
    return outcome;
  };
  it('is sent beside the token of a person, and a wrong one is no fault of the person', async () => {
    const { body } = await world.server.call('POST', '/v1/iam/tokens', { name: 'bridge', scopes: ['bridge'] });
    expect([await logIn(body.token), await logIn('tok_wrong')]).toEqual(['logged in', 'UNAVAILABLE']);
  });
});
