/**
 * Limits the recipients that the installation sends to through Email Service in a month, because Cloudflare charges for each. A relay
 * has no such fee, so its mail is not counted.
 *
 * One row counts the recipients that were granted in a month. A mailbox is granted a share in advance, of which its
 * accepted messages are subtracted, so that a message writes no row for this. Unused shares end after some days. So the installation
 * never exceeds the limit, and the count is too high by the unused shares.
 */
import type { OutboxJob } from '../../../durable-objects/mail/contract/outbox.ts';
import { createClock } from '../../shared/settings/clock.ts';
import { settingsOf } from '../../shared/settings/settings.ts';
import { logError } from '../../shared/telemetry/log.ts';
import { priceOfSending } from '../../shared/telemetry/prices.ts';
import { openMailbox } from '../bindings/mailbox.ts';
import { grantRecipients, readGranted } from '../store/send-grant-store.ts';
import { awaitEvents } from '../store/sending-problem-store.ts';

const MONTH = 'month';
const HOUR_MS = 3_600_000;
const SHARE_RECIPIENTS = 20;
/** Maximum of a share, as a part of the limit. */
const SHARE_OF_LIMIT = 1 / 1000;
/** From this part of the limit on, the operator is warned. */
export const WARNED_SHARE = 0.8;

export const OVER_MONTH = 'not sent yet: the installation has reached MAIL_OUT_PER_MONTH, its limit of mail in a month';

/** Months since 1970, UTC. */
const monthOf = (at: number): number => new Date(at).getUTCFullYear() * 12 + new Date(at).getUTCMonth() - 1970 * 12;

/** Takes room for an attempt. @returns false if the limit is reached. */
export async function takeMonthRoom(env: Env, job: OutboxJob, recipients: number): Promise<boolean> {
  // For the minutes of an upgrade, a mailbox of 0.2.0 has no shares and no call to add one. Its mail is not counted.
  if (job.serviceRoom === undefined) return true;
  const missing = recipients - job.serviceRoom;
  if (missing <= 0) return true;
  const now = createClock(env)();
  const max = settingsOf(env).MAIL_OUT_PER_MONTH;
  const share = Math.min(SHARE_RECIPIENTS, Math.floor(max * SHARE_OF_LIMIT));
  for (const asked of new Set([Math.max(missing, share), missing])) {
    const request = { domain: MONTH, hour: monthOf(now), recipients: asked, max };
    const granted = await grantRecipients(env.DIRECTORY, request);
    if (granted === null) continue;
    const isNear = granted >= max * WARNED_SHARE && granted - asked < max * WARNED_SHARE;
    if (isNear)
      logError('mail_month_near_limit', new Error(`${granted} of ${max} recipients of this month are granted`));
    await openMailbox(env, job.userId).addServiceShare(asked);
    const domain = job.envelopeFrom.slice(job.envelopeFrom.lastIndexOf('@') + 1).toLowerCase();
    if (domain !== '') await awaitEvents(env.DIRECTORY, domain, Math.floor(now / HOUR_MS));
    return true;
  }
  logError('mail_month_limit_reached', new Error(OVER_MONTH));
  return false;
}

export interface MonthUse {
  /** Recipients that were granted in this month. */
  readonly recipients: number;
  readonly limit: number;
  readonly dollars: number;
  readonly limitDollars: number;
}

export async function readMonthUse(env: Env): Promise<MonthUse> {
  const recipients = await readGranted(env.DIRECTORY, MONTH, monthOf(createClock(env)()));
  const limit = settingsOf(env).MAIL_OUT_PER_MONTH;
  return { recipients, limit, dollars: priceOfSending(recipients), limitDollars: priceOfSending(limit) };
}
