/** Calls the Worker's `email()` handler as Cloudflare Email Routing does. */
import { env } from 'cloudflare:test';
import { beforeAll, expect, it } from 'vitest';
import { registerAccount } from '../../../workers/mail/accounts/accounts.ts';
import { openMailbox } from '../../../workers/mail/bindings/mailbox.ts';
import { receiveEmail } from '../../../workers/mail/inbound/accept/receive-email.ts';

let userId = '';
beforeAll(async () => {
  const request = { email: 'routed@example.test', password: 'correct horse battery', name: 'Routed' };
  const source = { client: 'unknown', url: 'http://localhost/' };
  const account = await registerAccount(env as Env, request, source, Date.now());
  if (!account.ok) throw new Error(account.error.code);
  userId = account.value.userId;
});

const RAW =
  'From: a@far.test\r\nTo: routed@example.test\r\nSubject: by email()\r\nDate: Sat, 21 Nov 2026 00:00:00 +0000\r\n\r\nhi\r\n';

function toEmail(to: string, raw = RAW) {
  const rejects: string[] = [];
  const message = {
    from: 'a@far.test',
    to,
    raw: new Blob([raw]).stream(),
    rawSize: raw.length,
    setReject: (reason: string) => rejects.push(reason),
  } as unknown as ForwardableEmailMessage;
  return { message, rejects };
}

const receive = (message: ForwardableEmailMessage, bindings = env as Env) => receiveEmail(message, bindings);

it('accepts mail for a known mailbox', async () => {
  const { message, rejects } = toEmail('routed@example.test');
  await receive(message);
  expect(rejects).toEqual([]);
  const page = async () => {
    const listed = await openMailbox(env as Env, userId).listMessages('inbox', { offset: 0 }, 10);
    return listed.ok ? listed.value : [];
  };
  for (let n = 0; n < 100 && (await page()).length === 0; n++) await new Promise((resolve) => setTimeout(resolve, 100));
  expect(await page()).toMatchObject([{ subject: 'by email()' }]);
});

it('rejects mail without a header or without From', async () => {
  for (const raw of ['\r\nhi\r\n', 'Subject: x\r\n\r\nhi\r\n']) {
    const { message, rejects } = toEmail('routed@example.test', raw);
    await receive(message);
    expect(rejects).toEqual([expect.stringMatching(/^550 5\.6\.0/)]);
  }
});

it('rejects mail on permanent errors, and throws on temporary ones', async () => {
  const unknown = toEmail('nobody@example.test');
  await receive(unknown.message);
  expect(unknown.rejects).toEqual([expect.stringMatching(/^550 5\.1\.1/)]);
  const broken = {
    ...(env as Env),
    BLOBS_2: { head: async () => null, put: () => Promise.reject(new Error('away')), delete: async () => {} },
  };
  const fault = toEmail('routed@example.test', `${RAW}again\r\n`);
  await expect(receive(fault.message, broken as unknown as Env)).rejects.toThrow(/4\.3\.0/);
  expect(fault.rejects).toEqual([]);
});
