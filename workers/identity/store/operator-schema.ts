/** Operators as people, in DIRECTORY. Times are milliseconds since 1970 UTC. */
import { sql } from 'drizzle-orm';
import { index, integer, sqliteTable, text, uniqueIndex } from 'drizzle-orm/sqlite-core';

/** A person who operates the service. Operators have no mailbox, no buckets and no S3 keys. */
export const operator = sqliteTable(
  'operator',
  {
    operatorId: text('operator_id').primaryKey(),
    /** The name to log in with. Unique without regard to case. */
    login: text('login').notNull(),
    name: text('name').notNull(),
    /** `admin`, `support` or `read`. */
    role: text('role').notNull(),
    passwordHash: text('password_hash').notNull(),
    /** The TOTP seed, sealed with MASTER_KEY. Each login needs a code. */
    seedSealed: text('seed_sealed').notNull(),
    /** The last time step whose code was accepted. No code works twice. */
    lastStep: integer('last_step').notNull(),
    createdAt: integer('created_at').notNull(),
  },
  (table) => [uniqueIndex('operator_login').on(sql`lower(${table.login})`)],
);

/** Only the SHA-256 of a session's token is stored. */
export const operatorSession = sqliteTable(
  'operator_session',
  {
    sessionId: text('session_id').primaryKey(),
    secretSha256: text('secret_sha256').notNull().unique(),
    operatorId: text('operator_id')
      .notNull()
      .references(() => operator.operatorId, { onDelete: 'cascade' }),
    createdAt: integer('created_at').notNull(),
    expiresAt: integer('expires_at').notNull(),
  },
  (table) => [index('operator_session_operator').on(table.operatorId)],
);
