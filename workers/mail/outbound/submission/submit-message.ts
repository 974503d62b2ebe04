/**
 * Submits a message. Validates, composes and stores it, then runs one transaction in the sender's mailbox that adds the copy in
 * Sent and the outbox row. A refused request is recorded as a whole in the error queue.
 */

import { createHash } from 'node:crypto';
import type { ParsedMessage } from '../../../../durable-objects/mail/contract/delivered-message.ts';
import type { Idempotency } from '../../../../durable-objects/mail/contract/drafts.ts';
import type { DomainHour, Submission, Submitted } from '../../../../durable-objects/mail/contract/outbox.ts';
import { type Problem, problem } from '../../../shared/json/problem.ts';
import { err, ok, type Result } from '../../../shared/pure/result.ts';
import { createClock } from '../../../shared/settings/clock.ts';
import { logError, logInfo } from '../../../shared/telemetry/log.ts';
import { readLimits } from '../../bindings/account-limits.ts';
import { deleteBlobs, userPrefix } from '../../bindings/blobs.ts';
import { hintOutbound } from '../../bindings/hints.ts';
import { openMailbox } from '../../bindings/mailbox.ts';
import { readTransportSettings } from '../../bindings/transport-settings.ts';
import { toBase64Size } from '../../domain/base64-size.ts';
import { type ValidRecipients, validateAddresses, validateFiles } from '../../domain/submission-policy.ts';
import { PartWriter } from '../../inbound/process/delivery.ts';
import { toBadRequest } from '../../schemas/errors.ts';
import type { ComposedMessage } from '../compose-message.ts';
import { findFiles } from './attached-files.ts';
import { fillFromDraft } from './draft-content.ts';
import { keepAsDraft } from './keep-as-draft.ts';
import {
  listRecipients,
  recordRefusal,
  type SubmitFailure,
  type SubmitOptions,
  toFaultProblem,
  toSubmitProblem,
} from './refusal.ts';
import type { SubmitRequest } from './request-schema.ts';
import { decideRecipientsMax, isSendLimit, readRoom, reserveRoom, submitWithShare } from './send-room.ts';
import { decideFrom, type Sender } from './sender-address.ts';
import {
  type Content,
  compose,
  type Making,
  type Parts,
  storeComposed,
  toContent,
  toMaking,
  toRecipients,
  toReplyTo,
  toSentCopy,
} from './sent-copy.ts';
import { findSizeFault } from './size-of-way.ts';

const DRAFT_CHANGED = problem(412, 'draft_changed', 'The draft was changed after it was approved.');
const SEND_AHEAD_MAX_MS = 366 * 24 * 3_600_000;

/**
 * @returns the answer of `POST /v1/messages`, or the problem for which the message was refused. A refused mail is recorded in the
 * error queue, unless it is a retry from there.
 */
export async function submitMessage(
  env: Env,
  sender: Sender,
  asked: SubmitRequest,
  options: SubmitOptions,
): Promise<Result<Submitted, Problem>> {
  const submitted = await submit(env, sender, asked, options);
  if (submitted.ok || options.isRetry) return submitted;
  const { requestJson } = options;
  const recipients = await listAsked(env, sender.userId, asked);
  await recordRefusal(env, sender.userId, submitted.error, { requestJson, recipients });
  return submitted;
}

/** Lists the recipients of a request; of its draft, if it has none itself. */
async function listAsked(env: Env, userId: string, asked: SubmitRequest): Promise<string[]> {
  const listed = listRecipients(asked);
  if (listed.length > 0 || asked.draft_id === undefined) return listed;
  const draft = await openMailbox(env, userId).readDraft(asked.draft_id);
  return draft.ok ? listRecipients(draft.value.content) : [];
}

async function submit(
  env: Env,
  sender: Sender,
  asked: SubmitRequest,
  options: SubmitOptions,
): Promise<Result<Submitted, Problem>> {
  const mailbox = openMailbox(env, sender.userId);
  const requestSha256 = createHash('sha256').update(options.requestJson).digest('hex');
  if (options.idempotencyKey !== null) {
    const known = await mailbox.findSubmission(options.idempotencyKey, requestSha256);
    if (!known.ok) return err(toSubmitProblem(known.error));
    if (known.value) return ok(known.value);
  }
  if (Date.parse(asked.send_at ?? '') > createClock(env)() + SEND_AHEAD_MAX_MS) {
    return err(toBadRequest('send_at', 'At most one year ahead.'));
  }
  const filled = await fillFromDraft(env, sender.userId, asked);
  if (!filled.ok) return filled;
  const { request, draftRevision } = filled.value;
  const { approvedRevision = draftRevision } = options;
  if (approvedRevision !== draftRevision) return err(DRAFT_CHANGED);
  const settings = readTransportSettings(env);
  const [from, files] = await Promise.all([
    decideFrom(env, sender, request.from, 'replica'),
    findFiles(env, sender.userId, request.attachments ?? []),
  ]);
  if (!from.ok) return from;
  if (!files.ok) return files;
  const addresses = toRecipients(request);
  const { faults: addressFaults, recipients } = validateAddresses(
    { ...addresses, ...toReplyTo(request) },
    decideRecipientsMax(settings),
  );
  const before = await readRoom(env, sender.userId, from.value, recipients.paths.length);
  if (!before.ok) return err(toSubmitProblem(before.error));
  if (before.value.isRetired) {
    const confirmed = await decideFrom(env, sender, request.from, 'primary');
    if (!confirmed.ok) return confirmed;
  }
  const { attachmentBytes } = readLimits(env, before.value.accountType);
  const faults = [...addressFaults, ...validateFiles(files.value, attachmentBytes)];
  if (faults.length > 0) return err(toFaultProblem(faults));
  const content = toContent(request, addresses);
  const parts = { from: from.value, files: files.value };
  const making = toMaking(parts, createClock(env)());
  const composed = await compose(content, parts, making);
  const tooLarge = await findSizeFault(env, toSized(parts, recipients, composed));
  if (tooLarge) return err(toFaultProblem([tooLarge.fault]));
  const idempotency = options.idempotencyKey === null ? null : { key: options.idempotencyKey, requestSha256 };
  const accepted = { request, content, idempotency, draftRevision, ...parts, recipients, making, composed };
  const room = await reserveRoom(env, sender.userId, before.value, recipients.paths.length);
  const submitted = room.ok ? await send(env, sender, { ...accepted, domainHour: room.value }, options) : room;
  if (submitted.ok) return submitted;
  const { error } = submitted;
  if (!isSendLimit(error)) return err(toSubmitProblem(error));
  return err(toSubmitProblem(error, await keepAsDraft(env, sender.userId, request, files.value, idempotency)));
}

