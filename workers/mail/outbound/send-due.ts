/**
 * Sends the due mail of some mailboxes. Checks each message once, then sends it to each recipient by its route: to a mailbox here,
 * or by a transport. Records each outcome as soon as it is known. Queue hints start it for several mailboxes, which then share
 * connections, or the alarm of one mailbox starts it.
 */
import type { HintRequest, OutboxJob } from '../../../durable-objects/mail/contract/outbox.ts';

import { err, ok, type Result } from '../../shared/pure/result.ts';
import { createClock } from '../../shared/settings/clock.ts';
import { settingsOf } from '../../shared/settings/settings.ts';
import { logError, logInfo } from '../../shared/telemetry/log.ts';
import { getBlob } from '../bindings/blobs.ts';
import { hintOutbound } from '../bindings/hints.ts';
import { openMailbox } from '../bindings/mailbox.ts';
import { readTransportSettings, type TransportSettings } from '../bindings/transport-settings.ts';
import { checkMessage } from '../checks/index.ts';
import { openStored } from '../checks/opened-message.ts';
import { createCheckDependencies } from '../checks/production-dependencies.ts';
import type { AttemptOutcome } from '../domain/recipient-state.ts';
import { EMAIL_SERVICE, SENDING_OVERHEAD_BYTES } from '../domain/transport-choice.ts';
import { acceptMessage } from '../inbound/accept/accept-message.ts';
import { memoryBudget } from '../mime/memory-budget.ts';
import { OVER_MONTH, takeMonthRoom } from './month-limit.ts';
import { createRouteTable, type RouteTable } from './route-table.ts';
import { createSigner, type Signer } from './sign-outgoing.ts';

const CLAIM_MAX = 25;
/** Part of a lease's time in which new attempts may begin. Each attempt must end before the lease does. */
const LEASE_SHARE = 0.5;
/** Delay after which mail to a held destination, or of a suspended user, is checked again. */
const HOLD_RECHECK_MS = 30_000;

/** Delay before recording an outcome is tried again. If a mailbox cannot be reached, the platform is usually moving it. */
const RECORD_RETRY_MS = 1_000;

const HELD_BY_COMPLAINTS = 'sending is held because of complaints, until an operator releases it';
/** Such mail may wait for days, so it is checked less often. */
const COMPLAINT_RECHECK_MS = 15 * 60_000;

type Recipient = OutboxJob['recipients'][number];

interface Round {
  readonly env: Env;
  readonly settings: TransportSettings;
  readonly routes: RouteTable;
  readonly signer: Signer;
  /** Time after which no attempt may begin. */
  readonly endsAt: number;
}

export async function sendDue(env: Env, userIds: readonly string[]): Promise<void> {
  const settings = readTransportSettings(env);
  const routes = createRouteTable(env, settings);
  const signer = createSigner(env);
  try {
    await Promise.all(
      userIds.map((userId) =>
        sendMailbox({ env, settings, routes, signer }, userId).catch((error: unknown) =>
          logError('outbound_send_failed', error),
        ),
      ),
    );
  } finally {
    await routes.close();
  }
}

async function sendMailbox(shared: Omit<Round, 'endsAt'>, userId: string): Promise<void> {
  const { env, settings } = shared;
  const mailbox = openMailbox(env, userId);
  for (;;) {
    // The lease begins while the call is under way, so its time counts from before the call: the answer may be late.
    const claimedAt = Date.now();
    const claimed = await mailbox.claimOutbox({ limit: CLAIM_MAX, leaseMs: settings.leaseMs, policy: settings.retry });
    if (!claimed.ok || claimed.value.length === 0) break;
    const round = { ...shared, endsAt: claimedAt + settings.leaseMs * LEASE_SHARE };
    await Promise.all(claimed.value.map((job) => sendJob(round, job)));
    if (claimed.value.length < CLAIM_MAX) break;
  }
}

async function sendJob(round: Round, job: OutboxJob): Promise<void> {
  try {
    if (job.isSuspended) return await hold(round, job, job.recipients, 'the account is suspended');
    if (job.isSendingHeld && job.kind !== 'report') return await hold(round, job, job.recipients, HELD_BY_COMPLAINTS);
    if (job.verdicts !== null || job.kind === 'report') {
      await sendChecked(round, { ...job, newVerdicts: null });
      return;
    }
    const checked = await memoryBudget.use(job.sizeBytes, () => checkJob(round, job));
    if (checked.ok) await sendChecked(round, { ...job, verdicts: checked.value, newVerdicts: checked.value });
    else await record(round, job, job.recipients, () => checked.error);
  } catch (error) {
    await defer(round, job, job.recipients, error);
  }
}

