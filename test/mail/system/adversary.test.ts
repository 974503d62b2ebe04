/** Tests malicious clients and mass mailings: each gets a clear reply, nothing is lost, and the ledger balances. */
import { connect } from 'node:net';
import { afterAll, beforeAll, expect, it } from 'vitest';
import {
  awaitMessage,
  confirmSession,
  listFolder,
  type MailUser,
  postInbound,
  registerUser,
  until,
} from '../../support/mail/mail.ts';
import { type ScriptedSmtp, startScriptedSmtp } from '../../support/mail/scripted-smtp.ts';
import { startServer, type TestServer } from '../../support/server.ts';

let server: TestServer;
let ann: MailUser;
let bob: MailUser;
let world: ScriptedSmtp;
beforeAll(async () => {
  server = await startServer({ vars: { MAIL_HOLD_SECONDS: '0', MAIL_RETRY_SECONDS: '1' } });
  ann = await registerUser(server, 'ann');
  bob = await registerUser(server, 'bob');
  world = await startScriptedSmtp();
  const transport = `smtp://127.0.0.1:${world.port}?tls=off`;
  await server.call('POST', '/v1/domains', { domain: 'far.test', is_hosted: false, transport });
});
afterAll(async () => {
  await server[Symbol.asyncDispose]();
  await world.stop();
});

/** Sends the lines one by one, each after the previous reply. @returns the replies. */
async function talk(...lines: string[]): Promise<string[]> {
  const socket = connect(server.smtpPort, '127.0.0.1');
  const replies: string[] = [];
  let text = '';
  for await (const chunk of socket) {
    text += String(chunk);
    const answer = /^(?:\d{3}-.*\r\n)*\d{3} .*\r\n$/.exec(text)?.[0];
    if (answer === undefined) continue;
    replies.push(answer.trim());
    text = '';
    const line = lines.shift();
    if (line === undefined) break;
    socket.write(line, 'latin1');
  }
  socket.destroy();
  return replies;
}

const awaitBalance = () =>
  until('the ledger balances and nothing is pending', async () => {
    const { body } = await server.call('GET', '/v1/inbound');
    return body.pending === 0 && body.balanced ? body : undefined;
  });
const subjectsOf = async (user: MailUser) => (await listFolder(server, user, 'inbox')).map((each) => each.subject);

/** Byte sequences that some servers have accepted as the end of a message (SMTP smuggling). Only CRLF, dot, CRLF is the end. */
const FALSE_ENDS = [
  '\n.\n',
  '\n.\r\n',
  '\r\n.\n',
  '\r.\r\n',
  '\r.\r',
  '\r\n.\r',
  '\n.\r',
  '\r\n\0.\r\n',
  '\r\n.\r\r\n',
];

it('a false end of a message smuggles no second message, inbound or outbound', async () => {
  const inner = (n: number) =>
    `MAIL FROM:<boss@bank.test>\r\nRCPT TO:<bob@example.test>\r\nDATA\r\nFrom: boss@bank.test\r\nSubject: smuggled ${n}\r\n\r\npay\r\n`;
  for (const [n, end] of FALSE_ENDS.entries()) {
    const replies = await talk(
      'EHLO x\r\n',
      'MAIL FROM:<a@elsewhere.test>\r\n',
      'RCPT TO:<ann@example.test>\r\n',
      'DATA\r\n',
      `From: a@elsewhere.test\r\nSubject: outer ${n}\r\n\r\nhello${end}${inner(n)}\r\n.\r\n`,
      'QUIT\r\n',
    );
    expect([end, replies.map((reply) => reply.slice(0, 3))]).toEqual([
      end,
      ['220', '250', '250', '250', '354', '250', '221'],
    ]);
  }
  await until('all messages arrived', async () =>
    (await subjectsOf(ann)).length >= FALSE_ENDS.length ? true : undefined,
  );
  await awaitBalance();
  expect((await subjectsOf(ann)).sort()).toEqual(FALSE_ENDS.map((_, n) => `outer ${n}`));
  expect(await subjectsOf(bob)).toEqual([]);

  // The text of an outbound message must not smuggle a second message either.
  world.taken.length = 0;
  for (const [n, end] of FALSE_ENDS.entries()) {
    const message = { to: [{ email: 'x@far.test' }], subject: `out ${n}`, body: `hello${end}${inner(n)}` };
    expect((await server.call('POST', '/v1/messages', message, ann.token)).status).toBe(202);
  }
  await until('all messages in the sink', async () => (world.taken.length >= FALSE_ENDS.length ? true : undefined));
  expect(world.taken.map((taken) => taken.from)).toEqual(FALSE_ENDS.map(() => ann.email));
  for (const { raw } of world.taken) expect(raw.toString('latin1').replaceAll('\r\n', '')).not.toMatch(/[\r\n]/);
});

