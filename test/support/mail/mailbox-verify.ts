/** Checks that a mailbox equals its model: in its calls, its change log, its rows and in R2. */

import { env, runInDurableObject } from 'cloudflare:test';
import fc from 'fast-check';
import { expect } from 'vitest';
import type { Change } from '../../../durable-objects/mail/contract/changes.ts';

import { listLocations, userPrefix } from '../../../workers/mail/bindings/blobs.ts';
import { openMailbox } from '../../../workers/mail/bindings/mailbox.ts';
import { LIMIT_BYTES, Model, type ModelMessage, WORDS } from './mailbox-model.ts';
import { operation } from './mailbox-operations.ts';
import { type Operation, value, type World } from './mailbox-world.ts';

/** A client that sometimes polls the change log, and reads nothing else. Its copy must equal the mailbox. */
class Replica {
  readonly messages = new Map<string, Change>();
  readonly folders = new Set<string>();
  state = '0';

  async catchUp({ mailbox }: World): Promise<void> {
    for (;;) {
      const events = value(await mailbox.pollEvents(Number(this.state), 0));
      expect(events.resync).toBeUndefined();
      for (const change of events.changes ?? []) this.#apply(change);
      if (events.state === this.state) return;
      this.state = events.state;
    }
  }

  #apply(change: Change): void {
    const { message_id: id, folder_id } = change;
    if (change.type === 'folder_created') this.folders.add(folder_id ?? '');
    if (change.type === 'folder_deleted') this.folders.delete(folder_id ?? '');
    if (id === undefined) return;
    if (change.type === 'message_deleted') this.messages.delete(id);
    else this.messages.set(id, { ...this.messages.get(id), ...change });
  }
}

const idsOf = (messages: readonly { id: string }[]) => messages.map(({ id }) => id).sort();

async function verifyFolders({ mailbox, model }: World): Promise<void> {
  const folders = value(await mailbox.listFolders());
  for (const { folder_id, role, name, total, unread } of folders) {
    const inside = model.messages.filter((message) =>
      role === 'all' || role === 'flagged'
        ? !model.isHidden(message.folder) && (role === 'all' || message.isFlagged)
        : message.folder === folder_id,
    );
    const unreadInside = inside.filter((message) => !message.isRead).length;
    expect({ name, total, unread }).toEqual({ name, total: inside.length, unread: unreadInside });
    const listed = value(await mailbox.listMessages(folder_id, { offset: 0 }, 500));
    expect(listed.map(({ messageId }) => messageId).sort()).toEqual(idsOf(inside));
    expect(value(await mailbox.listMessages(folder_id, { offset: 3 }, 2))).toEqual(listed.slice(3, 5));
    const positions = listed.map(({ position }) => position);
    expect(positions).toEqual([...positions].sort((a, b) => b - a));
  }
  const own = folders.filter(({ role }) => role === null).map(({ folder_id, name }) => [folder_id, name]);
  expect(new Map(own as [string, string][])).toEqual(model.own);
}

/** Checks that each thread kept its id and its messages. */
async function verifyThreads({ mailbox, model }: World): Promise<void> {
  const shownAs = new Map<unknown, string>();
  for (const message of model.messages) {
    const shown = value(await mailbox.readMessage(message.id));
    expect({ ...shown, labels: shown.labels }).toMatchObject({
      isRead: message.isRead,
      isFlagged: message.isFlagged,
      labels: [...message.labels].sort(),
      folderId: message.folder,
      sizeBytes: message.sizeBytes,
      hasAttachment: message.hasFile,
    });
    expect(shown.threadId).toBe(shownAs.get(message.thread) ?? shown.threadId);
    shownAs.set(message.thread, shown.threadId);
    model.shownThreads.set(shown.threadId, message.thread);
  }
  expect(new Set(shownAs.values()).size).toBe(shownAs.size);
  for (const [threadId, thread] of model.shownThreads) {
    const inside = model.messages.filter((message) => message.thread === thread);
    const { messages } = value(await mailbox.readThread(threadId, -1, 500));
    expect([threadId, messages.map(({ messageId }) => messageId).sort()]).toEqual([threadId, idsOf(inside)]);
  }
}

const has = (word: string) => (message: ModelMessage) => message.words.includes(word);

