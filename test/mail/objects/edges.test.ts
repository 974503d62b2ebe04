/** Limits and times of mail at their edge: the eleventh guess, the hour that changes, mail that moves between two hidden folders. */
import { env, runInDurableObject } from 'cloudflare:test';
import { beforeEach, expect, it } from 'vitest';
import { type MailboxRpc, openMailbox } from '../../../workers/mail/bindings/mailbox.ts';
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
