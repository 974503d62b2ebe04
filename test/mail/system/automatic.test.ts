/** Tests mail that a mailbox sends automatically, end to end over SMTP: vacation replies and forwards. */
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
  type SunkMessage,
  swaks,
  until,
} from '../../support/mail/mail.ts';
import { hasClient } from '../../support/real-client.ts';
import { startServer, type TestServer } from '../../support/server.ts';

const WEEK_SECONDS = 7 * 24 * 3_600;

let server: TestServer;
beforeAll(async () => {
  server = await startServer();
});
afterAll(() => server[Symbol.asyncDispose]());

const call = async (user: MailUser, method: string, path: string, body?: unknown) => {
  const answer = await server.call(method, path, body, user.token);
  expect([path, answer.status < 300, answer.body]).toEqual([path, true, answer.body]);
  return answer.body;
};

/** Makes a raw message as a person writes it. */
function toRaw(subject: string, to: string, headers: readonly string[] = []): string {
  return [
    'From: Far Away <a@far.test>',
    `To: ${to}`,
    `Subject: ${subject}`,
    `Date: ${new Date().toUTCString().replace('GMT', '+0000')}`,
    `Message-ID: <${crypto.randomUUID()}@far.test>`,
    ...headers,
    'MIME-Version: 1.0',
    'Content-Type: text/plain; charset=utf-8',
    '',
    'Shall we have lunch on Thursday?',
    '',
  ].join('\r\n');
}
const arrive = async (user: MailUser, from: string, subject: string, headers: readonly string[] = []) => {
  const raw = toRaw(subject, user.email, headers);
  expect((await postInbound(server, raw, { from, to: user.email })).status).toBe(202);
  await awaitMessage(server, user, 'inbox', subject);
};
const sunkTo = (email: string): SunkMessage[] => readSink(server).filter(({ envelope }) => envelope.to.includes(email));
const headerOf = ({ raw }: SunkMessage, name: string): string | undefined =>
  new RegExp(`^${name}:[ \\t]*(.*(?:\\r\\n[ \\t].*)*)`, 'im').exec(
    raw.toString('latin1').split('\r\n\r\n')[0] ?? '',
  )?.[1];
/** Decodes the body of a quoted-printable message with one part. */
const textOf = ({ raw }: SunkMessage): string => {
  const body = raw.toString('latin1').split('\r\n\r\n').slice(1).join('\r\n\r\n').replaceAll('=\r\n', '');
  const bytes = body.replace(/=([0-9A-F]{2})/g, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)));
  return Buffer.from(bytes, 'latin1').toString();
};

async function confirmTarget(user: MailUser, email: string, readCode: () => Promise<string>): Promise<void> {
  await confirmSession(server, user.token);
  await call(user, 'POST', '/v1/me/forward-targets', { email });
  await call(user, 'POST', '/v1/me/forward-targets/confirm', { email, code: await readCode() });
}
const forwardAll = (user: MailUser, to: string) =>
  call(user, 'POST', '/v1/filters', { name: 'forward', conditions: [], actions: [{ type: 'forward', to }] });

describe('a forward', () => {
  it('sends the unchanged message to a confirmed address, and not again if the message returns', async () => {
    const finn = await registerUser(server, 'finn');
    const refused = await server.call(
      'POST',
      '/v1/filters',
      { name: 'x', conditions: [], actions: [{ type: 'forward', to: 'finn@far.test' }] },
      finn.token,
    );
    expect(refused.status).toBe(400);
    await confirmTarget(finn, 'finn@far.test', async () => {
      const mail = await awaitSunk(server, 'the code', ({ envelope }) => envelope.to.includes('finn@far.test'));
      expect(mail.envelope.from).toBe('');
      return /\b\d{8}\b/.exec(textOf(mail))?.[0] ?? '';
    });
    await forwardAll(finn, 'finn@far.test');
    await arrive(finn, 'a@far.test', 'onwards');
    const forwarded = await until('the forward', async () =>
      sunkTo('finn@far.test').find((mail) => headerOf(mail, 'Subject') === 'onwards'),
    );
    expect(forwarded.envelope.from).not.toBe('');
    expect(forwarded.envelope.from).not.toBe('a@far.test');
    expect(headerOf(forwarded, 'From')).toBe('Far Away <a@far.test>');
    expect(forwarded.raw.toString()).toContain('Shall we have lunch on Thursday?');
    // The remote side forwards the message back. It must be stored, but not forwarded again.
    const { raw } = forwarded;
    expect((await postInbound(server, raw, { from: 'back@far.test', to: finn.email })).status).toBe(202);
    await until('both copies', async () =>
      (await listFolder(server, finn, 'inbox')).filter((mail) => mail.subject === 'onwards').length === 2
        ? true
        : undefined,
    );
    await postInbound(server, toRaw('report', finn.email), { from: '', to: finn.email });
    await awaitMessage(server, finn, 'inbox', 'report');
    await arrive(finn, 'a@far.test', 'the last');
    await until('the last forward', async () =>
      sunkTo('finn@far.test').find((mail) => headerOf(mail, 'Subject') === 'the last'),
    );
    expect(
      sunkTo('finn@far.test')
        .map((mail) => headerOf(mail, 'Subject'))
        .slice(1),
    ).toEqual(['onwards', 'the last']);
  });

  it('stops if two mailboxes forward to each other', async () => {
    const [left, right] = [await registerUser(server, 'left'), await registerUser(server, 'right')];
    for (const [user, other] of [
      [left, right],
      [right, left],
    ] as const) {
      await confirmTarget(user, other.email, async () => {
        const mail = await awaitMessage(server, other, 'inbox', `${user.email} asks to forward mail to you`);
        return /\b\d{8}\b/.exec(mail.body)?.[0] ?? '';
      });
    }
    await forwardAll(left, right.email);
    await forwardAll(right, left.email);
    await arrive(left, 'a@far.test', 'ping pong');
    await awaitMessage(server, right, 'inbox', 'ping pong');
    await until('no mail is in transit', async () => {
      const { body } = await server.call('GET', '/v1/outbound');
      const { body: inbound } = await server.call('GET', '/v1/inbound');
      const back = (await listFolder(server, left, 'inbox')).filter((mail) => mail.subject === 'ping pong').length;
      return body.size === 0 && inbound.pending === 0 && back === 2 ? true : undefined;
    });
    const count = async (user: MailUser) =>
      (await listFolder(server, user, 'inbox')).filter((mail) => mail.subject === 'ping pong').length;
    expect([await count(left), await count(right)]).toEqual([2, 1]);
  });
});

