/** Identity's tables in DIRECTORY for people who sign in with the account of a provider. Times are milliseconds since 1970 UTC. */
import { sql } from 'drizzle-orm';
import { index, integer, primaryKey, sqliteTable, text, uniqueIndex } from 'drizzle-orm/sqlite-core';

/**
 * The accounts of a provider that may sign in, and to whom each belongs. All rows are in DIRECTORY, also those of users of other
 * databases, so that an account of a provider is bound once.
 */
export const signIn = sqliteTable(
  'sign_in',
  {
    /** Issuer of the provider, as its tokens name it. */
    issuer: text('issuer').notNull(),
    /** Identifier of the account at the provider (`sub`). An address may change hands; this does not. */
    subject: text('subject').notNull(),
    /** `user` or `operator`: an account of a provider may be both. */
    kind: text('kind').notNull().$type<'user' | 'operator'>(),
    ownerId: text('owner_id').notNull(),
    createdAt: integer('created_at').notNull(),
    /** Time of the last sign-in; null before the first. */
    lastUsedAt: integer('last_used_at'),
    /** Refresh token of the provider, sealed with MASTER_KEY; null if the provider gave none. */
    refreshSealed: text('refresh_sealed'),
    /** Time of the next check; null before the first sign-in, and after the provider ended the account. */
    checkAt: integer('check_at'),
    /** Time at which the provider last confirmed the account; null before the first sign-in. */
    confirmedAt: integer('confirmed_at'),
  },
  (table) => [
    primaryKey({ columns: [table.issuer, table.subject, table.kind] }),
    uniqueIndex('sign_in_owner').on(table.kind, table.ownerId, table.issuer),
    index('sign_in_check').on(table.checkAt).where(sql`check_at IS NOT NULL`),
  ],
);

/** Sessions at the provider (`sid`), by which a back-channel log-out may name an account. */
export const providerSession = sqliteTable(
  'provider_session',
  {
    issuer: text('issuer').notNull(),
    sid: text('sid').notNull(),
    subject: text('subject').notNull(),
    expiresAt: integer('expires_at').notNull(),
  },
  (table) => [
    primaryKey({ columns: [table.issuer, table.sid] }),
    index('provider_session_expires').on(table.expiresAt),
  ],
);
