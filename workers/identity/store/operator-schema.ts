/** Identity's tables in DIRECTORY for operators as people. Times are milliseconds since 1970 UTC. */
import { sql } from 'drizzle-orm';
import { index, integer, sqliteTable, text, uniqueIndex } from 'drizzle-orm/sqlite-core';

/** A person who operates the service. Operators have no mailbox, no buckets and no S3 keys. */
export const operator = sqliteTable(
  'operator',
  {
    operatorId: text('operator_id').primaryKey(),
    /** Name with which the operator logs in. Unique without regard to case. */
    login: text('login').notNull(),
    name: text('name').notNull(),
    /** Role of the operator: `admin`, `support` or `read`. */
    role: text('role').notNull(),
    passwordHash: text('password_hash').notNull(),
    /** TOTP seed of the operator, sealed with MASTER_KEY. A login by password needs one of its codes or a passkey. */
    seedSealed: text('seed_sealed').notNull(),
    /** The last time step whose TOTP code was accepted. Codes of this step or earlier ones are refused, so no code works twice. */
    lastStep: integer('last_step').notNull(),
    createdAt: integer('created_at').notNull(),
  },
  (table) => [uniqueIndex('operator_login').on(sql`lower(${table.login})`)],
);

/** A session of an operator. Only the SHA-256 of its token is stored. */
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
