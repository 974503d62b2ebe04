/**
 * Accepts mail. `email()`, `/v1/inbound` and mail between our own users all use this code. A recipient gets 250 only once its raw
 * message is in a quorum of the locations and its row in its mailbox. Any failure on our side is 451, so the sender keeps the
 * message and retries.
 *
 * By design, the raw bytes are stored as received, without a trace header. The row has the envelope and the client.
 */
import { createHash } from 'node:crypto';
import type { IncomingMessage } from '../../../../durable-objects/mail/contract/incoming.ts';
import { err, type Result } from '../../../shared/pure/result.ts';
import { settingsOf } from '../../../shared/settings/settings.ts';
import { countOperation } from '../../../shared/telemetry/counters.ts';
import { logError, logInfo } from '../../../shared/telemetry/log.ts';
import { deleteBlobs, getBlob, inLargePieces, userPrefix } from '../../bindings/blobs.ts';
import { openMailbox } from '../../bindings/mailbox.ts';
import { authenticateMessage, readSealedClient } from '../../checks/index.ts';
import { createCheckDependencies } from '../../checks/production-dependencies.ts';
import { isPublicIp } from '../../domain/client-ip.ts';
import { decideHeader } from '../../domain/header-policy.ts';
import { noteMaskedArrival } from '../../store/masked-store.ts';
import { recordRefusals } from '../../store/refusal-store.ts';
import { type ArrivedRaw, judgeSize, sumFileBytes, tooLarge } from './judge-size.ts';
import { type Recipient, type RecipientReply, resolveRecipient, toReply } from './resolve-recipient.ts';
import { type StoredRaw, storeRaw, storeRawBytes } from './store-raw.ts';

export interface Envelope {
  /** Envelope sender; empty for the null sender. */
  readonly from: string;
  readonly to: readonly string[];
  readonly clientIp: string | null;
  readonly helo: string | null;
  /**
   * Set for mail from Email Routing, which passes no client address. The client is then read from the message, if Cloudflare
   * sealed it there.
   */
  readonly isFromEmailRouting?: true;
}

export interface RawSource {
  readonly body: ReadableStream<Uint8Array>;
  /** Size of the body; null if unknown. Without a size, the message is held in memory. */
  readonly sizeBytes: number | null;
}

/** RFC 5321 §4.5.3.1.8 requires 100. */
export const RECIPIENTS_PER_MESSAGE_MAX = 100;
/** Maximum size of a message: 50 MB of attachments in Base64, plus headers and text. No account accepts more. */
export const MESSAGE_BYTES_MAX = 75 * 1024 * 1024;

const OUR_FAULT = '4.3.0 temporary service failure, try again later';

const TOO_MANY_RECIPIENTS = '4.5.3 too many recipients, send the rest again';

/**
 * Checks a recipient before the message arrives.
 * @param recipientsBefore number of recipients of the message that were accepted before. If a gateway deferred more only after the
 * message, its client would try all of them again, and each time the same ones would be too many.
 * @returns 250 or the refusal.
 */
export async function checkRecipient(
  env: Env,
  entry: EnvelopeEntry,
  sizeBytes: number | null,
  recipientsBefore: number,
): Promise<RecipientReply> {
  if (recipientsBefore >= RECIPIENTS_PER_MESSAGE_MAX) return toReply(entry.to.slice(0, 320), 452, TOO_MANY_RECIPIENTS);
  const found = await admitRecipient(env, entry, sizeBytes);
  return found.ok ? toReply(found.value.email, 250, '2.1.5 ok') : found.error;
}

/** The sender of an envelope, and one of its recipients. */
interface EnvelopeEntry {
  readonly from: string;
  readonly to: string;
}

