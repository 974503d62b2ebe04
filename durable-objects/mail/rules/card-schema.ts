/** Cards of contacts, for programs that speak CardDAV, and the addresses in them. */
import { index, integer, primaryKey, sqliteTable, text } from 'drizzle-orm/sqlite-core';

/**
 * Cards, at most 20,000. A deleted card leaves a row without text, so that programs hear of it. The row with an empty name is the
 * floor: its state is that of the newest deletion that was forgotten.
 */
export const card = sqliteTable(
  'card',
  {
    cardName: text('card_name').primaryKey(),
    uid: text('uid').notNull(),
    /** Number of the change that wrote the card. */
    state: integer('state').notNull(),
    sizeBytes: integer('size_bytes').notNull(),
    /** The card as a program sent it; null if it was deleted. */
    vcard: text('vcard'),
  },
  (table) => [index('card_by_state').on(table.state, table.cardName), index('card_by_uid').on(table.uid)],
);

/** Addresses of cards. Each is a saved contact, with the name of the first of its cards. */
export const cardEmail = sqliteTable(
  'card_email',
  { email: text('email').notNull(), cardName: text('card_name').notNull() },
  (table) => [primaryKey({ columns: [table.email, table.cardName] })],
);
