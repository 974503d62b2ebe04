/** Finds the users to whom addresses in DIRECTORY belong. */
import { eq, inArray } from 'drizzle-orm';
import { drizzle } from 'drizzle-orm/d1';
import { mailAccount, mailAddress } from './account-schema.ts';
import { mailDomain } from './domain-schema.ts';

export interface FoundRecipient {
  readonly email: string;
  readonly userId: string;
  readonly accountType: string;
}

/** @returns those of the given addresses (in lower case) that belong to a user, with the user. */
export async function findRecipients(database: D1Database, emails: readonly string[]): Promise<FoundRecipient[]> {
  return drizzle(database)
    .select({ email: mailAddress.email, userId: mailAccount.userId, accountType: mailAccount.accountType })
    .from(mailAddress)
    .innerJoin(mailAccount, eq(mailAccount.userId, mailAddress.userId))
    .where(inArray(mailAddress.email, [...emails]));
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
