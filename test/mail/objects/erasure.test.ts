/**
 * Tests that erasing an account removes its rows from the operator's tables permanently, even if it is interrupted or a mailbox
 * still reports.
 */
import { env } from 'cloudflare:test';
import { beforeEach, expect, it } from 'vitest';
import { mailboxObligation } from '../../../workers/mail/accounts/user-obligation.ts';
import { openMailbox } from '../../../workers/mail/bindings/mailbox.ts';
import { createAccount, deleteAccount } from '../../../workers/mail/store/address-store.ts';
import { recordQuarantine } from '../../../workers/mail/store/quarantine-store.ts';
import { insertError, publishLedger, publishOutbox } from '../../../workers/mail/store/queue-store.ts';

const TABLES = ['mail_queue', 'mail_error', 'mail_quarantine', 'mail_ledger'];

async function addAccount(): Promise<string> {
  const userId = crypto.randomUUID();
  const email = `${userId}@example.test`;
  await createAccount(env, { userId, email, accountType: 'personal', createdAt: 1 });
  await openMailbox(env, userId).createMailbox({ userId, accountType: 'personal', limitBytes: 1e9 });
  return userId;
}

/** Writes rows of an account, as mailboxes and workers do: one in each table, and two in the error queue. */
async function report(userId: string): Promise<void> {
  const destination = {
    domain: 'far.test',
    held: 0,
    queued: 1,
    deferred: 0,
    failed: 1,
    nextAttemptAt: 5,
    lastReply: null,
  };
  const snapshot = { outboxId: crypto.randomUUID(), userId, version: 1, kind: 'mail', sizeBytes: 9, queuedAt: 1 };
  await publishOutbox(env.DIRECTORY, [{ ...snapshot, destinations: [destination] }], 1);
  const outcomes = { inbox: 1, junk: 0, folder: 0, quarantine: 0, refused: 0 };
  await publishLedger(env.DIRECTORY, userId, { accepted: 1, pending: 0, oldestPendingAt: null, deferred: 0, outcomes });
  await insertError(env.DIRECTORY, {
    errorId: crypto.randomUUID(),
    userId,
    kind: 'validation',
    code: 'no_recipient',
    detail: '',
    recipients: '["secret@far.test"]',
    outboxId: null,
    requestKey: null,
    createdAt: 1,
  });
  await recordQuarantine(env.DIRECTORY, {
    incomingId: crypto.randomUUID(),
    userId,
    envelopeFrom: 'a@far.test',
    envelopeTo: 'b@example.test',
    subject: 'secret',
    sizeBytes: 9,
    reasons: '[]',
    createdAt: 1,
  });
}

async function countRows(userId: string): Promise<number[]> {
  const counts = TABLES.map(async (table) => {
    const statement = env.DIRECTORY.prepare(`SELECT count(*) AS count FROM ${table} WHERE user_id = ?`).bind(userId);
    return (await statement.first<{ count: number }>())?.count ?? -1;
  });
  return Promise.all(counts);
}

let userId: string;
let other: string;
beforeEach(async () => {
  userId = await addAccount();
  other = await addAccount();
  await report(userId);
  await report(other);
  expect([await countRows(userId), await countRows(other)]).toEqual([
    [1, 2, 1, 1],
    [1, 2, 1, 1],
  ]);
});

it('removes the rows of the account, and only those', async () => {
  await mailboxObligation.erase(userId, env);
  expect([await countRows(userId), await countRows(other)]).toEqual([
    [0, 0, 0, 0],
    [1, 2, 1, 1],
  ]);
});

it('removes them with the tombstone, and again when it is repeated after an interruption', async () => {
  const broken = {
    ...env,
    MAILBOX: {
      idFromName: () => {
        throw new Error('killed');
      },
    },
  } as unknown as Env;
  await expect(mailboxObligation.erase(userId, broken)).rejects.toThrow('mailbox_unavailable');
  expect(await countRows(userId)).toEqual([0, 0, 0, 0]);
  await mailboxObligation.erase(userId, env);
  await mailboxObligation.erase(userId, env);
  expect(await countRows(userId)).toEqual([0, 0, 0, 0]);
});

it('adds no row for a mailbox that reports after the tombstone', async () => {
  await deleteAccount(env, userId, 2);
  await report(userId);
  await report(other);
  expect([await countRows(userId), await countRows(other)]).toEqual([
    [0, 0, 0, 0],
    [2, 4, 2, 1],
  ]);
});
