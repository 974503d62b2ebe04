/** Identity's table of passkeys in DIRECTORY. Times are milliseconds since 1970 UTC. */
import { index, integer, sqliteTable, text } from 'drizzle-orm/sqlite-core';
import { user } from './schema.ts';

/** A WebAuthn credential. Only its public key is known here. */
export const passkey = sqliteTable(
  'passkey',
  {
    /** The credential ID, in base64url. */
    passkeyId: text('passkey_id').primaryKey(),
    userId: text('user_id')
      .notNull()
      .references(() => user.userId, { onDelete: 'cascade' }),
    name: text('name').notNull(),
    /** COSE key, in base64url. */
    publicKey: text('public_key').notNull(),
    /** Signature counter (WebAuthn §6.1.1). Always 0 for passkeys that are synchronized between devices. */
    counter: integer('counter').notNull(),
    transports: text('transports', { mode: 'json' }).notNull().$type<string[]>(),
    createdAt: integer('created_at').notNull(),
    lastUsedAt: integer('last_used_at'),
  },
  (table) => [index('passkey_user').on(table.userId)],
);
