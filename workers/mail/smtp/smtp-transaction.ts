/**
 * Sends one message over an open connection: MAIL, RCPT for each recipient, DATA. If the server offers PIPELINING (RFC 2920), these
 * commands are one write. Every recipient gets an outcome.
 */
import type { AttemptOutcome } from '../domain/recipient-state.ts';
import { createDotStuffer } from './dot-stuffing.ts';
import { command, describeFailure, describeFault, type SmtpConnection } from './smtp-connection.ts';
import { formatReply, type SmtpReply } from './smtp-reply.ts';
import type { SmtpStage, WireFault } from './smtp-wire.ts';

export interface SmtpEnvelope {
  /** Envelope sender without angle brackets; empty for the null sender. It contains no space, control character or bracket. */
  readonly from: string;
  readonly to: readonly string[];
  readonly sizeBytes: number;
  readonly isEightBit: boolean;
}

/** Outcomes of the recipients, in the order of `envelope.to`. `isReusable` is true if the connection is ready for another MAIL. */
export interface TransactionResult {
  readonly outcomes: readonly AttemptOutcome[];
  readonly isReusable: boolean;
  /** True if the server had closed the reused connection, or replied 421, before it accepted any part of the message. */
  readonly isStale: boolean;
}

/** Sends a message. @param openBody opens the message; called only once, and only if the server accepts the message. */
export async function sendMessage(
  connection: SmtpConnection,
  envelope: SmtpEnvelope,
  openBody: () => Promise<ReadableStream<Uint8Array>>,
): Promise<TransactionResult> {
  const { sizeBytesMax } = connection.extensions;
  if (sizeBytesMax !== null && sizeBytesMax > 0 && envelope.sizeBytes > sizeBytesMax) {
    const reply = `5.3.4 the next server accepts at most ${sizeBytesMax} bytes, this message has ${envelope.sizeBytes}`;
    return { ...every(envelope, { kind: 'refused', code: 552, reply }), isReusable: true, isStale: false };
  }
  const envelopeReplies = await offerEnvelope(connection, envelope);
  if (envelopeReplies.kind === 'broken') {
    const isStale = envelopeReplies.fault.kind === 'closed' && envelopeReplies.fault.stage === 'mail';
    const outcome: AttemptOutcome = { kind: 'deferred', code: null, reply: describeFault(envelopeReplies.fault) };
    return { ...every(envelope, outcome), isReusable: false, isStale };
  }
  const accepted = envelopeReplies.recipients.filter((reply) => isPositive(reply)).length;
  if (!isPositive(envelopeReplies.mail) || accepted === 0 || envelopeReplies.data.code !== 354) {
    return {
      ...(await abandon(connection, envelope, envelopeReplies, accepted)),
      isStale: envelopeReplies.mail.code === 421,
    };
  }
  const final = await sendBody(connection, openBody);
  const outcomes = envelopeReplies.recipients.map((reply) =>
    isPositive(reply) ? final.outcome : toOutcome(reply, 'rcpt'),
  );
  return { outcomes, isReusable: final.isReusable, isStale: false };
}

type EnvelopeReplies =
  | { kind: 'broken'; fault: WireFault }
  | { kind: 'answered'; mail: SmtpReply; recipients: SmtpReply[]; data: SmtpReply };

async function offerEnvelope({ wire, extensions }: SmtpConnection, envelope: SmtpEnvelope): Promise<EnvelopeReplies> {
  const size = extensions.sizeBytesMax === null ? '' : ` SIZE=${envelope.sizeBytes}`;
  const body = envelope.isEightBit && extensions.eightBitMime ? ' BODY=8BITMIME' : '';
  const steps: { stage: SmtpStage; line: string }[] = [
    { stage: 'mail', line: `MAIL FROM:<${envelope.from}>${size}${body}` },
    ...envelope.to.map((recipient) => ({ stage: 'rcpt' as const, line: `RCPT TO:<${recipient}>` })),
    { stage: 'data', line: 'DATA' },
  ];
  const replies: SmtpReply[] = [];
  if (extensions.pipelining) {
    const written = await wire.write(steps.map((step) => `${step.line}\r\n`).join(''), 'mail');
    if (!written.ok) return { kind: 'broken', fault: written.error };
  }
  for (const { stage, line } of steps) {
    if (!extensions.pipelining) {
      // Without PIPELINING, no further command is sent once the sender or all recipients are refused.
      const mail = replies[0];
      const isPointless = stage === 'data' && !replies.slice(1).some(isPositive);
      const refusal = mail && !isPositive(mail) ? mail : isPointless ? replies.at(-1) : undefined;
      if (refusal) {
        replies.push(refusal);
        continue;
      }
      const written = await wire.write(`${line}\r\n`, stage);
      if (!written.ok) return { kind: 'broken', fault: written.error };
    }
    const reply = await wire.read(stage);
    if (!reply.ok) return { kind: 'broken', fault: reply.error };
    replies.push(reply.value);
    // 421 means that the server closes the connection, so commands without a reply get none (RFC 5321 §3.8).
    if (reply.value.code === 421) return fillWith(replies, reply.value, steps.length);
  }
  return toEnvelopeReplies(replies);
}

