/**
 * The sending limit of an account, in recipients per hour. A forwarding code counts as one recipient. Forwards and vacation replies
 * have a limit of their own (`readAutomaticTurn`), so that incoming mail cannot keep a user from sending. All counts are in one
 * column of the table `mailbox`, so counting a message writes only one row.
 */
import {
  decideSendWait,
  decideStanding,
  type SendLimits,
  type Standing,
} from '../../../workers/mail/domain/send-limit.ts';
import type { DomainHour } from '../contract/outbox.ts';
import { first } from '../database/store.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_HOURS = 24;
const DAYS_COUNTED = 30;

/** Content of the column `mailbox.sending`, as JSON. */
interface Sending {
  /** Recipients of the last hour, by minute since 1970. */
  readonly minutes: Readonly<Record<string, number>>;
  /** Recipients of the last day, and how many of them failed permanently, by hour since 1970. */
  readonly hours: Readonly<Record<string, readonly [recipients: number, failures: number]>>;
  /** Recipients of the last 30 days, and how many of them complained, by day since 1970. */
  readonly days: Readonly<Record<string, readonly [recipients: number, complaints: number]>>;
  /** Time since which mail waits because of complaints; null if it does not. */
  readonly heldAt: number | null;
  /** Shares of the hourly limits of domains, by domain: recipients that DIRECTORY granted in an hour and that are still unused. */
  readonly shares: Readonly<Record<string, { readonly hour: number; readonly recipients: number }>>;
  /** Share of the limit of the installation per month (`service-share-store.ts`); null if there was none. */
  readonly service: ServiceShare | null;
}

/** Recipients of Email Service that DIRECTORY granted. */
export interface ServiceShare {
  /** Day of the grant, as days since 1970. */
  readonly day: number;
  /** Recipients that Email Service had accepted on that day before the grant. */
  readonly before: number;
  readonly recipients: number;
}

const NOTHING: Sending = { minutes: {}, hours: {}, days: {}, heldAt: null, shares: {}, service: null };

function readSending(sql: SqlStorage): Sending {
  const row = first<{ sending: string }>(sql, 'SELECT sending FROM mailbox WHERE id = 1');
  return { ...NOTHING, ...(JSON.parse(row?.sending ?? '{}') as Partial<Sending>) };
}

function writeSending(sql: SqlStorage, { minutes, hours, days, heldAt, shares, service }: Sending, now: number): void {
  const since = <T>(counts: Readonly<Record<string, T>>, from: number) =>
    Object.fromEntries(Object.entries(counts).filter(([at]) => Number(at) >= from));
  const hour = Math.floor(now / HOUR_MS);
  const kept = {
    minutes: since(minutes, toMinute(now - HOUR_MS)),
    hours: since(hours, hour - DAY_HOURS),
    days: since(days, toDay(now) - DAYS_COUNTED),
    heldAt,
    service,
    shares: Object.fromEntries(Object.entries(shares).filter(([, share]) => share.hour >= hour - 1)),
  };
  sql.exec('UPDATE mailbox SET sending = ? WHERE id = 1', JSON.stringify(kept));
}

const toDay = (at: number): number => Math.floor(at / (DAY_HOURS * HOUR_MS));
const toMinute = (at: number): number => Math.floor(at / MINUTE_MS);

/** @returns milliseconds until a message to this many recipients may be sent; 0 if it may be sent now. */
export function readSendWait(sql: SqlStorage, limits: SendLimits, recipients: number, now: number): number {
  const { minutes, hours, days } = readSending(sql);
  const createdAt = first<{ at: number }>(sql, 'SELECT created_at AS at FROM mailbox WHERE id = 1')?.at ?? now;
  const day = Object.entries(hours).filter(([hour]) => Number(hour) > Math.floor(now / HOUR_MS) - DAY_HOURS);
  const history = {
    ageMs: now - createdAt,
    recipients: day.reduce((sum, [, [sent]]) => sum + sent, 0),
    failures: day.reduce((sum, [, [, failed]]) => sum + failed, 0),
    standing: standingOf(days, now),
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
  const sending = readSending(sql);
  const { minutes, hours, days, shares } = sending;
  const [minute, hour, day] = [toMinute(now), Math.floor(now / HOUR_MS), toDay(now)];
  const [sent, failed] = hours[hour] ?? [0, 0];
  const [sentOfDay, complaints] = days[day] ?? [0, 0];
  writeSending(
    sql,
    {
      ...sending,
      days: of === null ? days : { ...days, [day]: [sentOfDay + recipients, complaints] },
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

function standingOf(days: Sending['days'], now: number): Standing {
  const recent = Object.entries(days).filter(([day]) => Number(day) > toDay(now) - DAYS_COUNTED);
  return decideStanding({
    recipients: recent.reduce((sum, [, [sent]]) => sum + sent, 0),
    complaints: recent.reduce((sum, [, [, complaints]]) => sum + complaints, 0),
  });
}

/** Counts a complaint about a message of this account. Holds its mail if there are too many. @returns the standing. */
export function countComplaint(sql: SqlStorage, now: number): Standing {
  const sending = readSending(sql);
  const day = toDay(now);
  const [sent, complaints] = sending.days[day] ?? [0, 0];
  const days = { ...sending.days, [day]: [sent, complaints + 1] as const };
  const standing = standingOf(days, now);
  const heldAt = sending.heldAt ?? (standing === 'held' ? now : null);
  writeSending(sql, { ...sending, days, heldAt }, now);
  return heldAt === null ? standing : 'held';
}

export const readStanding = (sql: SqlStorage, now: number): Standing =>
  isSendingHeld(sql) ? 'held' : standingOf(readSending(sql).days, now);

/** Whether mail of the account waits because of complaints. */
export const isSendingHeld = (sql: SqlStorage): boolean => readSending(sql).heldAt !== null;

/** Ends the hold, and forgets the complaints. @returns false if mail was not held. */
export function releaseSending(sql: SqlStorage, now: number): boolean {
  const sending = readSending(sql);
  if (sending.heldAt === null) return false;
  const days = Object.fromEntries(Object.entries(sending.days).map(([day, [sent]]) => [day, [sent, 0] as const]));
  writeSending(sql, { ...sending, days, heldAt: null }, now);
  return true;
}

export const readServiceShare = (sql: SqlStorage): ServiceShare | null => readSending(sql).service;
export const writeServiceShare = (sql: SqlStorage, service: ServiceShare, now: number): void =>
  writeSending(sql, { ...readSending(sql), service }, now);

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
