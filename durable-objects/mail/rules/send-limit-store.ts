/**
 * The sending limit of an account, in recipients per hour. A forwarding code counts as one recipient. Forwards and vacation replies
 * have a limit of their own (`readAutomaticTurn`), so that incoming mail cannot keep a user from sending. All counts are in one
 * column of the table `mailbox`, so counting a message writes only one row.
 */
import { decideSendWait, type SendLimits } from '../../../workers/mail/domain/send-limit.ts';
import type { DomainHour } from '../contract/outbox.ts';
import { first } from '../database/store.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_HOURS = 24;

/** Content of the column `mailbox.sending`, as JSON. */
interface Sending {
  /** Recipients of the last hour, by minute since 1970. */
  readonly minutes: Readonly<Record<string, number>>;
  /** Recipients of the last day, and how many of them failed permanently, by hour since 1970. */
  readonly hours: Readonly<Record<string, readonly [recipients: number, failures: number]>>;
  /** Shares of the hourly limits of domains, by domain: recipients that DIRECTORY granted in an hour and that are still unused. */
  readonly shares: Readonly<Record<string, { readonly hour: number; readonly recipients: number }>>;
}

const NOTHING: Sending = { minutes: {}, hours: {}, shares: {} };

function readSending(sql: SqlStorage): Sending {
  const row = first<{ sending: string }>(sql, 'SELECT sending FROM mailbox WHERE id = 1');
  return { ...NOTHING, ...(JSON.parse(row?.sending ?? '{}') as Partial<Sending>) };
}

function writeSending(sql: SqlStorage, { minutes, hours, shares }: Sending, now: number): void {
  const since = <T>(counts: Readonly<Record<string, T>>, from: number) =>
    Object.fromEntries(Object.entries(counts).filter(([at]) => Number(at) >= from));
  const hour = Math.floor(now / HOUR_MS);
  const kept = {
    minutes: since(minutes, toMinute(now - HOUR_MS)),
    hours: since(hours, hour - DAY_HOURS),
    shares: Object.fromEntries(Object.entries(shares).filter(([, share]) => share.hour >= hour - 1)),
  };
  sql.exec('UPDATE mailbox SET sending = ? WHERE id = 1', JSON.stringify(kept));
}

const toMinute = (at: number): number => Math.floor(at / MINUTE_MS);

/** @returns milliseconds until a message to this many recipients may be sent; 0 if it may be sent now. */
export function readSendWait(sql: SqlStorage, limits: SendLimits, recipients: number, now: number): number {
  const { minutes, hours } = readSending(sql);
  const createdAt = first<{ at: number }>(sql, 'SELECT created_at AS at FROM mailbox WHERE id = 1')?.at ?? now;
  const day = Object.entries(hours).filter(([hour]) => Number(hour) > Math.floor(now / HOUR_MS) - DAY_HOURS);
  const history = {
    ageMs: now - createdAt,
    recipients: day.reduce((sum, [, [sent]]) => sum + sent, 0),
    failures: day.reduce((sum, [, [, failed]]) => sum + failed, 0),
    minutes: Object.entries(minutes)
      .map(([minute, count]) => ({ minute: Number(minute), recipients: count }))
      .filter(({ minute }) => minute >= toMinute(now - HOUR_MS) && minute <= toMinute(now))
      .map(({ minute, recipients: count }) => ({ endsAt: (minute + 1) * MINUTE_MS, recipients: count })),
  };
  return decideSendWait(limits, history, recipients, now);
}

/**
 * Counts the recipients of a message, and subtracts them from the mailbox's share of the domain's limit. Forwarding codes have no
 * domain, so they use no share.
 */
export function countSend(sql: SqlStorage, recipients: number, of: DomainHour | null, now: number): void {
  const { minutes, hours, shares } = readSending(sql);
  const [minute, hour] = [toMinute(now), Math.floor(now / HOUR_MS)];
  const [sent, failed] = hours[hour] ?? [0, 0];
  writeSending(
    sql,
    {
      minutes: { ...minutes, [minute]: (minutes[minute] ?? 0) + recipients },
      hours: of === null ? hours : { ...hours, [hour]: [sent + recipients, failed] },
      shares: of === null ? shares : { ...shares, [of.domain]: addTo(shares, of, -recipients) },
    },
    now,
  );
}

export function countFailures(sql: SqlStorage, failures: number, now: number): void {
  const sending = readSending(sql);
  const hour = Math.floor(now / HOUR_MS);
  const [sent, failed] = sending.hours[hour] ?? [0, 0];
  writeSending(sql, { ...sending, hours: { ...sending.hours, [hour]: [sent, failed + failures] } }, now);
}

const leftOf = (shares: Sending['shares'], { domain, hour }: DomainHour): number =>
  shares[domain]?.hour === hour ? shares[domain].recipients : 0;
const addTo = (shares: Sending['shares'], of: DomainHour, recipients: number) => ({
  hour: of.hour,
  recipients: leftOf(shares, of) + recipients,
});

/** @returns how many of the recipients that DIRECTORY granted to this mailbox for this hour are unused. */
export const readShare = (sql: SqlStorage, of: DomainHour): number => leftOf(readSending(sql).shares, of);

/** Adds recipients that DIRECTORY granted to the mailbox's share. */
export function addShare(sql: SqlStorage, of: DomainHour, recipients: number, now: number): void {
  const sending = readSending(sql);
  writeSending(
    sql,
    { ...sending, shares: { ...sending.shares, [of.domain]: addTo(sending.shares, of, recipients) } },
    now,
  );
}