/** Resolves a recipient, and checks the size of the message, if it is known, and the rate. */
async function admitRecipient(
  env: Env,
  entry: EnvelopeEntry,
  sizeBytes: number | null,
  source: 'replica' | 'primary' = 'replica',
): Promise<Result<Recipient, RecipientReply>> {
  const { from, to } = entry;
  try {
    const found = await resolveRecipient(env, to, from, source);
    if (!found.ok) return found;
    const { email, messageBytesMax, isConfirmed } = found.value;
    if (sizeBytes !== null && sizeBytes > messageBytesMax)
      return isConfirmed ? err(tooLarge(found.value)) : await admitRecipient(env, entry, sizeBytes, 'primary');
    if (await isWithinRate(env, found.value)) return found;
    return err(toReply(email, 450, '4.2.1 mailbox receives too much mail, try again later'));
  } catch (error) {
    logError('recipient_resolve_failed', error);
    return err(toReply(to.slice(0, 320), 451, OUR_FAULT));
  }
}

async function isWithinRate(env: Env, recipient: Recipient): Promise<boolean> {
  return (await env.RATE_LIMIT_INBOUND.limit({ key: recipient.userId })).success;
}

/**
 * Accepts a message.
 * @param given origin and verdicts of mail that was sent here. Default: mail from outside, without verdicts.
 * @returns a reply for each recipient of the envelope, in the same order.
 */
export async function acceptMessage(
  env: Env,
  envelope: Envelope,
  source: RawSource,
  given: Partial<Pick<Arrival, 'origin' | 'verdicts'>> = {},
): Promise<RecipientReply[]> {
  const { origin = 'smtp', verdicts = null } = given;
  const replies = new Map<number, RecipientReply>();
  const targets: (Recipient & { readonly at: number })[] = [];
  for (const [at, to] of envelope.to.entries()) {
    if (at >= RECIPIENTS_PER_MESSAGE_MAX) {
      replies.set(at, toReply(to, 452, TOO_MANY_RECIPIENTS));
      continue;
    }
    const found = await admitRecipient(env, { from: envelope.from, to }, source.sizeBytes);
    if (!found.ok) replies.set(at, found.error);
    else targets.push({ ...found.value, at });
  }
  if (targets.length > 0) {
    const accepted = await acceptForAll(env, { envelope, origin, verdicts }, source, targets);
    for (const [n, target] of targets.entries())
      replies.set(target.at, accepted[n] ?? toReply(target.email, 451, OUR_FAULT));
  } else {
    await source.body.cancel().catch(() => {});
  }
  const ordered = envelope.to.map((to, at) => replies.get(at) ?? toReply(to, 451, OUR_FAULT));
  await recordRefusals(env.DIRECTORY, ordered).catch((error: unknown) => logError('refusals_record_failed', error));
  for (const { smtp_code: code } of ordered)
    countOperation(env, 'mail_in', code === 250 ? 'ok' : code < 500 ? 'failed' : 'refused', 0);
  logInfo('mail_accepted', {
    recipients: ordered.length,
    accepted: ordered.filter((reply) => reply.smtp_code === 250).length,
    size_bytes: source.sizeBytes,
    origin,
  });
  return ordered;
}

/** A message that arrived, and what is known of it before it is accepted. */
interface Arrival {
  readonly envelope: Envelope;
  readonly origin: IncomingMessage['origin'];
  readonly verdicts: IncomingMessage['verdicts'];
  readonly stored: ArrivedRaw;
}

/** A recipient, and the R2 key of its copy of the raw message. */
type Target = Recipient & { readonly key: string };

const toTarget = (recipient: Recipient): Target => ({
  ...recipient,
  key: `${userPrefix(recipient.userId)}in/${crypto.randomUUID()}`,
});

