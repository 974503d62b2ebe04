import { env, evictDurableObject, runInDurableObject } from 'cloudflare:test';
import { describe, expect, it, vi } from 'vitest';
import { mailboxObligation } from '../../../workers/mail/accounts/user-obligation.ts';
import { deleteBlobsUnder, getBlob, putBlob, userPrefix } from '../../../workers/mail/bindings/blobs.ts';
import { openMailbox } from '../../../workers/mail/bindings/mailbox.ts';
import { openBytes } from '../../../workers/mail/checks/opened-message.ts';
import { deliverRaw, toRawKey } from '../../../workers/mail/inbound/process/delivery.ts';
import { rebuildMailbox } from '../../../workers/mail/maintenance/rebuild-mailbox.ts';
import { RECOVERED_LABEL, recoverMessages } from '../../../workers/mail/maintenance/recover-messages.ts';
import { parseMessage } from '../../../workers/mail/mime/parse.ts';

const value = <T>(result: { ok: true; value: T } | { ok: false; error: unknown }): T => {
  if (!result.ok) throw new Error(JSON.stringify(result.error));
  return result.value;
};

async function fill() {
  const userId = crypto.randomUUID();
  const mailbox = openMailbox(env, userId);
  await mailbox.createMailbox({ userId, accountType: 'personal', limitBytes: 1e9 });
  for (let n = 0; n < 6; n += 1) {
    const raw = Buffer.from(
      `From: A${n} <a${n}@x.test>\r\nSubject: ${n > 3 ? 'Re: ' : ''}Topic\r\nMessage-ID: <${n}@x>\r\n${n > 0 ? `References: <${n >> 1}@x>\r\n` : ''}MIME-Version: 1.0\r\nContent-Type: multipart/mixed; boundary=b\r\n\r\n--b\r\nContent-Type: text/html\r\n\r\n<p>word${n} 東京${'x'.repeat(n === 5 ? 1_200_000 : 1)}</p>\r\n--b\r\nContent-Type: text/plain; name=f${n}.txt\r\nContent-Disposition: attachment\r\n\r\nfile ${n}\r\n--b--\r\n`,
    );
    const message = openBytes(raw);
    const parsed = await parseMessage(message.bytes, message);
    // Files of a sent message are stored as objects of their own, not as ranges of the raw message.
    const attachments = parsed.attachments.map((file) => ({
      ...file,
      range: null,
      pieces: [Buffer.from(`file ${n}`)],
    }));
    value(
      await deliverRaw(env, {
        userId,
        deliveryKey: `d${n}`,
        message,
        ...(n % 2 ? {} : { parsedRaw: { ...parsed, attachments } }),
        receivedAt: Date.UTC(2026, 0, 1) + n,
        origin: n % 2 ? 'received' : 'sent',
        folder: n % 2 ? 'inbox' : 'archive',
        isRead: n % 3 === 0,
        isFlagged: n === 1,
        labels: n === 2 ? ['kept'] : [],
        envelopeFrom: '',
        envelopeTo: null,
        spam: null,
        authentication: null,
        applyRules: false,
        enforceQuota: true,
        bcc: n === 2 ? [{ name: '', email: 'hidden@x.test' }] : [],
      }),
    );
  }
  return { userId, mailbox };
}

/** Delivers a message whose raw bytes were stored when it was accepted. */
async function deliverAccepted(userId: string): Promise<void> {
  const raw = Buffer.from(
    'From: a@x.test\r\nSubject: Accepted\r\nMIME-Version: 1.0\r\nContent-Type: multipart/mixed; boundary=b\r\n\r\n--b\r\n\r\ntext\r\n--b\r\nContent-Type: application/pdf; name=a.pdf\r\n\r\nfile\r\n--b--\r\n',
  );
  const rawKey = `${userPrefix(userId)}in/${crypto.randomUUID()}`;
  await putBlob(env, rawKey, raw);
  value(
    await deliverRaw(env, {
      userId,
      deliveryKey: 'accepted',
      message: openBytes(raw),
      rawKey,
      receivedAt: Date.now(),
      origin: 'received',
      folder: 'inbox',
      isRead: false,
      isFlagged: false,
      labels: [],
      envelopeFrom: 'a@x.test',
      envelopeTo: null,
      spam: null,
      authentication: null,
      applyRules: false,
      enforceQuota: true,
    }),
  );
}

