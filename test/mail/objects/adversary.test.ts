/** Tests unusual and hostile use of a mailbox. */

import { env } from 'cloudflare:test';
import { beforeEach, describe, expect, it } from 'vitest';
import type { DraftContent } from '../../../durable-objects/mail/contract/drafts.ts';

import { FOLDERS_MAX } from '../../../durable-objects/mail/messages/folder-store.ts';
import { type MailboxRpc, openMailbox } from '../../../workers/mail/bindings/mailbox.ts';
import { delivery } from '../../support/mail/messages.ts';

const value = <T>(result: { ok: true; value: T } | { ok: false; error: unknown }): T => {
  if (!result.ok) throw new Error(JSON.stringify(result.error));
  return result.value;
};

let mailbox: MailboxRpc;
let userId = '';
beforeEach(async () => {
  userId = crypto.randomUUID();
  mailbox = openMailbox(env, userId);
  await mailbox.createMailbox({ userId, accountType: 'personal', limitBytes: 1e9 });
});
const store = async (parsed: Parameters<typeof delivery>[0] = {}, input: Parameters<typeof delivery>[1] = {}) =>
  value(await mailbox.storeMessage(delivery(parsed, input))).messageId;

describe('folders', () => {
  it(`number at most ${FOLDERS_MAX}, and existing ones keep working at the limit`, async () => {
    let made = 0;
    let refused: unknown = null;
    while (refused === null) {
      const folder = await mailbox.createFolder(`f${made}`);
      if (folder.ok) made += 1;
      else refused = folder.error;
    }
    expect(made).toBe(FOLDERS_MAX - 8);
    expect(refused).toEqual({ kind: 'too_many_folders', max: FOLDERS_MAX });
    expect(await mailbox.createFolder('a/b/c')).toMatchObject({ ok: false });
    expect(value(await mailbox.listFolders())).toHaveLength(FOLDERS_MAX);
    const last = value(await mailbox.listFolders()).at(-1)?.folder_id ?? '';
    value(await mailbox.deleteFolder(last));
    value(await mailbox.createFolder('room again'));
  });

  it('cannot be moved into themselves, over others, or too deep', async () => {
    const red = value(await mailbox.createFolder('Red/Deep/Deeper'));
    const top = value(await mailbox.listFolders()).find((folder) => folder.name === 'Red')?.folder_id ?? '';
    expect(await mailbox.renameFolder(top, 'Red/Deep')).toMatchObject({ ok: false });
    expect(await mailbox.renameFolder(top, 'RED/new')).toMatchObject({ ok: false });
    expect(await mailbox.renameFolder(top, 'Inbox')).toMatchObject({ ok: false, error: { kind: 'folder_exists' } });
    expect(await mailbox.renameFolder(top, 'All/Red')).toMatchObject({ ok: false });
    expect(await mailbox.renameFolder(top, 'a/b/c/d/e/f/g/h/i')).toMatchObject({ ok: false });
    expect(await mailbox.renameFolder('inbox', 'Eingang')).toMatchObject({
      ok: false,
      error: { kind: 'folder_fixed' },
    });
    value(await mailbox.renameFolder(top, 'RED'));
    value(await mailbox.renameFolder(red.folder_id, 'Deeper'));
    expect(
      value(await mailbox.listFolders())
        .filter((folder) => folder.role === null)
        .map((folder) => folder.name),
    ).toEqual(['Deeper', 'RED', 'RED/Deep']);
  });

  it('use the existing spelling of their parent, and refuse names with confusable or control characters', async () => {
    value(await mailbox.createFolder('Cafe\u0301'));
    value(await mailbox.createFolder('CAFÉ/ﬁn'));
    value(await mailbox.createFolder('café/FIN/end'));
    const names = async () =>
      value(await mailbox.listFolders())
        .filter((folder) => folder.role === null)
        .map((folder) => folder.name);
    expect(await names()).toEqual(['Cafe\u0301', 'Cafe\u0301/ﬁn', 'Cafe\u0301/ﬁn/end']);
    const top = value(await mailbox.listFolders()).find((folder) => folder.name === 'Cafe\u0301')?.folder_id ?? '';
    value(await mailbox.renameFolder(top, 'x'));
    expect(await names()).toEqual(['x', 'x/ﬁn', 'x/ﬁn/end']);
    for (const name of ['x／y', 'a\u2028b', 'a\u0000b', ' a', 'a/', '', '/', 'a//b', 'a\u200bb'])
      expect([name, (await mailbox.createFolder(name)).ok]).toEqual([name, false]);
  });

  it('with more messages than a round moves are deleted completely', async () => {
    const folder = value(await mailbox.createFolder('Full'));
    const inner = value(await mailbox.createFolder('Full/Inner'));
    // The folder has more messages than one round moves, and the inner folder needs another round.
    for (const [to, length] of [
      [folder, 1_001],
      [inner, 3],
    ] as const) {
      const inputs = Array.from({ length }, () => delivery({}, { folder: to.folder_id }));
      value(await mailbox.storeMessages(inputs));
    }
    value(await mailbox.deleteFolder(folder.folder_id));
    const folders = value(await mailbox.listFolders());
    expect(folders.some((each) => each.role === null)).toBe(false);
    expect(folders.find((each) => each.role === 'trash')).toMatchObject({ total: 1_004, unread: 1_004 });
    expect(await mailbox.deleteFolder(folder.folder_id)).toMatchObject({ ok: false, error: { kind: 'no_folder' } });
  });
});

