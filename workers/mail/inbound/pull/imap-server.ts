/**
 * Connects to another mail server by IMAP, over `cloudflare:sockets`. Only public hosts are reached, always inside TLS: port 993, or
 * port 143 with STARTTLS. All addresses of the name are looked up before, and must be public. The runtime resolves the name again
 * and does not tell its address. On Cloudflare it reaches no private network; a local server trusts that both answers agree.
 */
import { connect } from 'cloudflare:sockets';
import { ImapFlow } from 'imapflow';
import { createSocketsTransport, type SocketsConnect } from 'imapflow/lib/sockets-transport.js';
import type { Pull, PullFault, PullServer } from '../../../../durable-objects/mail/contract/pulls.ts';
import { isPublicIp, parseIp } from '../../../shared/pure/ip-address.ts';
import { createCheckDependencies } from '../../checks/production-dependencies.ts';
import { findStandIn, isAllowedHost } from './pull-rules.ts';

const CONNECT_MS_MAX = 30_000;
const SILENCE_MS_MAX = 60_000;
/** Limits of one answer of the server. A larger message ends the connection, so they are above the size of an imported message. */
const LITERAL_BYTES_MAX = 48 * 1024 * 1024;
const RESPONSE_BYTES_MAX = LITERAL_BYTES_MAX + 1024 * 1024;
const RESPONSE_TOKENS_MAX = 200_000;
const LINE_BYTES_MAX = 4 * 1024 * 1024;

async function findAddressFault(env: Env, server: PullServer): Promise<PullFault | null> {
  if (findStandIn(env, server)) return null;
  if (!isAllowedHost(env, server)) return 'host_not_allowed';
  const { resolveDns } = createCheckDependencies(env);
  const answers = await Promise.all([resolveDns(server.host, 'A'), resolveDns(server.host, 'AAAA')]);
  const addresses = answers.flatMap((answer) => (answer.ok ? answer.value : []));
  if (addresses.some((address) => !isPublicAddress(address))) return 'host_not_allowed';
  return addresses.length > 0 ? null : 'unreachable';
}

function isPublicAddress(text: string): boolean {
  const ip = parseIp(text.replace(/^\[|\]$/g, ''));
  return ip !== null && isPublicIp(ip);
}

/** `connect` with the types that imapflow expects. */
const connectSocket: SocketsConnect = (address, { secureTransport = 'starttls' } = {}) =>
  connect(address, { secureTransport, allowHalfOpen: false });

/** Connects and logs in. @returns the client, or why there is none. */
export async function connectToServer(env: Env, pull: Pull, secret: string): Promise<ImapFlow | PullFault> {
  const fault = await findAddressFault(env, pull);
  if (fault) return fault;
  const standIn = findStandIn(env, pull);
  const auth = pull.secretKind === 'password' ? { pass: secret } : { accessToken: secret };
  const client = new ImapFlow({
    host: standIn?.host ?? pull.host,
    port: standIn?.port ?? pull.port,
    secure: pull.port === 993,
    doSTARTTLS: pull.port !== 993,
    auth: { user: pull.userName, ...auth },
    transport: createSocketsTransport(connectSocket),
    clientInfo: { name: 'Tessera' },
    logger: false,
    disableAutoIdle: true,
    disableCompression: true,
    connectionTimeout: CONNECT_MS_MAX,
    greetingTimeout: CONNECT_MS_MAX,
    socketTimeout: SILENCE_MS_MAX,
    maxLiteralSize: LITERAL_BYTES_MAX,
    maxResponseSize: RESPONSE_BYTES_MAX,
    maxResponseTokens: RESPONSE_TOKENS_MAX,
    maxLineLength: LINE_BYTES_MAX,
  });
  // Without a listener, an error of a closed connection would be thrown. Each command reports it too.
  client.on('error', () => {});
  try {
    await client.connect();
    return client;
  } catch (error) {
    client.close();
    return toConnectFault(error);
  }
}

/** Response codes (RFC 5530) of a refused log-in that may be accepted later. */
const LATER = new Set(['UNAVAILABLE', 'INUSE', 'LIMIT', 'SERVERBUG']);

function toConnectFault(error: unknown): PullFault {
  const { authenticationFailed, tlsFailed, serverResponseCode } = error as {
    authenticationFailed?: boolean;
    tlsFailed?: boolean;
    serverResponseCode?: string;
  };
  if (authenticationFailed) return LATER.has(serverResponseCode ?? '') ? 'unreachable' : 'login_refused';
  return tlsFailed ? 'tls_failed' : 'unreachable';
}
