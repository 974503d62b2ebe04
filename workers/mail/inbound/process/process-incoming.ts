/**
 * Processes accepted mail: runs the checks, delivers to the mailbox, then records the outcome in the ledger. The mailbox's alarm
 * starts it. Any step may run twice or be interrupted; the next run continues from the row.
 */

import { toDeliveryKey } from '../../../../durable-objects/mail/contract/delivered-message.ts';
import type { ClaimedIncoming, IncomingOutcome } from '../../../../durable-objects/mail/contract/incoming.ts';

import { err, ok, type Result } from '../../../shared/pure/result.ts';
import { settingsOf } from '../../../shared/settings/settings.ts';
import { userDatabaseOf } from '../../../shared/stores/directories.ts';
import { logError, logInfo } from '../../../shared/telemetry/log.ts';
import { openMailbox } from '../../bindings/mailbox.ts';
import { readTransportSettings } from '../../bindings/transport-settings.ts';
import {
  type Authentication,
  addReason,
  checkMessage,
  NEWSLETTER_LABEL,
  personaliseSpam,
  readTokens,
  spareNewsletter,
  type Verdicts,
} from '../../checks/index.ts';
import { type OpenedMessage, openStored } from '../../checks/opened-message.ts';
import { createCheckDependencies } from '../../checks/production-dependencies.ts';
import { isMaskedName } from '../../domain/masked-name-form.ts';
import { isHostedDomain } from '../../domains/hosted-domains.ts';
import { memoryBudget } from '../../mime/memory-budget.ts';
import { parseMessage } from '../../mime/parse.ts';
import { findMasked } from '../../store/masked-store.ts';
import { recordQuarantine } from '../../store/quarantine-store.ts';
import { OPERATOR_MAILBOX } from '../accept/resolve-recipient.ts';
import { deliverRaw } from './delivery.ts';
import { applyIncomingReport } from './incoming-report.ts';

/** Maximum of messages of one mailbox that are claimed at a time. */
const CLAIM_MAX = 20;
/**
 * Messages processed in parallel. If a scanner hangs, a group costs only one timeout, so all claimed messages finish within the
 * lease.
 */
const PARALLEL_MAX = 4;

interface Outcome {
  readonly outcome: IncomingOutcome;
  readonly messageId: string | null;
  readonly detail: string | null;
}

/** Processes the messages of a mailbox until none is due. */
export async function processIncoming(env: Env, userId: string): Promise<void> {
  const { leaseMs } = readTransportSettings(env);
  const mailbox = openMailbox(env, userId);
  for (;;) {
    const claimed = await mailbox.claimIncoming(CLAIM_MAX, leaseMs);
    if (!claimed.ok) return;
    const { messages, spamModel } = claimed.value;
    const queue = messages.values();
    const work = async () => {
      for (const message of queue) await processOne(env, message, spamModel);
    };
    await Promise.all(Array.from({ length: PARALLEL_MAX }, work));
    if (messages.length < CLAIM_MAX) return;
  }
}

async function processOne(env: Env, message: ClaimedIncoming, spamModel: Uint8Array | null): Promise<void> {
  const mailbox = openMailbox(env, message.userId);
  const { incomingRetryMs } = readTransportSettings(env);
  try {
    const end = await memoryBudget.use(message.sizeBytes, () => deliver(env, message, spamModel));
    if (!end.ok) {
      await mailbox.deferIncoming(message.incomingId, message.attempts, end.error, incomingRetryMs);
      logInfo('incoming_deferred', { incoming_id: message.incomingId, attempts: message.attempts });
      return;
    }
    // For a stored message there is nothing to record: the delivery transaction removed the row already.
    const { outcome, detail } = end.value;
    if (outcome === 'quarantine' || outcome === 'refused')
      await mailbox.finishIncoming(message.incomingId, { outcome, detail });
    logInfo('incoming_finished', {
      incoming_id: message.incomingId,
      outcome: end.value.outcome,
      size_bytes: message.sizeBytes,
    });
  } catch (error) {
    logError('incoming_process_failed', error, { incoming_id: message.incomingId, attempts: message.attempts });
    const reason = error instanceof Error ? error.message : String(error);
    await mailbox.deferIncoming(message.incomingId, message.attempts, reason, incomingRetryMs).catch(() => {});
  }
}

async function deliver(
  env: Env,
  message: ClaimedIncoming,
  spamModel: Uint8Array | null,
): Promise<Result<Outcome, string>> {
  const opened = await openStored(env, message.rawKey);
  if (!opened) return err('the raw message is missing in every location');
  const judged = await judge(env, message, opened);
  if (!judged.ok) return judged;
  const verdicts = { ...judged.value, spam: personalise(opened.bytes, judged.value, spamModel) };
  const { virus } = verdicts;
  const isForOperator = message.userId === OPERATOR_MAILBOX;
  if (isForOperator || virus.verdict === 'infected' || virus.verdict === 'blocked') {
    await quarantine(env, message, opened.bytes, verdicts);
    return ok({
      outcome: 'quarantine',
      messageId: null,
      detail: virus.reasons.map((reason) => reason.text).join('; '),
    });
  }
  if (message.envelopeFrom === '') await applyIncomingReport(env, message.userId, opened.bytes);
  const newsletter = spareNewsletter(verdicts.spam, verdicts.authentication, opened.bytes);
  const said = newsletter ? { ...verdicts, spam: newsletter } : verdicts;
  const labels = newsletter ? [NEWSLETTER_LABEL] : [];
  return putIntoMailbox(env, message, opened, said, { labels, isReleased: false });
}