/** Stores the raw message for the first recipient while it arrives, then copies it for the others. */
async function acceptForAll(
  env: Env,
  arriving: Omit<Arrival, 'stored'>,
  source: RawSource,
  recipients: readonly Recipient[],
): Promise<RecipientReply[]> {
  const { envelope } = arriving;
  const targets = recipients.map(toTarget);
  const firstKey = targets[0]?.key ?? '';
  const removeRaw = () => removeBlob(env, firstKey);
  const everyone = (code: number, detail: string) => targets.map((target) => toReply(target.email, code, detail));
  let stored: StoredRaw;
  try {
    const outcome = await storeSource(env, firstKey, source);
    if (outcome === 'too_large') return everyone(552, '5.3.4 message too large');
    stored = outcome;
  } catch (error) {
    logError('raw_store_failed', error);
    return everyone(451, OUR_FAULT);
  }
  const refusal = decideHeader(stored.head.toString('latin1'), stored.sizeBytes);
  if (refusal) {
    await removeRaw();
    return everyone(refusal.smtpCode, refusal.detail);
  }
  const { judged, client } = await checkDmarcPolicy(env, envelope, stored, firstKey);
  if (judged === 'refuse') {
    await removeRaw();
    return everyone(550, '5.7.26 DMARC failed and the domain in From requests rejection');
  }
  let measured: Promise<number> | undefined;
  const fileBytes = () => (measured ??= sumFileBytes(env, firstKey, stored.sizeBytes));
  const arrival = {
    ...arriving,
    envelope: { ...envelope, ...client },
    verdicts: arriving.verdicts ?? judged,
    stored: { ...stored, fileBytes },
  };
  const replies: RecipientReply[] = [];
  // The first recipient comes last, because its bytes are the source of the copies and may be processed once its row is written.
  for (const target of targets.toReversed())
    replies.unshift(await acceptForOne(env, arrival, target, target.key === firstKey ? null : firstKey));
  return replies;
}

const removeBlob = (env: Env, key: string): Promise<void> =>
  deleteBlobs(env, [key]).catch((error: unknown) => logError('raw_delete_failed', error));

/**
 * Maximum size of a message that is authenticated at acceptance. A larger one is authenticated when it is processed; if DMARC fails
 * then, it goes to Junk.
 */
const AUTHENTICATED_BYTES_MAX = 10 * 1024 * 1024;

type Client = Pick<Envelope, 'clientIp' | 'helo'>;

/**
 * Applies DMARC at acceptance, for clients whose address can be checked. A DNS failure never refuses a message.
 * @returns `judged`: `refuse`, or the authentication as JSON for later, or null if nothing was checked. `client`: the SMTP client,
 * as far as it is known.
 */
async function checkDmarcPolicy(
  env: Env,
  envelope: Envelope,
  stored: StoredRaw,
  key: string,
): Promise<{ readonly judged: string | null; readonly client: Client }> {
  let client: Client = { clientIp: envelope.clientIp, helo: envelope.helo };
  const isUnknown = client.clientIp === null || !isPublicIp(client.clientIp);
  if ((isUnknown && !envelope.isFromEmailRouting) || stored.sizeBytes > AUTHENTICATED_BYTES_MAX)
    return { judged: null, client };
  const dependencies = createCheckDependencies(env);
  const { ARC_TRUSTED_SEALERS } = settingsOf(env);
  try {
    const whole = stored.sizeBytes <= stored.head.length ? stored.head : await readRaw(env, key);
    if (envelope.isFromEmailRouting) client = (await readSealedClient(whole, dependencies)) ?? client;
    if (client.clientIp === null || !isPublicIp(client.clientIp)) return { judged: null, client };
    const message = { raw: whole, envelope: { from: envelope.from }, ...client, direction: 'inbound' as const };
    const authentication = await authenticateMessage(message, dependencies, { ARC_TRUSTED_SEALERS });
    const isRefused = authentication.dmarc.disposition === 'reject';
    return { judged: isRefused ? 'refuse' : JSON.stringify({ authentication }), client };
  } catch (error) {
    logError('sender_authentication_failed', error);
    return { judged: null, client };
  }
}

async function readRaw(env: Env, key: string): Promise<Uint8Array> {
  const found = await getBlob(env, key);
  if (!found) throw new Error('the raw message is missing');
  return new Uint8Array(await found.arrayBuffer());
}

/** Messages up to this size are held in memory, because a stream to each location costs more than their bytes. */
const HELD_BYTES_MAX = 256 * 1024;

async function storeSource(env: Env, key: string, source: RawSource): Promise<StoredRaw | 'too_large'> {
  const { sizeBytes: said } = source;
  if (said !== null && said > HELD_BYTES_MAX) return storeRaw(env, key, inLargePieces(source.body), said);
  const chunks: Uint8Array[] = [];
  let sizeBytes = 0;
  for await (const chunk of source.body) {
    sizeBytes += chunk.length;
    if (sizeBytes > MESSAGE_BYTES_MAX) return 'too_large';
    chunks.push(chunk);
  }
  if (said !== null && said !== sizeBytes) throw new Error(`a message declared as ${said} bytes has ${sizeBytes}`);
  return storeRawBytes(env, key, Buffer.concat(chunks));
}

