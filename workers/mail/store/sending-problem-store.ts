/**
 * What keeps mail of a domain from leaving through Email Service, as the last attempts and delivery events show it. Refusals are rows
 * of the error queue, one per domain and kind. A row `events:<domain>` of `mail_send_grant` says since which hour the first delivery
 * event of a domain is awaited.
 */
import { prepare, readAll, statement } from '../../shared/stores/statement.ts';

export const SENDING_PROBLEM = 'sending';

export type RefusalCode = 'not_allowed' | 'quota';

export interface SendingRefusal {
  readonly domain: string;
  readonly code: RefusalCode;
  /** Words of Email Service. */
  readonly reply: string;
  readonly at: number;
}

const upsertRefusal = statement<{ id: string; code: string; detail: string; at: number }>(
  `INSERT INTO mail_error (error_id, user_id, kind, code, detail, recipients, outbox_id, request_key, created_at)
   VALUES (:id, '', 'sending', :code, :detail, '[]', NULL, NULL, :at)
   ON CONFLICT (error_id) DO UPDATE SET detail = excluded.detail, created_at = excluded.created_at`,
);
const selectRefusals = statement<{ since: number }, { id: string; code: RefusalCode; reply: string; at: number }>(
  `SELECT error_id AS id, code, detail AS reply, created_at AS at FROM mail_error
   WHERE created_at >= :since AND kind = 'sending'`,
);
const deleteRefusals = statement<{ notAllowed: string; quota: string }>(
  'DELETE FROM mail_error WHERE error_id IN (:notAllowed, :quota)',
);
const startWait = statement<{ name: string; hour: number }>(
  'INSERT INTO mail_send_grant (domain, hour, recipients) VALUES (:name, :hour, 0) ON CONFLICT DO NOTHING',
);
const endWait = statement<{ name: string }>('DELETE FROM mail_send_grant WHERE domain = :name');
const selectWaits = statement<{ hour: number }, { name: string; hour: number }>(
  `SELECT domain AS name, hour FROM mail_send_grant
   WHERE domain >= 'events:' AND domain < 'events;' AND hour <= :hour`,
);

const EVENTS = 'events:';
const idOf = (code: RefusalCode, domain: string): string => `sending:${code}:${domain}`;

/** Records that Email Service refused mail of a domain for a reason that an operator can repair. */
export async function recordSendingRefusal(database: D1Database, refusal: SendingRefusal): Promise<void> {
  const { domain, code, reply: detail, at } = refusal;
  await prepare(database, upsertRefusal, { id: idOf(code, domain), code, detail, at }).run();
}

/** @returns the refusals since a time, the last one of each domain and code. */
export async function listSendingRefusals(database: D1Database, since: number): Promise<SendingRefusal[]> {
  const rows = await readAll(database, selectRefusals, { since });
  return rows.map(({ id, code, reply, at }) => ({ domain: id.slice(idOf(code, '').length), code, reply, at }));
}

/** Records that Email Service gets mail of a domain, so that a delivery event must follow. @param hour hours since 1970. */
export async function awaitEvents(database: D1Database, domain: string, hour: number): Promise<void> {
  await prepare(database, startWait, { name: EVENTS + domain, hour }).run();
}

/** Records that a delivery event of a domain arrived: its mail leaves, and its events are subscribed. */
export async function recordEvent(database: D1Database, domain: string): Promise<void> {
  await database.batch([
    prepare(database, endWait, { name: EVENTS + domain }),
    prepare(database, deleteRefusals, { notAllowed: idOf('not_allowed', domain), quota: idOf('quota', domain) }),
  ]);
}

/** @returns the domains whose first delivery event has been awaited since an hour or longer. */
export async function listAwaitedEvents(database: D1Database, hour: number) {
  const rows = await readAll(database, selectWaits, { hour });
  return rows.map((row) => ({ domain: row.name.slice(EVENTS.length), hour: row.hour }));
}
