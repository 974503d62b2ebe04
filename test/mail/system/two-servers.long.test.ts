/**
 * Connects two Tesseras whose mailboxes forward to each other and send automatic replies. Mail must not loop: each message is
 * delivered, or reported once if it cannot be.
 */
import { SMTPServer } from 'smtp-server';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { listen, type RunningServer } from '../../../dev/local/smtp-listen.ts';
import {
  awaitMessage,
  confirmSession,
  listFolder,
  type MailUser,
  postInbound,
  until,
} from '../../support/mail/mail.ts';
import { startServer, type TestServer } from '../../support/server.ts';

interface Site {
  readonly server: TestServer;
  readonly domain: string;
}
interface Resident extends MailUser {
  readonly site: Site;
}

let west: Site;
let east: Site;
let cut: Relay;
beforeAll(async () => {
  west = await openSite('west.test');
  east = await openSite('east.test');
  cut = await startRelay();
  for (const [from, to] of [
    [west, east],
    [east, west],
  ] as const) {
    await route(from, to.domain, to.server.smtpPort);
    await route(from, `cut.${to.domain}`, cut.port);
  }
});
afterAll(async () => {
  await Promise.all([west, east].map((site) => site?.server[Symbol.asyncDispose]()));
  await cut?.stop();
});

async function openSite(domain: string): Promise<Site> {
  const vars = { MAIL_DOMAINS: domain, MAIL_HOLD_SECONDS: '0', MAIL_RETRY_SECONDS: '1' };
  return { server: await startServer({ vars }), domain };
}

async function route(site: Site, domain: string, port: number): Promise<void> {
  const transport = `smtp://127.0.0.1:${port}?tls=off`;
  const made = await site.server.call('POST', '/v1/domains', { domain, is_hosted: false, transport });
  expect([made.status, made.body.code]).toEqual([201, undefined]);
}

async function settle(site: Site, name: string): Promise<Resident> {
  const email = `${name}@${site.domain}`;
  const request = { email, password: 'correct horse battery', name };
  const { status, body } = await site.server.call('POST', '/v1/auth/register', request, null);
  expect([status, body.code]).toEqual([201, undefined]);
  return { email, token: body.token, userId: body.user.user_id, site };
}

async function call(user: Resident, method: string, path: string, body?: unknown) {
  const answer = await user.site.server.call(method, path, body, user.token);
  expect([path, answer.status < 300, answer.body]).toEqual([path, true, answer.body]);
  return answer.body;
}

async function forward(user: Resident, other: Resident, to = other.email): Promise<void> {
  await confirmSession(user.site.server, user.token);
  await call(user, 'POST', '/v1/me/forward-targets', { email: to });
  const invitation = await awaitMessage(other.site.server, other, 'inbox', `${user.email} asks to forward mail to you`);
  const code = /\b\d{8}\b/.exec(invitation.body)?.[0];
  await call(user, 'POST', '/v1/me/forward-targets/confirm', { email: to, code });
  const conditions = [{ field: 'subject', operator: 'contains', value: 'asks to forward', negate: true }];
  await call(user, 'POST', '/v1/filters', { name: 'all', conditions, actions: [{ type: 'forward', to }] });
}

const leave = (user: Resident) =>
  call(user, 'PUT', '/v1/me/vacation', { enabled: true, subject: `${user.email} is away`, body: 'Back on Monday.' });

const subjects = async (user: Resident) =>
  (await listFolder(user.site.server, user, 'inbox')).map((message) => message.subject as string).sort();

const count = async (user: Resident, subject: string) =>
  (await subjects(user)).filter((each) => each === subject).length;

/** Waits until no mail is queued or in transit at either site, and checks again after a pause. */
async function awaitRest(): Promise<void> {
  const readState = async () => {
    const state = [];
    for (const { server } of [west, east]) {
      const { body: outbound } = await server.call('GET', '/v1/outbound');
      const { body: inbound } = await server.call('GET', '/v1/inbound');
      state.push(outbound.size, inbound.pending, JSON.stringify(inbound.outcomes ?? inbound));
    }
    return state;
  };
  let quietSince = Date.now();
  let before = '';
  await until('both sites are idle', async () => {
    const state = await readState();
    const isMoving =
      [state[0], state[1], state[3], state[4]].some((each) => each !== 0) || JSON.stringify(state) !== before;
    before = JSON.stringify(state);
    if (isMoving) quietSince = Date.now();
    return Date.now() - quietSince > 3_000 ? true : undefined;
  });
}

const toRaw = (from: string, to: string, subject: string, hops = 0) =>
  [
    ...Array.from({ length: hops }, (_, n) => `Received: from a.test by b${n}.test; Sat, 21 Nov 2026 10:00:00 +0000`),
    `From: Somebody <${from}>`,
    `To: ${to}`,
    `Subject: ${subject}`,
    `Date: ${new Date().toUTCString().replace('GMT', '+0000')}`,
    `Message-ID: <${crypto.randomUUID()}@far.test>`,
    '',
    'Shall we have lunch on Thursday?',
    '',
  ].join('\r\n');

