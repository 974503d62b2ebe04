/**
 * The mailbox's share of the limit of the installation per month (`workers/mail/outbound/month-limit.ts`). What it has used is the
 * number of recipients that Email Service accepted since the grant, so that a message writes no row for it. Each function runs inside
 * the caller's transaction.
 */
import { readServiceShare, writeServiceShare } from '../rules/send-limit-store.ts';
import { countAccepted, toDay } from './reported-delivery-store.ts';

/** Days for which a share is valid: shorter than accepted recipients are kept. */
const DAYS_VALID = 7;

const isSameMonth = (day: number, other: number): boolean => {
  const [a, b] = [new Date(day * 86_400_000), new Date(other * 86_400_000)];
  return a.getUTCMonth() === b.getUTCMonth() && a.getUTCFullYear() === b.getUTCFullYear();
};

/** @returns how many granted recipients are unused; 0 if the share has ended. */
export function readServiceRoom(sql: SqlStorage, now: number): number {
  const share = readServiceShare(sql);
  const today = toDay(now);
  if (share === null || today - share.day > DAYS_VALID || !isSameMonth(share.day, today)) return 0;
  return Math.max(0, share.recipients - (countAccepted(sql, share.day) - share.before));
}

/** Adds recipients that were granted. The unused rest of a valid share stays. */
export function addServiceShare(sql: SqlStorage, recipients: number, now: number): void {
  const day = toDay(now);
  const share = { day, before: countAccepted(sql, day), recipients: readServiceRoom(sql, now) + recipients };
  writeServiceShare(sql, share, now);
}
