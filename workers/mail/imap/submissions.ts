/** `POST /v1/imap/submissions`: sends a raw message as it came, but for Bcc. */
import { createHash, randomUUID } from 'node:crypto';
import { createRoute, type OpenAPIHono } from '@hono/zod-openapi';
import { HTTPException } from 'hono/http-exception';
import type { DomainHour, Submitted } from '../../../durable-objects/mail/contract/outbox.ts';
import type { UserPrincipal } from '../../identity/index.ts';
import { type JsonApiEnv, jsonContent, problemResponses, rawBody, sendProblem } from '../../shared/json/json-api.ts';
import type { Problem } from '../../shared/json/problem.ts';
import { err, ok, type Result } from '../../shared/pure/result.ts';
import { createClock } from '../../shared/settings/clock.ts';
import { logError, logInfo } from '../../shared/telemetry/log.ts';
import { deleteBlobs, userPrefix } from '../bindings/blobs.ts';
import { hintOutbound } from '../bindings/hints.ts';
import { openMailbox } from '../bindings/mailbox.ts';
import { readTransportSettings } from '../bindings/transport-settings.ts';
import { type OpenedMessage, openBytes, openStored } from '../checks/opened-message.ts';
import { toBase64Size } from '../domain/base64-size.ts';
import { putDelivery, readPieces } from '../inbound/process/delivery.ts';
import { checkSending, listEmails, openOutgoing, storeOutgoing, toRefusal } from '../jmap/objects/send-email.ts';
import type { SetError } from '../jmap/protocol/method.ts';
import { headerValue } from '../mime/mime-tree.ts';
import { parseAddressList } from '../mime/parse.ts';
import { recordRefusal, toFaultProblem, toSubmitProblem } from '../outbound/submission/refusal.ts';
import { readRoom, reserveRoom, submitWithShare } from '../outbound/submission/send-room.ts';
import { findSizeFault } from '../outbound/submission/size-of-way.ts';
import { openOwnMailbox, USER_ROUTE } from '../routes/route.ts';
import { MAILBOX_UNAVAILABLE } from '../schemas/errors.ts';
import { listSenders } from '../store/address-store.ts';
import { listOpenMasked } from '../store/masked-store.ts';
import { toMessageBytesMax } from './account.ts';
import { type Received, receiveMessage } from './received-body.ts';
import { submissionAnswerSchema, submissionQuerySchema } from './schemas.ts';

interface Sending {
  readonly env: Env;
  readonly user: UserPrincipal;
  readonly accountType: string;
  readonly envelope: { readonly from: string; readonly to: readonly string[] };
  readonly idempotencyKey: string | null;
}

export function addImapSubmissions(api: OpenAPIHono<JsonApiEnv>): void {
  api.openapi(
    createRoute({
      ...USER_ROUTE,
      method: 'post',
      path: '/v1/imap/submissions',
      operationId: 'submitRawMessage',
      summary: 'Send a raw message',
      description:
        'The bytes stay as they came, without Bcc. `from` and the From of the message must be addresses of the account. The message is in Sent afterwards.',
      request: { ...rawBody('message/rfc822'), query: submissionQuerySchema },
      responses: {
        202: jsonContent(submissionAnswerSchema, 'The message is in Sent and in the outbox'),
        ...problemResponses(400, 401, 403, 404, 409, 411, 413, 415, 429, 503),
      },
    }),
    async (c) => {
      const own = await openOwnMailbox(c);
      if (!own.ok) return sendProblem(c, own.error);
      const { user, ask } = own.value;
      const { from, to } = c.req.valid('query');
      const profile = await ask((mailbox) => mailbox.readProfile());
      if (!profile.ok) return sendProblem(c, profile.error);
      const { accountType } = profile.value;
      const sending = {
        env: c.env,
        user,
        accountType,
        envelope: { from, to: [to].flat() },
        idempotencyKey: c.req.header('idempotency-key')?.slice(0, 255) ?? null,
      };
      const place = {
        key: `${userPrefix(user.userId)}submitted/${randomUUID()}`,
        bytesMax: toMessageBytesMax(c.env, accountType),
      };
      try {
        const sent = await receiveMessage(c, place, async (received) => ({
          outcome: await submit(sending, received),
          keepsBytes: false,
        }));
        return sent.ok ? c.json({ message_id: sent.value.messageId }, 202) : sendProblem(c, sent.error);
      } catch (error) {
        // The client broke off.
        if (error instanceof HTTPException) throw error;
        logError('submission_failed', error, { request_id: c.get('requestId') });
        return sendProblem(c, MAILBOX_UNAVAILABLE);
      }
    },
  );
}

/** Converts an error of the checks that JMAP makes too. Errors that are not about the mail itself are limits. */
const toProblem = (error: SetError): Problem =>
  toRefusal(error) ?? toSubmitProblem({ kind: 'rate_limited', retryAfterMs: 60_000 });