function fillWith(replies: SmtpReply[], reply: SmtpReply, length: number): EnvelopeReplies {
  return toEnvelopeReplies([...replies, ...Array.from({ length: length - replies.length }, () => reply)]);
}

function toEnvelopeReplies(replies: SmtpReply[]): EnvelopeReplies {
  const [mail, ...rest] = replies;
  const data = rest.pop();
  if (!mail || !data) throw new Error('the transaction lacks MAIL or DATA');
  return { kind: 'answered', mail, recipients: rest, data };
}

/** Ends the transaction without sending the message. Gives each recipient the reason. Keeps the connection usable if possible. */
async function abandon(
  connection: SmtpConnection,
  envelope: SmtpEnvelope,
  envelopeReplies: Extract<EnvelopeReplies, { kind: 'answered' }>,
  accepted: number,
): Promise<{ outcomes: AttemptOutcome[]; isReusable: boolean }> {
  const outcomes = envelopeReplies.recipients.map((reply) => {
    if (!isPositive(envelopeReplies.mail)) return toOutcome(envelopeReplies.mail, 'mail');
    return isPositive(reply) ? toOutcome(envelopeReplies.data, 'data') : toOutcome(reply, 'rcpt');
  });
  const { wire } = connection;
  const saw421 = [envelopeReplies.mail, ...envelopeReplies.recipients, envelopeReplies.data].some(
    (reply) => reply.code === 421,
  );
  if (saw421 || !wire.isOpen) {
    await wire.close();
    return { outcomes, isReusable: false };
  }
  if (envelopeReplies.data.code === 354 && connection.extensions.pipelining) {
    // The server accepted DATA, but no message may be sent. If it accepted no recipient, an empty one ends DATA (RFC 2920 §3.1).
    if (accepted > 0) {
      // The server refused the sender but accepted recipients. Only closing the connection prevents delivery.
      await wire.close();
      return { outcomes, isReusable: false };
    }
    await wire.write('.\r\n', 'final_dot');
    await wire.read('final_dot');
  }
  const reset = await command(wire, 'RSET', 'rset', 250);
  if (!reset.ok) await wire.close();
  return { outcomes, isReusable: reset.ok && envelope.to.length > 0 };
}

async function sendBody(
  { wire }: SmtpConnection,
  openBody: () => Promise<ReadableStream<Uint8Array>>,
): Promise<{ outcome: AttemptOutcome; isReusable: boolean }> {
  const stuffer = createDotStuffer();
  const broken = async (reply: string): Promise<{ outcome: AttemptOutcome; isReusable: false }> => {
    await wire.close();
    return { outcome: { kind: 'deferred', code: null, reply }, isReusable: false };
  };
  // A reply between 354 and the end of the message does not answer the message. It must not count as its outcome.
  if (wire.hasUnread) return broken('not SMTP (data): the server replied before the message ended');
  try {
    for await (const chunk of await openBody()) {
      const written = await wire.write(stuffer.push(chunk), 'body');
      if (!written.ok) return broken(describeFault(written.error));
    }
  } catch (error) {
    // Our own store failed while the message was being sent. Without the final dot, the server discards what it has received.
    return broken(`the stored message could not be read: ${error instanceof Error ? error.message : String(error)}`);
  }
  const written = await wire.write(stuffer.end(), 'final_dot');
  const reply = written.ok ? await wire.read('final_dot') : written;
  if (!reply.ok) {
    return {
      outcome: { kind: 'unknown', reply: `${describeFault(reply.error)}; it may have arrived` },
      isReusable: false,
    };
  }
  const isReusable = reply.value.code !== 421;
  if (!isReusable) await wire.close();
  return { outcome: toOutcome(reply.value, 'final_dot'), isReusable };
}

const isPositive = (reply: SmtpReply): boolean => reply.code >= 200 && reply.code < 300;

const every = (envelope: SmtpEnvelope, outcome: AttemptOutcome) => ({ outcomes: envelope.to.map(() => outcome) });

function toOutcome(reply: SmtpReply, stage: SmtpStage): AttemptOutcome {
  const text = formatReply(reply);
  if (isPositive(reply) && stage === 'final_dot') return { kind: 'sent', code: reply.code, reply: text };
  // 552 to RCPT means "too many recipients" and is treated as 452 (RFC 5321 §4.5.3.1.10).
  // 530 requests TLS or a password (RFC 3207 §4, RFC 4954 §6): the configuration of the relay is wrong, not the message.
  const isTemporary = reply.code < 500 || reply.code === 530 || (reply.code === 552 && stage === 'rcpt');
  return { kind: isTemporary ? 'deferred' : 'refused', code: reply.code, reply: text };
}

/** @returns the outcome for every recipient if no connection could be opened. It is never a permanent failure. */
export function toConnectOutcome(failure: Parameters<typeof describeFailure>[0]): AttemptOutcome {
  const code = failure.kind === 'reply' ? failure.reply.code : null;
  return { kind: 'deferred', code, reply: describeFailure(failure) };
}
