/**
 * Issues addresses, each only once, even after its account is gone. A new address gets a row in the newest group of databases.
 * Older databases that know of this group (`directory_group`) issue no further addresses. If the user's home is another database,
 * the address has a second row there, which decides who has the address now.
 */
import { OWNER_COLUMN, refuseIfLost } from '../../shared/collectors/owner-store.ts';
import { boundDirectories } from '../../shared/stores/bindings.ts';
import {
  compareText,
  databaseOf,
  possibleDatabaseNumbersOf,
  possibleDatabasesOf,
  readMerged,
  userDatabaseOf,
} from '../../shared/stores/directories.ts';
import { prepare, readAll, readFirst, statement } from '../../shared/stores/statement.ts';
import { type AccountRow, createAccountStore } from './account-store.ts';
import { refuseUnbound } from './recipient-store.ts';

interface Issued {
  /** Whether the database has the address. */
  readonly is_issued: number;
  readonly user_id: string | null;
  /** Number of groups that the database knows. */
  readonly groups: number;
  readonly owner: string | null;
}

const findIssued = statement<{ email: string }, Issued>(
  `SELECT EXISTS (SELECT 1 FROM mail_address WHERE email = :email) AS is_issued,
     (SELECT user_id FROM mail_address WHERE email = :email) AS user_id,
     COALESCE((SELECT groups FROM directory_group), 1) AS groups, ${OWNER_COLUMN}`,
);
const raiseGroups = statement<{ groups: number }>(
  `INSERT INTO directory_group (one, groups) VALUES (1, :groups)
   ON CONFLICT (one) DO UPDATE SET groups = max(groups, excluded.groups)`,
);
const insertAddress = statement<{ email: string; userId: string; now: number; groups: number }>(
  `INSERT INTO mail_address (email, user_id, created_at) SELECT :email, :userId, :now
   WHERE COALESCE((SELECT groups FROM directory_group), 1) <= :groups ON CONFLICT DO NOTHING`,
);
const insertAccount = statement<{ email: string; userId: string; accountType: string; now: number }>(
  `INSERT INTO mail_account (user_id, email, account_type, created_at) SELECT :userId, :email, :accountType, :now
   WHERE changes() = 1`,
);

/**
 * Finds an address in the databases that may have issued it. Afterwards, databases of older groups no longer issue it, not even for
 * a Worker that does not know the newest group.
 * @throws MisconfiguredError if a database that may have issued it is not bound, or was lost.
 */
async function findIssuedAddress(env: Env, email: string): Promise<{ userId: string | null; isAt: D1Database } | null> {
  const places = possibleDatabaseNumbersOf(env, email);
  const answers = await Promise.all(
    places.map(async (number, group) => {
      const database = databaseOf(env, number);
      const found = await readFirst(database, findIssued, { email });
      refuseUnbound(env, found?.groups ?? 1);
      await refuseIfLost(env, found?.owner ?? null, number);
      if (group === places.length - 1 || found?.groups === places.length) return { database, found };
      await prepare(database, raiseGroups, { groups: places.length }).run();
      return { database, found: await readFirst(database, findIssued, { email }) };
    }),
  );
  const hit = answers.find(({ found }) => found?.is_issued === 1);
  return hit ? { userId: hit.found?.user_id ?? null, isAt: hit.database } : null;
}

/** Whether an address was ever issued. @throws MisconfiguredError if a database that may have issued it is not bound, or was lost. */
export const isAddressIssued = async (env: Env, email: string): Promise<boolean> =>
  (await findIssuedAddress(env, email)) !== null;

/**
 * Inserts an account with its first address. `isAddressIssued` must be called before. The user's id was made from the address, so
 * both are in one database.
 * @param more statements of the same batch, which change something only after one that did.
 * @returns false if the address was issued meanwhile.
 */
