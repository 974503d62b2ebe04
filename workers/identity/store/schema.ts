/** Identity's tables in DIRECTORY. Times are milliseconds since 1970 UTC. */
import { sql } from 'drizzle-orm';
import { index, integer, primaryKey, sqliteTable, text, uniqueIndex } from 'drizzle-orm/sqlite-core';

export const user = sqliteTable(
  'user',
  {
    userId: text('user_id').primaryKey(),
    /** The value of `aws:username`. Immutable. Unique without regard to case, as IAM user names are. */
    userName: text('user_name').notNull(),
    /** For display. The user may change it, so no decision may depend on it. */
    name: text('name').notNull(),
    /** In lower case. */
    email: text('email'),
    createdAt: integer('created_at').notNull(),
    /** Set while the user is suspended: no credential of the user works. */
    suspendedAt: integer('suspended_at'),
  },
  (table) => [
    uniqueIndex('user_user_name').on(sql`lower(${table.userName})`),
    uniqueIndex('user_email').on(table.email),
  ],
);

/** Verifying a signature needs the plain secret, so it is encrypted with MASTER_KEY instead of hashed. */
export const accessKey = sqliteTable(
  'access_key',
  {
    accessKeyId: text('access_key_id').primaryKey(),
    userId: text('user_id')
      .notNull()
      .references(() => user.userId, { onDelete: 'cascade' }),
    secretSealed: text('secret_sealed').notNull(),
    createdAt: integer('created_at').notNull(),
    /** Null for a key that does not expire. */
    expiresAt: integer('expires_at'),
    /** Precise to an hour: uses within an hour of a recorded one are not recorded. Null before the first use. */
    lastUsedAt: integer('last_used_at'),
  },
  (table) => [index('access_key_user').on(table.userId)],
);

/** Only the SHA-256 of a token is stored. That of an app token is in its user's mailbox instead, and null here. */
export const token = sqliteTable(
  'token',
  {
    tokenId: text('token_id').primaryKey(),
    tokenSha256: text('token_sha256').unique(),
    name: text('name').notNull(),
    userId: text('user_id').references(() => user.userId, { onDelete: 'cascade' }),
    scopes: text('scopes', { mode: 'json' }).notNull().$type<string[]>(),
    createdAt: integer('created_at').notNull(),
    expiresAt: integer('expires_at'),
    /** As for access keys. */
    lastUsedAt: integer('last_used_at'),
  },
  (table) => [index('token_user').on(table.userId)],
);

export const policy = sqliteTable(
  'policy',
  {
    userId: text('user_id')
      .notNull()
      .references(() => user.userId, { onDelete: 'cascade' }),
    name: text('name').notNull(),
    document: text('document', { mode: 'json' }).notNull().$type<Record<string, unknown>>(),
  },
  (table) => [primaryKey({ columns: [table.userId, table.name] })],
);

/**
 * One row. Each change that takes rights away raises it in its own transaction. A replica applies transactions in order, so
 * an answer with this generation includes every change up to it.
 */
export const identityGeneration = sqliteTable('identity_generation', {
  one: integer('one').primaryKey(),
  generation: integer('generation').notNull(),
});

/** Passwords of mail accounts: the scrypt hash with its parameters. */
export const password = sqliteTable('password', {
  userId: text('user_id')
    .primaryKey()
    .references(() => user.userId, { onDelete: 'cascade' }),
  hash: text('hash').notNull(),
  changedAt: integer('changed_at').notNull(),
  /** Whether a login by password needs a passkey as its second factor. */
  needsPasskey: integer('needs_passkey', { mode: 'boolean' }).notNull().default(false),
});

/**
 * A second factor (RFC 6238). The seed is sealed with MASTER_KEY. Recovery codes are stored as hashes and work once.
 */
export const secondFactor = sqliteTable('second_factor', {
  userId: text('user_id')
    .primaryKey()
    .references(() => user.userId, { onDelete: 'cascade' }),
  seedSealed: text('seed_sealed').notNull(),
  /** Null until the user confirms the seed with a first code. */
  confirmedAt: integer('confirmed_at'),
  /** The last time step whose code was accepted. No code works twice. */
  lastStep: integer('last_step').notNull(),
  recoverySha256: text('recovery_sha256', { mode: 'json' }).notNull().$type<string[]>(),
});

/** Guesses at passwords, counted before the hash is computed. Keys are hashes. */
export const loginGuard = sqliteTable(
  'login_guard',
  {
    guardKey: text('guard_key').primaryKey(),
    count: integer('count').notNull(),
    endsAt: integer('ends_at').notNull(),
  },
  (table) => [index('login_guard_ends').on(table.endsAt)],
);
