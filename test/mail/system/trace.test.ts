/** Finds out why mail did not come, or did not arrive: for an operator, and for a person's own mail. */
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type MailUser, postInbound, registerUser, until } from '../../support/mail/mail.ts';
import { startServer, type TestServer } from '../../support/server.ts';

const GTUBE = ['XJS*C4JDBQADN1.NSBN3*2IDNEN*', 'GTUBE-STANDARD-ANTI-UBE-TEST-EMAIL*C.34X'].join('');
const EICAR = ['X5O!P%@AP[4\\PZX54(P^)7CC)7}', '$EICAR-STANDARD-ANTIVIRUS-TEST-FILE!', '$H+H*'].join('');
const raw = (name: string, body: string) =>
  `From: ${name}@far.test\r\nTo: ann@example.test\r\nSubject: secret subject\r\nMessage-ID: <${name}@far.test>\r\n\r\n${body}\r\n`;

/** A stand-in for Cloudflare's API, as its documentation describes it: zones by name, and the log of Email Routing by GraphQL. */
const EVENT = {
  datetime: new Date(Date.now() - 3_600_000).toISOString(),
  messageId: '<refused@bank.test>',
  from: 'alerts@bank.test',
  to: 'ann@example.test',
  status: 'deliveryFailed',
  action: 'worker',
  spf: 'none',
  dkim: 'none',
  dmarc: 'fail',
  errorDetail: '5.7.26 rejected by the DMARC policy of bank.test',
};
const requests: { authorization: string | undefined; body: string }[] = [];
let api: Server;
let server: TestServer;
let ann: MailUser;
beforeAll(async () => {
  api = createServer((request, response) => {
    let body = '';
    request.on('data', (chunk) => {
      body += chunk;
    });
    request.on('end', () => {
      requests.push({ authorization: request.headers.authorization, body });
      const isZones = request.url === '/client/v4/zones?name=example.test';
      const log = { data: { viewer: { zones: [{ emailRoutingAdaptive: [EVENT] }] } }, errors: null };
      response.statusCode = isZones || request.url === '/client/v4/graphql' ? 200 : 404;
      response.end(JSON.stringify(isZones ? { success: true, result: [{ id: 'zone1' }] } : log));
    });
  });
  await new Promise<void>((resolve) => api.listen(0, '127.0.0.1', resolve));
  const url = `http://127.0.0.1:${(api.address() as AddressInfo).port}/client/v4/accounts/a/email/sending`;
  const vars = { MAIL_HOLD_SECONDS: '0', CLOUDFLARE_MAIL_TOKEN: 'token-of-mail', MAIL_API_URL: url };
  server = await startServer({ vars });
  ann = await registerUser(server, 'ann');
});
afterAll(async () => {
  await server[Symbol.asyncDispose]();
  api.close();
});

const trace = async (query: string, token?: string) => {
  const { status, body } = await server.call('GET', `/v1/mail/trace?${query}`, undefined, token);
  expect([status, body.code]).toEqual([200, undefined]);
  return body;
};
/** @returns the first step of a message. */
const awaitStep = (query: string, token?: string) =>
  until(`a step for ${query}`, async () => {
    const { steps } = await trace(query, token);
    return steps.find((each: { step: string }) => each.step !== 'offered' && each.step !== 'waiting');
  });

it('an operator finds four reasons: junk, quarantine, a refusal by Email Routing, and a refusal by the next server', async () => {
  const to = ann.email;
  for (const [name, body] of [
    ['junk', GTUBE],
    ['virus', EICAR],
    ['plain', 'hello'],
  ] as const)
    expect((await postInbound(server, raw(name, body), { from: `${name}@far.test`, to })).status).toBe(202);
  const message = { to: [{ email: 'nobody@example.test' }], subject: 'secret subject', body: 'hello' };
  expect((await server.call('POST', '/v1/messages', message, ann.token)).status).toBe(202);
  const of = (peer: string) => `address=${ann.email}&peer=${peer}`;

  const junk = await awaitStep(of('junk@far.test'));
  expect(junk).toMatchObject({
    step: 'delivered',
    result: 'junk',
    peer: 'junk@far.test',
    message_id: '<junk@far.test>',
  });
  expect(junk.detail).toMatch(/^spf=\w+ dkim=none dmarc=\w+; spam [\d.]+ \(\w+\): \S/);
  expect(await awaitStep(of('virus@far.test'))).toMatchObject({ step: 'quarantined' });
  const sent = await until('the refusal', async () =>
    (await trace(of('nobody@example.test'))).steps.find((each: { result: string }) => each.result === 'failed'),
  );
  expect(sent).toMatchObject({ step: 'sent', peer: 'nobody@example.test' });
  expect(sent.detail).toMatch(/5\.1\.1/);
  const refused = await trace(of('alerts@bank.test'));
  expect(refused).toMatchObject({
    routing_log: 'read',
    steps: [{ step: 'offered', result: 'deliveryFailed', message_id: '<refused@bank.test>' }],
  });
  expect(refused.steps[0].detail).toContain('dmarc=fail; 5.7.26 rejected by the DMARC policy');
  expect(requests.at(-1)?.authorization).toBe('Bearer token-of-mail');
  expect(JSON.parse(requests.at(-1)?.body ?? '').variables).toMatchObject({
    zoneTag: 'zone1',
    filter: { to: ann.email },
  });

  expect(await awaitStep(`address=${ann.email}&message_id=plain@far.test`)).toMatchObject({ result: 'inbox' });
  // Without an address, an operator finds a message in whichever mailbox it is.
  const anywhere = await trace('message_id=plain@far.test');
  expect(anywhere).toMatchObject({
    steps: [{ result: 'inbox', mailbox: ann.email, peer: '@far.test' }],
    routing_log: 'not_asked',
    next_cursor: null,
    unreached: 0,
  });
  expect((await trace('message_id=other@far.test')).steps).toEqual([]);
  // Without a peer, an operator sees where mail came from, but not whose it is, and never what it says.
  const all = await trace(`address=${ann.email}`);
  expect(new Set(all.steps.map(({ peer }: { peer: string }) => peer))).toEqual(
    new Set(['@far.test', '@example.test', '@bank.test']),
  );
  expect(JSON.stringify(all)).not.toContain('secret subject');
});

it('a person traces own mail only, and an operator no erased person', async () => {
  const bob = await registerUser(server, 'bob');
  expect((await trace('peer=plain@far.test', ann.token)).steps).toMatchObject([
    { peer: 'plain@far.test', result: 'inbox' },
  ]);
  const { steps, routing_log } = await trace(`address=${ann.email}`, bob.token);
  expect([steps, routing_log]).toEqual([[], 'not_for_people']);
  const own = (await trace('message_id=plain@far.test', ann.token)).steps;
  expect(own.filter(({ step }: { step: string }) => step === 'delivered')).toHaveLength(1);
  expect((await trace('message_id=plain@far.test', bob.token)).steps).toEqual([]);
  const ask = async (query: string) => (await server.call('GET', `/v1/mail/trace?${query}`)).body.code;
  expect(await ask('')).toBe('invalid_request');
  expect(await ask('address=nobody@example.test')).toBe('not_found');
  expect((await server.call('DELETE', `/v1/iam/users/${bob.userId}`)).status).toBe(204);
  expect(await ask(`address=${bob.email}`)).toBe('not_found');
});
