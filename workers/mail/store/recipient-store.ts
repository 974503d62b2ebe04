/** Finds the users to whom addresses belong. */
import { OWNER_COLUMN, refuseIfLost } from '../../shared/collectors/owner-store.ts';
import { MisconfiguredError } from '../../shared/settings/settings.ts';
import { countSets, databaseNumberOf, databaseOf, possibleDatabaseNumbersOf } from '../../shared/stores/directories.ts';
import { askReplica } from '../../shared/stores/replica.ts';
import { readFirst, statement } from '../../shared/stores/statement.ts';
import type { MaskedFacts } from '../domain/masked-state.ts';

export interface FoundRecipient {
  readonly email: string;
  readonly userId: string;
  readonly accountType: string;
  /** Facts of a masked address; null for any other. */
  readonly masked: MaskedFacts | null;
}

/** An address that was issued to a user. The account type is null if the user is in another database, or has no account. */
type IssuedAddress = Omit<FoundRecipient, 'accountType'> & { readonly accountType: string | null };

interface Answer {
  /** Number of the database. */
  readonly number: number;
  readonly issued: readonly IssuedAddress[];
  /** Number of groups that the database knows. */
  readonly groups: number;
  readonly owner: string | null;
}

const selectIssued = statement<{ emails: string }, Pick<Answer, 'groups' | 'owner'> & { issued: string }>(
  `SELECT (SELECT json_group_array(json_object('email', a.email, 'userId', a.user_id, 'accountType', m.account_type, 'masked',
         CASE WHEN k.email IS NULL THEN NULL
         ELSE json_object('state', k.state, 'createdAt', k.created_at, 'lastMessageAt', k.last_message_at) END))
       FROM mail_address AS a LEFT JOIN mail_account AS m ON m.user_id = a.user_id
         LEFT JOIN mail_masked_address AS k ON k.email = a.email
       WHERE a.email IN (SELECT value FROM json_each(:emails)) AND a.user_id IS NOT NULL) AS issued,
     COALESCE((SELECT groups FROM directory_group), 1) AS groups, ${OWNER_COLUMN}`,
);

type Source = 'primary' | 'replica';

/**
 * @param emails lower-cased, in order of precedence.
 * @param source copies to read. A replica may lack addresses, or have one that its user lost.
 * @returns the first of the addresses that belongs to a user, with the user.
 * @throws MisconfiguredError if the primary is asked, and a database that may have an earlier one is not bound, or was lost.
 */
export async function findRecipient(
  env: Env,
  emails: readonly string[],
  source: Source = 'primary',
): Promise<FoundRecipient | null> {
  const answers = await askEach(env, source, emails, (email) => possibleDatabaseNumbersOf(env, email));
  // An address that its user added later may be in another database than the user. The user's home database then decides about it.
  const away = new Map<string, number>();
  for (const { email, userId, accountType } of answers.flatMap(({ issued }) => issued)) {
    const home = databaseNumberOf(userId);
    if (accountType === null && !possibleDatabaseNumbersOf(env, email).includes(home)) away.set(email, home);
  }
  answers.push(...(await askEach(env, source, [...away.keys()], (email) => [away.get(email) ?? 0])));
  const known = answers
    .flatMap(({ issued }) => issued)
    .flatMap(({ accountType, ...rest }) => (accountType === null ? [] : [{ ...rest, accountType }]));
  const found = emails.flatMap((email) => known.find((row) => row.email === email) ?? [])[0] ?? null;
  if (source === 'primary' && found?.email !== emails[0]) {
    for (const { number, groups, owner } of answers) {
      refuseUnbound(env, groups);
      await refuseIfLost(env, owner, number);
    }
  }
  return found;
}

async function askEach(
  env: Env,
  source: Source,
  emails: readonly string[],
  numbersOf: (email: string) => readonly number[],
): Promise<Answer[]> {
  const wanted = new Map<number, string[]>();
  for (const email of emails) {
    for (const number of numbersOf(email)) wanted.set(number, [...(wanted.get(number) ?? []), email]);
  }
  const reads = [...wanted].map(async ([number, some]): Promise<Answer[]> => {
    const database = databaseOf(env, number);
    const read = (copy: D1Database | D1DatabaseSession) =>
      readFirst(copy, selectIssued, { emails: JSON.stringify(some) });
    const row = await (source === 'replica' ? askReplica(database, read) : read(database));
    return row ? [{ ...row, number, issued: JSON.parse(row.issued) as IssuedAddress[] }] : [];
  });
  return (await Promise.all(reads)).flat();
}

const selectCatchAll = statement<{ domain: string }, { userId: string | null; accountType: string | null }>(
  `SELECT d.catch_all_user_id AS userId, m.account_type AS accountType
   FROM mail_domain AS d LEFT JOIN mail_account AS m ON m.user_id = d.catch_all_user_id WHERE d.domain = :domain`,
);
const selectAccountType = statement<{ userId: string }, { accountType: string | null; owner: string | null }>(
  `SELECT (SELECT account_type FROM mail_account WHERE user_id = :userId) AS accountType, ${OWNER_COLUMN}`,
);

/**
 * Finds the user who receives a domain's mail for addresses that `findRecipient` did not find. @returns null if there is none.
 * @throws MisconfiguredError if the database that has this user is not bound, or was lost.
 */
export async function findCatchAll(env: Env, domain: string): Promise<Omit<FoundRecipient, 'email' | 'masked'> | null> {
  const found = await readFirst(env.DIRECTORY, selectCatchAll, { domain });
  if (!found?.userId) return null;
  const { userId, accountType } = found;
  const home = databaseNumberOf(userId);
  if (accountType !== null) return { userId, accountType };
  if (home === 0) return null;
  const there = await readFirst(databaseOf(env, home), selectAccountType, { userId });
  if (there?.accountType) return { userId, accountType: there.accountType };
  await refuseIfLost(env, there?.owner ?? null, home);
  return null;
}

/** @param groups number of groups that the databases know. @throws MisconfiguredError if fewer are bound. */
export function refuseUnbound(env: Env, groups: number): void {
  if (groups <= countSets(env)) return;
  throw new MisconfiguredError({ name: 'DIRECTORY_n', message: `must be bound for ${groups} groups of databases` });
}
