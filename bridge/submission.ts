/**
 * Submission (RFC 6409) with smtp-server: AUTH PLAIN and LOGIN with an app token. The server decides whether the sender is one's
 * own, and what becomes of the message; its answer is the reply to DATA.
 */
import { createHash, randomUUID } from 'node:crypto';
import type { Readable } from 'node:stream';
import { SMTPServer, type SMTPServerAuthentication, type SMTPServerOptions, type SMTPServerSession } from 'smtp-server';
import { Client, RequestError, type ServerOptions } from './session/client.ts';
import { isLoopback } from './session/pipe.ts';
import { type SpooledMessage, spool, TooLargeError } from './spool.ts';

export interface SubmissionOptions extends ServerOptions {
  readonly host: string;
  readonly port: number;
  /** PEM texts. Without them, only loopback may log in. */
  readonly certificate: { readonly cert: string; readonly key: string } | null;
  readonly isTls: boolean;
  readonly connectionsMax: number;
  readonly devicesUrl: string;
  readonly onRefused?: (address: string) => void;
}

export interface SubmissionServer {
  readonly port: number;
  stop(): Promise<void>;
}

/** Bound that SIZE announces before the log-in. After it, the limit of the account counts. */
const SIZE_BYTES_MAX = 75 * 1024 * 1024;

interface User {
  readonly client: Client;
  readonly bytesMax: number;
}

/** @throws if the port is in use. */
export async function startSubmission(options: SubmissionOptions): Promise<SubmissionServer> {
  const server = new SMTPServer({
    ...toTlsOptions(options),
    name: 'tessera-bridge',
    banner: 'Tessera bridge',
    authMethods: ['PLAIN', 'LOGIN'],
    authOptional: false,
    disableReverseLookup: true,
    maxClients: options.connectionsMax,
    size: SIZE_BYTES_MAX,
    logger: false,
    onAuth: (auth, session, done) => {
      logIn(options, auth, session).then(
        (user) => done(null, { user }),
        (error: unknown) => done(toReply(error)),
      );
    },
    onData: (stream, session, done) => {
      submit(stream, session).then(
        (id) => done(null, `2.0.0 accepted as ${id}`),
        (error: unknown) => {
          // The library waits for the end of the data before it reads further commands.
          stream.resume();
          done(toReply(error));
        },
      );
    },
  });
  server.on('error', () => {});
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(options.port, options.host, () => {
      server.off('error', reject);
      resolve();
    });
  });
  const address = server.server.address();
  return {
    port: typeof address === 'object' && address ? address.port : options.port,
    stop: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        for (const connection of server.connections) connection.close();
      }),
  };
}

function toTlsOptions({ certificate, isTls }: SubmissionOptions): SMTPServerOptions {
  if (certificate) return { secure: isTls, key: certificate.key, cert: certificate.cert };
  return { hideSTARTTLS: true, disabledCommands: ['STARTTLS'], allowInsecureAuth: true };
}

async function logIn(
  options: SubmissionOptions,
  { username, password }: SMTPServerAuthentication,
  { remoteAddress, secure }: SMTPServerSession,
): Promise<User> {
  if (!secure && !isLoopback(remoteAddress)) throw toError(538, '5.7.11 Encryption required');
  const client = new Client(options, password ?? '', remoteAddress);
  const refused = () =>
    toError(535, `5.7.8 Use the address of the account and an app token, made at ${options.devicesUrl}`);
  try {
    const { address, addresses, message_bytes_max: bytesMax } = await client.readOverview();
    if ([address, ...addresses].includes((username ?? '').trim().toLowerCase())) return { client, bytesMax };
  } catch (error) {
    if (!(error instanceof RequestError) || !error.isRefusedLogin) throw error;
  }
  options.onRefused?.(remoteAddress);
  throw refused();
}

async function submit(stream: Readable, session: SMTPServerSession): Promise<string> {
  const { client, bytesMax } = session.user as unknown as User;
  const { mailFrom, rcptTo } = session.envelope;
  const from = mailFrom ? (mailFrom.address ?? '') : '';
  const to = rcptTo.map(({ address }) => address ?? '');
  const message = await spool(stream, bytesMax);
  try {
    const { message_id: id } = await client.json<{ message_id: string }>('POST', '/v1/imap/submissions', {
      query: { from, to },
      body: message.read(),
      headers: {
        'content-type': 'message/rfc822',
        'content-length': String(message.sizeBytes),
        'idempotency-key': toKey(message, [from, ...to]),
      },
    });
    return id;
  } finally {
    await message.close();
  }
}

/**
 * A message that a program sends again, because it did not see the answer, has the same bytes and the same recipients. The server
 * then does not send it twice. A message without a Message-ID may be meant twice.
 */
const toKey = ({ hash, hasMessageId }: SpooledMessage, envelope: readonly string[]): string =>
  hasMessageId ? createHash('sha256').update(hash).update(envelope.join('\0')).digest('hex') : randomUUID();

const toError = (smtpCode: number, text: string): Error =>
  Object.assign(new Error(text.replace(/[^ -~]+/g, ' ')), { responseCode: smtpCode });

/** Replies to refusals that SMTP has a code of its own for. */
const REPLIES: Readonly<Record<string, readonly [smtpCode: number, status: string]>> = {
  foreign_sender: [550, '5.7.1'],
  bad_address: [553, '5.1.3'],
  too_many_recipients: [452, '4.5.3'],
  too_large: [552, '5.3.4'],
};

/** @returns the reply to a request that failed. */
function toReply(error: unknown): Error {
  if (error instanceof Error && 'responseCode' in error) return error;
  if (error instanceof TooLargeError) return toError(552, '5.3.4 Message too large');
  if (!(error instanceof RequestError)) return toError(451, '4.3.0 Internal error, try again later');
  if (error.isTemporary) return toError(error.status === 429 ? 452 : 451, `4.3.0 ${error.message}`);
  const [smtpCode, status] = REPLIES[error.code] ?? [554, '5.6.0'];
  return toError(smtpCode, `${status} ${error.message}`);
}