async function snapshot(mailbox: ReturnType<typeof openMailbox>) {
  const listed = value(await mailbox.listMessages('all', { offset: 0 }, 100));
  const messages = await Promise.all(listed.map(async ({ messageId }) => value(await mailbox.readMessage(messageId))));
  const find = async (query: string) =>
    value(await mailbox.search({ query, sort: 'newest', page: null, limit: 50 })).hits.map((hit) => [
      hit.message.messageId,
      hit.snippet,
    ]);
  return {
    messages,
    folders: value(await mailbox.listFolders()),
    found: [await find('word3'), await find('東京'), await find('filename:f4')],
  };
}
/** Runs the alarm with the clock two hours ahead. */
async function takeSnapshot(mailbox: ReturnType<typeof openMailbox>): Promise<void> {
  vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + 2 * 3_600_000 });
  const stub = mailbox as unknown as DurableObjectStub;
  await runInDurableObject(stub, (object) => (object as unknown as { alarm(): Promise<void> }).alarm());
  vi.useRealTimers();
}
const listKeys = async (bucket: R2Bucket, prefix: string) =>
  (await bucket.list({ prefix })).objects.map((object) => object.key);

describe('a mailbox rebuilt from its raw mail', () => {
  it('is the same mailbox, even after its derived rows were lost', async () => {
    const { userId, mailbox } = await fill();
    const before = await snapshot(mailbox);
    expect(before.found.map((hits) => hits.length)).toEqual([1, 6, 1]);
    await runInDurableObject(mailbox as unknown as DurableObjectStub, (_, state) => {
      state.storage.sql.exec('DELETE FROM message_search');
      state.storage.sql.exec("UPDATE message_content SET text = '', html = NULL, attachments = '[]', headers = '[]'");
      state.storage.sql.exec("UPDATE message SET subject = 'lost', preview = '', sender = 'null'");
    });
    expect((await snapshot(mailbox)).found).toEqual([[], [], []]);
    expect(await rebuildMailbox(env, userId)).toEqual({ messages: 6, missing: [] });
    expect(await snapshot(mailbox)).toEqual(before);
  });

  it('keeps and lists a message whose raw bytes are missing, and reads the second location if the first lost them', async () => {
    const { userId, mailbox } = await fill();
    const [first, second] = value(await mailbox.listMessages('all', { offset: 0 }, 2));
    const keyOf = async (id = '') => value(await mailbox.readMessage(id)).rawKey ?? '';
    await env.BLOBS.delete(await keyOf(first?.messageId));
    expect(await getBlob(env, await keyOf(first?.messageId))).not.toBeNull();
    const gone = await keyOf(second?.messageId);
    await env.BLOBS.delete(gone);
    await env.BLOBS_2.delete(gone);
    expect(await rebuildMailbox(env, userId)).toEqual({ messages: 5, missing: [second?.messageId] });
  });
});

