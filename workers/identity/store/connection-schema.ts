/** Identity's table in DIRECTORY for agents that connect by OAuth. Times are milliseconds since 1970 UTC. */
import { index, integer, sqliteTable, text } from 'drizzle-orm/sqlite-core';
import { token } from './schema.ts';

/**
 * The OAuth side of an agent's token. The row in `token` has the user, the scopes and the hash of the present access token; this row
 * has the code and the refresh token from which access tokens come. Both end together.
 */
export const connection = sqliteTable(
  'connection',
  {
    tokenId: text('token_id')
      .primaryKey()
      .references(() => token.tokenId, { onDelete: 'cascade' }),
    /** URL of the client's metadata document, which is the client's id. */
    clientId: text('client_id').notNull(),
    redirectUri: text('redirect_uri').notNull(),
    /** The PKCE challenge (S256) of the request. */
    codeChallenge: text('code_challenge').notNull(),
    codeSha256: text('code_sha256').notNull().unique(),
    /** Hash of the part that all refresh tokens of the connection share; null until the code is exchanged. */
    familySha256: text('family_sha256').unique(),
    /** Hash of the present refresh token; null until the code is exchanged. */
    refreshSha256: text('refresh_sha256'),
    /** End of the code, then of the present refresh token. */
    endsAt: integer('ends_at').notNull(),
  },
  (table) => [index('connection_ends').on(table.endsAt)],
);
