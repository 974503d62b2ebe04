/**
 * An SMTP client connection (RFC 5321): greeting, EHLO, STARTTLS or implicit TLS, AUTH PLAIN or LOGIN. It then sends as many
 * messages as the server accepts, each with an outcome per recipient.
 *
 * Gaps: no CRAM-MD5, no XOAUTH2, no SMTPUTF8, no CHUNKING. By design: if the server lacks required TLS or rejects our password,
 * mail is deferred and never fails, because our configuration is wrong, not the message.
 */
import { err, ok, type Result } from '../../shared/pure/result.ts';
import { formatReply, parseExtensions, type SmtpExtensions, type SmtpReply } from './smtp-reply.ts';
import type { WireFault } from './smtp-wire.ts';
import { createSmtpWire, type SmtpSocket, type SmtpStage, type SmtpTimeouts, type SmtpWire } from './smtp-wire.ts';

/**
 * `opportunistic`: STARTTLS if the server offers it. `required`: STARTTLS, or the connection fails. `implicit`: TLS from the first
 * byte.
 */
export type TlsMode = 'off' | 'opportunistic' | 'required' | 'implicit';

export interface SmtpServer {
  readonly hostname: string;
  readonly port: number;
  readonly tls: TlsMode;
  readonly auth: { readonly user: string; readonly password: string } | null;
}

export interface SmtpClientOptions {
  readonly dial: (server: SmtpServer) => SmtpSocket;
  readonly timeouts: SmtpTimeouts;
  /** Our host name, which EHLO sends. */
  readonly ehloName: string;
}

export interface SmtpConnection {
  readonly wire: SmtpWire;
  readonly extensions: SmtpExtensions;
  readonly isEncrypted: boolean;
}

export type SmtpFailure =
  | { readonly kind: 'wire'; readonly fault: WireFault }
  | { readonly kind: 'reply'; readonly stage: SmtpStage; readonly reply: SmtpReply }
  | { readonly kind: 'tls_not_offered' }
  | { readonly kind: 'auth_not_offered' }
  | { readonly kind: 'auth_in_clear' };

/** Opens a connection. @returns it once the server is ready for MAIL. */
export async function openSmtpConnection(
  server: SmtpServer,
  options: SmtpClientOptions,
): Promise<Result<SmtpConnection, SmtpFailure>> {
  let wire: SmtpWire;
  try {
    wire = createSmtpWire(options.dial(server), options.timeouts);
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    return err({ kind: 'wire', fault: { kind: 'closed', stage: 'connect', reason } });
  }
  const opened = await greet(wire, server, options);
  if (!opened.ok) await wire.close();
  return opened;
}

async function greet(
  wire: SmtpWire,
  server: SmtpServer,
  options: SmtpClientOptions,
): Promise<Result<SmtpConnection, SmtpFailure>> {
  const greeting = await expect(wire, 'connect', 220);
  if (!greeting.ok) return greeting;
  let extensions = await hello(wire, options.ehloName);
  if (!extensions.ok) return extensions;
  let isEncrypted = server.tls === 'implicit';
  const mayEncrypt = server.tls === 'required' || server.tls === 'opportunistic';
  if (mayEncrypt && extensions.value.startTls) {
    const ready = await command(wire, 'STARTTLS', 'starttls', 220);
    if (!ready.ok) return ready;
    wire.startTls();
    extensions = await hello(wire, options.ehloName);
    if (!extensions.ok) return extensions;
    isEncrypted = true;
  } else if (server.tls === 'required') {
    return err({ kind: 'tls_not_offered' });
  }
  if (server.auth) {
    // A password is never sent without TLS. An attacker on the path could have removed STARTTLS from the reply to read it.
    if (!isEncrypted) return err({ kind: 'auth_in_clear' });
    const authenticated = await authenticate(wire, server.auth, extensions.value);
    if (!authenticated.ok) return authenticated;
  }
  return ok({ wire, extensions: extensions.value, isEncrypted });
}

/** Sends EHLO, or HELO if the server does not know EHLO (RFC 5321 §3.2). */
async function hello(wire: SmtpWire, name: string): Promise<Result<SmtpExtensions, SmtpFailure>> {
  const ehlo = await command(wire, `EHLO ${name}`, 'ehlo', 250);
  if (ehlo.ok) return ok(parseExtensions(ehlo.value));
  if (ehlo.error.kind !== 'reply' || ehlo.error.reply.code < 500) return ehlo;
  const helo = await command(wire, `HELO ${name}`, 'ehlo', 250);
  return helo.ok ? ok(parseExtensions({ code: 250, lines: [] })) : helo;
}

async function authenticate(
  wire: SmtpWire,
  auth: { readonly user: string; readonly password: string },
  extensions: SmtpExtensions,
): Promise<Result<void, SmtpFailure>> {
  const base64 = (text: string) => Buffer.from(text).toString('base64');
  if (extensions.authMechanisms.includes('PLAIN')) {
    const token = base64(`\0${auth.user}\0${auth.password}`);
    const done = await command(wire, `AUTH PLAIN ${token}`, 'auth', 235);
    return done.ok ? ok(undefined) : done;
  }
  if (!extensions.authMechanisms.includes('LOGIN')) return err({ kind: 'auth_not_offered' });
  for (const [line, code] of [
    ['AUTH LOGIN', 334],
    [base64(auth.user), 334],
    [base64(auth.password), 235],
  ] as const) {
    const step = await command(wire, line, 'auth', code);
    if (!step.ok) return step;
  }
  return ok(undefined);
}

/** Sends one command and waits for its reply. A reply with an unexpected code is a failure; the failure includes the reply. */
export async function command(
  wire: SmtpWire,
  line: string,
  stage: SmtpStage,
  wantedCode: number,
): Promise<Result<SmtpReply, SmtpFailure>> {
  const written = await wire.write(`${line}\r\n`, stage);
  if (!written.ok) return err({ kind: 'wire', fault: written.error });
  return expect(wire, stage, wantedCode);
}

async function expect(wire: SmtpWire, stage: SmtpStage, wantedCode: number): Promise<Result<SmtpReply, SmtpFailure>> {
  const reply = await wire.read(stage);
  if (!reply.ok) return err({ kind: 'wire', fault: reply.error });
  if (reply.value.code !== wantedCode) return err({ kind: 'reply', stage, reply: reply.value });
  return reply;
}

/** Sends QUIT and ignores errors. */
export async function closeSmtpConnection(connection: SmtpConnection): Promise<void> {
  if (connection.wire.isOpen) await command(connection.wire, 'QUIT', 'quit', 221);
  await connection.wire.close();
}

/** @returns one line that describes a failure of the connection to a server. */
export function describeFailure(failure: SmtpFailure): string {
  switch (failure.kind) {
    case 'reply':
      return formatReply(failure.reply);
    case 'tls_not_offered':
      return 'the server does not offer STARTTLS, which is required';
    case 'auth_not_offered':
      return 'the server offers no supported way to log in (PLAIN, LOGIN)';
    case 'auth_in_clear':
      return 'the server does not offer STARTTLS, and a password is sent only inside TLS';
    case 'wire':
      return describeFault(failure.fault);
  }
}

export function describeFault(fault: WireFault): string {
  switch (fault.kind) {
    case 'timeout':
      return `timeout (${fault.stage})`;
    case 'closed':
      return `connection lost (${fault.stage}): ${fault.reason}`.slice(0, 300);
    case 'garbled':
      return `not SMTP (${fault.stage}): ${fault.line}`.slice(0, 300);
  }
}