describe('a mailbox whose object was lost', () => {
  const lose = async ({ userId }: { userId: string }) => {
    const stub = openMailbox(env, userId) as unknown as DurableObjectStub;
    await runInDurableObject(stub, (_, state) => state.storage.deleteAll());
    await evictDurableObject(stub);
  };
  const createAgain = ({ userId, mailbox }: Awaited<ReturnType<typeof fill>>) =>
    mailbox.createMailbox({ userId, accountType: 'personal', limitBytes: 1e9 });

  it('has every message again, once, even if one location lost its bytes too', async () => {
    const filled = await fill();
    const { userId, mailbox } = filled;
    await deliverAccepted(userId);
    // The first rebuild must store the files of the accepted message beside its raw bytes.
    expect(await rebuildMailbox(env, userId)).toMatchObject({ messages: 7 });
    const raws = async (box: typeof mailbox) =>
      value(await box.listMessages('all', { offset: 0 }, 100))
        .map(({ subject, sizeBytes }) => `${subject} ${sizeBytes}`)
        .sort();
    const before = await raws(mailbox);
    await lose(filled);
    await createAgain(filled);
    // Delete every second object in the first location. The rebuild must read them from the other one.
    for (const [at, key] of (await listKeys(env.BLOBS, userPrefix(userId))).entries())
      if (at % 2 === 0) await env.BLOBS.delete(key);
    expect(await recoverMessages(env, userId)).toBe(7);
    expect(await recoverMessages(env, userId)).toBe(0);
    expect(await raws(mailbox)).toEqual(before);
    const [first] = value(await mailbox.listMessages('all', { offset: 0 }, 1));
    expect(value(await mailbox.readMessage(first?.messageId ?? '')).labels).toEqual([RECOVERED_LABEL]);
  });

  it('has folders, flags, labels, ids and threads as of the last snapshot, and older snapshots stay', async () => {
    const filled = await fill();
    const { userId, mailbox } = filled;
    await deliverAccepted(userId);
    const folder = value(await mailbox.createFolder('Projects/Blue'));
    const [newest, second, third] = value(await mailbox.listMessages('all', { offset: 0 }, 3));
    const patch = (id: string | undefined, change: Parameters<typeof mailbox.patchMessages>[1]) =>
      mailbox.patchMessages([id ?? ''], change);
    value(await patch(newest?.messageId, { folderKey: folder.folder_id, addLabels: ['blue'], isFlagged: true }));
    value(await patch(second?.messageId, { isAnswered: true, isRead: false }));
    value(await patch(third?.messageId, { folderKey: 'trash' }));
    const state = async () => {
      const { messages, folders } = await snapshot(mailbox);
      const inTrash = value(await mailbox.listMessages('trash', { offset: 0 }, 10)).map(({ messageId }) => messageId);
      const kept = messages.map(({ messageId, threadId, folderId, isRead, isFlagged, isAnswered, labels }) => ({
        ...{ messageId, threadId, folderId, isRead, isFlagged, isAnswered, labels },
      }));
      return { kept, inTrash, folders: folders.map(({ folder: _, ...each }) => each) };
    };
    const before = await state();
    await takeSnapshot(mailbox);
    const pages = await listKeys(env.BLOBS, `${userPrefix(userId)}snapshot/`);
    expect(pages.length).toBeGreaterThan(1);
    expect(await listKeys(env.BLOBS_2, `${userPrefix(userId)}snapshot/`)).toEqual(pages);
    expect(value(await mailbox.listUnheld(pages)).keys).toEqual([]);
    // The first location was down while the newest version of each page was written.
    for (const page of pages.filter((key) => !key.endsWith('folders'))) {
      const newest = (await (await env.BLOBS_2.get(page))?.text()) ?? '';
      await env.BLOBS.put(page, '[]');
      await scheduler.wait(5);
      await env.BLOBS_2.put(page, newest);
    }

    await lose(filled);
    await createAgain(filled);
    // The new mailbox is empty. A snapshot of it must not replace the snapshot of the lost mailbox.
    value(await mailbox.createFolder('Empty'));
    await takeSnapshot(mailbox);
    const withOwn = await listKeys(env.BLOBS, `${userPrefix(userId)}snapshot/`);
    expect(withOwn).toEqual(expect.arrayContaining(pages));
    expect(await recoverMessages(env, userId)).toBe(7);
    expect(await recoverMessages(env, userId)).toBe(0);
    const after = await state();
    expect({ ...after, folders: after.folders.filter(({ name }) => name !== 'Empty') }).toEqual(before);
  });

  it('does not restore bytes that were stored after it was created and that no row names', async () => {
    const { userId, mailbox } = await fill();
    const refused = toRawKey(userId, 'refused');
    await putBlob(env, refused, 'Subject: refused\r\n\r\n');
    vi.useFakeTimers({ toFake: ['Date'], now: Date.now() - 60_000 });
    await lose({ userId });
    await createAgain({ userId, mailbox });
    vi.useRealTimers();
    expect(await recoverMessages(env, userId)).toBe(0);
  });
});

describe('an erased account', () => {
  it('has no bytes in any location and no rows in the object, and can be erased again without effect', async () => {
    const { userId, mailbox } = await fill();
    for (const bucket of [env.BLOBS, env.BLOBS_2])
      expect((await listKeys(bucket, userPrefix(userId))).length).toBeGreaterThan(6);
    await mailboxObligation.erase(userId, env);
    for (const bucket of [env.BLOBS, env.BLOBS_2]) expect(await listKeys(bucket, userPrefix(userId))).toEqual([]);
    expect(await mailbox.readProfile()).toEqual({ ok: false, error: { kind: 'no_mailbox' } });
    const rows = await runInDurableObject(mailbox as unknown as DurableObjectStub, (_, state) =>
      ['message', 'message_content', 'message_folder', 'folder', 'change', 'thread_reference', 'contact'].map(
        (table) => state.storage.sql.exec(`SELECT count(*) AS count FROM ${table}`).one().count,
      ),
    );
    expect(new Set(rows)).toEqual(new Set([0]));
    await mailboxObligation.erase(userId, env);
    expect(await deleteBlobsUnder(env, userPrefix(userId))).toBe(0);
  });
});

describe('an erased message', () => {
  it('loses its bytes after the alarm has run', async () => {
    const { mailbox, userId } = await fill();
    const ids = value(await mailbox.listMessages('all', { offset: 0 }, 100)).map((message) => message.messageId);
    await mailbox.deleteMessages(ids);
    await mailbox.deleteMessages(ids);
    const { runDurableObjectAlarm } = await import('cloudflare:test');
    await runDurableObjectAlarm(mailbox as unknown as DurableObjectStub);
    await expect.poll(() => listKeys(env.BLOBS, userPrefix(userId))).toEqual([]);
    expect(await listKeys(env.BLOBS_2, userPrefix(userId))).toEqual([]);
    expect(value(await mailbox.readProfile()).usedBytes).toBe(0);
  });
});
