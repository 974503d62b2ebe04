/** Share links, in the user database of the user who made them. */
import { drizzle } from 'drizzle-orm/d1';
import { type AuditRow, insertIfChanged } from '../../../shared/audit/audit-store.ts';
import { toStatement } from '../../../shared/stores/drizzle-statement.ts';
import { prepare, type RowOf, readAll, readFirst, statement } from '../../../shared/stores/statement.ts';
import type { shareLink } from './directory-schema.ts';

type LinkRow = RowOf<typeof shareLink>;

export interface ShareLink {
  readonly linkId: string;
  /** The user who made it, and with whose rights it reads. */
  readonly userId: string;
  readonly bucket: string;
  readonly bucketId: string;
  /** Key of the object, or prefix of the keys. */
  readonly name: string;
  readonly isPrefix: boolean;
  /** The shared version; null for the newest one. */
  readonly versionId: string | null;
  readonly passwordHash: string | null;
  /** Milliseconds since 1970 UTC, as the other times. */
  readonly createdAt: number;
  readonly expiresAt: number;
  readonly openings: number;
  readonly lastOpenedAt: number | null;
}

const toLink = (row: LinkRow): ShareLink => ({
  linkId: row.link_id,
  userId: row.user_id,
  bucket: row.bucket,
  bucketId: row.bucket_id,
  name: row.name,
  isPrefix: Boolean(row.is_prefix),
  versionId: row.version_id,
  passwordHash: row.password_hash,
  createdAt: row.created_at,
  expiresAt: row.expires_at,
  openings: row.openings,
  lastOpenedAt: row.last_opened_at,
});

const COLUMNS = `link_id, secret_sha256, user_id, made_with, bucket, bucket_id, name, is_prefix, version_id, password_hash, created_at,
  expires_at, openings, last_opened_at`;

/** Maximum number of links of a user that have not ended. */
export const LINKS_PER_USER_MAX = 1_000;
/** Time for which an ended link is listed. */
const LISTED_MS = 30 * 86_400_000;

type NewLink = Omit<ShareLink, 'openings' | 'lastOpenedAt'> & {
  readonly secretSha256: string;
  /** Id of the access key or token with which the link is made. */
  readonly madeWith: string;
};

const insert = statement<Omit<NewLink, 'isPrefix'> & { isPrefix: number }>(
  `INSERT INTO share_link(link_id, secret_sha256, user_id, made_with, bucket, bucket_id, name, is_prefix, version_id, password_hash,
     created_at, expires_at)
   SELECT :linkId, :secretSha256, :userId, :madeWith, :bucket, :bucketId, :name, :isPrefix, :versionId, :passwordHash, :createdAt, :expiresAt
   WHERE (SELECT count(*) FROM share_link WHERE user_id = :userId AND expires_at > :createdAt) < ${LINKS_PER_USER_MAX}`,
);
const forgetEnded = statement<{ userId: string; before: number }>(
  'DELETE FROM share_link WHERE user_id = :userId AND expires_at < :before',
);

/** Adds a link, and removes the user's links that ended long ago. @returns false if the user has too many. */
export async function insertShareLink(database: D1Database, link: NewLink, audit: AuditRow): Promise<boolean> {
  const [inserted] = await database.batch([
    prepare(database, insert, { ...link, isPrefix: Number(link.isPrefix) }),
    toStatement(database, insertIfChanged(drizzle(database), audit)),
    prepare(database, forgetEnded, { userId: link.userId, before: link.createdAt - LISTED_MS }),
  ]);
  return (inserted?.meta.changes ?? 0) > 0;
}

/**
 * A link outlives the key with which it was made. But a new password ends the keys that a thief may have made, so it ends their links:
 * those made before it, whose key is gone.
 */
const findWorking = statement<{ secretSha256: string; now: number }, LinkRow>(
  `SELECT ${COLUMNS} FROM share_link l WHERE l.secret_sha256 = :secretSha256 AND l.expires_at > :now AND NOT (
     EXISTS (SELECT 1 FROM password p WHERE p.user_id = l.user_id AND p.changed_at > l.created_at)
     AND NOT EXISTS (SELECT 1 FROM access_key k WHERE k.access_key_id = l.made_with)
     AND NOT EXISTS (SELECT 1 FROM token t WHERE t.token_id = l.made_with))`,
);

/** Finds a link that works, by the hash of its secret. */
export async function findShareLink(
  database: D1Database,
  secretSha256: string,
  now: number,
): Promise<ShareLink | null> {
  const row = await readFirst(database, findWorking, { secretSha256, now });
  return row && toLink(row);
}

type LinkQuery = {
  /** User whose links are listed; null for those of all users of this database. */
  readonly userId: string | null;
  /** Name of a bucket; null for all. */
  readonly bucket: string | null;
  /** Id of the last link of the previous page; '' at the start. */
  readonly before: string;
  readonly limit: number;
};

const listNewest = statement<LinkQuery, LinkRow>(
  `SELECT ${COLUMNS} FROM share_link WHERE (:userId IS NULL OR user_id = :userId) AND (:bucket IS NULL OR bucket = :bucket)
     AND (:before = '' OR link_id < :before) ORDER BY link_id DESC LIMIT :limit`,
);

/** Lists links, newest first, also those that ended in the last 30 days. */
export const listShareLinks = async (database: D1Database, query: LinkQuery): Promise<ShareLink[]> =>
  (await readAll(database, listNewest, query)).map(toLink);

const remove = statement<{ linkId: string; userId: string | null }>(
  'DELETE FROM share_link WHERE link_id = :linkId AND (:userId IS NULL OR user_id = :userId)',
);

/** Ends a link with the next opening. @param userId user who must have made it; null for any. @returns false if there is none. */
export async function removeShareLink(
  database: D1Database,
  linkId: string,
  userId: string | null,
  audit: AuditRow,
): Promise<boolean> {
  const [removed] = await database.batch([
    prepare(database, remove, { linkId, userId }),
    toStatement(database, insertIfChanged(drizzle(database), audit)),
  ]);
  return (removed?.meta.changes ?? 0) > 0;
}

const removeOfUser = statement<{ userId: string }>('DELETE FROM share_link WHERE user_id = :userId');

export async function removeShareLinksOf(database: D1Database, userId: string): Promise<void> {
  await prepare(database, removeOfUser, { userId }).run();
}

const addOpenings = statement<{ linkId: string; count: number; now: number }>(
  'UPDATE share_link SET openings = openings + :count, last_opened_at = :now WHERE link_id = :linkId',
);

export async function addLinkOpenings(database: D1Database, linkId: string, count: number, now: number): Promise<void> {
  await prepare(database, addOpenings, { linkId, count, now }).run();
}