async function verifySearch({ mailbox, model }: World): Promise<void> {
  const isVisible = ({ folder }: ModelMessage) => !model.isHidden(folder);
  const searches: [string, (message: ModelMessage) => boolean][] = [
    ['is:unread', (each) => isVisible(each) && !each.isRead],
    ['has:attachment in:any', ({ hasFile }) => hasFile],
    ['larger:1K in:any', ({ sizeBytes }) => sizeBytes > 1_024],
    ['is:flagged -apple', (each) => isVisible(each) && each.isFlagged && !has('apple')(each)],
    ['(apple OR label:b) in:any', (each) => has('apple')(each) || each.labels.includes('b')],
    ['is:draft 東京', (each) => isVisible(each) && each.origin === 'draft' && has('東京')(each)],
    ...WORDS.flatMap((word): [string, (message: ModelMessage) => boolean][] => [
      [`${word} in:any`, has(word)],
      [`${word} label:a in:any`, (each) => has(word)(each) && each.labels.includes('a')],
      [word, (each) => isVisible(each) && has(word)(each)],
      [`${word} in:inbox is:read`, (each) => each.folder === model.role('inbox') && each.isRead && has(word)(each)],
    ]),
  ];
  for (const [query, isIn] of searches) {
    const { hits } = value(await mailbox.search({ query, sort: 'relevance', page: null, limit: 500 }));
    const found = hits.map(({ message }) => message.messageId).sort();
    expect([query, found]).toEqual([query, idsOf(model.messages.filter(isIn))]);
  }
}

async function verifyCounts({ mailbox, model }: World): Promise<void> {
  expect(value(await mailbox.readProfile()).usedBytes).toBe(model.usedBytes);
  const counted = value(await mailbox.countLabels('', 100));
  const visible = model.messages.filter(({ folder }) => !model.isHidden(folder));
  const count = (label: string, messages: readonly ModelMessage[]) =>
    messages.filter(({ labels }) => labels.includes(label)).length;
  const labels = [...new Set(model.messages.flatMap((message) => message.labels))].sort();
  const unread = visible.filter(({ isRead }) => !isRead);
  expect(counted).toEqual(
    labels.map((label) => ({ label, total: count(label, visible), unread: count(label, unread) })),
  );
}

async function verifyReplica(world: World, replica: Replica): Promise<void> {
  await replica.catchUp(world);
  const replicated = [...replica.messages].map(([id, { is_read, is_flagged, folder_id, labels, thread_id }]) => ({
    id,
    is_read,
    is_flagged,
    folder_id,
    labels,
    thread_id,
  }));
  const real = await Promise.all(
    world.model.messages.map(async ({ id }) => {
      const shown = value(await world.mailbox.readMessage(id));
      const { isRead: is_read, isFlagged: is_flagged, folderId: folder_id, labels, threadId: thread_id } = shown;
      return { id, is_read, is_flagged, folder_id, labels, thread_id };
    }),
  );
  const byId = (a: { id: string }, b: { id: string }) => (a.id < b.id ? -1 : 1);
  expect(replicated.sort(byId)).toEqual(real.sort(byId));
  expect(replica.folders).toEqual(new Set(world.model.own.keys()));
}

/** Queries that find inconsistent rows. The names describe the rows that they find. */
const STRAYS = {
  'terms without message': 'SELECT rowid FROM message_search WHERE rowid NOT IN (SELECT position FROM message)',
  'messages without terms': 'SELECT position FROM message WHERE position NOT IN (SELECT rowid FROM message_search)',
  contents: 'SELECT position FROM message_content WHERE position NOT IN (SELECT position FROM message)',
  'messages without content':
    'SELECT position FROM message WHERE position NOT IN (SELECT position FROM message_content)',
  places: 'SELECT position FROM message_folder WHERE position NOT IN (SELECT position FROM message)',
  'messages without a place': `SELECT position FROM message AS m WHERE NOT EXISTS
     (SELECT 1 FROM message_folder AS p WHERE p.folder = m.folder AND p.position = m.position)`,
  labels: 'SELECT position FROM message_label WHERE position NOT IN (SELECT position FROM message)',
  drafts: 'SELECT position FROM draft WHERE position NOT IN (SELECT position FROM message)',
  'uploads with a missing draft':
    'SELECT attachment_id FROM upload WHERE draft_position IS NOT NULL AND draft_position NOT IN (SELECT position FROM draft)',
  'references without thread':
    'SELECT reference FROM thread_reference WHERE thread NOT IN (SELECT thread FROM message)',
  'visible messages that expire': 'SELECT position FROM message WHERE (expires_at IS NULL) <> (is_visible = 1)',
  'needed blobs in the garbage': `SELECT r2_key FROM garbage WHERE r2_key IN (SELECT raw_key FROM message
     UNION SELECT text_key FROM message_content UNION SELECT html_key FROM message_content
     UNION SELECT json_extract(value, '$.r2Key') FROM message_content, json_each(attachments) UNION SELECT r2_key FROM upload)`,
};

