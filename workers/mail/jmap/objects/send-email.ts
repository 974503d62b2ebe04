/**
 * Sends a stored message (RFC 8621 §7.5): checks sender and recipients, copies the bytes without Bcc, then queues the message in
 * one transaction.
 */

import { randomUUID } from 'node:crypto';
import type { SubmissionRecord } from '../../../../durable-objects/mail/contract/jmap.ts';
import type { NewOutboxMessage } from '../../../../durable-objects/mail/contract/outbox.ts';

import { type Problem, problem } from '../../../shared/json/problem.ts';
import type { ProblemCode } from '../../../shared/json/problem-codes/index.ts';
import { err, ok, type Result } from '../../../shared/pure/result.ts';
import { readLimits } from '../../bindings/account-limits.ts';
import { deleteBlobs, getBlob, inLargePieces, userPrefix } from '../../bindings/blobs.ts';
import { hintOutbound } from '../../bindings/hints.ts';
import { openMailbox } from '../../bindings/mailbox.ts';
import { readTransportSettings } from '../../bindings/transport-settings.ts';
import type { OpenedMessage } from '../../checks/opened-message.ts';
import { createBodyHasher } from '../../dkim/body-hash.ts';
import { toBase64Size } from '../../domain/base64-size.ts';
import { type SubmissionFault, validateAddresses, validateFiles } from '../../domain/submission-policy.ts';
import { storeRaw } from '../../inbound/accept/store-raw.ts';
import { chooseBodyParts } from '../../mime/body-parts.ts';
import { decodeContent } from '../../mime/content-decoding.ts';
import { readHeaders } from '../../mime/mime-tree.ts';
import { createLineEnder } from '../../outbound/compose-message.ts';
import { recordRefusal } from '../../outbound/submission/refusal.ts';
import { decideRecipientsMax, readRoom, reserveRoom } from '../../outbound/submission/send-room.ts';
import { findSizeFault } from '../../outbound/submission/size-of-way.ts';
import { toMessageBlobId } from '../domain/blob-id.ts';
import type { Call, SetError } from '../protocol/method.ts';
import { invalidProperties } from '../protocol/standard.ts';
import { findBlobSource, openMessageBlob } from './blobs.ts';
import { toAddresses, toMessageIds } from './header-forms.ts';
import { isOwn } from './identity.ts';
import { TransportCheck, toSendableField } from './sendable-message.ts';

export interface Sending {
  readonly emailId: string;
  readonly identityId: string;
  /** Addresses of the user. */
  readonly addresses: readonly string[];
  readonly accountType: string;
  /** Envelope that the client gave; null to take sender and recipients from the message. */
  readonly envelope: { readonly from: string; readonly to: readonly string[] } | null;
  /** Earliest time of sending; null to send once the time for canceling has passed. */
  readonly sendAt: number | null;
}

export async function sendEmail(call: Call, sending: Sending): Promise<Result<SubmissionRecord, SetError>> {
  const { env, user } = call;
  const source = await findBlobSource(env, user.userId, toMessageBlobId(sending.emailId));
  const message = source && (await openMessageBlob(env, user.userId, source));
  if (!source || !message) return err(invalidProperties(['emailId'], 'Email not found.'));
  const sent = await send(call, sending, source.r2Key, message);
  const refusal = sent.ok ? null : toRefusal(sent.error);
  if (refusal !== null) {
    const recipients = sending.envelope?.to ?? RECIPIENT_FIELDS.flatMap((name) => listEmails(message, name));
    // The client has the message, and submits it again itself.
    await recordRefusal(env, user.userId, refusal, { requestJson: null, recipients });
  }
  return sent;
}

const RECIPIENT_FIELDS = ['to', 'cc', 'bcc'];
export const listEmails = (message: OpenedMessage, field: string): string[] =>
  readHeaders(message.bytes)
    .headers.filter(({ name }) => name === field)
    .flatMap(({ value }) => toAddresses(value).map(({ email }) => email));

const REFUSAL_CODES: Readonly<Record<string, ProblemCode>> = {
  noRecipients: 'no_recipient',
  invalidRecipients: 'bad_address',
  tooManyRecipients: 'too_many_recipients',
  tooLarge: 'too_large',
  invalidEmail: 'invalid_request',
  forbiddenFrom: 'foreign_sender',
  forbiddenMailFrom: 'foreign_sender',
};

