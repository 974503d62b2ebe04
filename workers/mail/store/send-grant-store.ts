/** The SQL of the hourly sending limit of a domain, in DIRECTORY. */
import { readFirst, statement } from '../../shared/statement.ts';

const grant = statement<{ domain: string; hour: number; recipients: number; max: number }, { recipients: number }>(
  `INSERT INTO mail_send_grant (domain, hour, recipients) SELECT :domain, :hour, :recipients WHERE :recipients <= :max
   ON CONFLICT (domain) DO UPDATE SET hour = excluded.hour,
     recipients = excluded.recipients + CASE WHEN hour = excluded.hour THEN recipients ELSE 0 END
   WHERE hour < excluded.hour OR hour > excluded.hour + 1 OR (hour = excluded.hour AND recipients + excluded.recipients <= :max)
   RETURNING recipients`,
);

/**
 * Grants recipients of an hour to a mailbox.
 * @param hour hours since 1970. An hour that is too late to be another machine's clock is ignored: it came from a wrong clock.
 * @returns false if fewer are left, or if the next hour has begun.
 */
export const grantRecipients = async (
  database: D1Database,
  request: { readonly domain: string; readonly hour: number; readonly recipients: number; readonly max: number },
): Promise<boolean> => (await readFirst(database, grant, request)) !== null;
