/**
 * Submits a message. Validates, composes and stores it, then runs one transaction in the sender's mailbox that adds the copy in
 * Sent and the outbox row. A refused request is recorded as a whole in the error queue.
 */

import { createHash, randomUUID } from 'node:crypto';
import type { Idempotency } from '../../../../durable-objects/mail/contract/drafts.ts';
import type { DomainHour, Submitted } from '../../../../durable-objects/mail/contract/outbox.ts';

import type { Problem } from '../../../shared/json/problem.ts';
import { err, ok, type Result } from '../../../shared/pure/result.ts';
import { createClock } from '../../../shared/settings/clock.ts';
import { logError, logInfo } from '../../../shared/telemetry/log.ts';
import { readLimits } from '../../bindings/account-limits.ts';
import { deleteBlobs, userPrefix } from '../../bindings/blobs.ts';
import { hintOutbound } from '../../bindings/hints.ts';
import { openMailbox } from '../../bindings/mailbox.ts';
import { readTransportSettings } from '../../bindings/transport-settings.ts';
import { cleanFileName, makeNamesUnique } from '../../domain/attachment-name.ts';
import { type ValidRecipients, validateAddresses, validateFiles } from '../../domain/submission-policy.ts';
import { createPutPart } from '../../inbound/process/delivery.ts';
import { toBadRequest } from '../../schemas/errors.ts';
import { type FoundFile, findFiles } from './attached-files.ts';
import { fillFromDraft } from './draft-content.ts';
import { keepAsDraft } from './keep-as-draft.ts';
import { refuseSubmission, type SubmitFailure, type SubmitOptions, toSubmitProblem } from './refusal.ts';
import type { SubmitRequest } from './request-schema.ts';
import { decideRecipientsMax, isSendLimit, readRoom, reserveRoom, submitWithShare } from './send-room.ts';
import { decideFrom, type Sender } from './sender-address.ts';
import { type Content, storeComposed, toContent, toRecipients, toReplyTo, toSentCopy } from './sent-copy.ts';

const SEND_AHEAD_MAX_MS = 366 * 24 * 3_600_000;

/** @returns the answer of `POST /v1/messages`, or the problem for which the message was refused. */
export async function submitMessage(
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
  if (faults.length > 0) return err(await refuseSubmission(env, sender.userId, request, options, faults));
  const idempotency = options.idempotencyKey === null ? null : { key: options.idempotencyKey, requestSha256 };
  const accepted = { idempotency, draftRevision, from: from.value, files: files.value, recipients };
  const room = await reserveRoom(env, sender.userId, before.value, recipients.paths.length);
  const submitted = room.ok
    ? await send(env, sender, request, toContent(request, addresses), { ...accepted, domainHour: room.value }, options)
    : room;
  if (submitted.ok) return submitted;
  const { error } = submitted;
  if (!isSendLimit(error)) return err(toSubmitProblem(error));
  return err(toSubmitProblem(error, await keepAsDraft(env, sender.userId, request, files.value, idempotency)));
}

interface Accepted {
  readonly idempotency: Idempotency | null;
  readonly draftRevision: number | null;
  readonly from: { readonly name: string; readonly email: string };
  readonly files: readonly FoundFile[];
  readonly recipients: ValidRecipients;
  readonly domainHour: DomainHour;
}

async function send(
  env: Env,
  sender: Sender,
  request: SubmitRequest,
  content: Content,
  accepted: Accepted,
  { waitUntil }: SubmitOptions,
): Promise<Result<Submitted, SubmitFailure>> {
  const { files, from, recipients } = accepted;
  const settings = readTransportSettings(env);
  const now = createClock(env)();
  const outboxId = randomUUID();
  const prefix = `${userPrefix(sender.userId)}sent/${outboxId}/`;
  const messageId = `<${outboxId}@${from.email.slice(from.email.lastIndexOf('@') + 1)}>`;
  const written: string[] = [];
  const put = createPutPart(env, written);
  const names = makeNamesUnique(files.map((file) => cleanFileName(file.fileName, file.contentType)));
  try {
    const parsed = await toSentCopy(content, accepted, { messageId, now, names, prefix, put, env });
    const raw = await storeComposed(env, content, accepted, { messageId, now, names, rawKey: `${prefix}raw`, parsed });
    written.push(`${prefix}raw`);
    const holdUntil = decideHold(request.send_at, now, settings.holdMs);
    const outcome = await submitWithShare(env, sender.userId, {
      domainHour: accepted.domainHour,
      limits: settings.sendLimits,
      draftId: request.draft_id ?? null,
      draftRevision: accepted.draftRevision,
      forwardOf: request.forward_of ?? null,
      attachmentIds: (request.attachments ?? []).flatMap((file) =>
        'attachment_id' in file ? [file.attachment_id] : [],
      ),
      idempotency: accepted.idempotency,
      outbox: {
        outboxId,
        kind: 'message',
        headerMessageId: messageId,
        rawKey: `${prefix}raw`,
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
        rawKey: `${prefix}raw`,
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
    });
    if (!outcome.ok || outcome.value.duplicate) await deleteBlobs(env, written);
    if (!outcome.ok) return outcome;
    if (!outcome.value.duplicate) {
      const hinted = hintOutbound(env, sender.userId, Math.max(0, holdUntil - now));
      if (waitUntil) waitUntil(hinted);
      else await hinted;
    }
    logInfo('submission_accepted', {
      outbox_id: outboxId,
      recipients: recipients.paths.length,
      size_bytes: raw.sizeBytes,
    });
    return ok(outcome.value);
  } catch (error) {
    // The transaction may have succeeded although its answer was lost, so the stored bytes stay.
    logError('submission_failed', error, { outbox_id: outboxId });
    throw error;
  }
}

function decideHold(sendAt: string | undefined, now: number, holdMs: number): number {
  return Math.max(now + holdMs, sendAt === undefined ? 0 : Date.parse(sendAt));
}
