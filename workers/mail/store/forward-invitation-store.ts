/** The SQL of forwarding invitations in DIRECTORY: which accounts recently invited an address. */
import { lte } from 'drizzle-orm';
import { drizzle } from 'drizzle-orm/d1';
import { prepare, readFirst, statement } from '../../shared/stores/statement.ts';
import { mailForwardInvitation } from './account-schema.ts';

type Invitation = { readonly emailSha256: string; readonly userId: string; readonly endsAt: number };

const OTHERS =
  'FROM mail_forward_invitation WHERE email_sha256 = :emailSha256 AND user_id <> :userId AND ends_at > :now';
/** Counts and inserts in one statement, so that concurrent invitations cannot exceed the limit. */
const insertWithin = statement<Invitation & { accountsMax: number; now: number }>(
  `INSERT INTO mail_forward_invitation (email_sha256, user_id, ends_at)
   SELECT :emailSha256, :userId, :endsAt WHERE (SELECT count(*) ${OTHERS}) < :accountsMax
   ON CONFLICT (email_sha256, user_id) DO UPDATE SET ends_at = :endsAt`,
);
const findFirstEnd = statement<Omit<Invitation, 'endsAt'> & { now: number }, { retry_at: number | null }>(
  `SELECT min(ends_at) AS retry_at ${OTHERS}`,
);

export function createForwardInvitationStore(database: D1Database) {
  return {
    /**
     * Records that an account invites an address.
     * @returns null if it was recorded. If `accountsMax` other accounts invited the address already, the time at which the next
     * account may.
     */
    async insertInvitation(
      { emailSha256, userId, endsAt }: Invitation,
      accountsMax: number,
      now: number,
    ): Promise<{ retryAt: number } | null> {
      const others = { emailSha256, userId, now };
      const inserted = await prepare(database, insertWithin, { ...others, endsAt, accountsMax }).run();
      if (inserted.meta.changes > 0) return null;
      return { retryAt: (await readFirst(database, findFirstEnd, others))?.retry_at ?? now };
    },

    async pruneInvitations(now: number): Promise<void> {
      await drizzle(database).delete(mailForwardInvitation).where(lte(mailForwardInvitation.endsAt, now));
    },
  };
}
