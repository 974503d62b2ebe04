/** Tests messages that the user snoozed, and threads that the user muted. */
import { env, runDurableObjectAlarm, runInDurableObject } from 'cloudflare:test';
import { beforeEach, expect, it } from 'vitest';
import { readDueTimes } from '../../../durable-objects/mail/alarm/due-time-store.ts';
import { listChangedTypes } from '../../../durable-objects/mail/contract/changed-types.ts';
import { readChanges, readState } from '../../../durable-objects/mail/database/change-store.ts';
import { readMailbox } from '../../../durable-objects/mail/database/store.ts';
import { storeMessage } from '../../../durable-objects/mail/incoming/arrival-store.ts';
import { endSnoozes, NEXT_SNOOZE_END } from '../../../durable-objects/mail/messages/quiet-store.ts';
import { type MailboxRpc, openMailbox } from '../../../workers/mail/bindings/mailbox.ts';
import { delivery } from '../../support/mail/messages.ts';

const value = <T>(result: { ok: true; value: T } | { ok: false; error: unknown }): T => {
  if (!result.ok) throw new Error(JSON.stringify(result.error));
  return result.value;
};
const HOUR = 3_600_000;

let mailbox: MailboxRpc;
beforeEach(async () => {
  const userId = crypto.randomUUID();
  mailbox = openMailbox(env, userId);
  await mailbox.createMailbox({ userId, accountType: 'personal', limitBytes: 1e9 });
});

const put = async (...of: Parameters<typeof delivery>) => value(await mailbox.storeMessage(delivery(...of)));
const read = async (id: string) => value(await mailbox.readMessage(id));
const count = async (role: string) => {
  const folder = value(await mailbox.listFolders()).find((each) => each.role === role);
  return [folder?.total, folder?.unread];
};
const inStorage = <T>(work: (sql: SqlStorage) => T): Promise<T> =>
  runInDurableObject(mailbox as unknown as DurableObjectStub, (_, { storage }) =>
    storage.transactionSync(() => work(storage.sql)),
  );

const nextSnoozeEnd = (sql: SqlStorage) => readDueTimes(sql, [['snooze', NEXT_SNOOZE_END]]).snooze;

it('a snoozed message is in the Archive, and returns to the Inbox unread at its time', async () => {
  const { messageId } = await put({}, { isRead: true });
  const later = await put();
  const until = Date.now() + HOUR;
  await mailbox.patchMessages([messageId], { snoozedUntil: until });
  await mailbox.patchMessages([later.messageId], { snoozedUntil: until + HOUR });
  expect(await read(messageId)).toMatchObject({ folderRole: 'archive', snoozedUntil: until, isRead: true });
  expect(await count('inbox')).toEqual([0, 0]);
  expect(await inStorage(nextSnoozeEnd)).toBe(until);
  expect(value(await mailbox.search({ query: 'is:snoozed', sort: 'newest', page: null, limit: 9 })).hits).toHaveLength(
    2,
  );
  await inStorage((sql) => endSnoozes(sql, until - 1));
  expect(await count('inbox')).toEqual([0, 0]);
  await inStorage((sql) => endSnoozes(sql, until));
  expect(await read(messageId)).toMatchObject({ folderRole: 'inbox', snoozedUntil: null, isRead: false });
  expect(await inStorage(nextSnoozeEnd)).toBe(until + HOUR);
});

it('the alarm ends a snooze', async () => {
  const { messageId } = await put();
  await mailbox.patchMessages([messageId], { snoozedUntil: Date.now() - 1 });
  await runDurableObjectAlarm(mailbox as unknown as DurableObjectStub);
  await expect.poll(() => read(messageId)).toMatchObject({ folderRole: 'inbox', snoozedUntil: null });
});

it('a move ends a snooze, and a flag does not', async () => {
  const { messageId } = await put();
  const until = Date.now() + HOUR;
  await mailbox.patchMessages([messageId], { snoozedUntil: until });
  await mailbox.patchMessages([messageId], { isFlagged: true });
  expect(await read(messageId)).toMatchObject({ folderRole: 'archive', snoozedUntil: until });
  await mailbox.patchMessages([messageId], { folderKey: 'inbox' });
  expect(await read(messageId)).toMatchObject({ folderRole: 'inbox', snoozedUntil: null });
  await mailbox.patchMessages([messageId], { snoozedUntil: until });
  await mailbox.patchMessages([messageId], { snoozedUntil: null });
  expect(await inStorage(nextSnoozeEnd)).toBeNull();
});

it('a muted thread leaves the Inbox, and its new mail goes to the Archive as read', async () => {
  const begun = await put({ messageId: '<root@x.test>' });
  const reply = () => put({ inReplyTo: '<root@x.test>' });
  const other = await put();
  value(await mailbox.setMuted(begun.threadId, true));
  expect([await count('inbox'), await count('archive')]).toEqual([
    [1, 1],
    [1, 0],
  ]);
  expect(await reply()).toMatchObject({ folderRole: 'archive', threadId: begun.threadId });
  expect(await put({}, { origin: 'sent', folder: 'sent' })).toMatchObject({ folderRole: 'sent' });
  expect(value(await mailbox.readThread(begun.threadId, -1, 10))).toMatchObject({ isMuted: true });
  expect(value(await mailbox.readThread(other.threadId, -1, 10))).toMatchObject({ isMuted: false });
  expect(value(await mailbox.search({ query: 'is:muted', sort: 'newest', page: null, limit: 9 })).hits).toHaveLength(2);
  value(await mailbox.setMuted(begun.threadId, false));
  expect(await reply()).toMatchObject({ folderRole: 'inbox' });
  expect(await mailbox.setMuted('t1', true)).toEqual({ ok: false, error: { kind: 'not_found' } });
});

it('new mail of a muted thread does not notify, and mail of other threads does', async () => {
  const accept = (more: Parameters<typeof delivery>[0]) =>
    inStorage((sql) => {
      const [row, state] = [readMailbox(sql), readState(sql)];
      if (!row) throw new Error('no mailbox');
      value(storeMessage(sql, row, delivery(more), Date.now(), true));
      return listChangedTypes(readChanges(sql, state).changes).includes('EmailDelivery');
    });
  const { threadId } = await put({ messageId: '<root@x.test>' });
  expect(await accept({ inReplyTo: '<root@x.test>' })).toBe(true);
  value(await mailbox.setMuted(threadId, true));
  expect(await accept({ inReplyTo: '<root@x.test>' })).toBe(false);
  expect(await accept({})).toBe(true);
});

it('mail of a muted thread stays where a rule or the Junk check puts it', async () => {
  const { threadId } = await put({ messageId: '<root@x.test>' });
  value(await mailbox.setMuted(threadId, true));
  const junk = await put({ inReplyTo: '<root@x.test>' }, { folder: 'junk' });
  expect(await read(junk.messageId)).toMatchObject({ folderRole: 'junk', isRead: false });
});

it('a thread that ended is not muted any more', async () => {
  const { messageId, threadId } = await put({ messageId: '<root@x.test>' });
  value(await mailbox.setMuted(threadId, true));
  await mailbox.deleteMessages([messageId]);
  await mailbox.deleteMessages([messageId]);
  const muted = (sql: SqlStorage) => [...sql.exec('SELECT thread FROM muted_thread')].length;
  expect(await inStorage(muted)).toBe(0);
});