describe('a batch', () => {
  it('has a result for each id, also for repeated and unknown ids', async () => {
    const ids: string[] = [];
    for (let n = 0; n < 3; n += 1) ids.push(await store());
    const unknown = crypto.randomUUID();
    const [a = '', b = '', c = ''] = ids;
    const asked = [a, b, a, unknown, 'not an id', '', c];
    const patched = value(await mailbox.patchMessages(asked, { isFlagged: true }));
    expect(patched.map((each) => each.status)).toEqual([
      'updated',
      'updated',
      'unchanged',
      'not_found',
      'not_found',
      'not_found',
      'updated',
    ]);
    // An id that is given twice must move its message to Trash once. It must not erase it the second time.
    const deleted = value(await mailbox.deleteMessages([a, unknown, b, b]));
    expect(deleted.map((each) => each.status)).toEqual(['deleted', 'not_found', 'deleted', 'deleted']);
    const folders = value(await mailbox.listFolders());
    expect(folders.find((each) => each.role === 'trash')?.total).toBe(2);
    expect(folders.find((each) => each.role === 'flagged')?.total).toBe(1);
  });
});

describe('labels', () => {
  it('contain any script, and are found by it', async () => {
    const labels = [
      'a b',
      '東京',
      '🙂',
      "it's",
      '50%',
      '\\',
      "'; DROP TABLE message; --",
      'x'.repeat(100),
      '-minus',
      '(paren)',
    ];
    const id = await store({}, { labels });
    expect(value(await mailbox.readMessage(id)).labels).toEqual([...labels].sort());
    for (const label of labels) {
      const found = value(await mailbox.search({ query: `label:"${label}"`, sort: 'newest', page: null, limit: 5 }));
      expect([label, found.hits.length]).toEqual([label, 1]);
    }
  });
});

const draft = (parts: Partial<DraftContent> = {}): DraftContent => ({
  from: null,
  to: [],
  cc: [],
  bcc: [],
  subject: '',
  body: '',
  html: null,
  attachmentIds: [],
  inReplyTo: null,
  references: [],
  ...parts,
});
const upload = async (fileName: string, sizeBytes = 10) => {
  const attachmentId = crypto.randomUUID();
  const r2Key = `mail/${userId}/upload/${attachmentId}`;
  value(await mailbox.insertUpload({ attachmentId, fileName, contentType: 'text/plain', sizeBytes, r2Key }));
  return attachmentId;
};

describe('a draft', () => {
  it('refuses the second of two saves that name the same revision', async () => {
    const made = value(await mailbox.createDraft(draft({ body: 'one' }), null));
    expect(made.revision).toBe(1);
    const [first, second] = await Promise.all([
      mailbox.replaceDraft(made.messageId, draft({ body: 'left' }), null, 1),
      mailbox.replaceDraft(made.messageId, draft({ body: 'right' }), null, 1),
    ]);
    expect([first.ok, second.ok].sort()).toEqual([false, true]);
    const lost = first.ok ? second : first;
    expect(lost).toEqual({ ok: false, error: { kind: 'draft_changed', revision: 2 } });
    expect(value(await mailbox.readDraft(made.messageId)).revision).toBe(2);
    expect(value(await mailbox.replaceDraft(made.messageId, draft({ body: 'anyway' }), null, null)).revision).toBe(3);
  });

  it('gives two files of the same name different names', async () => {
    const files = [await upload('a.txt'), await upload('a.txt'), await upload('A.TXT')];
    const made = value(await mailbox.createDraft(draft({ attachmentIds: files }), null));
    const shown = value(await mailbox.readMessage(made.messageId));
    expect(shown.attachments.map((file) => file.fileName)).toEqual(['a.txt', 'a (2).txt', 'A (3).TXT']);
  });

  it('cannot take the files of another draft', async () => {
    const file = await upload('a.txt');
    const owner = value(await mailbox.createDraft(draft({ attachmentIds: [file] }), null));
    const taken = await mailbox.createDraft(draft({ attachmentIds: [file] }), null);
    expect(taken).toMatchObject({ ok: false, error: { path: 'attachments.0' } });
    const other = value(await mailbox.createDraft(draft(), null));
    expect(await mailbox.replaceDraft(other.messageId, draft({ attachmentIds: [file] }), null, null)).toMatchObject({
      ok: false,
    });
    value(await mailbox.deleteDraft(other.messageId));
    expect(value(await mailbox.readDraft(owner.messageId)).attachments).toHaveLength(1);
    // A file that its draft no longer uses must be available for another draft.
    value(await mailbox.replaceDraft(owner.messageId, draft(), null, null));
    value(await mailbox.createDraft(draft({ attachmentIds: [file] }), null));
  });
});

describe('a conversation', () => {
  it('of 3,000 messages is read in pages, and never merges with another one', async () => {
    const reply = (n: number) =>
      delivery({ messageId: `<${n}@huge>`, references: n === 0 ? [] : ['<0@huge>', `<${n - 1}@huge>`] });
    for (let n = 0; n < 3_000; n += 500)
      value(await mailbox.storeMessages(Array.from({ length: 500 }, (_, at) => reply(n + at))));
    const other = await store({ messageId: '<other@huge>' });
    const bridge = await store({ messageId: '<bridge@huge>', references: ['<other@huge>', '<7@huge>'] });
    const threadOf = async (id: string) => value(await mailbox.readMessage(id)).threadId;
    // The nearest parent is the last one in References, so it decides the thread.
    expect(await threadOf(other)).not.toBe(await threadOf(bridge));
    const threadId = await threadOf(bridge);
    let seen = 0;
    let after = 0;
    for (;;) {
      const page = value(await mailbox.readThread(threadId, after, 200));
      seen += page.messages.length;
      const last = page.messages.at(-1);
      if (!page.hasMore || !last) break;
      after = last.position;
    }
    expect(seen).toBe(3_001);
  });
});
