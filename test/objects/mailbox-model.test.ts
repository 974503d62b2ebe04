/** The mailbox against a model of a few lines: counts, threads, change log, search and quota, after any sequence of operations. */
import { env } from 'cloudflare:test';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Change } from '../../durable-objects/mailbox/change-store.ts';
import { type MailboxRpc, openMailbox } from '../../workers/mail/mailbox.ts';
import { delivery } from '../support/mail/messages.ts';

const WORDS = ['apple', 'pear', 'plum', '東京', '会議'] as const;
const ROLES = ['inbox', 'archive', 'junk', 'trash', 'sent'] as const;
const OWN = ['Red', 'Red/Deep', 'Blue'] as const;

interface ModelMessage {
  id: string;
  folder: string;
  isRead: boolean;
  isFlagged: boolean;
  labels: string[];
  sizeBytes: number;
  receivedAt: number;
  words: readonly string[];
  thread: { ids: Set<string> };
}

const nth = <T>(items: readonly T[], n: number): T | undefined =>
  items.length === 0 ? undefined : items[n % items.length];
const value = <T>(result: { ok: true; value: T } | { ok: false; error: unknown }): T => {
  if (!result.ok) throw new Error(JSON.stringify(result.error));
  return result.value;
};

class Model {
  messages: ModelMessage[] = [];
  threads: { ids: Set<string> }[] = [];
  own: string[] = [];
  keys = new Map<string, string>();

  assign(ids: readonly string[]): { ids: Set<string> } {
    const found = this.threads.filter((thread) => ids.some((id) => thread.ids.has(id)));
    const thread = found[0] ?? { ids: new Set<string>() };
    for (const other of found.slice(1)) {
      for (const id of other.ids) thread.ids.add(id);
      for (const message of this.messages) if (message.thread === other) message.thread = thread;
    }
    for (const id of ids) thread.ids.add(id);
    this.threads = [...this.threads.filter((each) => !found.includes(each)), thread];
    return thread;
  }

  erase(message: ModelMessage): void {
    this.messages = this.messages.filter((each) => each !== message);
    if (!this.messages.some((each) => each.thread === message.thread)) {
      this.threads = this.threads.filter((thread) => thread !== message.thread);
    }
  }
}

interface World {
  readonly mailbox: MailboxRpc;
  readonly model: Model;
  /** A client that hears of changes now and then. */
  readonly replica: Map<string, Change>;
  state: string;
}

const folderId = async (world: World, name: string): Promise<string> => {
  const row = value(await world.mailbox.listFolders()).find((each) => each.role === name || each.name === name);
  if (!row) throw new Error(`no folder ${name}`);
  return row.folder_id;
};

async function catchUp(world: World): Promise<void> {
  for (;;) {
    const events = value(await world.mailbox.pollEvents(Number(world.state), 0));
    expect(events.resync).toBeUndefined();
    for (const change of events.changes ?? []) {
      const id = change.message_id;
      if (id === undefined) continue;
      if (change.type === 'message_deleted') world.replica.delete(id);
      else world.replica.set(id, { ...world.replica.get(id), ...change });
    }
    if (events.state === world.state) return;
    world.state = events.state;
  }
}

type Operation = (world: World) => Promise<void>;
const small = fc.nat({ max: 1_000 });

const store = fc
  .record({
    n: small,
    parents: fc.array(small, { maxLength: 2 }),
    words: fc.subarray([...WORDS]),
    folder: small,
    isRead: fc.boolean(),
    isFlagged: fc.boolean(),
    sizeBytes: fc.integer({ min: 1, max: 50_000 }),
    hour: fc.nat({ max: 30 }),
    isRepeated: fc.boolean(),
  })
  .map(
    (given): Operation =>
      async (world) => {
        const { mailbox, model } = world;
        const name = nth([...ROLES, ...model.own], given.folder) ?? 'inbox';
        const own = `<m${given.n % 40}@x>`;
        const references = given.parents.map((parent) => `<m${parent % 40}@x>`);
        const receivedAt = Date.UTC(2026, 0, 1) + given.hour * 3_600_000;
        const input = delivery(
          { subject: '', messageId: own, references, text: given.words.join(' ') },
          {
            isRead: given.isRead,
            isFlagged: given.isFlagged,
            sizeBytes: given.sizeBytes,
            folder: await folderId(world, name),
            receivedAt,
            enforceQuota: true,
          },
        );
        const used = model.messages.reduce((sum, message) => sum + message.sizeBytes, 0);
        const stored = await mailbox.storeMessage(input);
        if (used + given.sizeBytes > 400_000)
          return expect(stored).toMatchObject({ ok: false, error: { kind: 'over_quota' } });
        const { messageId } = value(stored);
        const thread = model.assign([own, ...references]);
        model.messages.push({ ...given, id: messageId, folder: name, labels: [], receivedAt, thread });
        if (given.isRepeated)
          expect(value(await mailbox.storeMessage(input))).toMatchObject({ messageId, duplicate: true });
      },
  );

