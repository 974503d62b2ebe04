/** The SQL of forwarding invitations in DIRECTORY: accounts that invited an address recently. */
import { lte } from 'drizzle-orm';
import { drizzle } from 'drizzle-orm/d1';
import { mailForwardInvitation } from './account-schema.ts';

export function createForwardInvitationStore(database: D1Database) {
  return {
    /**
     * Records that an account invites an address, in one statement.
     * @returns null; or, if `accountsMax` others already invited it, the time when the next account may.
     */
    async insertInvitation(
      invitation: { readonly emailSha256: string; readonly userId: string; readonly endsAt: number },
      accountsMax: number,
      now: number,
    ): Promise<{ retryAt: number } | null> {
      const { emailSha256, userId, endsAt } = invitation;
      const others = `FROM mail_forward_invitation WHERE email_sha256 = ?1 AND user_id <> ?2 AND ends_at > ?3`;
      const inserted = await database
        .prepare(
          `INSERT INTO mail_forward_invitation (email_sha256, user_id, ends_at)
           SELECT ?1, ?2, ?4 WHERE (SELECT count(*) ${others}) < ?5
           ON CONFLICT (email_sha256, user_id) DO UPDATE SET ends_at = ?4`,
        )
        .bind(emailSha256, userId, now, endsAt, accountsMax)
        .run();
      if (inserted.meta.changes > 0) return null;
      const first = await database
        .prepare(`SELECT min(ends_at) AS retry_at ${others}`)
        .bind(emailSha256, userId, now)
        .first<{ retry_at: number | null }>();
      return { retryAt: first?.retry_at ?? now };
    },

    async pruneInvitations(now: number): Promise<void> {
      await drizzle(database).delete(mailForwardInvitation).where(lte(mailForwardInvitation.endsAt, now));
    },
  };
}
