/** Identity's table of passkeys in DIRECTORY. Times are milliseconds since 1970 UTC. */
import { sql } from 'drizzle-orm';
import { check, index, integer, sqliteTable, text } from 'drizzle-orm/sqlite-core';
import { operator } from './operator-schema.ts';
import { user } from './schema.ts';

/** A passkey: a WebAuthn credential of a user or of an operator. Only its public key is known here. */
export const passkey = sqliteTable(
  'passkey',
  {
    /** Credential ID of the passkey, in base64url. */
    passkeyId: text('passkey_id').primaryKey(),
    userId: text('user_id').references(() => user.userId, { onDelete: 'cascade' }),
    operatorId: text('operator_id').references(() => operator.operatorId, { onDelete: 'cascade' }),
    name: text('name').notNull(),
    /** Public key in COSE form, in base64url. */
    publicKey: text('public_key').notNull(),
    /** Signature counter of the passkey (WebAuthn §6.1.1). Always 0 for passkeys that are synchronized between devices. */
    counter: integer('counter').notNull(),
    transports: text('transports', { mode: 'json' }).notNull().$type<string[]>(),
    createdAt: integer('created_at').notNull(),
    lastUsedAt: integer('last_used_at'),
    /** Id of the session that added the passkey; null if it is not known. */
    madeIn: text('made_in'),
  },
  (table) => [
    index('passkey_user').on(table.userId),
    index('passkey_operator').on(table.operatorId),
    check('passkey_owner', sql`(${table.userId} IS NULL) <> (${table.operatorId} IS NULL)`),
  ],
);