const patch = fc
  .record({
    which: fc.array(small, { minLength: 1, maxLength: 4 }),
    isRead: fc.option(fc.boolean(), { nil: undefined }),
    isFlagged: fc.option(fc.boolean(), { nil: undefined }),
    folder: fc.option(small, { nil: undefined }),
    labels: fc.option(fc.subarray(['a', 'b']), { nil: undefined }),
  })
  .map(
    ({ which, folder, ...marks }): Operation =>
      async (world) => {
        const chosen = which.map((n) => nth(world.model.messages, n)).filter((message) => message !== undefined);
        const name = folder === undefined ? undefined : nth([...ROLES, ...world.model.own], folder);
        const folderKey = name === undefined ? undefined : await folderId(world, name);
        value(
          await world.mailbox.patchMessages(
            chosen.map((message) => message.id),
            { ...marks, folderKey },
          ),
        );
        for (const message of chosen) {
          message.isRead = marks.isRead ?? message.isRead;
          message.isFlagged = marks.isFlagged ?? message.isFlagged;
          message.labels = marks.labels ?? message.labels;
          message.folder = name ?? message.folder;
        }
      },
  );

const remove = fc.array(small, { minLength: 1, maxLength: 3 }).map(
  (which): Operation =>
    async (world) => {
      const chosen = new Set(which.map((n) => nth(world.model.messages, n)).filter((message) => message !== undefined));
      value(await world.mailbox.deleteMessages([...chosen].map((message) => message.id)));
      for (const message of chosen) {
        if (message.folder === 'trash') world.model.erase(message);
        else message.folder = 'trash';
      }
    },
);

const makeFolder = small.map(
  (n): Operation =>
    async (world) => {
      const name = nth(OWN, n) ?? 'Red';
      const made = await world.mailbox.createFolder(name);
      expect(made.ok).toBe(!world.model.own.includes(name));
      for (const path of name === 'Red/Deep' ? ['Red', 'Red/Deep'] : [name])
        if (!world.model.own.includes(path)) world.model.own.push(path);
    },
);

const removeFolder = small.map(
  (n): Operation =>
    async (world) => {
      const name = nth(world.model.own, n);
      if (name === undefined) return;
      value(await world.mailbox.deleteFolder(await folderId(world, name)));
      const gone = world.model.own.filter((each) => each === name || each.startsWith(`${name}/`));
      world.model.own = world.model.own.filter((each) => !gone.includes(each));
      for (const message of world.model.messages) if (gone.includes(message.folder)) message.folder = 'trash';
    },
);

const empty = fc.constantFrom('junk', 'trash').map(
  (role): Operation =>
    async (world) => {
      value(await world.mailbox.emptyFolder(role));
      for (const message of world.model.messages.filter((each) => each.folder === role)) world.model.erase(message);
    },
);
const listen = fc.constant<Operation>(catchUp);

