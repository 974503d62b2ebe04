/** Object storage's tables in DIRECTORY. Times are milliseconds since 1970 UTC. */
import { index, integer, primaryKey, sqliteTable, text } from 'drizzle-orm/sqlite-core';

export const bucket = sqliteTable(
  'bucket',
  {
    name: text('name').primaryKey(),
    bucketId: text('bucket_id').notNull().unique(),
    ownerId: text('owner_id').notNull(),
    createdAt: integer('created_at').notNull(),
    region: text('region'),
    versioning: text('versioning').notNull().$type<'never' | 'enabled' | 'suspended'>(),
    /** Counts the switches of versioning, so that a shard never takes an older one over a newer. */
    versioningSeq: integer('versioning_seq').notNull(),
    /** Breaking the seal of a delete that died counts this up; the delete then fails at its last step. */
    sealEpoch: integer('seal_epoch').notNull(),
    /** 256 shard numbers as two hex digits each. */
    slots: text('slots').notNull(),
    slotsVersion: integer('slots_version').notNull(),
    /** The wire's documents, one text a kind: `{"acl": "…", "policy": "…"}`. */
    configuration: text('configuration').notNull(),
  },
  (table) => [index('bucket_owner').on(table.ownerId, table.name)],
);

/** A slot on its way from one database to another. The row goes when the move is done. */
export const slotMove = sqliteTable(
  'slot_move',
  {
    bucketId: text('bucket_id').notNull(),
    slot: integer('slot').notNull(),
    fromShard: integer('from_shard').notNull(),
    toShard: integer('to_shard').notNull(),
    phase: text('phase').notNull().$type<'copying' | 'switched'>(),
    startedAt: integer('started_at').notNull(),
  },
  (table) => [primaryKey({ columns: [table.bucketId, table.slot] })],
);
