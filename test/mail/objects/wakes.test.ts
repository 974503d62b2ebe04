/** Tests the wakes of a mailbox: times of work for its single alarm, determined from the rows. */

import { env, runInDurableObject } from 'cloudflare:test';
import { expect, it } from 'vitest';
import { nextAlarmAt, runWakes, saveSnapshot } from '../../../durable-objects/mail/alarm/wakes.ts';
import type { MailboxJobs } from '../../../durable-objects/mail/contract/jobs.ts';
import { createMemory } from '../../../durable-objects/mail/database/memory.ts';
import { addGarbage, type Database, readMailbox } from '../../../durable-objects/mail/database/store.ts';
import { acceptIncoming, deferIncoming } from '../../../durable-objects/mail/incoming/incoming-store.ts';
import { insertSubscription } from '../../../durable-objects/mail/jmap/push-store.ts';
import { createFolder } from '../../../durable-objects/mail/messages/folder-store.ts';
import { nextSnapshotAt } from '../../../durable-objects/mail/messages/snapshot-store.ts';
import { addLesson } from '../../../durable-objects/mail/messages/spam-lesson-store.ts';
import { listAutomatic, queueAutomatic } from '../../../durable-objects/mail/rules/automatic-store.ts';
import { openMailbox } from '../../../workers/mail/bindings/mailbox.ts';

const NOW = Date.UTC(2026, 0, 1);
const LEDGER_DELAY_MS = 3_600_000;

/** Runs `work` in the storage of a new mailbox object. */
async function inMailbox(work: (database: Database, userId: string) => Promise<void> | void): Promise<void> {
  const userId = crypto.randomUUID();
  const mailbox = openMailbox(env, userId);
  await mailbox.createMailbox({ userId, accountType: 'personal', limitBytes: 1e9 });
  await runInDurableObject(mailbox as unknown as DurableObjectStub, (_, { storage }) =>
    work({ sql: storage.sql, transaction: (run) => storage.transactionSync(run) }, userId),
  );
}

const failing = (broken: Partial<MailboxJobs>): MailboxJobs => ({
  processIncoming: async () => {},
  sendOutbox: async () => {},
  sendReports: async () => {},
  sendPushes: async () => {},
  sendAutomatic: async () => {},
  pullMail: async () => {},
  publishLedger: async () => {},
  publishOutbox: async () => {},
  deleteBlobs: async () => {},
  saveSnapshot: async () => {},
  trainSpamModel: async () => null,
  ...broken,
});

/** Values by key of a mailbox without a pull. */
const kv = { get: () => undefined, list: () => [], put: () => {}, delete: () => false };

const at = (now: number, memory = createMemory()) => ({
  kv,
  memory,
  now: () => now,
  ledgerDelayMs: LEDGER_DELAY_MS,
  hintWaitMs: 60_000,
});

it('a mailbox without work needs no alarm', async () => {
  await inMailbox(({ sql }) => expect(nextAlarmAt(at(NOW), sql)).toBeNull());
});

it('a push subscription needs an alarm until it expires, and none while a job pushes', async () => {
  await inMailbox(({ sql }) => {
    const subscription = {
      id: 's',
      deviceClientId: 'd',
      url: 'https://push.test/',
      keys: null,
      types: null,
      code: 'c',
      isVerified: false,
    };
    insertSubscription(sql, 'credential', { ...subscription, expiresAt: NOW + 10_000 }, NOW);
    expect(nextAlarmAt(at(NOW), sql)).toBe(NOW);
    expect(nextAlarmAt(at(NOW, { ...createMemory(), pushedUntil: NOW + 500 }), sql)).toBe(NOW + 500);
    expect(nextAlarmAt(at(NOW + 10_000), sql)).toBeNull();
  });
});

it('work that fails is tried again later, and delays no other work', async () => {
  await inMailbox(async (database, userId) => {
    addGarbage(database.sql, ['mail/x/raw'], NOW);
    addLesson(database.sql, crypto.randomUUID(), 'junk');
    const context = at(NOW);
    const deleteBlobs = async () => {
      throw new Error('no location answers');
    };
    const run = () => runWakes({ ...context, database, userId, jobs: failing({ deleteBlobs }), waitUntil: () => {} });
    await run();
    expect([...database.sql.exec('SELECT * FROM spam_lesson')]).toEqual([]);
    expect(nextAlarmAt(context, database.sql)).toBe(NOW + 30_000);
    // An object that has lost its memory must run the work at once, so its alarm time is 0.
    expect(nextAlarmAt(at(NOW), database.sql)).toBe(0);
  });
});

