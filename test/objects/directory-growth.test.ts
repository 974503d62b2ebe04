/**
 * Tests that an address is issued once, also while databases for people are added: some isolates then know the new databases, and
 * others do not yet.
 */
import { applyD1Migrations, env as bindings } from 'cloudflare:test';
import { beforeAll, expect, it } from 'vitest';
import { addAddress, createAccount, deleteAccount, isAddressIssued } from '../../workers/mail/store/address-store.ts';
import { findCatchAll, findRecipient } from '../../workers/mail/store/recipient-store.ts';
import { directoryOf, homeOf, mintUserId, placesOf } from '../../workers/shared/directories.ts';
import { MisconfiguredError } from '../../workers/shared/settings.ts';

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
  expect(await findRecipient(before, [email])).toBeNull();
  await expect(findCatchAll(before, 'example.test', [email])).rejects.toThrow(MisconfiguredError);
});

it('an interrupted call that gives an address to a user in another database can be repeated', async () => {
  const owner = toAccount(after, newEmail());
  await isAddressIssued(after, owner.email);
  await createAccount(after, owner);
  let email = newEmail();
  while (placesOf(after, email).at(-1) === directoryOf(after, owner.userId)) email = newEmail();
  const place = placesOf(after, email).at(-1) as D1Database;
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

it('if several users add the same address at once, one of them gets it', async () => {
  const owners = await Promise.all(
    Array.from({ length: 6 }, async (_, n) => {
      const account = toAccount(n === 0 ? before : after, newEmail());
      if (n > 0) await isAddressIssued(after, account.email);
      return account;
    }),
  );
  expect(new Set(owners.map(({ userId }) => homeOf(userId))).size).toBeGreaterThan(1);
  for (const owner of owners.slice(1)) expect(await createAccount(after, owner)).toBe(true);
  const email = newEmail();
  const given = await Promise.all(owners.slice(1).map(({ userId }) => addAddress(after, email, userId, 5)));
  expect(given.filter(Boolean)).toHaveLength(1);
  const winner = owners[given.indexOf(true) + 1];
  expect(await findRecipient(after, [email])).toMatchObject({ userId: winner?.userId });
});
