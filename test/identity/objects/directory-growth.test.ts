/**
 * Tests that an address is issued once, also while user databases are added: some isolates then know the new databases, and
 * others do not yet.
 */

import { applyD1Migrations, env as bindings } from 'cloudflare:test';
import { beforeAll, describe, expect, it } from 'vitest';
import type { AutomaticSend } from '../../../durable-objects/mail/contract/outbox.ts';

import { keepToken } from '../../../workers/mail/accounts/credentials.ts';
import { openMailbox } from '../../../workers/mail/bindings/mailbox.ts';
import { sendAutomatic } from '../../../workers/mail/outbound/automatic-mail.ts';
import {
  addAddress,
  createAccount,
  deleteAccount,
  isAddressIssued,
} from '../../../workers/mail/store/address-store.ts';
import { findCatchAll, findRecipient } from '../../../workers/mail/store/recipient-store.ts';
import { MisconfiguredError } from '../../../workers/shared/settings/settings.ts';
import {
  databaseNumberOf,
  databaseOf,
  mintUserId,
  possibleDatabasesOf,
  userDatabaseOf,
} from '../../../workers/shared/stores/directories.ts';

const { MIGRATIONS, REPLICA_SYD, REPLICA_NRT, REPLICA_SIN, REPLICA_BOM, ...rest } = bindings as unknown as Record<
  string,
  D1Database
> & {
  MIGRATIONS: Record<'directory', Parameters<typeof applyD1Migrations>[1]>;
};
const FURTHER = [REPLICA_SYD, REPLICA_NRT, REPLICA_SIN, REPLICA_BOM] as D1Database[];
const base = Object.fromEntries(Object.entries(rest).filter(([name]) => !name.startsWith('DIRECTORY_')));
/** Environments of an isolate with the old database only, and of one with four more databases. */
const before = base as unknown as Env;
const after = {
  ...base,
  ...Object.fromEntries(FURTHER.map((database, at) => [`DIRECTORY_${at + 1}`, database])),
} as unknown as Env;

beforeAll(async () => {
  for (const database of FURTHER) await applyD1Migrations(database, MIGRATIONS.directory);
});

const newEmail = () => `g${crypto.randomUUID()}@example.test`;
const toAccount = (env: Env, email: string) => ({
  userId: mintUserId(env, email),
  email,
  accountType: 'personal',
  createdAt: 1,
});
const forgetGroups = () => before.DIRECTORY.prepare('DELETE FROM directory_group').run();

it('an isolate that knows only the old database cannot issue an address once a new database may have issued it', async () => {
  await forgetGroups();
  const email = newEmail();
  expect(await isAddressIssued(before, email)).toBe(false);
  expect(await isAddressIssued(after, email)).toBe(false);
  expect(await createAccount(before, toAccount(before, email))).toBe(false);
  expect(await createAccount(after, toAccount(after, email))).toBe(true);
  await expect(isAddressIssued(before, newEmail())).rejects.toThrow(MisconfiguredError);
});

it('an address that the old database issued a moment before is seen', async () => {
  await forgetGroups();
  const email = newEmail();
  const account = toAccount(before, email);
  expect(await isAddressIssued(before, email)).toBe(false);
  expect(await createAccount(before, account)).toBe(true);
  expect(await isAddressIssued(after, email)).toBe(true);
  expect(await findRecipient(after, [email])).toMatchObject({ userId: account.userId });
});

it('an isolate that does not know the new databases never reports an address as unknown', async () => {
  const email = newEmail();
  expect(await isAddressIssued(after, email)).toBe(false);
  expect(await createAccount(after, toAccount(after, email))).toBe(true);
  await expect(findRecipient(before, [email])).rejects.toThrow(MisconfiguredError);
});

it('an interrupted call that gives an address to a user in another database can be repeated', async () => {
  const owner = toAccount(after, newEmail());
  await isAddressIssued(after, owner.email);
  await createAccount(after, owner);
  let email = newEmail();
  while (possibleDatabasesOf(after, email).at(-1) === userDatabaseOf(after, owner.userId)) email = newEmail();
  const place = possibleDatabasesOf(after, email).at(-1) as D1Database;
  // The state after an interruption between the first and the second write.
  await place
    .prepare('INSERT INTO mail_address (email, user_id, created_at) VALUES (?, ?, 1)')
    .bind(email, owner.userId)
    .run();
  expect(await findRecipient(after, [email])).toBeNull();
  const other = toAccount(after, newEmail());
  expect(await addAddress(after, email, other.userId, 2)).toBe(false);
  expect(await addAddress(after, email, owner.userId, 2)).toBe(true);
  expect(await findRecipient(after, [email])).toMatchObject({ email, userId: owner.userId });
  expect(await addAddress(after, email, owner.userId, 3)).toBe(false);
  await deleteAccount(after, owner.userId, 4);
  expect(await findRecipient(after, [email])).toBeNull();
  expect(await isAddressIssued(after, email)).toBe(true);
});

it('an erased user keeps no address that an interrupted call left in another database', async () => {
  const owner = toAccount(after, newEmail());
  await isAddressIssued(after, owner.email);
  await createAccount(after, owner);
  const place = databaseOf(after, (databaseNumberOf(owner.userId) % 4) + 1);
  await place
    .prepare('INSERT INTO mail_address (email, user_id, created_at) VALUES (?, ?, 1)')
    .bind(newEmail(), owner.userId)
    .run();
  await deleteAccount(after, owner.userId, 2);
  const left = await place.prepare('SELECT email FROM mail_address WHERE user_id = ?').bind(owner.userId).all();
  expect(left.results).toEqual([]);
});