it('totals of incoming mail are published once per delay, also if the object lost its memory', async () => {
  await inMailbox(async (database, userId) => {
    const deliver = (count: number) => database.sql.exec(`UPDATE folder SET delivered = ? WHERE role = 'inbox'`, count);
    const published: number[] = [];
    const publishLedger = async (_: string, { accepted }: { accepted: number }) => void published.push(accepted);
    const run = (now: number) =>
      runWakes({ ...at(now), database, userId, jobs: failing({ publishLedger }), waitUntil: () => {} });
    deliver(1);
    await run(NOW);
    deliver(2);
    expect(nextAlarmAt(at(NOW + 1), database.sql)).toBe(NOW + LEDGER_DELAY_MS);
    await run(NOW + LEDGER_DELAY_MS - 1);
    expect(published).toEqual([1]);
    await run(NOW + LEDGER_DELAY_MS);
    expect(published).toEqual([1, 2]);
    expect(nextAlarmAt(at(NOW + LEDGER_DELAY_MS), database.sql)).toBeNull();
  });
});

it('totals with mail in process are not published for a minute, and those with deferred mail are at once', async () => {
  await inMailbox(({ sql }) => {
    const message = {
      contentKey: 'c',
      rawKey: 'mail/x/in/1',
      rawSha256: 'x',
      sizeBytes: 1,
      envelopeFrom: 'a@far.test',
    };
    const rest = {
      envelopeTo: 'b',
      deliveredTo: 'b',
      clientIp: null,
      helo: null,
      origin: 'smtp',
      verdicts: null,
    } as const;
    const mailbox = readMailbox(sql);
    if (!mailbox) throw new Error('no mailbox');
    acceptIncoming(sql, mailbox, { incomingId: 'i', ...message, ...rest }, NOW);
    // The message is leased, so its processing is not due.
    const memory = { ...createMemory(), leases: new Map([['i', { until: NOW + 900_000, attempts: 1 }]]) };
    expect(nextAlarmAt(at(NOW + 1, memory), sql)).toBe(NOW + 60_000);
    deferIncoming(sql, 'i', 1, 'the scanner is down', 600_000, NOW);
    expect(nextAlarmAt(at(NOW + 1, memory), sql)).toBe(0);
  });
});

it('work that remains due is repeated with a growing pause', async () => {
  await inMailbox(async (database, userId) => {
    addGarbage(
      database.sql,
      Array.from({ length: 1_200 }, (_, n) => `mail/x/${n}`),
      NOW,
    );
    const pauses: number[] = [];
    const memory = createMemory();
    for (let now = NOW; ; ) {
      await runWakes({ ...at(now, memory), database, userId, jobs: failing({}), waitUntil: () => {} });
      const next = nextAlarmAt(at(now, memory), database.sql);
      if (next === null) break;
      pauses.push(next - now);
      now = next;
    }
    expect(pauses).toEqual([50, 100]);
  });
});

it('a change that is made while a snapshot is written is left for the next one', async () => {
  await inMailbox(async (database) => {
    const { sql } = database;
    createFolder(sql, 'Before', NOW);
    let pages = 0;
    const saving = failing({
      saveSnapshot: async () => {
        if (pages++ === 0) createFolder(sql, 'Meanwhile', NOW + 1);
      },
    });
    await saveSnapshot({ database, jobs: saving });
    expect(pages).toBeGreaterThan(0);
    expect(nextSnapshotAt(sql)).not.toBeNull();
    await saveSnapshot({ database, jobs: failing({}) });
    expect(nextSnapshotAt(sql)).toBeNull();
  });
});

it('a page of a snapshot that could not be written is written by the next run', async () => {
  await inMailbox(async (database) => {
    createFolder(database.sql, 'Before', NOW);
    const down = failing({ saveSnapshot: () => Promise.reject(new Error('no quorum')) });
    await expect(saveSnapshot({ database, jobs: down })).rejects.toThrow('no quorum');
    const written: string[] = [];
    await saveSnapshot({ database, jobs: failing({ saveSnapshot: async (key) => void written.push(key) }) });
    expect(written).toHaveLength(1);
  });
});

it('a message whose forward failed is not given up as forwarded', async () => {
  await inMailbox(async (database, userId) => {
    const { sql } = database;
    const send = { messageId: crypto.randomUUID(), recipient: 'b@far.test', envelopeFrom: 'a@far.test' };
    for (const kind of ['forward', 'end'] as const) queueAutomatic(sql, { ...send, kind }, NOW);
    const jobs = failing({ sendAutomatic: () => Promise.reject(new Error('no location answers')) });
    await runWakes({ ...at(NOW), database, userId, jobs, waitUntil: () => {} });
    expect([...listAutomatic(sql)].map(({ kind }) => kind)).toEqual(['forward', 'end']);
  });
});