it('two mailboxes that forward to each other, both away, receive each message once and send each reply once', async () => {
  const ann = await settle(west, 'ann');
  const ben = await settle(east, 'ben');
  const carl = await settle(east, 'carl');
  await forward(ann, ben);
  await forward(ben, ann);
  await Promise.all([leave(ann), leave(ben)]);

  await call(carl, 'POST', '/v1/messages', {
    to: [{ email: ann.email }],
    subject: 'round and round',
    body: 'Hello Ann',
  });
  await awaitMessage(carl.site.server, carl, 'inbox', `${ann.email} is away`);
  await awaitRest();
  // Ann has her own message and the one that Ben's mailbox sent back. Each mailbox must have forwarded only once.
  expect([await count(ann, 'round and round'), await count(ben, 'round and round')]).toEqual([2, 1]);
  expect(await subjects(carl)).toEqual([`${ann.email} is away`]);

  const copy = (await listFolder(east.server, ben, 'inbox')).find((message) => message.subject === 'round and round');
  const raw = String((await east.server.call('GET', `/v1/messages/${copy.id}/raw`, undefined, ben.token)).body);
  expect(raw).toMatch(
    /^Received: by west\.test \(Tessera\) with ESMTP id \S+;\r\n\t\w{3}, \d{2} \w{3} \d{4} [\d:]{8} \+0000\r\n/,
  );

  // Both users write to each other. Automatic replies must get no reply and must not be forwarded.
  await call(ann, 'POST', '/v1/messages', { to: [{ email: ben.email }], subject: 'from ann', body: 'Hello Ben' });
  await call(ben, 'POST', '/v1/messages', { to: [{ email: ann.email }], subject: 'from ben', body: 'Hello Ann' });
  await awaitMessage(west.server, ann, 'inbox', `${ben.email} is away`);
  await awaitMessage(east.server, ben, 'inbox', `${ann.email} is away`);
  await awaitRest();
  for (const user of [ann, ben]) {
    const other = user === ann ? ben : ann;
    expect([user.email, await count(user, `${other.email} is away`)]).toEqual([user.email, 1]);
    expect([user.email, (await subjects(user)).filter((each) => each.startsWith('Undelivered'))]).toEqual([
      user.email,
      [],
    ]);
  }
  expect(await count(ben, 'from ann')).toBe(2);
  expect(await count(ann, 'from ben')).toBe(2);
});

it('a forward that the other site rejects is reported once to the forwarder, and the report is not forwarded', async () => {
  const dora = await settle(west, 'dora');
  const emil = await settle(east, 'emil');
  await forward(dora, emil);
  await forward(emil, dora);
  expect((await east.server.call('DELETE', `/v1/iam/users/${emil.userId}`)).status).toBe(204);
  await postInbound(west.server, toRaw('x@far.test', dora.email, 'to a site that is gone'), {
    from: 'x@far.test',
    to: dora.email,
  });
  await awaitMessage(west.server, dora, 'inbox', 'Undelivered mail returned to sender');
  await awaitRest();
  expect((await subjects(dora)).filter((subject) => !subject.includes('asks to forward'))).toEqual([
    'Undelivered mail returned to sender',
    'to a site that is gone',
  ]);
});

it('a loop through a relay that removes the loop mark ends at the hop limit, with one report', async () => {
  const fay = await settle(west, 'fay');
  const gus = await settle(east, 'gus');
  await forward(fay, gus, `gus@cut.${east.domain}`);
  await forward(gus, fay, `fay@cut.${west.domain}`);
  const raw = toRaw('x@far.test', fay.email, 'without end', 44);
  await postInbound(west.server, raw, { from: 'x@far.test', to: fay.email });
  await awaitRest();
  const copies = (await count(fay, 'without end')) + (await count(gus, 'without end'));
  expect(copies).toBe(7);
  const reports = [...(await subjects(fay)), ...(await subjects(gus))].filter((each) => each.startsWith('Undelivered'));
  expect(reports).toHaveLength(1);
});

interface Relay extends RunningServer {}

/** Starts a gateway that removes X-Tessera- header fields, and relays mail for `cut.<domain>` to the site of `<domain>`. */
function startRelay(): Promise<Relay> {
  const server = new SMTPServer({
    disabledCommands: ['AUTH', 'STARTTLS'],
    disableReverseLookup: true,
    logger: false,
    onData(stream, session, done) {
      const chunks: Buffer[] = [];
      stream.on('data', (chunk: Buffer) => chunks.push(chunk));
      stream.on('end', () => {
        const to = session.envelope.rcptTo.map((recipient) => recipient.address.replace('@cut.', '@')).join(',');
        const from = session.envelope.mailFrom ? session.envelope.mailFrom.address : '';
        const raw = Buffer.concat(chunks)
          .toString('latin1')
          .replace(/^X-Tessera-[^\r]*\r\n/gim, '');
        const site = to.endsWith(east.domain) ? east : west;
        postInbound(site.server, Buffer.from(raw, 'latin1'), { from, to }).then(({ body }) => {
          const [reply] = body.recipients;
          if (reply.smtp_code === 250) done();
          else done(Object.assign(new Error(reply.detail), { responseCode: reply.smtp_code }));
        }, done);
      });
    },
  });
  return listen(server, 0, '127.0.0.1');
}
