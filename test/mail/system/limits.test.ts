/** Tests limits of an account (type, quota, addresses) and invalid search queries. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { awaitMessage, confirmSession, postInbound, registerUser, until } from '../../support/mail/mail.ts';
import { startServer, type TestServer } from '../../support/server.ts';

const QUOTA = 6_000;
let server: TestServer;
beforeAll(async () => {
  server = await startServer({
    vars: {
      PERSONAL_ATTACHMENT_BYTES: '1000',
      PERSONAL_QUOTA_BYTES: String(QUOTA),
      BUSINESS_ATTACHMENT_BYTES: '2000',
      BUSINESS_QUOTA_BYTES: '60000',
    },
  });
});
afterAll(() => server[Symbol.asyncDispose]());

const upload = async (token: string, sizeBytes: number) => {
  const answer = await fetch(`${server.url}/v1/attachments?file_name=a.bin`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}` },
    body: new Uint8Array(sizeBytes),
  });
  return { status: answer.status, body: await answer.json() };
};
const toRaw = (subject: string, to: string, length = 0) => {
  const head = `From: Far <a@far.test>\r\nTo: ${to}\r\nSubject: ${subject}\r\nMessage-ID: <${subject}@far.test>\r\n\r\n`;
  return `${head}${'Shall we have lunch? '.repeat(400)}`.slice(0, Math.max(length, head.length + 40));
};

describe('an account', () => {
  it('has the limits of its type, which the operator can change', async () => {
    const user = await registerUser(server, 'typed');
    expect((await upload(user.token, 1_000)).status).toBe(201);
    expect(await upload(user.token, 1_001)).toMatchObject({ status: 413, body: { code: 'attachment_too_large' } });
    const path = `/v1/accounts/${user.userId}`;
    expect((await server.call('PATCH', path, { account_type: 'business' }, user.token)).status).toBe(403);
    expect((await server.call('PATCH', path, { account_type: 'golden' })).status).toBe(400);
    expect((await server.call('PATCH', path, { account_type: 'business' })).status).toBe(200);
    expect((await upload(user.token, 2_000)).status).toBe(201);
    expect((await upload(user.token, 2_001)).status).toBe(413);
    const { body: me } = await server.call('GET', '/v1/me', undefined, user.token);
    expect(me).toMatchObject({ account_type: 'business', quota: { used_bytes: 3_000, limit_bytes: 60_000 } });
  });

  it('enforces its quota to the byte, also if two messages race for the last bytes', async () => {
    const user = await registerUser(server, 'full');
    const sizes = [QUOTA / 2, QUOTA / 2, QUOTA / 2].map((size, n) => toRaw(`race${n}`, user.email, size));
    const answers = await Promise.all(
      sizes.map((raw) => postInbound(server, raw, { from: 'a@far.test', to: user.email })),
    );
    expect(answers.filter(({ status }) => status === 202)).toHaveLength(2);
    const turnedAway = answers.find(({ status }) => status !== 202);
    // A full mailbox is a temporary failure, because the user may free space before the sender retries.
    expect(turnedAway?.body.recipients[0].smtp_code).toBe(452);
    await until('both are stored', async () => {
      const { body } = await server.call('GET', '/v1/me', undefined, user.token);
      return body.quota.used_bytes === QUOTA ? true : undefined;
    });
    expect((await upload(user.token, 1)).status).toBe(413);
    const { body: draft } = await server.call('POST', '/v1/drafts', { body: 'x' }, user.token);
    expect(draft.code).toBe('over_quota');
    const mail = { to: [{ email: 'a@far.test' }], subject: 'no room in Sent', body: 'x' };
    expect(await server.call('POST', '/v1/messages', mail, user.token)).toMatchObject({
      status: 413,
      body: { code: 'over_quota' },
    });
  });

  it('cannot exceed its quota by sending one upload twice', async () => {
    const used = async (token: string): Promise<number> =>
      (await server.call('GET', '/v1/me', undefined, token)).body.quota.used_bytes;
    const sendTwice = async (token: string) => {
      const { attachment_id } = (await upload(token, 500)).body as { attachment_id: string };
      const files = { attachments: [{ attachment_id }, { attachment_id }] };
      return server.call('POST', '/v1/messages', { to: [{ email: 'a@far.test' }], body: 'x', ...files }, token);
    };
    const [free, tight] = [await registerUser(server, 'wide'), await registerUser(server, 'slim')];
    expect((await sendTwice(free.token)).status).toBe(202);
    const copyBytes = await used(free.token);
    const raw = toRaw('fills', tight.email, QUOTA - copyBytes + 250);
    await postInbound(server, raw, { from: 'a@far.test', to: tight.email });
    await awaitMessage(server, tight, 'inbox', 'fills');
    expect(await sendTwice(tight.token)).toMatchObject({ status: 413, body: { code: 'over_quota' } });
    expect(await used(tight.token)).toBe(raw.length + 500);
  });

  it('can add addresses to receive and send mail, and a removed address belongs to no account', async () => {
    const [user, other] = [await registerUser(server, 'named'), await registerUser(server, 'rival')];
    for (const { token } of [user, other]) await confirmSession(server, token);
    const alias = 'nick@example.test';
    expect((await server.call('POST', '/v1/me/addresses', { email: alias }, user.token)).status).toBe(201);
    expect((await server.call('POST', '/v1/me/addresses', { email: alias }, other.token)).status).toBe(409);
    await postInbound(server, toRaw('to-the-alias', alias), { from: 'a@far.test', to: alias });
    await awaitMessage(server, user, 'inbox', 'to-the-alias');
    const send = (token: string) =>
      server.call(
        'POST',
        '/v1/messages',
        { from: { email: alias }, to: [{ email: 'b@far.test' }], subject: 'x', body: 'x' },
        token,
      );
    expect((await send(user.token)).status).toBe(202);
    expect((await send(other.token)).status).toBe(400);
    expect((await server.call('DELETE', `/v1/me/addresses/${alias}`, undefined, other.token)).status).toBe(404);
    expect((await server.call('DELETE', `/v1/me/addresses/${user.email}`, undefined, user.token)).status).toBe(409);
    expect((await server.call('DELETE', `/v1/me/addresses/${alias}`, undefined, user.token)).status).toBe(204);
    const refused = await postInbound(server, toRaw('late', alias), { from: 'a@far.test', to: alias });
    expect([refused.status, refused.body.recipients[0].smtp_code]).toEqual([422, 550]);
    expect((await server.call('POST', '/v1/me/addresses', { email: alias }, other.token)).status).toBe(409);
    expect((await send(user.token)).status).toBe(400);
  });
});

describe('an invalid search', () => {
  it('gets 400 with the position of the error, and never 500', async () => {
    const { token } = await registerUser(server, 'asker');
    const ask = (q: string) => server.call('GET', `/v1/messages?q=${encodeURIComponent(q)}`, undefined, token);
    const bad = [
      '"open',
      'a "b c',
      'from:',
      'from:""',
      'OR',
      'a OR',
      '(',
      ')',
      '()',
      '(a',
      'a)',
      '-',
      '- ',
      '"" OR ""',
      '*',
    ];
    bad.push(
      'is:sideways',
      'has:wings',
      'before:yesterday',
      'before:2026-02-31',
      'larger:big',
      'in:nowhere',
      '-(',
      'x'.repeat(10_240),
    );
    bad.push(`${'('.repeat(400)}a${')'.repeat(400)}`, 'a '.repeat(60));
    for (const q of bad) {
      const { status, body } = await ask(q);
      expect([q.slice(0, 40), status, typeof body.detail]).toEqual([q.slice(0, 40), 400, 'string']);
    }
    for (const q of [
      `${'-'.repeat(500)}a`,
      `${'NOT '.repeat(240)}is:read`,
      `${'NOT '.repeat(240)}a`,
      Array.from({ length: 50 }, (_, n) => `(w${n} OR is:read)`).join(' '),
      Array.from({ length: 50 }, (_, n) => `(w${n} OR is:read)`).join(' OR '),
      'a:b',
      '10:30',
      "it's",
      'NEAR(a b)',
      'subject',
      'a AND b',
      'a*b',
      '東京 OR "',
      'ﬁ',
      '\u0000',
      '%',
      "x'; DROP TABLE message",
    ])
      expect([q, [200, 400].includes((await ask(q)).status)]).toEqual([q, true]);
    for (const cursor of ['x', 'bnVsbA', 'W10', 'WzEsMiwzLDRd', 'WyJhIiwxLDJd'])
      expect((await server.call('GET', `/v1/messages?q=a&cursor=${cursor}`, undefined, token)).status).toBe(400);
    for (const numbers of [
      [1e308, 5, 3],
      [-1, -1, -1],
      [0.5, 0.5, 0.5],
      [0, 1e300, 0],
    ]) {
      const cursor = Buffer.from(JSON.stringify(numbers)).toString('base64url');
      const { status } = await server.call('GET', `/v1/messages?q=a&cursor=${cursor}`, undefined, token);
      expect([numbers, [200, 400].includes(status)]).toEqual([numbers, true]);
    }
  });
});
