/** Tests forwards, the operator's addresses and time limits end to end. */
import PostalMime from 'postal-mime';
import { afterAll, beforeAll, expect, it } from 'vitest';
import {
  awaitMessage,
  awaitSunk,
  confirmSession,
  listFolder,
  type MailUser,
  postInbound,
  registerUser,
  until,
} from '../../support/mail/mail.ts';
import { type ScriptedSmtp, startScriptedSmtp } from '../../support/mail/scripted-smtp.ts';
import { startServer, type TestServer } from '../../support/server.ts';

const HOUR_SECONDS = 3_600;
const FORWARDS_PER_HOUR = 3;

let server: TestServer;
let ann: MailUser;
let world: ScriptedSmtp;
beforeAll(async () => {
  server = await startServer({
    vars: { MAIL_HOLD_SECONDS: '0', MAIL_RETRY_SECONDS: '1', AUTOMATIC_LIMIT_PER_HOUR: String(FORWARDS_PER_HOUR) },
  });
  ann = await registerUser(server, 'ann');
  world = await startScriptedSmtp();
  const transport = `smtp://127.0.0.1:${world.port}?tls=off`;
  await server.call('POST', '/v1/domains', { domain: 'far.test', is_hosted: false, transport });
});
afterAll(async () => {
  await server[Symbol.asyncDispose]();
  await world.stop();
});

const toRaw = (subject: string) =>
  `From: Bob <bob@elsewhere.test>\r\nTo: ann@example.test\r\nSubject: ${subject}\r\nMessage-ID: <${subject.replaceAll(' ', '.')}@elsewhere.test>\r\nDate: ${new Date().toUTCString()}\r\n\r\nHello Ann.\r\n`;
const call = (method: string, path: string, body?: unknown) => server.call(method, path, body, ann.token);

it('a forward is unchanged, has its own return path that accepts only reports, and obeys the limit', async () => {
  await confirmSession(server, ann.token);
  await call('POST', '/v1/me/forward-targets', { email: 'ann@other.test' });
  const invitation = await awaitSunk(server, 'the code', (message) => message.envelope.to[0] === 'ann@other.test');
  const code = /code: (\d{8})/.exec((await PostalMime.parse(invitation.raw)).text ?? '')?.[1];
  const confirmed = await call('POST', '/v1/me/forward-targets/confirm', { email: 'ann@other.test', code });
  expect([confirmed.status, confirmed.body.code]).toEqual([204, undefined]);
  const rule = {
    name: 'f',
    conditions: [{ field: 'subject', operator: 'contains', value: 'forward' }],
    actions: [{ type: 'forward', to: 'ann@other.test' }],
  };
  const made = await call('POST', '/v1/filters', rule);
  expect([made.status, made.body]).toEqual([201, expect.anything()]);

  const raw = toRaw('forward this');
  await postInbound(server, raw, { from: 'bob@elsewhere.test', to: ann.email });
  const sunk = await awaitSunk(server, 'the forward', (message) => message.raw.includes('forward this'));
  const from = sunk.envelope.from;
  expect(from).toMatch(/^ann\+SRS0=[a-z2-7]{8}=[a-z2-7]{2}=elsewhere\.test=bob@example\.test$/);
  expect(sunk.raw.toString().endsWith(raw)).toBe(true);

  const check = async (sender: string, to: string) =>
    (await server.call('POST', '/v1/inbound/check', { from: sender, to })).body.smtp_code;
  expect(await check('', from)).toBe(250);
  expect(await check('spammer@far.test', from)).toBe(550);
  expect(await check('', from.replace('bob', 'eve'))).toBe(550);
  await postInbound(server, `From: mailer-daemon@other.test\r\nSubject: it bounced\r\n\r\nNo such user.\r\n`, {
    from: '',
    to: from,
  });
  expect((await awaitMessage(server, ann, 'inbox', 'it bounced')).body).toContain('No such user');

  // A forward of mail by a local user must be signed. A stranger's mail in the name of a local user must not get a valid signature.
  expect((await server.call('POST', '/v1/domains/example.test/dkim-keys')).status).toBe(201);
  const bob = await registerUser(server, 'bob');
  const genuine = { to: [{ email: ann.email }], subject: 'forward genuine', body: 'x' };
  expect((await server.call('POST', '/v1/messages', genuine, bob.token)).status).toBe(202);
  const forged = toRaw('forward forged').replace('bob@elsewhere.test', bob.email);
  await postInbound(server, forged, { from: 'bob@elsewhere.test', to: ann.email });
  for (const [subject, isSigned] of [
    ['forward genuine', true],
    ['forward forged', false],
  ] as const) {
    const { raw: passedOn } = await awaitSunk(server, subject, ({ envelope, raw: bytes }) =>
      [envelope.to[0] === 'ann@other.test', bytes.includes(subject)].every(Boolean),
    );
    expect([subject, /^DKIM-Signature:/m.test(passedOn.toString())]).toEqual([subject, isSigned]);
  }

  for (let n = 3; n <= FORWARDS_PER_HOUR; n += 1) {
    await postInbound(server, toRaw(`forward ${n}`), { from: 'bob@elsewhere.test', to: ann.email });
    await awaitMessage(server, ann, 'inbox', `forward ${n}`);
  }
  const queue = await until('the last message is queued', async () => {
    const { body } = await server.call('GET', '/v1/outbound');
    return body.states.held === 1 && body.size === 1 ? body : undefined;
  });
  const waitMs = Date.parse(queue.data[0].next_attempt_at) - Date.now();
  expect(waitMs).toBeGreaterThan(50 * 60_000);
  expect(waitMs).toBeLessThanOrEqual(60 * 60_000);
});

