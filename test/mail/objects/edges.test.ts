/** Limits and times of mail at their edge: the eleventh guess, the hour that changes, mail that moves between two hidden folders. */
import { env, runDurableObjectAlarm, runInDurableObject } from 'cloudflare:test';
import { beforeEach, expect, it } from 'vitest';
import { registerAccount } from '../../../workers/mail/accounts/accounts.ts';
import { type MailboxRpc, openMailbox } from '../../../workers/mail/bindings/mailbox.ts';
import { processIncoming } from '../../../workers/mail/inbound/process/process-incoming.ts';
import { sendAutomatic } from '../../../workers/mail/outbound/automatic-mail.ts';
import { sendDue } from '../../../workers/mail/outbound/send-due.ts';
import { submitMessage } from '../../../workers/mail/outbound/submission/submit-message.ts';
import { delivery } from '../../support/mail/messages.ts';

const value = <T>(result: { ok: true; value: T } | { ok: false; error: unknown }): T => {
  if (!result.ok) throw new Error(JSON.stringify(result.error));
  return result.value;
};
const LIMITS = { perHour: 200, perHourFirstDay: 200, perHourFirstWeek: 200 };
const DAY = 86_400_000;

let mailbox: MailboxRpc;
beforeEach(async () => {
  const userId = crypto.randomUUID();
  mailbox = openMailbox(env, userId);
  await mailbox.createMailbox({ userId, accountType: 'personal', limitBytes: 1e9 });
});
const inSql = <T>(work: (sql: SqlStorage) => T): Promise<T> =>
  runInDurableObject(mailbox as unknown as DurableObjectStub, (_, state) => work(state.storage.sql));

it.each([
  [9, true],
  [10, false],
  [11, false],
])('a forwarding code after %i wrong guesses works: %s', async (guesses, works) => {
  const target = 'me@elsewhere.test';
  value(await mailbox.requestForwardTarget(target, LIMITS));
  const code = await inSql((sql) => String(sql.exec('SELECT message_id FROM automatic_send').one().message_id));
  for (let n = 0; n < guesses; n++) await mailbox.confirmForwardTarget(target, `wrong ${n}`);
  expect((await mailbox.confirmForwardTarget(target, code)).ok).toBe(works);
});

it("a share of a domain's limit ends with its hour", async () => {
  const thisHour = Math.floor(Date.now() / 3_600_000);
  const at = (after: number) => ({ domain: 'example.test', hour: thisHour + after });
  value(await mailbox.addShare(at(0), 50));
  const shareAt = async (hour: number) =>
    value(await mailbox.readSendRoom(LIMITS, 1, at(hour), 'me@example.test')).share;
  expect([await shareAt(0), await shareAt(1), await shareAt(-1)]).toEqual([50, 0, 0]);
  value(await mailbox.addShare(at(1), 7));
  expect([await shareAt(1), await shareAt(0)]).toEqual([7, 0]);
});

it.each([
  ['junk', 'trash'],
  ['trash', 'junk'],
] as const)('a message that moves from %s to %s is kept for a month from then', async (from, to) => {
  const { messageId } = value(await mailbox.storeMessage(delivery({}, { folder: from })));
  // The 29th day in the first folder.
  await inSql((sql) => sql.exec('UPDATE message SET expires_at = ?', Date.now() + DAY));
  value(await mailbox.patchMessages([messageId], { folderKey: to }));
  const endsAt = await inSql((sql) => Number(sql.exec('SELECT expires_at FROM message').one().expires_at));
  expect(endsAt).toBeGreaterThan(Date.now() + 29 * DAY);
});

async function register() {
  const email = `${crypto.randomUUID()}@example.test`;
  const request = { email, password: 'correct horse battery', name: 'Ann' };
  const account = await registerAccount(env, request, { client: 'unknown', url: 'http://localhost/' }, Date.now());
  const { userId } = value(account);
  mailbox = openMailbox(env, userId);
  return { userId, name: 'Ann', email };
}