export async function createAccount(
  env: Env,
  { userId, email, accountType, createdAt }: AccountRow,
  more: readonly D1PreparedStatement[] = [],
): Promise<boolean> {
  const database = userDatabaseOf(env, userId);
  const groups = possibleDatabasesOf(env, email).length;
  const [address] = await database.batch([
    prepare(database, insertAddress, { email, userId, now: createdAt, groups }),
    prepare(database, insertAccount, { userId, email, accountType, now: createdAt }),
    ...more,
  ]);
  return (address?.meta.changes ?? 0) > 0;
}

/** Gives an account a further address. An interrupted call can be repeated. @returns false if the address was ever issued. */
export async function addAddress(env: Env, email: string, userId: string, now: number): Promise<boolean> {
  const home = userDatabaseOf(env, userId);
  const places = possibleDatabasesOf(env, email);
  const newest = places.at(-1) ?? env.DIRECTORY;
  const row = { email, userId, now, groups: places.length };
  const issued = await findIssuedAddress(env, email);
  if (issued !== null && (issued.userId !== userId || issued.isAt === home)) return false;
  if (issued === null && (await prepare(newest, insertAddress, row).run()).meta.changes === 0) return false;
  if (newest === home && issued === null) return true;
  return (await prepare(home, insertAddress, { ...row, groups: Number.MAX_SAFE_INTEGER }).run()).meta.changes > 0;
}

/** Removes an address from its user. It is never issued again. @returns false if the user does not have it. */
export async function removeAddress(env: Env, email: string, userId: string): Promise<boolean> {
  const home = userDatabaseOf(env, userId);
  const isRemoved = await createAccountStore(home).retireAddress(email, userId);
  const others = possibleDatabasesOf(env, email).filter((database) => database !== home);
  await Promise.all(others.map((database) => createAccountStore(database).retireAddress(email, userId)));
  return isRemoved;
}

/** Deletes an account and writes a tombstone. The account's addresses are never issued again. Idempotent. */
export async function deleteAccount(env: Env, userId: string, now: number): Promise<void> {
  const home = userDatabaseOf(env, userId);
  // Any database may have an address whose second row was never written, because `addAddress` was interrupted.
  const others = boundDirectories(env).filter((database) => database !== home);
  await Promise.all(others.map((database) => createAccountStore(database).retireAddresses(userId)));
  await createAccountStore(home).deleteAccount(userId, now);
}

/** Finds the account that was registered with an address. */
export async function findAccountByEmail(env: Env, email: string): Promise<AccountRow | null> {
  const found = possibleDatabasesOf(env, email).map((database) =>
    createAccountStore(database).findAccountByEmail(email),
  );
  return (await Promise.all(found)).find((row) => row !== null) ?? null;
}

const listAliases = statement<{ domains: string }, { domain: string; alias_of: string }>(
  'SELECT domain, alias_of FROM mail_domain WHERE alias_of IN (SELECT value FROM json_each(:domains)) ORDER BY domain',
);

/** @returns the addresses of a user, then the same local parts at the aliases of their domains. */
export async function listSenders(env: Env, userId: string): Promise<string[]> {
  const home = userDatabaseOf(env, userId);
  const store = createAccountStore(home);
  // DIRECTORY has the domains too, so one query is enough for users in DIRECTORY.
  if (home === env.DIRECTORY) return store.listSenders(userId);
  const addresses = await store.listAddresses(userId);
  const domainOf = (email: string) => email.slice(email.indexOf('@') + 1);
  const domains = JSON.stringify(addresses.map(domainOf));
  const aliases = await readAll(env.DIRECTORY, listAliases, { domains });
  const further = addresses.flatMap((email) =>
    aliases
      .filter(({ alias_of }) => alias_of === domainOf(email))
      .map(({ domain }) => `${email.slice(0, email.indexOf('@') + 1)}${domain}`),
  );
  return [...addresses, ...further];
}

/** Lists accounts of all databases by user id. @param after user id after which the page begins; empty for the first page. */
export const listAllAccounts = (env: Env, after: string, limit: number): Promise<AccountRow[]> =>
  readMerged(
    env,
    (database) => createAccountStore(database).listAccounts(after, limit),
    (a, b) => compareText(a.userId, b.userId),
    limit,
  );
