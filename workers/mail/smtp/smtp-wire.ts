/**
 * The byte level of one SMTP connection: sends bytes and reads replies. Each step has the timeout of its stage. After any fault,
 * the wire is closed for good.
 */
import { err, ok, type Result } from '../../shared/pure/result.ts';
import { createReplyReader, type SmtpReply } from './smtp-reply.ts';

/** The part of a `cloudflare:sockets` socket that is used here. Tests make one with node:net. */
export interface SmtpSocket {
  readonly readable: ReadableStream<Uint8Array>;
  readonly writable: WritableStream<Uint8Array>;
  startTls(): SmtpSocket;
  close(): Promise<void>;
}

export type WireFault =
  | { readonly kind: 'timeout'; readonly stage: SmtpStage }
  /** The server closed the connection, or no connection was established. */
  | { readonly kind: 'closed'; readonly stage: SmtpStage; readonly reason: string }
  | { readonly kind: 'garbled'; readonly stage: SmtpStage; readonly line: string };

export type SmtpStage =
  | 'connect'
  | 'ehlo'
  | 'starttls'
  | 'auth'
  | 'mail'
  | 'rcpt'
  | 'data'
  | 'body'
  | 'final_dot'
  | 'rset'
  | 'quit';

/** Timeouts of the stages in milliseconds, as in RFC 5321 §4.5.3.2 except for a shorter one for connecting. */
export type SmtpTimeouts = Readonly<Record<SmtpStage, number>>;
export const SMTP_TIMEOUTS: SmtpTimeouts = {
  connect: 60_000,
  ehlo: 300_000,
  starttls: 60_000,
  auth: 120_000,
  mail: 300_000,
  rcpt: 300_000,
  data: 120_000,
  body: 180_000,
  final_dot: 600_000,
  rset: 20_000,
  quit: 5_000,
};

export interface SmtpWire {
  read(stage: SmtpStage): Promise<Result<SmtpReply, WireFault>>;
  write(bytes: Uint8Array | string, stage: SmtpStage): Promise<Result<void, WireFault>>;
  /** Continues on the encrypted socket. Discards replies that were received before (RFC 3207 §6). */
  startTls(): void;
  close(): Promise<void>;
  readonly isOpen: boolean;
  /** True if the server sent replies that no command expects. */
  readonly hasUnread: boolean;
}

export function createSmtpWire(dialed: SmtpSocket, timeouts: SmtpTimeouts): SmtpWire {
  let socket = dialed;
  let reader = socket.readable.getReader();
  let writer = socket.writable.getWriter();
  let replies = createReplyReader();
  let waiting: SmtpReply[] = [];
  let fault: WireFault | null = null;

  function fail(found: WireFault): Result<never, WireFault> {
    if (fault === null) {
      fault = found;
      void socket.close().catch(() => {});
    }
    return err(found);
  }

  /** Waits for a step, at most for the timeout of its stage. */
  async function inTime<T>(step: Promise<T>, stage: SmtpStage): Promise<Result<T, WireFault>> {
    let timer: ReturnType<typeof setTimeout> | undefined;
    const late = new Promise<'late'>((resolve) => {
      timer = setTimeout(() => resolve('late'), timeouts[stage]);
    });
    try {
      const first = await Promise.race([step.then((value) => ({ value })), late]);
      return first === 'late' ? fail({ kind: 'timeout', stage }) : ok(first.value);
    } catch (error) {
      return fail({ kind: 'closed', stage, reason: error instanceof Error ? error.message : String(error) });
    } finally {
      clearTimeout(timer);
      // After a timeout, a later rejection of the step would be an unhandled rejection.
      step.catch(() => {});
    }
  }

  return {
    get isOpen() {
      return fault === null;
    },
    get hasUnread() {
      return waiting.length > 0;
    },
    async read(stage) {
      for (;;) {
        if (fault) return err(fault);
        const reply = waiting.shift();
        if (reply) return ok(reply);
        const chunk = await inTime(reader.read(), stage);
        if (!chunk.ok) return chunk;
        if (chunk.value.done) return fail({ kind: 'closed', stage, reason: 'the server closed the connection' });
        const pushed = replies.push(chunk.value.value);
        if ('kind' in pushed) return fail({ kind: 'garbled', stage, line: pushed.line });
        waiting.push(...pushed);
      }
    },
    async write(bytes, stage) {
      if (fault) return err(fault);
      return inTime(writer.write(typeof bytes === 'string' ? Buffer.from(bytes) : bytes), stage);
    },
    startTls() {
      reader.releaseLock();
      writer.releaseLock();
      socket = socket.startTls();
      reader = socket.readable.getReader();
      writer = socket.writable.getWriter();
      replies = createReplyReader();
      waiting = [];
    },
    async close() {
      fault ??= { kind: 'closed', stage: 'quit', reason: 'closed by us' };
      await socket.close().catch(() => {});
    },
  };
}