/** Runs the checks. If the message was sent from here and has complete verdicts, these are reused. */
async function judge(env: Env, message: ClaimedIncoming, raw: OpenedMessage): Promise<Result<Verdicts, string>> {
  const known = message.verdicts === null ? null : (JSON.parse(message.verdicts) as Partial<Verdicts>);
  if (known?.spam && known.virus && known.authentication)
    return ok({
      tokens: new Uint32Array(),
      spam: known.spam,
      virus: known.virus,
      authentication: known.authentication,
    });
  const authentication: Authentication | undefined = known?.authentication;
  const checked = await checkMessage(
    {
      raw,
      envelope: { from: message.envelopeFrom, to: [message.envelopeTo] },
      clientIp: message.clientIp,
      helo: message.helo,
      direction: 'inbound',
      ...(authentication ? { authentication } : {}),
    },
    settingsOf(env),
    createCheckDependencies(env),
  );
  return checked.ok ? ok(await markHostedClaim(env, checked.value)) : err(checked.error.reason);
}

/**
 * Points for mail from outside whose From claims a domain that is hosted here without proof. They are few, because lists and
 * forwarders may break authentication.
 */
const HOSTED_CLAIM_POINTS = 1;

/** Adds these points and a mark to the verdicts if From claims a hosted domain and authentication does not prove it. */
async function markHostedClaim(env: Env, verdicts: Verdicts): Promise<Verdicts> {
  const { authentication, spam } = verdicts;
  const { domain } = authentication.dmarc;
  const isProven = authentication.submitted === true || (authentication.sender?.address ?? null) !== null;
  if (isProven || domain === '' || !(await isHostedDomain(env, domain))) return verdicts;
  return {
    ...verdicts,
    authentication: { ...authentication, unproven_hosted_domain: true },
    spam: addReason(spam, {
      rule: 'UNPROVEN_HOSTED_DOMAIN',
      score: HOSTED_CLAIM_POINTS,
      text: `Claims to be from ${domain}, which is hosted here, without proof`,
    }),
  };
}

/**
 * @returns the spam verdict, adjusted by the user's training. Verdicts of mail that was sent here have no tokens, so the message is
 * read again for them.
 */
function personalise(raw: Uint8Array, verdicts: Verdicts, spamModel: Uint8Array | null): Verdicts['spam'] {
  if (spamModel === null) return verdicts.spam;
  const tokens = verdicts.tokens.length > 0 ? verdicts.tokens : readTokens(raw);
  return personaliseSpam(verdicts.spam, tokens, spamModel);
}

/** Delivers a clean message, with its verdicts, to its folder. Also releases mail from quarantine. */
export async function putIntoMailbox(
  env: Env,
  message: ClaimedIncoming,
  opened: OpenedMessage,
  verdicts: Pick<Verdicts, 'spam' | 'virus' | 'authentication'>,
  { labels, isReleased }: { readonly labels: readonly string[]; readonly isReleased: boolean },
): Promise<Result<Outcome, string>> {
  const { spam, virus, authentication } = verdicts;
  const masked = await readMasked(env, message);
  const isDisabled = masked?.state === 'disabled';
  const isCertain = spam.verdict === 'reject' || authentication.dmarc.disposition !== 'none';
  const junk = isCertain ? 'certain' : spam.verdict === 'ham' ? 'no' : 'content';
  const judgement = { sender: authentication.sender ?? { address: null, list: null }, junk } as const;
  const delivery = {
    userId: message.userId,
    message: opened,
    rawKey: message.rawKey,
    deliveryKey: toDeliveryKey(message.contentKey),
    receivedAt: message.acceptedAt,
    origin: 'received',
    folder: isDisabled ? 'trash' : junk === 'no' ? 'inbox' : 'junk',
    isRead: false,
    isFlagged: false,
    labels,
    envelopeFrom: message.envelopeFrom,
    envelopeTo: message.envelopeTo,
    deliveredTo: message.deliveredTo,
    spam: JSON.stringify(spam),
    authentication: JSON.stringify({ ...authentication, virus: virus.verdict }),
    applyRules: junk === 'no' && !isDisabled,
    isMasked: masked !== null,
    // A message that an operator releases goes to the Inbox, regardless of its sender.
    ...(isReleased || isDisabled ? {} : { judgement }),
    // The quota was checked at acceptance. Mail that was accepted is never refused later.
    enforceQuota: false,
  } as const;
  const mailbox = openMailbox(env, message.userId);
  const delivered = await deliverRaw(env, delivery, (input) => mailbox.deliverIncoming(message.incomingId, input));
  if (!delivered.ok) {
    return delivered.error.kind === 'no_mailbox'
      ? ok({ outcome: 'refused', messageId: null, detail: 'the mailbox no longer exists' })
      : err(delivered.error.kind);
  }
  const { folderRole, messageId } = delivered.value;
  const outcome = folderRole === 'inbox' || folderRole === 'junk' ? folderRole : 'folder';
  return ok({ outcome, messageId, detail: null });
}

/** @returns the masked address that a message came to; null for any other. */
const readMasked = async (env: Env, { userId, deliveredTo }: ClaimedIncoming) =>
  isMaskedName(deliveredTo) ? findMasked(env, userId, deliveredTo) : null;

async function quarantine(env: Env, message: ClaimedIncoming, raw: Uint8Array, verdicts: Verdicts): Promise<void> {
  const { subject } = await parseMessage(raw.subarray(0, 256 * 1024));
  await recordQuarantine(userDatabaseOf(env, message.userId), {
    incomingId: message.incomingId,
    userId: message.userId,
    envelopeFrom: message.envelopeFrom,
    envelopeTo: message.envelopeTo,
    subject: subject.slice(0, 500),
    sizeBytes: message.sizeBytes,
    reasons: JSON.stringify(verdicts.virus),
    createdAt: message.acceptedAt,
  });
}