/** @param copyFrom R2 key of the bytes to copy; null if they are at the target's key already. */
async function acceptForOne(
  env: Env,
  arrival: Arrival,
  target: Target,
  copyFrom: string | null,
): Promise<RecipientReply> {
  const { email, key } = target;
  try {
    if (copyFrom !== null) await copyRaw(env, copyFrom, key, arrival.stored.sizeBytes);
    const offered = await offer(env, arrival, target);
    if (offered === 'unproven') return await acceptForConfirmed(env, arrival, target);
    if (offered !== 'accepted') await removeBlob(env, key);
    return offered === 'accepted' || offered === 'duplicate' ? toReply(email, 250, '2.0.0 accepted') : offered;
  } catch (error) {
    // The row may have been written although its answer was lost, so the raw bytes stay. A retry is then recognised as a duplicate.
    logError('incoming_insert_failed', error);
    return toReply(email, 451, OUR_FAULT);
  }
}

/** Asks the primary who receives the message, because the mailbox that a replica named refused it. Moves the bytes there. */
async function acceptForConfirmed(env: Env, arrival: Arrival, { email, key }: Target): Promise<RecipientReply> {
  const entry = { from: arrival.envelope.from, to: email };
  const found = await admitRecipient(env, entry, arrival.stored.sizeBytes, 'primary');
  const reply = found.ok ? await acceptForOne(env, arrival, toTarget(found.value), key) : found.error;
  await removeBlob(env, key);
  return reply;
}

/** @returns `unproven` for a refusal that the primary has to confirm. @throws if the mailbox cannot be reached. */
async function offer(
  env: Env,
  { envelope, stored, origin, verdicts }: Arrival,
  target: Target,
): Promise<RecipientReply | 'accepted' | 'duplicate' | 'unproven'> {
  const { email, deliveredTo, userId, isConfirmed, key } = target;
  const excess = await judgeSize(stored, target);
  if (excess) return isConfirmed ? excess : 'unproven';
  const message = {
    incomingId: crypto.randomUUID(),
    contentKey: toContentKey(stored, envelope.from, email),
    rawKey: key,
    rawSha256: stored.sha256,
    sizeBytes: stored.sizeBytes,
    envelopeFrom: envelope.from,
    envelopeTo: email,
    deliveredTo,
    clientIp: envelope.clientIp,
    helo: envelope.helo,
    origin,
    verdicts,
  };
  const outcome = await openMailbox(env, userId).acceptIncoming(message, isConfirmed);
  if (outcome.ok) {
    await noteMaskedArrival(env, target);
    return outcome.value.duplicate ? 'duplicate' : 'accepted';
  }
  if (outcome.error.kind === 'over_quota') return toReply(email, 452, '4.2.2 mailbox full');
  return isConfirmed ? toReply(email, 550, '5.1.1 no such mailbox') : 'unproven';
}

async function copyRaw(env: Env, from: string, to: string, sizeBytes: number): Promise<void> {
  const source = await getBlob(env, from);
  if (!source) throw new Error('the raw message disappeared before it was copied');
  await storeRaw(env, to, inLargePieces(source.body), sizeBytes);
}

/**
 * Makes the content key. A sender's retry has the same bytes, sender and recipient, so it gets the same key. Without Date,
 * Message-ID and Received, two different messages could have the same bytes. Such a message gets a random key, so it never counts
 * as a retry.
 */
function toContentKey(stored: StoredRaw, from: string, to: string): string {
  const isDistinct = /^(?:date|message-id|received):/im.test(
    stored.head.toString('latin1').split(/\r?\n\r?\n/)[0] ?? '',
  );
  const parts = [stored.sha256, from, to, isDistinct ? '' : crypto.randomUUID()];
  return createHash('sha256').update(parts.join('\n')).digest('hex');
}
