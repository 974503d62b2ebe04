/**
 * UIDs under random moves, copies, marks, removals, drafts and restarts, compared with what a mail program remembers (RFC 3501
 * §2.3.1.1), and after a rebuild. `TESSERA_LONG=1` runs more.
 */
import { env, evictDurableObject, runInDurableObject } from 'cloudflare:test';
import fc from 'fast-check';
import { describe, expect, it, vi } from 'vitest';
import { type MailboxRpc, openMailbox } from '../../../workers/mail/bindings/mailbox.ts';
import { openBytes } from '../../../workers/mail/checks/opened-message.ts';
import { deliverRaw } from '../../../workers/mail/inbound/process/delivery.ts';
import { recoverMessages } from '../../../workers/mail/maintenance/recover-messages.ts';

const value = <T>(result: { ok: true; value: T } | { ok: false; error: unknown }): T => {
  if (!result.ok) throw new Error(JSON.stringify(result.error));
  return result.value;
};
const stubOf = (mailbox: MailboxRpc) => mailbox as unknown as DurableObjectStub;

interface World {
  readonly userId: string;
  readonly mailbox: MailboxRpc;
  readonly program: Program;
}

async function open(): Promise<World> {
  const userId = crypto.randomUUID();
  const mailbox = openMailbox(env, userId);
  await mailbox.createMailbox({ userId, accountType: 'personal', limitBytes: 1e9 });
  return { userId, mailbox, program: new Program(mailbox) };
}

let count = 0;
const deliver = async (userId: string, folder: string, receivedAt: number) => {
  count += 1;
  const raw = Buffer.from(`From: a@x.test\r\nSubject: n${count}\r\nMessage-ID: <${count}@x>\r\n\r\ntext ${count}\r\n`);
  const facts = { isRead: false, isFlagged: false, labels: [], envelopeFrom: '', envelopeTo: null, spam: null };
  value(
    await deliverRaw(env, {
      ...{ userId, deliveryKey: `d${count}`, message: openBytes(raw), receivedAt, origin: 'imported', folder },
      ...{ ...facts, authentication: null, applyRules: false, enforceQuota: false },
    }),
  );
};

/** A mail program: it remembers each UID by the name of the folder, and follows changes in a second copy. */
class Program {
  readonly #mailbox: MailboxRpc;
  /** What each UID meant, by UIDVALIDITY, name of the folder and UID. */
  readonly #meaning = new Map<string, string>();
  /** What each folder had when the program last looked, by its id. */
  readonly #seen = new Map<string, { state: number; uidNext: number; uids: Map<string, number>; validity: number }>();

  constructor(mailbox: MailboxRpc) {
    this.#mailbox = mailbox;
  }