async function verifyRows({ userId, mailbox }: World): Promise<void> {
  const strays = await runInDurableObject(mailbox as unknown as DurableObjectStub, (_, { storage: { sql } }) =>
    Object.entries(STRAYS).map(([what, query]) => [what, [...sql.exec(query)].length]),
  );
  expect(strays).toEqual(Object.keys(STRAYS).map((what) => [what, 0]));
  const needed = await runInDurableObject(mailbox as unknown as DurableObjectStub, (_, { storage: { sql } }) =>
    [
      ...sql.exec<{ key: string }>(`SELECT raw_key AS key FROM message WHERE raw_key IS NOT NULL
        UNION SELECT text_key FROM message_content WHERE text_key IS NOT NULL
        UNION SELECT html_key FROM message_content WHERE html_key IS NOT NULL
        UNION SELECT json_extract(value, '$.r2Key') FROM message_content, json_each(attachments)
          WHERE json_extract(value, '$.r2Key') IS NOT NULL
        UNION SELECT r2_key FROM upload`),
    ].map(({ key }) => key),
  );
  for (const bucket of listLocations(env)) {
    const keys: string[] = [];
    for (let cursor: string | undefined; ; ) {
      const page = await bucket.list({ prefix: userPrefix(userId), ...(cursor ? { cursor } : {}) });
      keys.push(...page.objects.map(({ key }) => key));
      if (!page.truncated) break;
      cursor = page.cursor;
    }
    expect(needed.filter((key) => !keys.includes(key))).toEqual([]);
    // Ignore objects that are gone: since the listing, the alarm may have deleted garbage and its rows.
    const unheld = value(await openMailbox(env, userId).listUnheld(keys));
    const left = await Promise.all(unheld.keys.map(async (key) => ((await bucket.head(key)) ? key : null)));
    expect(left.filter((key) => key !== null)).toEqual([]);
  }
}

async function runAll(operations: readonly (Operation | 'verify')[]): Promise<void> {
  const userId = crypto.randomUUID();
  const mailbox = openMailbox(env, userId);
  await mailbox.createMailbox({ userId, accountType: 'personal', limitBytes: LIMIT_BYTES });
  const world: World = { userId, mailbox, model: new Model() };
  const replica = new Replica();
  for (const { role, folder_id } of value(await mailbox.listFolders())) world.model.roles.set(role ?? '', folder_id);
  for (const operate of [...operations, 'verify' as const]) {
    if (operate !== 'verify') {
      await operate(world);
      expect(value(await mailbox.readProfile()).usedBytes).toBe(world.model.usedBytes);
      continue;
    }
    await verifyFolders(world);
    await verifyThreads(world);
    await verifySearch(world);
    await verifyCounts(world);
    await verifyReplica(world, replica);
    await verifyRows(world);
  }
}

/**
 * Runs random sequences of operations. A failure prints its seed. Shrinking a failed sequence is off, because it would take
 * minutes.
 */
export async function checkMailbox(runs: number, operationsMax: number): Promise<void> {
  const seed = Math.floor(Math.random() * 2 ** 31);
  console.log(`mailbox model: seed ${seed}, ${runs} runs of up to ${operationsMax} operations`);
  const step = fc.oneof({ arbitrary: operation, weight: 19 }, fc.constant('verify' as const));
  await fc.assert(fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: operationsMax, size: 'max' }), runAll), {
    numRuns: runs,
    endOnFailure: true,
    seed,
  });
}
