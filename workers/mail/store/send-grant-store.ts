/** SQL of the hourly sending limit of a domain. */
import { readFirst, statement } from '../../shared/stores/statement.ts';

const grant = statement<{ domain: string; hour: number; recipients: number; max: number }, { recipients: number }>(
  `INSERT INTO mail_send_grant (domain, hour, recipients) SELECT :domain, :hour, :recipients WHERE :recipients <= :max
   ON CONFLICT (domain) DO UPDATE SET hour = excluded.hour,
     recipients = excluded.recipients + CASE WHEN hour = excluded.hour THEN recipients ELSE 0 END
   WHERE hour < excluded.hour OR hour > excluded.hour + 1 OR (hour = excluded.hour AND recipients + excluded.recipients <= :max)
   RETURNING recipients`,
);

/**
 * Grants a mailbox recipients from a domain's limit for an hour.
 * @param hour hours since 1970. If the row is more than one hour ahead of this, it came from a wrong clock and is replaced.
 * @returns false if fewer recipients are left, or if the row is already in the next hour.
 */
export const grantRecipients = async (
  database: D1Database,
  request: { readonly domain: string; readonly hour: number; readonly recipients: number; readonly max: number },
): Promise<boolean> => (await readFirst(database, grant, request)) !== null;