it('mail from domains in any script is accepted, and SMTPUTF8 is rejected at once', async () => {
  for (const [n, from] of ['x@xn--bcher-kva.test', 'x@xn--wgv71a119e.test'].entries()) {
    const raw = `From: <${from}>\r\nSubject: script ${n}\r\n\r\nhello\r\n.\r\n`;
    const replies = await talk(
      'EHLO x\r\n',
      `MAIL FROM:<${from}>\r\n`,
      'RCPT TO:<ann@example.test>\r\n',
      'DATA\r\n',
      raw,
    );
    expect([from, replies.at(-1)]).toEqual([from, '250 accepted']);
    await awaitMessage(server, ann, 'inbox', `script ${n}`);
  }
  const utf8 = Buffer.from('jörg@far.test').toString('latin1');
  expect((await talk('EHLO x\r\n', `MAIL FROM:<${utf8}>\r\n`)).at(-1)).toMatch(/^553 5\.6\.7/);
  const to = await server.call('POST', '/v1/messages', { to: [{ email: 'jörg@far.test' }], body: 'x' }, ann.token);
  expect([to.status, to.body.errors[0].message]).toEqual([400, expect.stringContaining('SMTPUTF8')]);
});

it('a message to a hundred recipients of every kind reaches the right state for each', async () => {
  await confirmSession(server, bob.token);
  const alias = await server.call('POST', '/v1/me/addresses', { email: 'robert@example.test' }, bob.token);
  expect(alias.status).toBe(201);
  const many = (count: number, name: (n: number) => string) => Array.from({ length: count }, (_, n) => name(n));
  const groups: Record<string, string[]> = {
    delivered: [ann.email, bob.email, 'robert@example.test', ...many(9, (n) => `bob+${n}@example.test`)],
    sent: many(40, (n) => `ok${n}@far.test`),
    deferred: many(20, (n) => `busy${n}@far.test`),
    failed: [...many(18, (n) => `gone${n}@far.test`), ...many(10, (n) => `nobody${n}@example.test`)],
  };
  world.taken.length = 0;
  world.script = (stage, path) => {
    if (stage !== 'rcpt') return null;
    return path.startsWith('busy') ? '450 4.2.1 busy' : path.startsWith('gone') ? '550 5.1.1 gone' : null;
  };
  const all = Object.values(groups).flat();
  expect(all).toHaveLength(100);
  const to = (emails: string[]) => emails.map((email) => ({ email }));
  const message = {
    to: to(all.slice(0, 50)),
    cc: to([...all.slice(50, 80), 'OK1@far.test', ann.email]),
    bcc: to([...all.slice(80), 'Bob@Example.TEST']),
    subject: 'to everybody',
    body: 'x',
  };
  const answer = await server.call('POST', '/v1/messages', message, ann.token);
  expect([answer.status, answer.body.delivery?.length]).toEqual([202, 100]);
  const delivery = await until('a final state for every recipient', async () => {
    const { body } = await server.call('GET', `/v1/messages/${answer.body.id}`, undefined, ann.token);
    return body.delivery.every((each: { state: string }) => each.state !== 'queued') ? body.delivery : undefined;
  });
  const states = new Map<string, string>(
    delivery.map((each: { email: string; state: string }) => [each.email.toLowerCase(), each.state]),
  );
  for (const [state, emails] of Object.entries(groups))
    expect([state, emails.filter((email) => states.get(email) !== state)]).toEqual([state, []]);
  expect(world.taken.flatMap((taken) => taken.to.map((each) => each.toLowerCase())).sort()).toEqual(
    groups.sent?.sort(),
  );
  // Expect two reports: local recipients fail before outside recipients.
  await until('every failure is reported', async () => {
    const inbox = (await listFolder(server, ann, 'inbox')).filter((each) => each.subject.startsWith('Undelivered'));
    const read = ({ id }: { id: string }) => server.call('GET', `/v1/messages/${id}`, undefined, ann.token);
    const reports = (await Promise.all(inbox.map(read))).map(({ body }) => body.body).join('\n');
    return groups.failed?.every((email) => reports.includes(`<${email}>`)) ? true : undefined;
  });
  world.script = () => null;
  await until('the deferred recipients have it too', async () => (world.taken.length > 1 ? true : undefined));
  await awaitBalance();
  // Bob must get one copy per envelope recipient: his name, his alias and nine tags.
  expect((await subjectsOf(bob)).filter((subject) => subject === 'to everybody')).toHaveLength(11);
});

it('an inbound message to 103 recipients gets a reply for each of the first hundred, and a deferral for the rest', async () => {
  const to = ['ann@example.test', ...Array.from({ length: 60 }, (_, n) => `nobody${n}@example.test`)];
  to.push('not an address', 'x@elsewhere.test', 'ann+tag@example.test', 'ANN@example.test', 'robert@example.test');
  while (to.length < 103) to.push(`bob+${to.length}@example.test`);
  const raw = `From: a@far.test\r\nSubject: many in\r\nMessage-ID: <many@far.test>\r\n\r\nhello\r\n`;
  const { status, body } = await postInbound(server, raw, { from: 'a@far.test', to: to.join(',') });
  const codes = body.recipients.map((each: { smtp_code: number }) => each.smtp_code);
  const expected = to.map((email, n) => {
    if (n >= 100) return 452;
    if (email === 'not an address') return 553;
    return /^(?:ann|bob|robert)/i.test(email) ? 250 : 550;
  });
  expect([status, codes]).toEqual([202, expected]);
  const ledger = await awaitBalance();
  const accepted = expected.filter((code) => code === 250).length;
  await until('all copies in their mailboxes', async () => {
    const received = [...(await subjectsOf(ann)), ...(await subjectsOf(bob))].filter(
      (subject) => subject === 'many in',
    );
    // One message less than recipients: ANN and ann are one envelope recipient.
    return received.length === accepted - 1 ? true : undefined;
  });
  expect(ledger.balanced).toBe(true);
});
