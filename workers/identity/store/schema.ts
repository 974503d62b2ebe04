/** Identity's tables in DIRECTORY. Times are milliseconds since 1970 UTC. */
import { sql } from 'drizzle-orm';
import { index, integer, primaryKey, sqliteTable, text, uniqueIndex } from 'drizzle-orm/sqlite-core';

export const user = sqliteTable(
  'user',
  {
    userId: text('user_id').primaryKey(),
    /** Name of the user and the value of `aws:username`. Immutable. Unique without regard to case, as IAM user names are. */
    userName: text('user_name').notNull(),
    /** Display name of the user. The user may change it, so no decision may depend on it. */
    name: text('name').notNull(),
    /** Email address of the user, in lower case. */
    email: text('email'),
    createdAt: integer('created_at').notNull(),
    /** Time since which the user is suspended; null if not. No credential of a suspended user works. */
    suspendedAt: integer('suspended_at'),
    /** `provider` if a check of the user's sign-in suspended the user until the next sign-in; null for an operator's suspension. */
    suspendedBy: text('suspended_by'),
  },
  (table) => [
    uniqueIndex('user_user_name').on(sql`lower(${table.userName})`),
    uniqueIndex('user_email').on(table.email),
  ],
);

/**
 * Access keys of S3 clients. Verifying a signature needs the plain secret, so it is encrypted with MASTER_KEY instead of hashed.
 */
export const accessKey = sqliteTable(
  'access_key',
  {
    accessKeyId: text('access_key_id').primaryKey(),
    userId: text('user_id')
      .notNull()
      .references(() => user.userId, { onDelete: 'cascade' }),
    secretSealed: text('secret_sealed').notNull(),
    createdAt: integer('created_at').notNull(),
    /** Time at which the key expires; null for never. */
    expiresAt: integer('expires_at'),
    /**
     * Time of the key's last use, precise to an hour: uses within an hour of a recorded one are not recorded. Null before the first
     * use.
     */
    lastUsedAt: integer('last_used_at'),
    /** Id of the user's session that made the key; null for a key of the operator, and if it is not known. */
    madeIn: text('made_in'),
    /** Temporary keys made from this key at this time or earlier do not work; null if none was ended. */
    temporaryEnded: integer('temporary_ended'),
  },
  (table) => [index('access_key_user').on(table.userId)],
);

/** SHA-256 of the token's secret, which is not stored itself. Null for an app token, whose hash is in its user's mailbox. */
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
    /** Time of the token's last use, precise to an hour; null before the first use. */
    lastUsedAt: integer('last_used_at'),
    /** The operator who made the token, which ends with the operator; null for root, and for a user's own token. */
    madeBy: text('made_by'),
  },
  (table) => [
    index('token_user').on(table.userId),
    index('token_made_by').on(table.madeBy).where(sql`made_by IS NOT NULL`),
  ],
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
 * The generation of identity, a single row. Each change that takes rights away raises it in its own transaction. A replica applies
 * transactions in order, so an answer with this generation includes every change up to it.
 */
export const identityGeneration = sqliteTable('identity_generation', {
  one: integer('one').primaryKey(),
  generation: integer('generation').notNull(),
});

/** Passwords of mail accounts, as the scrypt hash with its parameters. */
export const password = sqliteTable('password', {
  userId: text('user_id')
    .primaryKey()
    .references(() => user.userId, { onDelete: 'cascade' }),
  hash: text('hash').notNull(),
  changedAt: integer('changed_at').notNull(),
  /** Whether a login by password needs a passkey as its second factor. */
  needsPasskey: integer('needs_passkey', { mode: 'boolean' }).notNull().default(false),
  /** What the last new password ended, as JSON, until the user has seen it; null afterwards. */
  review: text('review'),
});

/** Second factors of users (RFC 6238). The seed is sealed with MASTER_KEY. Recovery codes are stored as hashes and work once. */
export const secondFactor = sqliteTable('second_factor', {
  userId: text('user_id')
    .primaryKey()
    .references(() => user.userId, { onDelete: 'cascade' }),
  seedSealed: text('seed_sealed').notNull(),
  /** Time at which the user confirmed the seed with a first code; null until then. */
  confirmedAt: integer('confirmed_at'),
  /** The last time step whose TOTP code was accepted. Codes of this step or earlier ones are refused, so no code works twice. */
  lastStep: integer('last_step').notNull(),
  recoverySha256: text('recovery_sha256', { mode: 'json' }).notNull().$type<string[]>(),
});

/** Counts of guesses at passwords, raised before the hash is computed, and places known to an account. Keys are hashes. */
export const loginGuard = sqliteTable(
  'login_guard',
  {
    guardKey: text('guard_key').primaryKey(),
    count: integer('count').notNull(),
    endsAt: integer('ends_at').notNull(),
  },
  (table) => [index('login_guard_ends').on(table.endsAt)],
);
