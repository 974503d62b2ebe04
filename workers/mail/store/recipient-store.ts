/** Finds the users to whom addresses belong. */
import { OWNER_COLUMN, refuseIfAnyLost, refuseIfLost } from '../../collectors/owner-store.ts';
import { databaseOf, directoryOf, groupsOf, homeOf, placeNumbersOf, placesOf } from '../../shared/directories.ts';
import { askReplica } from '../../shared/replica.ts';
import { MisconfiguredError } from '../../shared/settings.ts';
import { readAll, readFirst, statement } from '../../shared/statement.ts';

export interface FoundRecipient {
  readonly email: string;
  readonly userId: string;
  readonly accountType: string;
}

/** An address that was issued to a user. The account type is null if the user is in another database, or has no account. */
type IssuedAddress = Omit<FoundRecipient, 'accountType'> & { readonly accountType: string | null };

const selectIssued = statement<{ emails: string }, IssuedAddress>(
  `SELECT a.email, a.user_id AS userId, m.account_type AS accountType
   FROM mail_address AS a LEFT JOIN mail_account AS m ON m.user_id = a.user_id
   WHERE a.email IN (SELECT value FROM json_each(:emails)) AND a.user_id IS NOT NULL`,
);

type Ask = (
  database: D1Database,
  read: (copy: D1Database | D1DatabaseSession) => Promise<IssuedAddress[]>,
) => Promise<IssuedAddress[] | null>;

/**
 * @param emails lower-cased, in order of precedence.
 * @param source copies to read. A replica may lack addresses, or have one that its user lost.
 * @returns the first of the addresses that belongs to a user, with the user.
 */
export async function findRecipient(
  env: Env,
  emails: readonly string[],
  source: 'primary' | 'replica' = 'primary',
): Promise<FoundRecipient | null> {
  const ask: Ask = source === 'replica' ? askReplica : (database, read) => read(database);
  const issued = await askEach(ask, emails, (email) => placesOf(env, email));
  // An address that its user added later may be in another database than the user. The user's home database then decides about it.
  const away = issued.filter(
    ({ userId, email, accountType }) =>
      accountType === null && !placesOf(env, email).includes(directoryOf(env, userId)),
  );
  const found = away.length === 0 ? issued : [...issued, ...(await askHomes(ask, env, away))];
  const known = found.flatMap(({ email, userId, accountType }) =>
    accountType === null ? [] : [{ email, userId, accountType }],
  );
  return emails.flatMap((email) => known.find((row) => row.email === email) ?? [])[0] ?? null;
}

const askHomes = (ask: Ask, env: Env, away: readonly IssuedAddress[]): Promise<IssuedAddress[]> => {
  const owners = new Map(away.map(({ email, userId }) => [email, userId]));
  return askEach(ask, [...owners.keys()], (email) => [directoryOf(env, owners.get(email) ?? '')]);
};

async function askEach(
  ask: Ask,
  emails: readonly string[],
  placesOfEmail: (email: string) => readonly D1Database[],
): Promise<IssuedAddress[]> {
  const wanted = new Map<D1Database, string[]>();
  for (const email of emails) {
    for (const database of placesOfEmail(email)) wanted.set(database, [...(wanted.get(database) ?? []), email]);
  }
  const reads = [...wanted].map(([database, some]) =>
    ask(database, (copy) => readAll(copy, selectIssued, { emails: JSON.stringify(some) })),
  );
  return (await Promise.all(reads)).flatMap((rows) => rows ?? []);
}

const selectCatchAll = statement<{ domain: string }, { userId: string | null; groups: number; owner: string | null }>(
  `SELECT (SELECT catch_all_user_id FROM mail_domain WHERE domain = :domain) AS userId,
     COALESCE((SELECT groups FROM directory_group), 1) AS groups, ${OWNER_COLUMN}`,
);
const selectAccountType = statement<{ userId: string }, { accountType: string }>(
  'SELECT account_type AS accountType FROM mail_account WHERE user_id = :userId',
);

/**
 * Finds the user who receives a domain's mail for unknown addresses.
 * @param emails addresses that `findRecipient` did not find. @returns null if the domain has no such user.
 * @throws MisconfiguredError if a database that may have one of the addresses is not bound, or was lost.
 */
export async function findCatchAll(
  env: Env,
  domain: string,
  emails: readonly string[],
): Promise<Omit<FoundRecipient, 'email'> | null> {
  const found = await readFirst(env.DIRECTORY, selectCatchAll, { domain });
  refuseUnbound(env, found?.groups ?? 1);
  await refuseIfLost(env, found?.owner ?? null, 0);
  const others = new Set(emails.flatMap((email) => placeNumbersOf(env, email)));
  others.delete(0);
  await refuseIfAnyLost(env, [...others]);
  if (!found?.userId) return null;
  const account = await readFirst(databaseOf(env, homeOf(found.userId)), selectAccountType, { userId: found.userId });
  return account && { userId: found.userId, accountType: account.accountType };
}

/** @param groups number of groups that the databases know. @throws MisconfiguredError if fewer are bound. */
export function refuseUnbound(env: Env, groups: number): void {
  if (groups <= groupsOf(env)) return;
  throw new MisconfiguredError({ name: 'DIRECTORY_n', message: `must be bound for ${groups} groups of databases` });
}
