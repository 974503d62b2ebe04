/**
 * The inbound SMTP listener of a local Tessera. In production, Cloudflare Email Routing or an SMTP gateway has this role.
 *
 * The bridge makes no decisions. It sends each RCPT to `/v1/inbound/check` and each message to `/v1/inbound` as raw bytes, and
 * replies with the service's answer. If the service does not answer, the client gets 451 and keeps the message.
 *
 * By design: the bridge trusts XCLIENT, so that tests can act as any client; only loopback can connect. SMTP has one reply to DATA.
 * If some recipients accept a message and others reject it permanently, the reply is 554 and names both groups. If any recipient
 * defers it, the reply is 4xx; recipients that already have the message recognise the retry.
 */
import type { Readable } from 'node:stream';
import { domainToASCII } from 'node:url';
import { SMTPServer, type SMTPServerSession } from 'smtp-server';
import { listen, type RunningServer } from './smtp-listen.ts';

export interface SmtpBridgeOptions {
  readonly host: string;
  /** Port to listen on; 0 picks a free one. */
  readonly port: number;
  /** Base URL of the Worker, such as `http://127.0.0.1:8787`. */
  readonly url: string;
  /** Token for the service: the root token, or a token with the `inbound` scope. */
  readonly token: string;
  /**
   * Size limit in bytes that the SMTP extension SIZE announces. The bridge rejects a larger message without calling the service.
   */
  readonly sizeBytesMax?: number;
}

interface RecipientReply {
  readonly email: string;
  readonly smtp_code: number;
  readonly detail: string;
}

/** Default size limit: 50 MB of attachments in Base64 with line breaks, plus room for text and headers. */
const SIZE_BYTES_MAX = 75 * 1024 * 1024;
const SERVICE_TIMEOUT_MS = 120_000;

export async function startSmtpBridge(options: SmtpBridgeOptions): Promise<RunningServer> {
  const server = new SMTPServer({
    name: 'localhost',
    banner: 'Tessera',
    disabledCommands: ['AUTH', 'STARTTLS'],
    disableReverseLookup: true,
    hideSMTPUTF8: true,
    // The library must not add enhanced status codes (RFC 3463), because the replies of the service already contain them.
    hideENHANCEDSTATUSCODES: true,
    useXClient: true,
    size: options.sizeBytesMax ?? SIZE_BYTES_MAX,
    rejectOversized: true,
    logger: false,
    onMailFrom(address, _session, done) {
      // Do not offer SMTPUTF8, so clients must not send non-ASCII addresses (RFC 6531 §3.4).
      if (/[^ -~]/.test(toEnvelopeAddress(address.address)))
        done(toError(553, '5.6.7 non-ASCII address: SMTPUTF8 is not supported'));
      else done();
    },
    onRcptTo(address, session, done) {
      const from = session.envelope.mailFrom ? toEnvelopeAddress(session.envelope.mailFrom.address) : '';
      checkRecipient(options, { from, to: address.address, recipients: session.envelope.rcptTo.length }).then(
        (reply) => (isAccepted(reply) ? done() : done(toError(reply.smtp_code, reply.detail))),
        (error: unknown) => done(toServiceFault(error)),
      );
    },
    onData(stream, session, done) {
      readAll(stream)
        .then((raw) => deliver(options, raw, session))
        .then(
          (replies) => answerData(replies, done),
          (error: unknown) => done(toServiceFault(error)),
        );
    },
  });
  return listen(server, options.port, options.host);
}

/**
 * Restores the A-labels (ASCII form) of the domain that the client sent. The SMTP library decodes them, and HTTP headers cannot
 * hold non-ASCII names.
 */
function toEnvelopeAddress(address: string): string {
  const at = address.lastIndexOf('@') + 1;
  return address.slice(0, at) + (domainToASCII(address.slice(at)) || address.slice(at));
}

const isAccepted = (reply: RecipientReply): boolean => reply.smtp_code >= 200 && reply.smtp_code < 300;

interface RecipientCheck {
  readonly from: string;
  readonly to: string;
  /** Number of recipients of this message that were accepted before. */
  readonly recipients: number;
}

async function checkRecipient(options: SmtpBridgeOptions, check: RecipientCheck): Promise<RecipientReply> {
  const response = await fetch(`${options.url}/v1/inbound/check`, {
    method: 'POST',
    headers: { authorization: `Bearer ${options.token}`, 'content-type': 'application/json' },
    body: JSON.stringify(check),
    signal: AbortSignal.timeout(SERVICE_TIMEOUT_MS),
  });
  const reply: unknown = await response.json();
  if (!isReply(reply)) throw new Error(`/v1/inbound/check answered ${response.status}`);
  return reply;
}

async function deliver(options: SmtpBridgeOptions, raw: Buffer, session: SMTPServerSession): Promise<RecipientReply[]> {
  const { mailFrom, rcptTo } = session.envelope;
  const response = await fetch(`${options.url}/v1/inbound`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${options.token}`,
      'content-type': 'message/rfc822',
      'x-envelope-from': mailFrom ? toEnvelopeAddress(mailFrom.address) : '',
      'x-envelope-to': rcptTo.map((recipient) => toEnvelopeAddress(recipient.address)).join(','),
      'x-client-ip': session.remoteAddress,
      'x-helo': session.hostNameAppearsAs,
    },
    body: new Uint8Array(raw),
    signal: AbortSignal.timeout(SERVICE_TIMEOUT_MS),
  });
  const body = (await response.json()) as { recipients?: unknown };
  const replies = Array.isArray(body.recipients) ? body.recipients.filter(isReply) : [];
  if (replies.length !== rcptTo.length) throw new Error(`/v1/inbound answered ${response.status}`);
  return replies;
}

function answerData(replies: RecipientReply[], done: (error?: Error | null, message?: string) => void): void {
  const refused = replies.filter((reply) => !isAccepted(reply));
  const worst = refused.find((reply) => reply.smtp_code < 500) ?? refused[0];
  if (!worst) {
    done(null, 'accepted');
    return;
  }
  const isMixed = refused.length < replies.length;
  const namesOf = (list: readonly RecipientReply[]) => list.map((reply) => reply.email).join(', ');
  const detail = isMixed
    ? `${worst.detail}; not accepted for ${namesOf(refused)}; accepted for ${namesOf(replies.filter(isAccepted))}`
    : worst.detail;
  done(toError(isMixed && worst.smtp_code >= 500 ? 554 : worst.smtp_code, detail));
}

function toError(smtpCode: number, detail: string): Error {
  return Object.assign(new Error(detail.replaceAll(/[\r\n]+/g, ' ')), { responseCode: smtpCode });
}

function toServiceFault(error: unknown): Error {
  console.error(JSON.stringify({ event: 'smtp_bridge_failed', message: String(error) }));
  return toError(451, '4.3.0 the mail service does not answer, try again later');
}

function isReply(value: unknown): value is RecipientReply {
  const reply = value as Partial<RecipientReply> | null;
  return typeof reply === 'object' && reply !== null && typeof reply.smtp_code === 'number' && 'detail' in reply;
}

async function readAll(stream: Readable): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of stream) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks);
}