describe('the vacation reply', () => {
  it('is sent once a week per sender, and never to lists, bulk mail, machines or the null sender', async () => {
    const zoe = await registerUser(server, 'zoe');
    const readReplies = () =>
      readSink(server)
        .filter((mail) => headerOf(mail, 'Auto-Submitted') === 'auto-replied')
        .flatMap(({ envelope }) => envelope.to);
    await call(zoe, 'PUT', '/v1/me/vacation', {
      enabled: true,
      subject: 'Ich bin weg – 東京',
      body: 'Back on Monday.\nZoé',
      starts_at: null,
      ends_at: null,
    });
    if (hasClient('swaks')) {
      const sent = await swaks(
        server,
        '--from',
        'friend@far.test',
        '--to',
        zoe.email,
        '--data',
        toRaw('hello zoe', zoe.email),
      );
      expect(sent.output).toContain('250');
    } else {
      await arrive(zoe, 'friend@far.test', 'hello zoe');
    }
    const reply = await awaitSunk(server, 'the reply', ({ envelope }) => envelope.to.includes('friend@far.test'));
    // Expect the form of RFC 3834: null sender, marked as an automatic reply, in the same conversation.
    expect(reply.envelope.from).toBe('');
    expect(headerOf(reply, 'Auto-Submitted')).toBe('auto-replied');
    expect(headerOf(reply, 'In-Reply-To')).toMatch(/^<[\w-]+@far\.test>$/);
    expect(headerOf(reply, 'References')).toContain(headerOf(reply, 'In-Reply-To'));
    expect(headerOf(reply, 'From')).toContain(`<${zoe.email}>`);
    expect(textOf(reply)).toBe('Back on Monday.\r\nZoé\r\n');

    const unanswered: readonly [from: string, subject: string, headers?: readonly string[]][] = [
      ['friend@far.test', 'again'],
      ['', 'a report'],
      ['list@far.test', 'to a list', ['List-Id: <things.far.test>']],
      ['news@far.test', 'bulk', ['Precedence: bulk']],
      ['robot@far.test', 'robot', ['Auto-Submitted: auto-generated']],
      ['robot@far.test', 'robot answers', ['Auto-Submitted: auto-replied (vacation)']],
      ['no-reply@far.test', 'no reply'],
      ['owner-things@far.test', 'owner'],
    ];
    await Promise.all(unanswered.map(([from, subject, headers]) => arrive(zoe, from, subject, headers)));
    const raw = toRaw('not to me', 'someone-else@far.test');
    await postInbound(server, raw, { from: 'bcc@far.test', to: zoe.email });
    await awaitMessage(server, zoe, 'inbox', 'not to me');
    // Wait for the reply to a last message. Replies to the earlier messages would have been sent before it.
    await arrive(zoe, 'other@far.test', 'another person');
    await awaitSunk(server, 'the last reply', ({ envelope }) => envelope.to.includes('other@far.test'));
    expect(readReplies()).toEqual(['friend@far.test', 'other@far.test']);

    // This part must be the last in this file: if the clock were set back later, work would wait for a week.
    await server.stop();
    await server.start({ CLOCK_OFFSET_SECONDS: String(WEEK_SECONDS + 60) });
    await arrive(zoe, 'friend@far.test', 'a week later');
    await until('the reply of the next week', async () => (sunkTo('friend@far.test').length === 2 ? true : undefined));
  });
});
