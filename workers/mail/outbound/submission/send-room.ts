/**
 * Reserves room for a submission within the limits of its account and its domain.
 *
 * One row per domain counts the recipients of the current hour. It is in the database that `newestDatabaseOf` selects by the domain's name.
 * To avoid a write of that row for every message, a mailbox is granted a share of the hour in advance, and keeps the unused rest
 * for its next messages. Unused shares expire at the end of the hour. So a domain never exceeds its limit, but it may stay below it
 * by one share per account.
 */
import type { DomainHour, SendRoom, Submission } from '../../../../durable-objects/mail/contract/outbox.ts';

import { err, ok, type Result } from '../../../shared/pure/result.ts';
import { createClock } from '../../../shared/settings/clock.ts';
import { newestDatabaseOf } from '../../../shared/stores/directories.ts';
import { openMailbox } from '../../bindings/mailbox.ts';
import { readTransportSettings, type TransportSettings } from '../../bindings/transport-settings.ts';
import { grantRecipients } from '../../store/send-grant-store.ts';
import type { SubmitFailure } from './refusal.ts';
import type { SenderAddress } from './sender-address.ts';

const HOUR_MS = 3_600_000;
const SHARE_RECIPIENTS = 20;
/** Maximum of a share, as a part of the domain's limit. */
const SHARE_OF_LIMIT = 1 / 100;
const ATTEMPTS_MAX = 5;

/**
 * @returns the maximum of recipients of one message. It is not above the hourly limits, because a message above one could never be
 * sent. Limits of 0 are ignored here: they stop all sending, but only for now.
 */
export const decideRecipientsMax = (settings: TransportSettings): number =>
  Math.min(
    settings.recipientsMax,
    settings.sendLimits.perHour || settings.recipientsMax,
    settings.domainRecipientsPerHour || settings.recipientsMax,
  );

export const isSendLimit = ({ kind }: SubmitFailure): boolean => kind === 'rate_limited' || kind === 'domain_limited';

/** What the mailbox of the sender says about a message, before anything is stored. */
export interface Room extends SendRoom {
  readonly domainHour: DomainHour;
}

export async function readRoom(
  env: Env,
  userId: string,
  { email, ownAddress }: Pick<SenderAddress, 'email' | 'ownAddress'>,
  recipients: number,
): Promise<Result<Room, SubmitFailure>> {
  const domain = email.slice(email.lastIndexOf('@') + 1);
  const domainHour = { domain, hour: Math.floor(createClock(env)() / HOUR_MS) };
  const { sendLimits } = readTransportSettings(env);
  const room = await openMailbox(env, userId).readSendRoom(sendLimits, recipients, domainHour, ownAddress);
  return room.ok ? ok({ ...room.value, domainHour }) : room;
}

/** Reserves room for a message, before anything is stored. */
export async function reserveRoom(
  env: Env,
  userId: string,
  { domainHour, waitMs, share }: Room,
  recipients: number,
): Promise<Result<DomainHour, SubmitFailure>> {
  if (waitMs > 0) return err({ kind: 'rate_limited', retryAfterMs: waitMs });
  const granted = share >= recipients ? ok(null) : await requestGrant(env, userId, domainHour, recipients - share);
  return granted.ok ? ok(domainHour) : granted;
}

/** Reserves recipients in the domain's hourly count and adds them to the mailbox's share. */
async function requestGrant(
  env: Env,
  userId: string,
  domainHour: DomainHour,
  missing: number,
): Promise<Result<null, SubmitFailure>> {
  const max = readTransportSettings(env).domainRecipientsPerHour;
  const share = Math.min(SHARE_RECIPIENTS, Math.floor(max * SHARE_OF_LIMIT));
  for (const recipients of new Set([Math.max(missing, share), missing])) {
    const database = newestDatabaseOf(env, domainHour.domain);
    if ((await grantRecipients(database, { ...domainHour, recipients, max })) === null) continue;
    const added = await openMailbox(env, userId).addShare(domainHour, recipients);
    return added.ok ? ok(null) : added;
  }
  const retryAfterMs = Math.max(1000, (domainHour.hour + 1) * HOUR_MS - createClock(env)());
  return err({ kind: 'domain_limited', retryAfterMs });
}

/** Submits a message. If concurrent submissions have used the share meanwhile, requests more and tries again. */
export async function submitWithShare(env: Env, userId: string, submission: Submission) {
  for (let attempt = 1; ; attempt++) {
    const outcome = await openMailbox(env, userId).submitMessage(submission);
    if (outcome.ok || outcome.error.kind !== 'share_taken') return outcome;
    if (attempt === ATTEMPTS_MAX) return err({ kind: 'domain_limited', retryAfterMs: 1000 } as const);
    const granted = await requestGrant(env, userId, submission.domainHour, submission.outbox.recipients.length);
    if (!granted.ok) return granted;
  }
}