/** Everything a client can see is what the model says. */
async function verify(world: World): Promise<void> {
  const { mailbox, model } = world;
  const isHidden = (message: ModelMessage) => message.folder === 'junk' || message.folder === 'trash';
  const counts = (messages: readonly ModelMessage[]) => ({
    total: messages.length,
    unread: messages.filter((message) => !message.isRead).length,
  });
  const folders = value(await mailbox.listFolders());
  expect(folders.filter((row) => row.role === null).map((row) => row.name)).toEqual(
    [...model.own].sort((a, b) => (a.toLowerCase() < b.toLowerCase() ? -1 : 1)),
  );
  for (const { name, role, total, unread, folder_id } of folders) {
    const inside =
      role === 'all'
        ? model.messages.filter((message) => !isHidden(message))
        : role === 'flagged'
          ? model.messages.filter((message) => message.isFlagged && !isHidden(message))
          : model.messages.filter((message) => message.folder === (role ?? name));
    expect({ name, total, unread }).toEqual({ name, ...counts(inside) });
    const listed = value(await mailbox.listMessages(folder_id, { offset: 0 }, 200));
    expect(new Set(listed.map((message) => message.messageId))).toEqual(new Set(inside.map((message) => message.id)));
    const jumped = value(await mailbox.listMessages(folder_id, { offset: 3 }, 2));
    expect(jumped).toEqual(listed.slice(3, 5));
    const times = listed.map((message) => message.receivedAt);
    expect(times).toEqual([...times].sort((a, b) => b - a));
  }
  expect(value(await mailbox.readProfile()).usedBytes).toBe(
    model.messages.reduce((sum, message) => sum + message.sizeBytes, 0),
  );
  const threadIds = new Map<unknown, string>();
  for (const message of model.messages) {
    const shown = value(await mailbox.readMessage(message.id));
    expect(shown).toMatchObject({
      isRead: message.isRead,
      isFlagged: message.isFlagged,
      labels: [...message.labels].sort(),
    });
    expect(shown.threadId).toBe(threadIds.get(message.thread) ?? shown.threadId);
    threadIds.set(message.thread, shown.threadId);
  }
  expect(new Set(threadIds.values()).size).toBe(threadIds.size);
  for (const word of WORDS) {
    for (const [query, isIn] of [
      [`${word} in:any`, () => true],
      [word, (message: ModelMessage) => !isHidden(message)],
      [`${word} in:inbox is:unread`, (message: ModelMessage) => message.folder === 'inbox' && !message.isRead],
      [`${word} label:a in:any`, (message: ModelMessage) => message.labels.includes('a')],
    ] as const) {
      const found = value(await mailbox.search({ query, sort: 'relevance', page: null, limit: 200 }));
      const expected = model.messages.filter((message) => message.words.includes(word) && isIn(message));
      expect([query, new Set(found.hits.map((hit) => hit.message.messageId))]).toEqual([
        query,
        new Set(expected.map((message) => message.id)),
      ]);
    }
  }
  await catchUp(world);
  const seen = [...world.replica].map(([id, { is_read, is_flagged, folder_id, thread_id }]) => ({
    id,
    is_read,
    is_flagged,
    folder_id,
    thread_id,
  }));
  const real = await Promise.all(
    model.messages.map(async ({ id }) => {
      const shown = value(await mailbox.readMessage(id));
      return {
        id,
        is_read: shown.isRead,
        is_flagged: shown.isFlagged,
        folder_id: shown.folderId,
        thread_id: shown.threadId,
      };
    }),
  );
  const byId = (a: { id: string }, b: { id: string }) => (a.id < b.id ? -1 : 1);
  expect(seen.sort(byId)).toEqual(real.sort(byId));
}

describe('a mailbox under random operations', () => {
  it('is what its model says, and so is a client that only hears changes', async () => {
    const operation = fc.oneof(
      { arbitrary: store, weight: 5 },
      { arbitrary: patch, weight: 4 },
      { arbitrary: remove, weight: 2 },
      makeFolder,
      removeFolder,
      empty,
      listen,
    );
    // A failure prints its seed and the shortest sequence that fails.
    await fc.assert(
      fc.asyncProperty(fc.array(operation, { minLength: 5, maxLength: 60 }), async (operations) => {
        const userId = crypto.randomUUID();
        const mailbox = openMailbox(env, userId);
        await mailbox.createMailbox({ userId, accountType: 'personal', limitBytes: 400_000 });
        const world: World = { mailbox, model: new Model(), replica: new Map(), state: '0' };
        for (const operate of operations) await operate(world);
        await verify(world);
      }),
      { numRuns: 25 },
    );
  });
});
