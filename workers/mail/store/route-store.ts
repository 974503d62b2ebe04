/** Finds the routes of mail by destination: a row in DIRECTORY, or the default. */
import { inArray } from 'drizzle-orm';
import { drizzle } from 'drizzle-orm/d1';
import { mailDomain } from './domain-schema.ts';

export interface RouteRow {
  readonly domain: string;
  readonly isHosted: boolean;
  readonly isHeld: boolean;
  /** Transport of the route; sealed if it has a password. Null for the default. */
  readonly transport: string | null;
}

/** Maximum of domains per query. D1 binds at most 100 parameters per statement. */
const DOMAINS_PER_QUERY = 90;

/** @returns the rows of those of the given domains that have one. */
export async function listRoutes(database: D1Database, domains: readonly string[]): Promise<RouteRow[]> {
  const rows: RouteRow[] = [];
  for (let from = 0; from < domains.length; from += DOMAINS_PER_QUERY) {
    const found = await drizzle(database)
      .select({
        domain: mailDomain.domain,
        isHosted: mailDomain.isHosted,
        isHeld: mailDomain.isHeld,
        transport: mailDomain.transport,
      })
      .from(mailDomain)
      .where(inArray(mailDomain.domain, domains.slice(from, from + DOMAINS_PER_QUERY)));
    rows.push(...found.map((row) => ({ ...row, isHosted: row.isHosted === 1, isHeld: row.isHeld === 1 })));
  }
  return rows;
}
