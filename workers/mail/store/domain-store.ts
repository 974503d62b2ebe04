/** The SQL of domains, their keys and their routes in DIRECTORY. */
import { and, asc, eq, gt, like, or } from 'drizzle-orm';
import { drizzle } from 'drizzle-orm/d1';
import { forgetProven, raiseGeneration } from '../../identity/index.ts';
import { type AuditRow, insertIfChanged } from '../../shared/audit/audit-store.ts';
import { toStatement } from '../../shared/stores/drizzle-statement.ts';
import type { Dated } from '../../shared/stores/replica.ts';
import { prepare, type RowOf, readFirst, statement } from '../../shared/stores/statement.ts';
import { mailDkimKey, mailDomain } from './domain-schema.ts';

export interface DomainRow {
  readonly domain: string;
  readonly isHosted: boolean;
  readonly aliasOf: string | null;
  readonly catchAllUserId: string | null;
  readonly transport: string | null;
  readonly isHeld: boolean;
  readonly createdAt: number;
}

export interface DkimKeyRow {
  readonly domain: string;
  readonly selector: string;
  readonly algorithm: string;
  readonly publicKey: string;
  readonly privateKeySealed: string;
  readonly createdAt: number;
}

/**
 * Inserts one of a domain's first keys, unless the domain has others. A batch inserts the keys of one call one after another.
 * `:selectors` lists all of them, so that those inserted before do not count as others.
 */
const insertFirstKey = statement<Pick<DkimKeyRow, keyof DkimKeyRow> & { readonly selectors: string }>(
  `INSERT INTO mail_dkim_key (domain, selector, algorithm, public_key, private_key_sealed, created_at)
   SELECT :domain, :selector, :algorithm, :publicKey, :privateKeySealed, :createdAt
   WHERE NOT EXISTS (SELECT 1 FROM mail_dkim_key WHERE domain = :domain AND selector NOT IN (SELECT value FROM json_each(:selectors)))`,
);

export type SealedDkimKey = Pick<DkimKeyRow, 'selector' | 'algorithm' | 'privateKeySealed'>;

/** What mail to and from a domain needs, with the identity generation of the copy of DIRECTORY that it was read from. */
export interface DomainSettings extends Dated {
  readonly row: DomainRow | null;
  readonly keys: readonly SealedDkimKey[];
}

type Nullable<T> = { readonly [Key in keyof T]: T[Key] | null };

/** One row, also for an unknown domain, so that a replica can prove that a domain has no settings. */
const selectSettings = statement<
  { domain: string },
  Nullable<RowOf<typeof mailDomain>> & { readonly generation: number; readonly keys: string }
>(
  `SELECT COALESCE((SELECT generation FROM identity_generation), 0) AS generation,
     (SELECT json_group_array(json_object('selector', selector, 'algorithm', algorithm, 'privateKeySealed', private_key_sealed))
        FROM (SELECT * FROM mail_dkim_key WHERE domain = :domain ORDER BY created_at, selector)) AS keys,
     d.domain, d.is_hosted, d.alias_of, d.catch_all_user_id, d.transport, d.is_held, d.created_at
   FROM (SELECT 1) LEFT JOIN mail_domain AS d ON d.domain = :domain`,
);

/** @param database the primary or a replica. */
export async function findDomainSettings(
  database: D1Database | D1DatabaseSession,
  domain: string,
): Promise<DomainSettings | null> {
  const found = await readFirst(database, selectSettings, { domain });
  if (!found) return null;
  const row =
    found.domain === null
      ? null
      : {
          domain: found.domain,
          isHosted: found.is_hosted === 1,
          aliasOf: found.alias_of,
          catchAllUserId: found.catch_all_user_id,
          transport: found.transport,
          isHeld: found.is_held === 1,
          createdAt: found.created_at ?? 0,
        };
  return { generation: found.generation, row, keys: JSON.parse(found.keys) as SealedDkimKey[] };
}