async function submit(sending: Sending, received: Received): Promise<Result<Submitted, Problem>> {
  const { env, user, envelope, idempotencyKey } = sending;
  const { message } = received;
  const request = JSON.stringify([envelope.from, envelope.to, message.sha256]);
  const requestSha256 = createHash('sha256').update(request).digest('hex');
  const idempotency = idempotencyKey === null ? null : { key: idempotencyKey, requestSha256 };
  if (idempotency) {
    const known = await openMailbox(env, user.userId).findSubmission(idempotency.key, requestSha256);
    if (!known.ok) return err(toSubmitProblem(known.error));
    if (known.value) return ok(known.value);
  }
  const sent = await send(sending, received, idempotency);
  if (sent.ok) return sent;
  const recipients = envelope.to.length > 0 ? envelope.to : listEmails(message, 'to');
  await recordRefusal(env, user.userId, sent.error, { requestJson: null, recipients });
  return sent;
}

type Idempotency = { readonly key: string; readonly requestSha256: string };
type Checked = Extract<ReturnType<typeof checkSending>, { ok: true }>['value'];
type Outgoing = Extract<Awaited<ReturnType<typeof openOutgoing>>, { ok: true }>['value'];

async function send(
  sending: Sending,
  received: Received,
  idempotency: Idempotency | null,
): Promise<Result<Submitted, Problem>> {
  const { env, user, accountType, envelope } = sending;
  const { message, storedKey } = received;
  const addresses = (await Promise.all([listSenders(env, user.userId), listOpenMasked(env, user.userId)])).flat();
  const checked = checkSending(env, { addresses, accountType, envelope }, message);
  if (!checked.ok) return err(toProblem(checked.error));
  const { from, recipients, files } = checked.value;
  const outgoing = await openOutgoing(env, storedKey, message);
  if (!outgoing.ok) return err(toProblem(outgoing.error));
  const tooLarge = await findSizeFault(env, {
    from,
    domains: recipients.map(({ domain }) => domain),
    sizeBytes: outgoing.value.sizeBytes,
    fileBytes: files.reduce((sum, file) => sum + file.sizeBytes, 0),
    encodedFileBytes: files.reduce((sum, file) => sum + toBase64Size(file.sizeBytes), 0),
  });
  if (tooLarge) return err(toFaultProblem([tooLarge.fault]));
  const before = await readRoom(env, user.userId, { email: from, ownAddress: from }, recipients.length);
  const room = before.ok ? await reserveRoom(env, user.userId, before.value, recipients.length) : before;
  if (!room.ok) return err(toSubmitProblem(room.error));
  return queue(env, user.userId, message, {
    ...{ checked: checked.value, outgoing: outgoing.value, domainHour: room.value, idempotency },
  });
}

interface Accepted {
  readonly checked: Checked;
  readonly outgoing: Outgoing;
  readonly domainHour: DomainHour;
  readonly idempotency: Idempotency | null;
}

/** Stores the outgoing bytes, then the copy in Sent and the outbox row in one transaction. */
async function queue(
  env: Env,
  userId: string,
  message: OpenedMessage,
  { checked, outgoing, domainHour, idempotency }: Accepted,
): Promise<Result<Submitted, Problem>> {
  const settings = readTransportSettings(env);
  const now = createClock(env)();
  const outboxId = randomUUID();
  const rawKey = `${userPrefix(userId)}sent/${outboxId}/raw`;
  const raw = await storeOutgoing(env, rawKey, outgoing);
  const copy = await openCopy(env, rawKey, message, outgoing);
  const { input, written } = await putDelivery(env, {
    ...{ userId, deliveryKey: `sent:${outboxId}`, message: copy, rawKey, bcc: readBcc(message) },
    ...{ receivedAt: now, origin: 'sent', folder: 'sent', isRead: true, isFlagged: false, labels: [] },
    ...{ envelopeFrom: checked.from, envelopeTo: null, spam: null, authentication: null },
    ...{ applyRules: false, enforceQuota: false },
  });
  const { from: envelopeFrom, recipients, headerMessageId } = checked;
  const submitted = await submitWithShare(env, userId, {
    ...{ domainHour, limits: settings.sendLimits, idempotency },
    ...{ draftId: null, draftRevision: null, forwardOf: null, attachmentIds: [] },
    outbox: {
      ...{ outboxId, kind: 'message', headerMessageId, rawKey, ownsRaw: false, ...raw, envelopeFrom, recipients },
      holdUntil: now + settings.holdMs,
    },
    sentCopy: input,
  });
  if (!submitted.ok || submitted.value.duplicate) await deleteBlobs(env, [rawKey, ...written]);
  if (!submitted.ok) return err(toSubmitProblem(submitted.error));
  if (!submitted.value.duplicate) await hintOutbound(env, userId, settings.holdMs);
  logInfo('submission_accepted', { outbox_id: outboxId, recipients: recipients.length, size_bytes: raw.sizeBytes });
  return ok(submitted.value);
}

/** Opens the message as it was stored, which is what Sent shows. */
async function openCopy(
  env: Env,
  rawKey: string,
  { sizeBytes, cuts }: OpenedMessage,
  outgoing: Outgoing,
): Promise<OpenedMessage> {
  const isHeld = cuts.length === 0 && Math.max(sizeBytes, outgoing.sizeBytes) <= 1024 * 1024;
  if (isHeld) return openBytes(await readPieces(outgoing.read()));
  const stored = await openStored(env, rawKey);
  if (!stored) throw new Error('a message that was just stored is missing');
  return stored;
}

const readBcc = (message: OpenedMessage) =>
  parseAddressList(message.tree.parts[0] ? headerValue(message.tree.parts[0].headers, 'bcc') : '');
