/**
 * The sending limit of an account, in recipients per hour. Forwarding codes count as one recipient. Forwards and vacation replies
 * have their own limit (`readAutomaticTurn`), so that incoming mail does not keep a user from sending.
 */
import { decideSendWait, type SendLimits } from '../../../workers/mail/outbound/domain/send-limit.ts';
import { execute, type RowOf, statement } from '../../../workers/shared/statement.ts';
import type { mailbox } from '../database/schema.ts';
import { executeFirst } from '../database/store.ts';
import type { domainShare, sendCount } from './schema.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;

const readAge = statement<Record<never, never>, Pick<RowOf<typeof mailbox>, 'created_at'>>(
  'SELECT created_at FROM mailbox WHERE id = 1',
);
const countFailures = statement<{ since: number }, { failures: number }>(
  `SELECT count(*) AS failures FROM outbox_recipient AS r JOIN outbox AS o ON o.outbox_id = r.outbox_id
   WHERE r.state = 'failed' AND r.queued_at > :since AND o.kind = 'message'`,
);
const countRecipients = statement<{ since: number }, { recipients: number }>(
  `SELECT count(*) AS recipients FROM outbox AS o JOIN outbox_recipient AS r ON r.outbox_id = o.outbox_id
   WHERE o.queued_at > :since AND o.kind = 'message'`,
);
const listMinutes = statement<{ since: number; until: number }, RowOf<typeof sendCount>>(
  'SELECT minute, recipients FROM send_count WHERE minute BETWEEN :since AND :until ORDER BY minute',
);

/** @returns milliseconds until a message to this many recipients may be sent; 0 for now. */
export function readSendWait(sql: SqlStorage, limits: SendLimits, recipients: number, now: number): number {
  const since = now - DAY_MS;
  const { failures } = execute(sql, countFailures, { since }).one();
  const history = {
    ageMs: now - (executeFirst(sql, readAge, {})?.created_at ?? now),
    failures,
    recipients: failures === 0 ? 0 : execute(sql, countRecipients, { since }).one().recipients,
    minutes: [...execute(sql, listMinutes, { since: toMinute(now - HOUR_MS), until: toMinute(now) })].map((row) => ({
      endsAt: (row.minute + 1) * MINUTE_MS,
      recipients: row.recipients,
    })),
  };
  return decideSendWait(limits, history, recipients, now);
}

const toMinute = (at: number): number => Math.floor(at / MINUTE_MS);

const addCount = statement<{ minute: number; recipients: number }>(
  `INSERT INTO send_count (minute, recipients) VALUES (:minute, :recipients)
   ON CONFLICT (minute) DO UPDATE SET recipients = recipients + excluded.recipients`,
);
const pruneCounts = statement<{ until: number }>('DELETE FROM send_count WHERE minute < :until');

export function countSend(sql: SqlStorage, recipients: number, now: number): void {
  execute(sql, pruneCounts, { until: toMinute(now - HOUR_MS) });
  execute(sql, addCount, { minute: toMinute(now), recipients });
}

/** An hour in which the recipients of a domain are counted. */
export interface DomainHour {
  readonly domain: string;
  /** Hours since 1970. */
  readonly hour: number;
}

const findShare = statement<{ domain: string }, RowOf<typeof domainShare>>(
  'SELECT domain, hour, recipients FROM domain_share WHERE domain = :domain',
);
const saveShare = statement<{ domain: string; hour: number; recipients: number }>(
  `INSERT INTO domain_share (domain, hour, recipients) VALUES (:domain, :hour, :recipients)
   ON CONFLICT (domain) DO UPDATE SET hour = excluded.hour, recipients = excluded.recipients`,
);

/** @returns the recipients that are left of what DIRECTORY granted to this mailbox for this hour. */
export function readShare(sql: SqlStorage, { domain, hour }: DomainHour): number {
  const share = executeFirst(sql, findShare, { domain });
  return share?.hour === hour ? share.recipients : 0;
}

/** @param recipients negative when a message takes them. Check first that enough are left. */
export function changeShare(sql: SqlStorage, of: DomainHour, recipients: number): void {
  execute(sql, saveShare, { ...of, recipients: readShare(sql, of) + recipients });
}