/** Defers recipients after a failure on our side, before any server received their addresses. */
async function defer(round: Round, job: OutboxJob, recipients: readonly Recipient[], error: unknown): Promise<void> {
  logError('outbound_send_failed', error, { outbox_id: job.outboxId });
  const reply = `internal error: ${error instanceof Error ? error.message : String(error)}`.slice(0, 300);
  await record(round, job, recipients, () => ({ kind: 'deferred', code: null, reply })).catch(() => {});
}

/**
 * A message that may be sent. `newVerdicts` are verdicts that the outbox does not have yet. They are stored only if the message
 * must be attempted again, to save the checks.
 */
interface CheckedJob extends OutboxJob {
  readonly newVerdicts: string | null;
}

/**
 * Checks a message.
 * @returns the verdicts as JSON. If the message must not be sent, or not yet: the outcome for all its recipients.
 */
async function checkJob({ env }: Round, job: OutboxJob): Promise<Result<string, AttemptOutcome>> {
  const block = (check: string, reasons: readonly { readonly text: string }[]) => {
    const reply = `5.7.1 blocked by the ${check} check: ${reasons.map(({ text }) => text).join('; ')}`;
    return err<AttemptOutcome>({ kind: 'refused', code: 554, reply: reply.slice(0, 500), isBlocked: true });
  };
  const raw = await openStored(env, job.rawKey);
  if (!raw) return err({ kind: 'refused', code: 550, reply: '5.3.0 the stored message is missing' });
  const checked = await checkMessage(
    {
      raw,
      envelope: { from: job.envelopeFrom, to: job.recipients.map((recipient) => recipient.email) },
      clientIp: null,
      helo: null,
      direction: 'outbound',
    },
    settingsOf(env),
    createCheckDependencies(env),
  );
  if (!checked.ok) return err({ kind: 'deferred', code: null, reply: `check deferred: ${checked.error.reason}` });
  const { spam, virus, authentication } = checked.value;
  if (virus.verdict === 'infected' || virus.verdict === 'blocked') return block('virus', virus.reasons);
  if (spam.verdict === 'reject') return block('spam', spam.reasons);
  return ok(JSON.stringify({ spam, virus, authentication }));
}

async function keepVerdicts(env: Env, { userId, outboxId, newVerdicts }: CheckedJob): Promise<void> {
  if (newVerdicts !== null) await openMailbox(env, userId).saveVerdicts(outboxId, newVerdicts);
}

async function sendChecked(round: Round, job: CheckedJob): Promise<void> {
  const groups = new Map<string, Recipient[]>();
  const senderDomain = job.envelopeFrom.slice(job.envelopeFrom.lastIndexOf('@') + 1);
  const message = { sizeBytes: job.sizeBytes + SENDING_OVERHEAD_BYTES, isForward: job.kind === 'forward' };
  for (const recipient of job.recipients) {
    const key = await round.routes.find(recipient.domain, senderDomain, message);
    groups.set(key, [...(groups.get(key) ?? []), recipient]);
  }
  // A failure of one route must not affect the recipients on others, who may already have the message.
  await Promise.all(
    [...groups].map(([key, recipients]) =>
      sendGroup(round, job, key, recipients).catch((error: unknown) => defer(round, job, recipients, error)),
    ),
  );
}

/** Sends a message to the recipients of one route. @throws only if no attempt was made. */
async function sendGroup(round: Round, job: CheckedJob, key: string, recipients: readonly Recipient[]): Promise<void> {
  const { env, routes, signer } = round;
  if (key === 'held') {
    await keepVerdicts(env, job);
    return hold(round, job, recipients, 'the destination is held');
  }
  if (key === 'local') {
    await recordAttempt(round, job, recipients, await deliverHere(env, job, recipients));
    return;
  }
  if (key === EMAIL_SERVICE && !(await takeMonthRoom(env, job, recipients.length))) {
    await keepVerdicts(env, job);
    return record(round, job, recipients, () => ({ kind: 'deferred', code: null, reply: OVER_MONTH }));
  }
  await routes.use(key, async (transport) => {
    const signed = await signer.sign(job);
    // If the wait for the route or the key took too long, the next worker sends. Two workers must never send at the same time.
    if (Date.now() > round.endsAt) return;
    const startedAt = Date.now();
    const outcomes =
      signed === null
        ? recipients.map(() => ({ kind: 'refused', code: 550, reply: '5.3.0 the stored message is missing' }) as const)
        : await transport.send({
            from: job.envelopeFrom,
            author: signed.author,
            to: recipients.map((recipient) => recipient.email),
            sizeBytes: signed.sizeBytes,
            isEightBit: job.isEightBit,
            openBody: signed.openBody,
          });
    await recordAttempt(round, job, recipients, outcomes);
    logInfo('outbound_attempt_finished', {
      outbox_id: job.outboxId,
      duration_ms: Date.now() - startedAt,
      recipients: recipients.length,
    });
  });
}