/** @returns the refusal for the error queue; null if the mail itself is not refused, such as by a limit of sending. */
export function toRefusal({ type, description }: SetError): Problem | null {
  const code = REFUSAL_CODES[type];
  return code === undefined ? null : problem(400, code, description ?? `JMAP refused the submission: ${type}.`);
}

async function send(
  call: Call,
  sending: Sending,
  sourceKey: string | null,
  message: OpenedMessage,
): Promise<Result<SubmissionRecord, SetError>> {
  const { env, user } = call;
  const checked = checkSending(env, sending, message);
  if (!checked.ok) return checked;
  const { from, recipients, headerMessageId, files } = checked.value;
  const outgoing = await openOutgoing(env, sourceKey, message);
  if (!outgoing.ok) return outgoing;
  const tooLarge = await findSizeFault(env, {
    from,
    domains: recipients.map(({ domain }) => domain),
    sizeBytes: outgoing.value.sizeBytes,
    fileBytes: files.reduce((sum, file) => sum + file.sizeBytes, 0),
    encodedFileBytes: files.reduce((sum, file) => sum + toBase64Size(file.sizeBytes), 0),
  });
  if (tooLarge) return err({ type: 'tooLarge', maxSize: tooLarge.fileBytesMax, description: tooLarge.fault.message });
  const before = await readRoom(env, user.userId, { email: from, ownAddress: from }, recipients.length);
  const room = before.ok ? await reserveRoom(env, user.userId, before.value, recipients.length) : before;
  if (!room.ok) return err({ type: 'rateLimit', description: 'The sending limit is reached. Retry later.' });
  const settings = readTransportSettings(env);
  const outboxId = randomUUID();
  const rawKey = `${userPrefix(user.userId)}out/${outboxId}`;
  const raw = await storeOutgoing(env, rawKey, outgoing.value);
  const holdUntil = Math.max(call.now + settings.holdMs, sending.sendAt ?? 0);
  const submitted = await openMailbox(env, user.userId).submitStored({
    outbox: {
      outboxId,
      kind: 'message',
      headerMessageId,
      rawKey,
      ownsRaw: true,
      ...raw,
      envelopeFrom: from,
      recipients,
      holdUntil,
    },
    emailId: sending.emailId,
    identityId: sending.identityId,
    limits: settings.sendLimits,
    domainHour: room.value,
  });
  if (!submitted.ok) {
    await deleteBlobs(env, [rawKey]);
    const { kind } = submitted.error;
    if (kind === 'no_email') return err(invalidProperties(['emailId'], 'Email not found.'));
    return err(kind === 'no_mailbox' ? { type: 'serverFail' } : { type: 'rateLimit' });
  }
  await hintOutbound(env, user.userId, Math.max(0, holdUntil - call.now));
  return ok(submitted.value);
}

interface Checked {
  readonly from: string;
  readonly recipients: readonly { readonly email: string; readonly domain: string }[];
  readonly headerMessageId: string | null;
  readonly files: readonly { readonly fileName: string; readonly sizeBytes: number }[];
}

