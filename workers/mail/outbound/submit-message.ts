/**
 * Sending begins here: basic validation, the message composed and stored, then one transaction in the sender's mailbox that
 * makes the copy in Sent and the outbox row. What fails validation goes to the error queue, request and all.
 */
import { createHash, randomUUID } from 'node:crypto';
import type { ParsedMessage } from '../../../durable-objects/mailbox/delivered-message.ts';
import type { Submitted } from '../../../durable-objects/mailbox/submission-store.ts';
import { createClock } from '../../shared/clock.ts';
import { logError, logInfo } from '../../shared/log.ts';
import { type Problem, problem } from '../../shared/problem.ts';
import { err, ok, type Result } from '../../shared/result.ts';
import { readLimits } from '../account-limits.ts';
import { createAccountStore } from '../account-store.ts';
import { deleteBlobs, getBlob, putBlob, userPrefix } from '../blobs.ts';
import { createPartStore, type PartStore, storeParts } from '../delivery.ts';
import { cleanFileName, makeNamesUnique } from '../domain/attachment-name.ts';
import { hintOutbound } from '../hints.ts';
import { storeRaw } from '../inbound/store-raw.ts';
import { openTransport } from '../mailbox-transport.ts';
import { cleanHtml, toPlainText } from '../mime/clean-html.ts';
import { openBytes } from '../mime/opened-message.ts';
import { readTransportSettings } from '../transport-settings.ts';
import { composeMessage, streamMessage } from './compose-message.ts';
import { createBodyHasher } from './dkim/body-hash.ts';
import { type SubmissionFault, type ValidRecipients, validateSubmission } from './domain/submission-policy.ts';
import { keepAsDraft } from './keep-as-draft.ts';
import { insertError } from './queue-store.ts';
import type { SubmitAddress, SubmitRequest } from './submit-schema.ts';
import { type FoundFile, findFiles } from './submitted-files.ts';

export interface Sender {
  readonly userId: string;
  readonly name: string;
}

export interface SubmitOptions {
  readonly idempotencyKey: string | null;
  /** The request as it came, for the error queue and for comparing repetitions. */
  readonly requestJson: string;
  /** True when it is tried from the error queue, which then needs no second entry. */
  readonly isRetry?: boolean;
}

/** The answer of `POST /v1/messages`, or the problem. */
export async function submitMessage(
  env: Env,
  sender: Sender,
  request: SubmitRequest,
  options: SubmitOptions,
): Promise<Result<Submitted, Problem>> {
  const mailbox = openTransport(env, sender.userId);
  const requestSha256 = createHash('sha256').update(options.requestJson).digest('hex');
  if (options.idempotencyKey !== null) {
    const known = await mailbox.findSubmission(options.idempotencyKey, requestSha256);
    if (!known.ok) return err(toSubmitProblem(known.error));
    if (known.value) return ok(known.value);
  }
  const from = await decideFrom(env, sender, request);
  if (!from.ok) return from;
  const settings = readTransportSettings(env);
  const wait = await mailbox.readSendWait(settings.sendLimitPerHour);
  if (!wait.ok) return err(toSubmitProblem(wait.error));
  const files = await findFiles(env, sender.userId, request.attachments ?? []);
  if (!files.ok) return files;
  if (wait.value > 0) {
    const draftId = await keepAsDraft(env, sender.userId, request, files.value);
    return err(toSubmitProblem({ kind: 'rate_limited', retryAfterMs: wait.value }, draftId));
  }
  const { attachmentBytes } = readLimits(env, from.value.accountType);
  const { faults, recipients } = validateSubmission(
    {
      to: request.to?.map(toAddress) ?? [],
      cc: request.cc?.map(toAddress) ?? [],
      bcc: request.bcc?.map(toAddress) ?? [],
      files: files.value,
    },
    { recipientsMax: settings.recipientsMax, attachmentBytesMax: attachmentBytes },
  );
  if (faults.length > 0) return err(await refuseSubmission(env, sender, request, options, faults));
  return send(env, sender, request, { ...options, requestSha256, from: from.value, files: files.value, recipients });
}

/** The copy in Sent is made of the request itself. */
const NOTHING_CUT = openBytes(new Uint8Array());

const toAddress = (address: SubmitAddress) => ({ name: address.name ?? '', email: address.email });