  /** Reads every folder, and compares with what the program knows. */
  async look(): Promise<void> {
    const account = value(await this.#mailbox.readImapAccount());
    for (const { folderId, name, uidNext, total } of account.folders) {
      const page = value(await this.#mailbox.listImapMessages(folderId, 0, 1_000));
      expect([page.messages.length, page.uidNext, page.uidValidity]).toEqual([total, uidNext, account.uidValidity]);
      const uids = page.messages.map(({ uid }) => uid);
      expect(uids).toEqual([...new Set(uids)].sort((a, b) => a - b));
      expect(uids.filter((uid) => uid <= 0 || uid >= uidNext || uidNext >= 2 ** 32)).toEqual([]);
      for (const { uid, messageId, isComposed } of page.messages) {
        const key = `${account.uidValidity} ${name} ${uid}`;
        const draft = isComposed ? value(await this.#mailbox.readDraft(messageId)).revision : 0;
        const meaning = `${messageId} ${draft}`;
        expect([key, this.#meaning.get(key) ?? meaning]).toEqual([key, meaning]);
        this.#meaning.set(key, meaning);
      }
      await this.#compare(folderId, page);
    }
  }

  async #compare(folderId: string, page: Awaited<ReturnType<Program['list']>>): Promise<void> {
    const before = this.#seen.get(folderId);
    const uids = new Map(page.messages.map(({ messageId, uid }) => [messageId, uid]));
    this.#seen.set(folderId, { state: page.state, uidNext: page.uidNext, uids, validity: page.uidValidity });
    if (!before || before.validity !== page.uidValidity) return;
    const fresh = [...uids].filter(([id, uid]) => before.uids.get(id) !== uid).map(([, uid]) => uid);
    expect(fresh.filter((uid) => uid < before.uidNext)).toEqual([]);
    if (fresh.length > 0) expect(page.uidNext).toBeGreaterThan(before.uidNext);
    const changes = value(await this.#mailbox.readImapChanges(folderId, before.state));
    expect(changes.isResync).toBe(false);
    const replica = new Map(before.uids);
    for (const { messageId, uid, modseq } of changes.messages) {
      replica.set(messageId, uid);
      expect(modseq).toBeGreaterThan(before.state);
    }
    for (const id of changes.gone) replica.delete(id);
    expect([...replica].sort()).toEqual([...uids].sort());
  }

  async list(folderId: string) {
    return value(await this.#mailbox.listImapMessages(folderId, 0, 1_000));
  }
}

type Operation = (world: World) => Promise<unknown>;
const small = fc.nat({ max: 1_000 });
const PLACES = ['inbox', 'archive', 'junk', 'trash', 'sent', 'drafts'];
const nth = <T>(items: readonly T[], n: number): T | undefined => items.at(n % Math.max(1, items.length));
const folders = async ({ mailbox }: World) => value(await mailbox.readImapAccount()).folders;
const messagesOf = async (world: World, folderId: string) =>
  (await world.program.list(folderId)).messages.map(({ messageId }) => messageId);
const someOf = (ids: readonly string[], n: number) => ids.filter((_, at) => (n >> (at % 8)) % 2 === 1);

const operations = fc.oneof(
  fc.tuple(small, small).map(
    ([place, day]): Operation =>
      async ({ userId }) => {
        await deliver(userId, nth(PLACES, place) ?? 'inbox', Date.UTC(2026, 0, 1 + (day % 300)));
      },
  ),
  fc.tuple(small, small, small, fc.boolean()).map(
    ([from, to, some, isMove]): Operation =>
      async (world) => {
        const all = await folders(world);
        const fromKey = nth(all, from)?.folderId ?? '';
        const toKey = nth(all, to)?.folderId ?? '';
        const ids = someOf(await messagesOf(world, fromKey), some);
        const { copied } = value(await world.mailbox.copyToFolder({ fromKey, toKey, isMove }, ids));
        expect(copied.map(([id]) => id)).toEqual(ids);
        const { messages } = await world.program.list(toKey);
        const after = messages.map(({ messageId, uid }) => `${messageId} ${uid}`);
        expect(after).toEqual(expect.arrayContaining(copied.map(([id, , uid]) => `${id} ${uid}`)));
      },
  ),
  fc.tuple(small, small, fc.boolean()).map(
    ([from, some, isAll]): Operation =>
      async (world) => {
        const folderKey = nth(await folders(world), from)?.folderId ?? '';
        const messageIds = someOf(await messagesOf(world, folderKey), some);
        const marks = { isDeleted: true, addLabels: [], removeLabels: [] };
        value(await world.mailbox.markInFolder(folderKey, { messageIds, marks, unchangedSince: null }));
        const { gone } = value(await world.mailbox.expungeFolder(folderKey, isAll ? null : messageIds));
        expect(gone.map(([id]) => id)).toEqual(expect.arrayContaining(messageIds));
      },
  ),
  fc.tuple(small, small).map(
    ([from, to]): Operation =>
      async (world) => {
        const id = nth(await messagesOf(world, nth(await folders(world), from)?.folderId ?? ''), from);
        if (id !== undefined) await world.mailbox.patchMessages([id], { folderKey: nth(PLACES, to) ?? 'inbox' });
      },
  ),
  small.map(
    (n): Operation =>
      async ({ mailbox }) => {
        const content = { from: null, to: [], cc: [], bcc: [], body: String(n), html: null, attachmentIds: [] };
        const draft = { ...content, subject: 'Draft', inReplyTo: null, references: [] };
        const known = value(await mailbox.readImapAccount()).folders.find(({ role }) => role === 'drafts');
        const { messages } = value(await mailbox.listImapMessages(known?.folderId ?? '', 0, 100));
        const saved = nth(
          messages.filter(({ isComposed }) => isComposed),
          n,
        );
        if (saved && n % 3 > 0) await mailbox.replaceDraft(saved.messageId, draft, null, null);
        else await mailbox.createDraft(draft, null);
      },
  ),
  small.map(
    (n): Operation =>
      async (world) => {
        const own = (await folders(world)).filter(({ role }) => role === null);
        const folder = nth(own, n);
        if (!folder || n % 3 === 0) await world.mailbox.createFolder(`F${n % 3}`);
        else if (n % 3 === 1) await world.mailbox.renameFolder(folder.folderId, `F${n % 4}`);
        else await world.mailbox.deleteFolder(folder.folderId);
      },
  ),
  // A version without UIDs placed messages, and this version runs again.
  fc.constant(async ({ mailbox, program, userId }: World) => {
    await program.look();
    await deliver(userId, 'inbox', Date.UTC(2026, 1, 1));
    await runInDurableObject(stubOf(mailbox), (_, { storage: { sql } }) => {
      sql.exec('UPDATE message_folder SET uid = NULL WHERE uid = (SELECT max(uid) FROM message_folder)');
    });
    await evictDurableObject(stubOf(mailbox));
  }),
  fc.constant((async ({ program }) => program.look()) satisfies Operation),
);

describe('UIDs', () => {
  it('mean one message for ever, ascend, and are told as changes, under random operations', async () => {
    const isLong = process.env.TESSERA_LONG === '1';
    await fc.assert(
      fc.asyncProperty(fc.array(operations, { minLength: 10, maxLength: 30 }), async (list) => {
        const world = await open();
        for (const operation of list) await operation(world);
        await world.program.look();
      }),
      { numRuns: isLong ? 300 : 8, endOnFailure: true },
    );
  });
});

describe('UIDs of a lost mailbox', () => {
  const takeSnapshot = async (mailbox: MailboxRpc) => {
    vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + 2 * 3_600_000 });
    await runInDurableObject(stubOf(mailbox), (object) => (object as unknown as { alarm(): Promise<void> }).alarm());
    vi.useRealTimers();
  };
  const loseAndRebuild = async ({ userId, mailbox }: World) => {
    await runInDurableObject(stubOf(mailbox), (_, state) => state.storage.deleteAll());
    await evictDurableObject(stubOf(mailbox));
    await mailbox.createMailbox({ userId, accountType: 'personal', limitBytes: 1e9 });
    await recoverMessages(env, userId);
  };
  const read = async (world: World) => {
    const account = value(await world.mailbox.readImapAccount());
    const uids: [string, string, number][] = [];
    for (const { name, folderId } of account.folders)
      for (const { messageId, uid } of (await world.program.list(folderId)).messages) uids.push([name, messageId, uid]);
    return { validity: account.uidValidity, next: account.folders.map(({ uidNext }) => uidNext), uids };
  };
  const fill = async () => {
    const world = await open();
    for (const place of ['inbox', 'inbox', 'archive']) await deliver(world.userId, place, Date.UTC(2026, 3, 1));
    const { messages } = await world.program.list('inbox');
    const ids = messages.map(({ messageId }) => messageId);
    value(await world.mailbox.copyToFolder({ fromKey: 'inbox', toKey: 'archive', isMove: false }, ids.slice(1)));
    return world;
  };

  it('are as before if the snapshot has them all, and the next ones are above every one that was given', async () => {
    const world = await fill();
    await takeSnapshot(world.mailbox);
    const before = await read(world);
    await loseAndRebuild(world);
    // A message that arrived after the loss has a UID above the old ones too.
    const after = await read(world);
    expect([after.validity, after.uids]).toEqual([before.validity, before.uids]);
    expect(Math.min(...after.next)).toBeGreaterThan(Math.max(...before.next) + 100_000);
    await recoverMessages(env, world.userId);
    await deliver(world.userId, 'inbox', Date.UTC(2026, 3, 1));
    const later = await read(world);
    expect(later.validity).toBe(before.validity);
    const known = new Set(before.uids.map(([, id, uid]) => `${id} ${uid}`));
    expect(later.uids.filter(([, id, uid]) => !known.has(`${id} ${uid}`))).toEqual([
      ['Inbox', expect.any(String), expect.toSatisfy((uid: number) => uid >= Math.min(...after.next))],
    ]);
  });

  it('begin anew, with another UIDVALIDITY, if a message arrived after the snapshot', async () => {
    const world = await fill();
    await takeSnapshot(world.mailbox);
    await deliver(world.userId, 'inbox', Date.UTC(2026, 3, 1));
    const before = await read(world);
    await loseAndRebuild(world);
    const after = await read(world);
    expect(after.validity).toBeGreaterThan(before.validity);
    expect(new Set(after.uids.map(([, id]) => id)).size).toBe(4);
  });
});
