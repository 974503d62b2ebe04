import { env } from 'cloudflare:test';
import { beforeEach, describe, expect, it } from 'vitest';
import { openMailbox } from '../../../workers/mail/bindings/mailbox.ts';
import { delivery } from '../../support/mail/messages.ts';

const open = async (limitBytes = 1_000_000) => {
  const userId = crypto.randomUUID();
  const mailbox = openMailbox(env, userId);
  await mailbox.createMailbox({ userId, accountType: 'personal', limitBytes });
  return mailbox;
};
const upgradeTo = (path: string) => new Request(`https://mailbox${path}`, { headers: { upgrade: 'websocket' } });
const value = <T>(result: { ok: true; value: T } | { ok: false; error: unknown }): T => {
  if (!result.ok) throw new Error(JSON.stringify(result.error));
  return result.value;
};

describe('a mailbox', () => {
  let mailbox: Awaited<ReturnType<typeof open>>;
  beforeEach(async () => {
    mailbox = await open();
  });

  it('returns no_mailbox before it is created', async () => {
    const uncreated = openMailbox(env, crypto.randomUUID());
    expect(await uncreated.storeMessage(delivery())).toEqual({ ok: false, error: { kind: 'no_mailbox' } });
    expect(await uncreated.listFolders()).toEqual({ ok: false, error: { kind: 'no_mailbox' } });
  });

  it('has the Inbox and the seven folders of RFC 6154', async () => {
    const folders = value(await mailbox.listFolders());
    expect(folders.map((folder) => folder.name)).toEqual([
      'Inbox',
      'All',
      'Archive',
      'Drafts',
      'Flagged',
      'Junk',
      'Sent',
      'Trash',
    ]);
  });

  it('stores a message with its counts, quota and change record', async () => {
    const stored = value(await mailbox.storeMessage(delivery({ subject: 'Hello' }, { isFlagged: true })));
    const folders = value(await mailbox.listFolders());
    expect(
      folders.filter((folder) => folder.total > 0).map(({ role, total, unread }) => ({ role, total, unread })),
    ).toEqual([
      { role: 'inbox', total: 1, unread: 1 },
      { role: 'all', total: 1, unread: 1 },
      { role: 'flagged', total: 1, unread: 1 },
    ]);
    expect(value(await mailbox.readProfile())).toMatchObject({ usedBytes: 1000, state: '1' });
    const [summary] = value(await mailbox.listMessages('inbox', { offset: 0 }, 50));
    expect(summary).toMatchObject({ messageId: stored.messageId, subject: 'Hello', isRead: false, isFlagged: true });
    expect(value(await mailbox.readMessage(stored.messageId)).text.value).toBe('A body');
  });

  it('sends nothing to a socket whose credential has expired', async () => {
    const response = await mailbox.fetch(upgradeTo('/events?since=0&credential=c&expires=1'));
    const received: unknown[] = [];
    const closed = new Promise<CloseEvent>((resolve) => response.webSocket?.addEventListener('close', resolve));
    response.webSocket?.addEventListener('message', ({ data }) => received.push(data));
    response.webSocket?.accept();
    expect((await closed).code).toBe(4401);
    expect(received).toEqual([]);
  });

  it('answers a close with the same code', async () => {
    const { webSocket } = await mailbox.fetch(upgradeTo('/events'));
    const closed = new Promise<CloseEvent>((resolve) => webSocket?.addEventListener('close', resolve));
    webSocket?.accept();
    webSocket?.close(4000, 'enough');
    expect(await closed).toMatchObject({ code: 4000, reason: 'enough' });
  });

  it('stores a repeated delivery once', async () => {
    const input = delivery();
    const first = value(await mailbox.storeMessage(input));
    const again = value(await mailbox.storeMessage(input));
    expect(again).toEqual({ ...first, duplicate: true });
    expect(value(await mailbox.readProfile()).usedBytes).toBe(1000);
  });

  it('stores a delivery no more that is repeated after its message was erased', async () => {
    const input = delivery({}, { folder: 'trash', receivedAt: Date.now() });
    const { messageId } = value(await mailbox.storeMessage(input));
    expect(value(await mailbox.emptyFolder('trash'))).toBe(1);
    expect(value(await mailbox.storeMessage(input))).toMatchObject({ messageId, duplicate: true });
    expect(value(await mailbox.listMessages('trash', { offset: 0 }, 50))).toEqual([]);
  });

  it('accepts mail up to the quota and refuses one byte more', async () => {
    expect(await mailbox.storeMessage(delivery({}, { sizeBytes: 1_000_001 }))).toMatchObject({
      ok: false,
      error: { kind: 'over_quota', usedBytes: 0, limitBytes: 1_000_000 },
    });
    expect((await mailbox.storeMessage(delivery({}, { sizeBytes: 1_000_000 }))).ok).toBe(true);
  });

  it('orders messages of the same millisecond by arrival', async () => {
    const ids: string[] = [];
    for (let n = 0; n < 5; n += 1)
      ids.push(value(await mailbox.storeMessage(delivery({ subject: `n${n}` }))).messageId);
    const listed = value(await mailbox.listMessages('inbox', { offset: 0 }, 50));
    expect(listed.map((message) => message.messageId)).toEqual(ids.reverse());
  });

  it('keeps a conversation together, whatever the order of arrival', async () => {
    const root = delivery({ messageId: '<root@x>', subject: 'Plan' });
    const reply = delivery({
      messageId: '<reply@x>',
      inReplyTo: '<root@x>',
      references: ['<root@x>'],
      subject: 'Re: Plan',
    });
    const late = delivery({
      messageId: '<late@x>',
      inReplyTo: '<reply@x>',
      references: ['<root@x>', '<reply@x>'],
      subject: 'Re: Plan',
    });
    const threads: string[] = [];
    for (const input of [late, reply, root]) threads.push(value(await mailbox.storeMessage(input)).threadId);
    expect(new Set(threads).size).toBe(1);
    expect(value(await mailbox.readThread(threads[0] ?? '', -1, 50)).messages).toHaveLength(3);
  });
});