/** Checks sender, recipients and files of a message before it is sent. */
export function checkSending(
  env: Env,
  sending: Pick<Sending, 'addresses' | 'accountType' | 'envelope'>,
  message: OpenedMessage,
): Result<Checked, SetError> {
  const { headers } = readHeaders(message.bytes);
  const people = (name: string) =>
    headers.filter((field) => field.name === name).flatMap(({ value }) => toAddresses(value));
  const authors = people('from');
  if (authors.length === 0) return err({ type: 'invalidEmail', properties: ['from'], description: 'From is missing.' });
  if (!authors.every(({ email }) => isOwn(sending.addresses, email)))
    return err({ type: 'forbiddenFrom', description: 'From is not one of your addresses.' });
  const from = (sending.envelope?.from ?? authors[0]?.email ?? '').toLowerCase();
  if (!isOwn(sending.addresses, from))
    return err({ type: 'forbiddenMailFrom', description: 'The sender of the envelope is not one of your addresses.' });
  const named = (name: string) => people(name).map(({ email }) => ({ name: '', email }));
  const to = sending.envelope?.to.map((email) => ({ name: '', email })) ?? named('to');
  const [cc, bcc] = sending.envelope ? [[], []] : [named('cc'), named('bcc')];
  const files = chooseBodyParts(message.tree.parts).attachments.map((part) => ({
    fileName: part.fileName,
    sizeBytes: part.cut?.inspection.length ?? (part.message ?? decodeContent(part)).length,
  }));
  const { attachmentBytes } = readLimits(env, sending.accountType);
  const recipientsMax = decideRecipientsMax(readTransportSettings(env));
  const { faults, recipients } = validateAddresses({ to, cc, bcc }, recipientsMax);
  const [fault] = [...faults, ...validateFiles(files, attachmentBytes)];
  if (fault)
    return err(
      toSetError(
        fault,
        [...to, ...cc, ...bcc].map(({ email }) => email),
        { recipientsMax, attachmentBytes },
      ),
    );
  const messageId = toMessageIds(headers.find(({ name }) => name === 'message-id')?.value ?? '')?.[0];
  return ok({
    from,
    recipients: recipients.paths.map(({ email, domain }) => ({ email, domain })),
    headerMessageId: messageId === undefined ? null : `<${messageId}>`,
    files,
  });
}

function toSetError(
  { code, path, message }: SubmissionFault,
  emails: readonly string[],
  { recipientsMax, attachmentBytes }: { recipientsMax: number; attachmentBytes: number },
): SetError {
  switch (code) {
    case 'no_recipient':
      return { type: 'noRecipients' };
    case 'bad_address':
      return {
        type: 'invalidRecipients',
        invalidRecipients: [emails[Number(path.split('.')[1])] ?? ''],
        description: message,
      };
    case 'too_many_recipients':
      return { type: 'tooManyRecipients', maxRecipients: recipientsMax };
    case 'too_large':
      return { type: 'tooLarge', maxSize: attachmentBytes, description: message };
    case 'blocked_attachment':
      return { type: 'invalidEmail', properties: ['attachments'], description: message };
  }
}

interface Outgoing {
  readonly sizeBytes: number;
  readonly read: () => AsyncIterable<Uint8Array>;
}

/**
 * Opens the message with CRLF line ends, and without Bcc, which recipients must not see (RFC 5322 §3.6.3).
 * @returns an error if SMTP cannot transport the message.
 */
export async function openOutgoing(
  env: Env,
  sourceKey: string | null,
  message: OpenedMessage,
): Promise<Result<Outgoing, SetError>> {
  const open = async () => {
    if (sourceKey === null) return [message.bytes];
    const stored = await getBlob(env, sourceKey);
    if (!stored) throw new Error('the message to send is missing in every location');
    return inLargePieces(stored.body);
  };
  const { headers, bodyStart } = readHeaders(message.bytes);
  const head = Buffer.from(
    `${headers
      .filter(({ name }) => name !== 'bcc')
      .map((field) => `${toSendableField(field)}\r\n`)
      .join('')}\r\n`,
    'latin1',
  );
  const read = async function* () {
    const toLines = createLineEnder();
    yield head;
    let skipped = 0;
    for await (const piece of await open()) {
      const rest = piece.subarray(Math.max(0, bodyStart - skipped));
      skipped += piece.length;
      if (rest.length > 0) yield toLines(rest);
    }
  };
  let sizeBytes = 0;
  const check = new TransportCheck();
  for await (const piece of read()) {
    sizeBytes += piece.length;
    check.push(piece);
  }
  if (check.fault !== null) return err<SetError>({ type: 'invalidEmail', description: check.fault });
  return ok({ sizeBytes, read });
}

type StoredOutgoing = Pick<NewOutboxMessage, 'sizeBytes' | 'bodyHash' | 'isEightBit'>;

/** Streams an outgoing message into a quorum of the locations. */
export async function storeOutgoing(env: Env, rawKey: string, { sizeBytes, read }: Outgoing): Promise<StoredOutgoing> {
  const hasher = createBodyHasher();
  await storeRaw(env, rawKey, read(), sizeBytes, (chunk) => hasher.push(chunk));
  return { sizeBytes, bodyHash: hasher.digest(), isEightBit: hasher.isEightBit() };
}