/** One of the user's own addresses; the one the account was made with when none is asked for. */
async function decideFrom(
  env: Env,
  sender: Sender,
  request: SubmitRequest,
): Promise<Result<{ name: string; email: string; accountType: string }, Problem>> {
  const store = createAccountStore(env.DIRECTORY);
  const [account, addresses] = await Promise.all([
    store.findAccount(sender.userId),
    store.listAddresses(sender.userId),
  ]);
  if (!account) return err(problem(404, 'no_mailbox', 'This user has no mailbox.'));
  const email = request.from?.email.toLowerCase() ?? account.email;
  const untagged = email.replace(/\+[^@]*@/, '@');
  if (!addresses.includes(email) && !addresses.includes(untagged)) {
    const errors = [{ path: 'from.email', message: 'Mail can be sent only from an address of your own.' }];
    return err(problem(400, 'foreign_sender', 'From is not one of your addresses.', { errors }));
  }
  return ok({ name: request.from?.name ?? sender.name, email, accountType: account.accountType });
}

interface Accepted extends SubmitOptions {
  readonly requestSha256: string;
  readonly from: { readonly name: string; readonly email: string };
  readonly files: readonly FoundFile[];
  readonly recipients: ValidRecipients;
}

async function send(
  env: Env,
  sender: Sender,
  request: SubmitRequest,
  accepted: Accepted,
): Promise<Result<Submitted, Problem>> {
  const { files, from, recipients } = accepted;
  const settings = readTransportSettings(env);
  const now = createClock(env)();
  const outboxId = randomUUID();
  const prefix = `${userPrefix(sender.userId)}sent/${outboxId}/`;
  const messageId = `<${outboxId}@${from.email.slice(from.email.lastIndexOf('@') + 1)}>`;
  const written: string[] = [];
  const store = createPartStore(env, NOTHING_CUT, written);
  const names = makeNamesUnique(files.map((file) => cleanFileName(file.fileName, file.contentType)));
  try {
    const parsed = await toSentCopy(request, accepted, { messageId, now, names, prefix, store, env });
    const raw = await storeComposed(env, request, accepted, { messageId, now, names, rawKey: `${prefix}raw`, parsed });
    written.push(`${prefix}raw`);
    const holdUntil = decideHold(request.send_at, now, settings.holdMs);
    const outcome = await openTransport(env, sender.userId).submitMessage({
      limitPerHour: settings.sendLimitPerHour,
      draftId: request.draft_id ?? null,
      attachmentIds: (request.attachments ?? []).flatMap((file) =>
        'attachment_id' in file ? [file.attachment_id] : [],
      ),
      idempotency:
        accepted.idempotencyKey === null
          ? null
          : { key: accepted.idempotencyKey, requestSha256: accepted.requestSha256 },
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
    if (!outcome.ok) return err(toSubmitProblem(outcome.error));
    if (!outcome.value.duplicate) await hintOutbound(env, sender.userId, Math.max(0, holdUntil - now));
    logInfo('mail_submitted', { outbox_id: outboxId, recipients: recipients.paths.length, size_bytes: raw.sizeBytes });
    return ok(outcome.value);
  } catch (error) {
    // Whether the transaction was made is not known when its answer was lost: only what it cannot refer to is removed.
    logError('mail_not_submitted', error, { outbox_id: outboxId });
    throw error;
  }
}

function decideHold(sendAt: string | undefined, now: number, holdMs: number): number {
  return Math.max(now + holdMs, sendAt === undefined ? 0 : Date.parse(sendAt));
}

interface Making {
  readonly messageId: string;
  readonly now: number;
  readonly names: readonly string[];
}

/** The copy in Sent is made from the request, never parsed back: Bcc is in it, and large files are not read again. */
async function toSentCopy(
  request: SubmitRequest,
  { from, files }: Accepted,
  {
    messageId,
    now,
    names,
    prefix,
    store,
    env,
  }: Making & {
    readonly prefix: string;
    readonly store: PartStore;
    readonly env: Env;
  },
): Promise<ParsedMessage> {
  const html = request.html === undefined ? null : cleanHtml(request.html);
  const parsed = await storeParts(
    {
      from: { name: from.name, email: from.email },
      to: request.to?.map(toAddress) ?? [],
      cc: request.cc?.map(toAddress) ?? [],
      bcc: request.bcc?.map(toAddress) ?? [],
      replyTo: [],
      subject: request.subject ?? '',
      sentAt: now,
      messageId,
      inReplyTo: request.in_reply_to ?? null,
      references: request.references ?? [],
      text: request.body ?? (request.html === undefined ? '' : toPlainText(request.html)),
      html,
      headers: [],
      attachments: [],
      isComplete: true,
    },
    prefix,
    store,
  );
  const attachments: ParsedMessage['attachments'][number][] = [];
  for (const [n, file] of files.entries()) {
    const r2Key = `${prefix}part-${n}`;
    if (file.bytes) await store.put(r2Key, file.bytes);
    else {
      const uploaded = await getBlob(env, file.r2Key);
      if (!uploaded) throw new Error('an uploaded file is missing in every location');
      await storeRaw(env, r2Key, uploaded.body, file.sizeBytes);
    }
    attachments.push({
      fileName: names[n] ?? file.fileName,
      contentType: file.contentType,
      sizeBytes: file.sizeBytes,
      isInline: file.contentId !== null,
      contentId: file.contentId,
      r2Key,
    });
  }
  return { ...parsed, attachments };
}

/** Streams the message into every location, with what DKIM needs computed as it passes. */
async function storeComposed(
  env: Env,
  request: SubmitRequest,
  { from, files }: Accepted,
  { messageId, now, names, rawKey, parsed }: Making & { readonly rawKey: string; readonly parsed: ParsedMessage },
) {
  const composed = await composeMessage(
    {
      from,
      to: request.to?.map(toAddress) ?? [],
      cc: request.cc?.map(toAddress) ?? [],
      subject: request.subject ?? '',
      text: request.body ?? (request.html === undefined ? '' : toPlainText(request.html)),
      html: request.html ?? null,
      attachments: files.map((file, n) => ({ ...file, fileName: names[n] ?? file.fileName })),
      messageId,
      inReplyTo: request.in_reply_to ?? null,
      references: request.references ?? [],
      date: new Date(now),
    },
    crypto.getRandomValues(new Uint8Array(16)),
  );
  const hasher = createBodyHasher();
  const stream = streamMessage(composed, async (n) => {
    const stored = await getBlob(env, parsed.attachments[n]?.r2Key ?? '');
    if (!stored) throw new Error('an attachment is missing in every location');
    return stored.body;
  });
  const stored = await storeRaw(env, rawKey, stream, composed.sizeBytes, (chunk) => hasher.push(chunk));
  return { ...stored, bodyHash: hasher.digest(), isEightBit: hasher.isEightBit() };
}

/** An entry in the error queue with the whole request, so that it can be tried again when a limit was the reason. */
async function refuseSubmission(
  env: Env,
  sender: Sender,
  request: SubmitRequest,
  options: SubmitOptions,
  faults: readonly SubmissionFault[],
): Promise<Problem> {
  const [worst] = [...faults].sort((a, b) => b.status - a.status);
  const code = worst?.code ?? 'bad_address';
  const errors = faults.map(({ path, message }) => ({ path, message }));
  const refusal = problem(worst?.status ?? 400, code, worst?.message, { errors });
  if (options.isRetry) return refusal;
  const errorId = randomUUID();
  const requestKey = `${userPrefix(sender.userId)}errors/${errorId}.json`;
  try {
    await putBlob(env, requestKey, options.requestJson);
    await insertError(env.DIRECTORY, {
      errorId,
      userId: sender.userId,
      kind: 'validation',
      code,
      detail: faults
        .map((fault) => `${fault.path}: ${fault.message}`)
        .join(' ')
        .slice(0, 1_000),
      recipients: JSON.stringify(
        [...(request.to ?? []), ...(request.cc ?? []), ...(request.bcc ?? [])].map((a) => a.email),
      ),
      outboxId: null,
      requestKey,
      createdAt: createClock(env)(),
    });
  } catch (error) {
    // The sender is told all the same; only the operator's copy is missing.
    logError('error_queue_not_written', error);
  }
  logInfo('mail_refused', { code });
  return refusal;
}

type SubmitFailure = { readonly kind: string; readonly retryAfterMs?: number };

function toSubmitProblem(error: SubmitFailure, draftId: string | null = null): Problem {
  switch (error.kind) {
    case 'rate_limited': {
      const retryAfterSeconds = Math.ceil((error.retryAfterMs ?? 0) / 1000);
      const kept = draftId === null ? '' : ` The message is kept as the draft ${draftId}.`;
      const detail = `You have sent as much as an account may in an hour.${kept}`;
      return problem(429, 'send_limit_reached', detail, { retryAfterSeconds });
    }
    case 'idempotency_conflict':
      return problem(409, 'idempotency_conflict', 'This Idempotency-Key was used for another message.');
    case 'no_mailbox':
      return problem(404, 'no_mailbox', 'This user has no mailbox.');
    case 'no_draft':
      return problem(404, 'no_draft', 'There is no such draft, or it was sent already.');
    default:
      throw new Error(`sending ended in ${error.kind}`);
  }
}