/** Releases recipients without an attempt. They are checked again later. */
async function hold({ env }: Round, job: OutboxJob, recipients: readonly Recipient[], reason: string): Promise<void> {
  const until = createClock(env)() + (reason === HELD_BY_COMPLAINTS ? COMPLAINT_RECHECK_MS : HOLD_RECHECK_MS);
  const ordinals = recipients.map((recipient) => recipient.ordinal);
  const mailbox = openMailbox(env, job.userId);
  const released = await mailbox.releaseRecipients(job.outboxId, job.leaseId, ordinals, until, reason);
  if (released.ok) await hintAttempts(env, job, released.value);
}

/** Sends the hints of next attempts. If one is lost, such as with this worker, the mailbox's alarm makes the attempt. */
async function hintAttempts(env: Env, { userId }: OutboxJob, requested: HintRequest | undefined): Promise<void> {
  await Promise.all((requested?.delaysMs ?? []).map((delayMs) => hintOutbound(env, userId, delayMs)));
}

const needsRetry = ({ kind }: AttemptOutcome): boolean =>
  kind === 'deferred' || kind === 'unknown' || kind === 'suppressed';

/**
 * Records the outcomes of an attempt. If that is impossible, the lease expires. An expired lease counts as an attempt with unknown
 * outcome, never as a failure.
 */
async function recordAttempt(
  round: Round,
  job: CheckedJob,
  recipients: readonly Recipient[],
  outcomes: readonly AttemptOutcome[],
): Promise<void> {
  const write = async () => {
    if (outcomes.some(needsRetry)) await keepVerdicts(round.env, job);
    await record(round, job, recipients, (n) => outcomes[n]);
  };
  try {
    await write().catch(async () => {
      await new Promise((resolve) => setTimeout(resolve, RECORD_RETRY_MS));
      await write();
    });
  } catch (error) {
    logError('outbound_record_failed', error, { outbox_id: job.outboxId });
  }
}

/**
 * Delivers to mailboxes of this service through normal acceptance, with its quotas and limits. When this returns, the copies of
 * accepted recipients are durable.
 */
async function deliverHere(env: Env, job: OutboxJob, recipients: readonly Recipient[]): Promise<AttemptOutcome[]> {
  const stored = await getBlob(env, job.rawKey);
  if (!stored)
    return recipients.map(() => ({ kind: 'refused', code: 550, reply: '5.3.0 the stored message is missing' }));
  const replies = await acceptMessage(
    env,
    { from: job.envelopeFrom, to: recipients.map((recipient) => recipient.email), clientIp: null, helo: null },
    { body: stored.body, sizeBytes: job.sizeBytes },
    // A forward is authenticated again, because its author is not our user.
    { origin: 'local', verdicts: job.kind === 'forward' ? null : job.verdicts },
  );
  return replies.map(({ smtp_code: code, detail }) => {
    const reply = `${code} ${detail}`;
    if (code === 250) return { kind: 'delivered', code, reply };
    return code < 500 ? { kind: 'deferred', code, reply } : { kind: 'refused', code, reply };
  });
}

async function record(
  { env, settings }: Round,
  job: OutboxJob,
  recipients: readonly Recipient[],
  outcomeOf: (n: number) => AttemptOutcome | undefined,
): Promise<void> {
  const outcomes = recipients.flatMap((recipient, n) => {
    const outcome = outcomeOf(n);
    return outcome ? [{ ordinal: recipient.ordinal, outcome }] : [];
  });
  const mailbox = openMailbox(env, job.userId);
  const recorded = await mailbox.recordOutcomes(job.outboxId, job.leaseId, outcomes, settings.retry);
  if (recorded.ok) await hintAttempts(env, job, recorded.value);
  for (const { outcome } of outcomes) {
    const code = 'code' in outcome ? outcome.code : null;
    logInfo('outbound_recipient_finished', {
      outbox_id: job.outboxId,
      outcome: outcome.kind,
      smtp_code: code,
      kind: job.kind,
    });
  }
}
