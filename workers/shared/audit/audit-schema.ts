/** The audit log's table in DIRECTORY. Times are milliseconds since 1970 UTC. */
import { index, integer, primaryKey, sqliteTable, text } from 'drizzle-orm/sqlite-core';

/**
 * Entries of the audit log. Rows are never changed, except by `audit-store.ts`: they are deleted after 400 days, and a person's
 * data is erased from them.
 */
export const auditEntry = sqliteTable(
  'audit_entry',
  {
    at: integer('at').notNull(),
    entryId: text('entry_id').notNull(),
    /** Kind of the actor: `root`, `token`, `operator`, `user` or `system`. */
    actorKind: text('actor_kind').notNull(),
    /** Id of the actor: `root` and `system` for these kinds, else the id of the token, operator or user. */
    actorId: text('actor_id').notNull(),
    action: text('action').notNull(),
    targetType: text('target_type').notNull(),
    targetId: text('target_id').notNull(),
    /** Network of the client: a /24 of IPv4 or a /48 of IPv6. Null if unknown or erased. */
    network: text('network'),
    /** The first 16 hex digits of the SHA-256 of the client's User-Agent header. */
    userAgentDigest: text('user_agent_digest'),
    requestId: text('request_id'),
    details: text('details', { mode: 'json' }).notNull().$type<Readonly<Record<string, string | number | boolean>>>(),
  },
  (table) => [
    primaryKey({ columns: [table.at, table.entryId] }),
    index('audit_entry_action').on(table.action, table.at),
    index('audit_entry_actor').on(table.actorId, table.at),
    index('audit_entry_target').on(table.targetId, table.at),
  ],
);