it('a file of a message that is taken back stays with the draft when garbage is collected', async () => {
  const sender = await register();
  const file = { file_name: 'a.txt', content_type: 'text/plain', content: 'YWJj' };
  const send_at = new Date(Date.now() + DAY).toISOString();
  const request = { to: [{ email: 'far@away.test' }], subject: 'back', body: 'b', send_at, attachments: [file] };
  const options = { idempotencyKey: null, requestJson: JSON.stringify(request) };
  const { messageId } = value(await submitMessage(env, sender, request, options));
  const { draftId } = value(await mailbox.cancelSubmission(messageId));
  expect(draftId).not.toBeNull();
  const [key] = await inSql((sql) =>
    sql
      .exec('SELECT r2_key FROM upload')
      .toArray()
      .map((row) => String(row.r2_key)),
  );
  await runDurableObjectAlarm(mailbox as unknown as DurableObjectStub);
  expect(await inSql((sql) => sql.exec('SELECT count(*) AS n FROM garbage').one().n)).toBe(0);
  expect(await (await env.BLOBS.get(key ?? ''))?.text()).toBe('abc');
});

it.each([
  ['a signature of its author', { dkim: [{ result: 'pass', aligned: true }] }, true],
  ['a signature of somebody else', { dkim: [{ result: 'pass', aligned: false }] }, false],
  ['a broken signature', { dkim: [{ result: 'fail', aligned: true }] }, false],
  ['a pass of DMARC', { dmarc: { result: 'pass' }, dkim: [] }, true],
  ['a failure of DMARC', { dmarc: { result: 'fail' }, dkim: [] }, false],
  ['a submission by a user', { submitted: true }, true],
  ['nothing', {}, false],
])('a forward of a message with %s', async (_, authentication, isSigned) => {
  const { userId } = await register();
  const message = delivery({}, { authentication: JSON.stringify(authentication) });
  await env.BLOBS.put(message.rawKey, 'From: ceo@example.test\r\nSubject: x\r\n\r\nx\r\n');
  const { messageId } = value(await mailbox.storeMessage(message));
  await sendAutomatic(env, userId, {
    kind: 'forward',
    messageId,
    recipient: 'far@away.test',
    envelopeFrom: 'a@far.test',
  });
  const hash = await inSql((sql) => sql.exec('SELECT body_hash FROM outbox').one().body_hash);
  expect(hash !== '', 'signed').toBe(isSigned);
});

it('a forward to a user here is authenticated again, whatever the forwarder could prove', async () => {
  const target = await register();
  const forwarder = await register();
  const rawKey = `mail/${forwarder.userId}/out/forged`;
  const raw = 'From: ceo@bank.test\r\nSubject: forged\r\nMessage-ID: <f@bank.test>\r\n\r\nPay.\r\n';
  await env.BLOBS.put(rawKey, raw);
  const recipients = [{ email: target.email, domain: 'example.test' }];
  const about = {
    headerMessageId: null,
    rawKey,
    ownsRaw: true,
    sizeBytes: raw.length,
    bodyHash: '',
    isEightBit: false,
  };
  const message = { kind: 'forward', envelopeFrom: forwarder.email, recipients, holdUntil: 0, ...about } as const;
  value(await mailbox.enqueueOutbox({ outboxId: crypto.randomUUID(), ...message }, 200));
  await sendDue(env, [forwarder.userId]);
  await processIncoming(env, target.userId);
  mailbox = openMailbox(env, target.userId);
  const folders = await Promise.all(
    ['inbox', 'junk'].map(async (role) => value(await mailbox.listMessages(role, { offset: 0 }, 10))),
  );
  const [arrived] = folders.flat();
  const { authentication } = value(await mailbox.readMessage(arrived?.messageId ?? ''));
  expect(JSON.parse(authentication ?? 'null')).toMatchObject({ dmarc: expect.anything() });
  expect(JSON.parse(authentication ?? 'null')).not.toHaveProperty('submitted');
});