/** Each change raises the identity generation, which bounds how long `findDomainSettings` may be out of date. */
export function createDomainStore(database: D1Database) {
  const db = drizzle(database);
  const columns = {
    domain: mailDomain.domain,
    isHosted: mailDomain.isHosted,
    aliasOf: mailDomain.aliasOf,
    catchAllUserId: mailDomain.catchAllUserId,
    transport: mailDomain.transport,
    isHeld: mailDomain.isHeld,
    createdAt: mailDomain.createdAt,
  };
  const keyColumns = {
    domain: mailDkimKey.domain,
    selector: mailDkimKey.selector,
    algorithm: mailDkimKey.algorithm,
    publicKey: mailDkimKey.publicKey,
    privateKeySealed: mailDkimKey.privateKeySealed,
    createdAt: mailDkimKey.createdAt,
  };
  const toRow = (row: Omit<DomainRow, 'isHosted' | 'isHeld'> & { isHosted: number; isHeld: number }): DomainRow => ({
    ...row,
    isHosted: row.isHosted === 1,
    isHeld: row.isHeld === 1,
  });
  return {
    async findDomain(domain: string): Promise<DomainRow | null> {
      const row = await db.select(columns).from(mailDomain).where(eq(mailDomain.domain, domain)).get();
      return row ? toRow(row) : null;
    },

    async hasAliases(domain: string): Promise<boolean> {
      const found = db.select({ domain: mailDomain.domain }).from(mailDomain);
      return (await found.where(eq(mailDomain.aliasOf, domain)).get()) !== undefined;
    },

    async listDomains(after: string, limit: number): Promise<DomainRow[]> {
      const rows = await db
        .select(columns)
        .from(mailDomain)
        .where(gt(mailDomain.domain, after))
        .orderBy(asc(mailDomain.domain))
        .limit(limit);
      return rows.map(toRow);
    },

    /** Writes the row of a domain. Replaces an existing row. */
    async saveDomain(row: DomainRow, audit: AuditRow): Promise<void> {
      const values = { ...row, isHosted: Number(row.isHosted), isHeld: Number(row.isHeld) };
      const save = db.insert(mailDomain).values(values).onConflictDoUpdate({ target: mailDomain.domain, set: values });
      await db.batch([save, insertIfChanged(db, audit), raiseGeneration(db)]);
      forgetProven(database);
    },

    async deleteDomain(domain: string, audit: AuditRow): Promise<boolean> {
      const [removed] = await db.batch([
        db.delete(mailDomain).where(eq(mailDomain.domain, domain)),
        insertIfChanged(db, audit),
        db.delete(mailDkimKey).where(eq(mailDkimKey.domain, domain)),
        raiseGeneration(db),
      ]);
      forgetProven(database);
      return removed.meta.changes > 0;
    },

    async listDkimKeys(domain: string): Promise<DkimKeyRow[]> {
      return db
        .select(keyColumns)
        .from(mailDkimKey)
        .where(eq(mailDkimKey.domain, domain))
        .orderBy(asc(mailDkimKey.createdAt), asc(mailDkimKey.selector));
    },

    /** Lists the keys of all domains, ordered by domain and selector. */
    async listAllDkimKeys(domain: string, selector: string, limit: number): Promise<DkimKeyRow[]> {
      const later = or(
        gt(mailDkimKey.domain, domain),
        and(eq(mailDkimKey.domain, domain), gt(mailDkimKey.selector, selector)),
      );
      return db
        .select(keyColumns)
        .from(mailDkimKey)
        .where(later)
        .orderBy(asc(mailDkimKey.domain), asc(mailDkimKey.selector))
        .limit(limit);
    },

    /** Replaces a sealed key, but only if it has not changed since it was read. */
    async replaceSealedKey(domain: string, selector: string, before: string, after: string): Promise<void> {
      const key = and(
        eq(mailDkimKey.domain, domain),
        eq(mailDkimKey.selector, selector),
        eq(mailDkimKey.privateKeySealed, before),
      );
      await db.batch([db.update(mailDkimKey).set({ privateKeySealed: after }).where(key), raiseGeneration(db)]);
      forgetProven(database);
    },

    async listSealedTransports(
      prefix: string,
      after: string,
      limit: number,
    ): Promise<{ domain: string; transport: string }[]> {
      const rows = await db
        .select({ domain: mailDomain.domain, transport: mailDomain.transport })
        .from(mailDomain)
        .where(and(gt(mailDomain.domain, after), like(mailDomain.transport, `${prefix}%`)))
        .orderBy(asc(mailDomain.domain))
        .limit(limit);
      return rows.flatMap(({ domain, transport }) => (transport === null ? [] : [{ domain, transport }]));
    },

    /** Replaces a transport, but only if it has not changed since it was read. */
    async replaceTransport(domain: string, before: string, after: string): Promise<void> {
      const row = and(eq(mailDomain.domain, domain), eq(mailDomain.transport, before));
      await db.batch([db.update(mailDomain).set({ transport: after }).where(row), raiseGeneration(db)]);
      forgetProven(database);
    },

    async insertDkimKeys(rows: readonly DkimKeyRow[], audit: AuditRow): Promise<void> {
      await db.batch([db.insert(mailDkimKey).values([...rows]), insertIfChanged(db, audit), raiseGeneration(db)]);
      forgetProven(database);
    },

    /**
     * Inserts the keys of a domain that has none. If a concurrent call inserted keys first, its keys stay and these are
     * dropped.
     */
    async insertFirstDkimKeys(domain: string, rows: readonly DkimKeyRow[]): Promise<void> {
      const selectors = JSON.stringify(rows.map((row) => row.selector));
      const inserts = rows.map((row) => prepare(database, insertFirstKey, { ...row, domain, selectors }));
      await database.batch([...inserts, toStatement(database, raiseGeneration(db))]);
      forgetProven(database);
    },
  };
}