it('if several users add the same address at once, one of them gets it', async () => {
  const owners = await Promise.all(
    Array.from({ length: 6 }, async (_, n) => {
      const account = toAccount(n === 0 ? before : after, newEmail());
      if (n > 0) await isAddressIssued(after, account.email);
      return account;
    }),
  );
  expect(new Set(owners.map(({ userId }) => databaseNumberOf(userId))).size).toBeGreaterThan(1);
  for (const owner of owners.slice(1)) expect(await createAccount(after, owner)).toBe(true);
  const email = newEmail();
  const given = await Promise.all(owners.slice(1).map(({ userId }) => addAddress(after, email, userId, 5)));
  expect(given.filter(Boolean)).toHaveLength(1);
  const winner = owners[given.indexOf(true) + 1];
  expect(await findRecipient(after, [email])).toMatchObject({ userId: winner?.userId });
});

it('an isolate that does not know the new databases delivers no mail to a wildcard in place of an address there', async () => {
  await forgetGroups();
  const owner = toAccount(before, newEmail());
  await createAccount(before, owner);
  const start = `w${crypto.randomUUID()}`;
  const [wildcard, email] = [`${start}-*@example.test`, `${start}-x@example.test`];
  expect(await addAddress(before, wildcard, owner.userId, 1)).toBe(true);
  expect(await findRecipient(before, [email, wildcard])).toMatchObject({ userId: owner.userId });
  expect(await isAddressIssued(after, email)).toBe(false);
  const other = toAccount(after, email);
  expect(await createAccount(after, other)).toBe(true);
  expect(await findRecipient(after, [email, wildcard])).toMatchObject({ userId: other.userId });
  await expect(findRecipient(before, [email, wildcard])).rejects.toThrow(MisconfiguredError);
});

describe('while a new database is lost', () => {
  /** Creates an account whose home has this number, or another one. */
  async function addAccount(isWanted: (home: number) => boolean) {
    let account = toAccount(after, newEmail());
    while (!isWanted(databaseNumberOf(account.userId))) account = toAccount(after, newEmail());
    await isAddressIssued(after, account.email);
    await createAccount(after, account);
    return account;
  }
  async function newAddress(userId: string, toEmail: () => string, isWanted: (place: D1Database) => boolean) {
    let email = toEmail();
    while (!isWanted(possibleDatabasesOf(after, email).at(-1) as D1Database)) email = toEmail();
    expect(await addAddress(after, email, userId, 1)).toBe(true);
    return email;
  }
  const LOST = 2;
  const lost = databaseOf(after, LOST);
  const OWNER_KEY = `owners/directory-${LOST}`;

  /** Runs something while the database is empty, although the locations know that it was not. */
  async function whileLost(run: () => Promise<void>) {
    for (const table of ['mail_address', 'mail_account', 'user']) await lost.prepare(`DELETE FROM ${table}`).run();
    await after.BLOBS.put(OWNER_KEY, '{}');
    await run().finally(() => after.BLOBS.delete(OWNER_KEY));
  }

  it('mail to an address there does not go to the wildcard of somebody else', async () => {
    const other = await addAccount((home) => home !== LOST);
    const wildcard = await newAddress(
      other.userId,
      () => `w${crypto.randomUUID()}-*@example.test`,
      (at) => at !== lost,
    );
    const owner = await addAccount((home) => home === LOST);
    const toEmail = () => wildcard.replace('*', crypto.randomUUID());
    const email = await newAddress(owner.userId, toEmail, (at) => at === lost);
    expect(await findRecipient(after, [email, wildcard])).toMatchObject({ userId: owner.userId });
    await whileLost(() => expect(findRecipient(after, [email, wildcard])).rejects.toThrow(MisconfiguredError));
  });

  it('mail to an address elsewhere whose user is there is not refused', async () => {
    const owner = await addAccount((home) => home === LOST);
    const email = await newAddress(owner.userId, newEmail, (at) => at !== lost);
    await whileLost(() => expect(findRecipient(after, [email])).rejects.toThrow(MisconfiguredError));
  });

  it('mail to a catch-all whose user is there is not refused', async () => {
    const owner = await addAccount((home) => home === LOST);
    const domain = `${crypto.randomUUID()}.test`;
    await after.DIRECTORY.prepare(
      'INSERT INTO mail_domain (domain, is_hosted, catch_all_user_id, created_at) VALUES (?, 1, ?, 1)',
    )
      .bind(domain, owner.userId)
      .run();
    expect(await findCatchAll(after, domain)).toMatchObject({ userId: owner.userId });
    await whileLost(() => expect(findCatchAll(after, domain)).rejects.toThrow(MisconfiguredError));
  });

  it('a forward of a user there is not given up', async () => {
    const { userId } = await addAccount((home) => home === LOST);
    const forward = { kind: 'forward', messageId: 'm', recipient: 'a@far.test', envelopeFrom: '' } as AutomaticSend;
    await whileLost(() => expect(sendAutomatic(after, userId, forward)).rejects.toThrow(MisconfiguredError));
  });

  it('a new app token erases no mail of a user there', async () => {
    const { userId } = await addAccount((home) => home === LOST);
    const mailbox = openMailbox(after, userId);
    await mailbox.createMailbox({ userId, accountType: 'personal', limitBytes: 1e9 });
    await whileLost(() => expect(keepToken(after, userId, 'id', null)).rejects.toThrow(MisconfiguredError));
    expect((await mailbox.readProfile()).ok).toBe(true);
  });
});