it('mail for postmaster and abuse goes to the operator, or to the account that the operator names', async () => {
  const answer = await postInbound(server, toRaw('a complaint'), {
    from: 'bob@elsewhere.test',
    to: 'Postmaster@example.test',
  });
  expect(answer.body.recipients).toMatchObject([{ smtp_code: 250 }]);
  const item = await until(
    'the message is in quarantine',
    async () => (await server.call('GET', '/v1/quarantine')).body.data[0],
  );
  expect(item).toMatchObject({ to: 'postmaster@example.test', subject: 'a complaint' });
  expect((await server.call('GET', `/v1/quarantine/${item.id}/raw`)).body).toContain('Hello Ann.');
  expect((await server.call('DELETE', `/v1/quarantine/${item.id}`)).status).toBe(204);

  await server.stop();
  await server.start({ POSTMASTER_ADDRESS: ann.email });
  await postInbound(server, toRaw('another complaint'), { from: 'bob@elsewhere.test', to: 'abuse@example.test' });
  expect(await awaitMessage(server, ann, 'inbox', 'another complaint')).toBeTruthy();
  expect(
    (await server.call('POST', '/v1/inbound/check', { from: '', to: 'hostmaster@example.test' })).body.smtp_code,
  ).toBe(550);
});

it('the sender gets one warning after four hours, and one failure report after five days', async () => {
  world.script = (stage) => (stage === 'rcpt' ? '451 4.3.2 come back later' : null);
  const moved = async (hours: number) => {
    await server.stop();
    await server.start({ CLOCK_OFFSET_SECONDS: String(hours * HOUR_SECONDS) });
  };
  // Move the clock two hours, past the hour of the account's sending limit.
  await moved(2);
  const sent = await call('POST', '/v1/messages', { to: [{ email: 'x@far.test' }], subject: 'patience', body: 'x' });
  expect(sent.status).toBe(202);
  const read = async () => (await call('GET', `/v1/messages/${sent.body.id}`)).body.delivery[0];
  /** Lists the reports about this message. Others may be about mail of the tests before. */
  const reports = async (subject: string) => {
    const found = (await listFolder(server, ann, 'inbox')).filter((message) => message.subject === subject);
    const whole = await Promise.all(found.map(({ id }) => call('GET', `/v1/messages/${id}`)));
    return whole.filter(({ body }) => body.body.includes('x@far.test'));
  };
  await until('the message is deferred', async () => ((await read()).state === 'deferred' ? true : undefined));
  expect(await reports('Delivery of your message is delayed')).toEqual([]);

  await moved(2 + 4.1);
  const warning = await awaitMessage(server, ann, 'inbox', 'Delivery of your message is delayed');
  expect(warning.body).toContain('x@far.test');
  expect((await read()).state).toBe('deferred');
  const { changes } = (await call('GET', '/v1/events?since=0')).body;
  expect(changes).toContainEqual(
    expect.objectContaining({ type: 'delivery_updated', message_id: sent.body.id, folder_id: expect.any(String) }),
  );

  await moved(2 + 5 * 24 + 0.1);
  await until('the message has failed', async () => ((await read()).state === 'failed' ? true : undefined));
  const report = await awaitMessage(server, ann, 'inbox', 'Undelivered mail returned to sender');
  expect(report.body).toContain('x@far.test');
  expect(await reports('Delivery of your message is delayed')).toHaveLength(1);
  expect(await reports('Undelivered mail returned to sender')).toHaveLength(1);
});
