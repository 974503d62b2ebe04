/** SQL of the sending limits: of a domain in an hour, and of the installation in a month. */
import { readFirst, statement } from '../../shared/stores/statement.ts';

const grant = statement<{ domain: string; hour: number; recipients: number; max: number }, { recipients: number }>(
  `INSERT INTO mail_send_grant (domain, hour, recipients) SELECT :domain, :hour, :recipients WHERE :recipients <= :max
   ON CONFLICT (domain) DO UPDATE SET hour = excluded.hour,
     recipients = excluded.recipients + CASE WHEN hour = excluded.hour THEN recipients ELSE 0 END
   WHERE hour < excluded.hour OR hour > excluded.hour + 1 OR (hour = excluded.hour AND recipients + excluded.recipients <= :max)
   RETURNING recipients`,
);

/**
 * Grants a mailbox recipients from the limit of a period.
 * @param request `domain`: name of the limit. `hour`: its period, in hours or months since 1970. If the row is more than one period ahead
 * of this, it came from a wrong clock and is replaced.
 * @returns how many recipients are granted in the period; null if fewer are left, or if the row is already in the next period.
 */
export const grantRecipients = async (
  database: D1Database,
  request: { readonly domain: string; readonly hour: number; readonly recipients: number; readonly max: number },
): Promise<number | null> => (await readFirst(database, grant, request))?.recipients ?? null;

const selectGranted = statement<{ domain: string; hour: number }, { recipients: number }>(
  'SELECT recipients FROM mail_send_grant WHERE domain = :domain AND hour = :hour',
);

/** @returns how many recipients were granted in a period. */
export const readGranted = async (database: D1Database, domain: string, hour: number): Promise<number> =>
  (await readFirst(database, selectGranted, { domain, hour }))?.recipients ?? 0;
