/** Finding 3 of the security review: forwarding invitations cannot flood a stranger with mail. */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { awaitSunk, confirmSession, type MailUser, readSink, registerUser } from '../../support/mail/mail.ts';
import { startServer, type TestServer } from '../../support/server.ts';

const MINUTE_MS = 60_000;
const DAY_MS = 24 * 60 * MINUTE_MS;
let server: TestServer;

beforeAll(async () => {
  server = await startServer({ vars: { REGISTRATION: 'open', MAIL_HOLD_SECONDS: '0' } });
});
afterAll(() => server[Symbol.asyncDispose]());

/** Restarts the server with a moved clock, because the limits are per minute and per day. */
async function setClock(offsetMs: number, vars: Record<string, string> = {}): Promise<void> {
  await server.stop();
  await server.start({ CLOCK_OFFSET_SECONDS: String(offsetMs / 1000), ...vars });
  confirmed.clear();
}
/** Tokens of users whose session is confirmed at the server's current clock. */
const confirmed = new Set<string>();
async function invite({ token }: MailUser, email: string) {
  if (!confirmed.has(token)) await confirmSession(server, token);
  confirmed.add(token);
  return server.call('POST', '/v1/me/forward-targets', { email }, token);
}
const remove = (user: MailUser, email: string) =>
  server.call('DELETE', `/v1/me/forward-targets/${encodeURIComponent(email)}`, undefined, user.token);
const countSunk = (email: string) => readSink(server).filter(({ envelope }) => envelope.to.includes(email)).length;

it('a target that is removed and added 40 times gets one code', async () => {
  const user = await registerUser(server, 'bomber');
  const statuses: number[] = [];
  for (let n = 0; n < 40; n++) {
    await remove(user, 'victim@third.test');
    statuses.push((await invite(user, 'victim@third.test')).status);
  }
  expect(statuses).toEqual([202, ...new Array(39).fill(409)]);
  // Send a marker to the same host after the invitations, and await both: messages to one host may overtake each other.
  expect((await invite(user, 'marker@third.test')).status).toBe(202);
  for (const email of ['marker@third.test', 'victim@third.test'])
    await awaitSunk(server, email, ({ envelope }) => envelope.to.includes(email));
  expect(countSunk('victim@third.test')).toBe(1);
});

it('codes are limited to three per target and day, and ten per account and day', async () => {
  const user = await registerUser(server, 'patient');
  const statuses: number[] = [];
  let at = 0;
  for (let n = 0; n < 4; n++) {
    const answer = await invite(user, 'victim2@third.test');
    statuses.push(answer.status);
    if (answer.status === 429) {
      expect(answer.body.code).toBe('rate_limited');
      const retryAfter = Number(answer.headers.get('retry-after'));
      expect(retryAfter).toBeGreaterThan((DAY_MS - 10 * MINUTE_MS) / 1000);
      expect(retryAfter).toBeLessThanOrEqual(DAY_MS / 1000);
    }
    await remove(user, 'victim2@third.test');
    at += 2 * MINUTE_MS;
    await setClock(at);
  }
  expect(statuses).toEqual([202, 202, 202, 429]);
  const others: number[] = [];
  for (let n = 0; n < 8; n++) others.push((await invite(user, `other-${n}@third.test`)).status);
  expect(others).toEqual([...new Array(7).fill(202), 429]);
  await setClock(at + DAY_MS);
  expect((await invite(user, 'victim2@third.test')).status).toBe(202);
});

it('at most five accounts per day can invite one target', async () => {
  const users: MailUser[] = [];
  for (let n = 0; n < 7; n++) users.push(await registerUser(server, `crowd-${n}`));
  const statuses: number[] = [];
  // Sub-addresses (`name+tag`, RFC 5233) must count as one target.
  for (const [n, user] of users.entries()) statuses.push((await invite(user, `victim3+${n}@third.test`)).status);
  expect(statuses).toEqual([202, 202, 202, 202, 202, 429, 429]);
  const [first] = users;
  if (first) expect((await invite(first, 'victim4@third.test')).status).toBe(202);
});

it('codes count as sent messages', async () => {
  await setClock(3 * DAY_MS, { SEND_LIMIT_PER_HOUR: '3' });
  const user = await registerUser(server, 'limited');
  const message = { to: [{ email: 'friend@third.test' }], subject: 'x', body: 'x' };
  const send = () => server.call('POST', '/v1/messages', message, user.token);
  expect((await send()).status).toBe(202);
  expect((await invite(user, 'a@third.test')).status).toBe(202);
  expect((await invite(user, 'b@third.test')).status).toBe(202);
  expect((await invite(user, 'c@third.test')).status).toBe(429);
  const refused = await send();
  expect([refused.status, refused.body.code]).toEqual([429, 'send_limit_reached']);
});
