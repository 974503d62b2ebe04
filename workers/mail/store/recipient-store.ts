/** Finds the users to whom addresses in DIRECTORY belong. */
import { eq } from 'drizzle-orm';
import { drizzle } from 'drizzle-orm/d1';
import { readAll, statement } from '../../shared/statement.ts';
import { mailAccount } from './account-schema.ts';
import { mailDomain } from './domain-schema.ts';

export interface FoundRecipient {
  readonly email: string;
  readonly userId: string;
  readonly accountType: string;
}

const selectRecipients = statement<{ emails: string }, FoundRecipient>(
  `SELECT a.email, m.user_id AS userId, m.account_type AS accountType
   FROM mail_address AS a JOIN mail_account AS m ON m.user_id = a.user_id
   WHERE a.email IN (SELECT value FROM json_each(:emails))`,
);

/**
 * @param database the primary or a replica.
 * @param emails lower-cased, in order of precedence.
 * @returns the first of the addresses that belongs to a user, with the user.
 */
export async function findRecipient(
  database: D1Database | D1DatabaseSession,
  emails: readonly string[],
): Promise<FoundRecipient | null> {
  const found = await readAll(database, selectRecipients, { emails: JSON.stringify(emails) });
  return emails.flatMap((email) => found.find((row) => row.email === email) ?? [])[0] ?? null;
}

/** @returns the user who receives a domain's mail for unknown addresses; null if none does. */
export async function findCatchAll(
  database: D1Database,
  domain: string,
): Promise<Omit<FoundRecipient, 'email'> | null> {
  const row = await drizzle(database)
    .select({ userId: mailAccount.userId, accountType: mailAccount.accountType })
    .from(mailDomain)
    .innerJoin(mailAccount, eq(mailAccount.userId, mailDomain.catchAllUserId))
    .where(eq(mailDomain.domain, domain))
    .get();
  return row ?? null;
}