/** A message that passed all checks, and its room within the limits. */
interface Accepted extends Parts {
  readonly request: SubmitRequest;
  readonly content: Content;
  readonly idempotency: Idempotency | null;
  readonly draftRevision: number | null;
  readonly recipients: ValidRecipients;
  readonly domainHour: DomainHour;
  readonly making: Making;
  readonly composed: ComposedMessage;
}

const toSized = ({ from, files }: Parts, { paths }: ValidRecipients, { sizeBytes }: ComposedMessage) => ({
  from: from.email,
  domains: paths.map(({ domain }) => domain),
  sizeBytes,
  fileBytes: files.reduce((sum, file) => sum + file.sizeBytes, 0),
  encodedFileBytes: files.reduce((sum, file) => sum + toBase64Size(file.sizeBytes), 0),
});

/** Stores what the mailbox refers to, and submits the message. */
async function send(
  env: Env,
  sender: Sender,
  accepted: Accepted,
  { waitUntil }: SubmitOptions,
): Promise<Result<Submitted, SubmitFailure>> {
  const { request, making } = accepted;
  const { outboxId, now } = making;
  const settings = readTransportSettings(env);
  const prefix = `${userPrefix(sender.userId)}sent/${outboxId}/`;
  const rawKey = `${prefix}raw`;
  const parts = new PartWriter(env);
  try {
    const parsed = await toSentCopy(accepted.content, accepted, { ...making, prefix, parts, env });
    const raw = await storeComposed(env, accepted.composed, rawKey, parsed);
    const holdUntil = decideHold(request.send_at, now, settings.holdMs);
    const submission = toSubmission(accepted, { rawKey, raw, parsed, holdUntil, limits: settings.sendLimits });
    const outcome = await submitWithShare(env, sender.userId, submission);
    if (!outcome.ok || outcome.value.duplicate) await deleteBlobs(env, [...parts.written, rawKey]);
    if (!outcome.ok) return outcome;
    if (!outcome.value.duplicate) {
      const hinted = hintOutbound(env, sender.userId, Math.max(0, holdUntil - now));
      if (waitUntil) waitUntil(hinted);
      else await hinted;
    }
    logInfo('submission_accepted', {
      outbox_id: outboxId,
      recipients: submission.outbox.recipients.length,
      size_bytes: raw.sizeBytes,
    });
    return ok(outcome.value);
  } catch (error) {
    // The transaction may have succeeded although its answer was lost, so the stored bytes stay.
    logError('submission_failed', error, { outbox_id: outboxId });
    throw error;
  }
}

interface Stored {
  readonly rawKey: string;
  readonly raw: Awaited<ReturnType<typeof storeComposed>>;
  readonly parsed: ParsedMessage;
  readonly holdUntil: number;
  readonly limits: Submission['limits'];
}

/** The arguments of the mailbox's transaction. */
function toSubmission(
  { request, making, from, recipients, domainHour, draftRevision, idempotency }: Accepted,
  { rawKey, raw, parsed, holdUntil, limits }: Stored,
): Submission {
  const { outboxId, messageId, now } = making;
  return {
    domainHour,
    limits,
    draftId: request.draft_id ?? null,
    draftRevision,
    forwardOf: request.forward_of ?? null,
    attachmentIds: (request.attachments ?? []).flatMap((file) => ('attachment_id' in file ? [file.attachment_id] : [])),
    idempotency,
    outbox: {
      outboxId,
      kind: 'message',
      headerMessageId: messageId,
      rawKey,
      ownsRaw: false,
      sizeBytes: raw.sizeBytes,
      bodyHash: raw.bodyHash,
      isEightBit: raw.isEightBit,
      envelopeFrom: from.email,
      recipients: recipients.paths.map(({ email, domain }) => ({ email, domain })),
      holdUntil,
    },
    sentCopy: {
      deliveryKey: `sent:${outboxId}`,
      rawKey,
      rawSha256: raw.sha256,
      sizeBytes: raw.sizeBytes,
      receivedAt: now,
      origin: 'sent',
      folder: 'sent',
      isRead: true,
      isFlagged: false,
      labels: [],
      parsed,
      envelopeFrom: from.email,
      envelopeTo: null,
      spam: null,
      authentication: null,
      applyRules: false,
      enforceQuota: false,
    },
  };
}

function decideHold(sendAt: string | undefined, now: number, holdMs: number): number {
  return Math.max(now + holdMs, sendAt === undefined ? 0 : Date.parse(sendAt));
}
