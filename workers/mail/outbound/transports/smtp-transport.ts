/**
 * SMTP over `cloudflare:sockets`: many messages over one connection. If the server has closed it since the last message, one new
 * connection is opened. That is safe, because nothing of the message was sent yet.
 */
import { connect } from 'cloudflare:sockets';
import type { AttemptOutcome } from '../../domain/recipient-state.ts';
import type { TransportAddress } from '../../domain/transport-url.ts';
import {
  closeSmtpConnection,
  openSmtpConnection,
  type SmtpConnection,
  type SmtpServer,
} from '../../smtp/smtp-connection.ts';
import { sendMessage, toConnectOutcome } from '../../smtp/smtp-transaction.ts';
import type { SmtpSocket, SmtpTimeouts } from '../../smtp/smtp-wire.ts';
import type { OutgoingMessage, Transport } from './transport.ts';

export function createSmtpTransport(
  address: Extract<TransportAddress, { kind: 'smtp' }>,
  options: { readonly hostname: string; readonly timeouts: SmtpTimeouts },
): Transport {
  const server: SmtpServer = address;
  const client = { dial, timeouts: options.timeouts, ehloName: options.hostname };
  let connection: SmtpConnection | null = null;
  /** Outcome of a failed connection. Other messages of the batch get it too, without another attempt to connect. */
  let unreachable: AttemptOutcome | null = null;

  async function open(): Promise<SmtpConnection | AttemptOutcome> {
    if (connection?.wire.isOpen) return connection;
    if (unreachable) return unreachable;
    const opened = await openSmtpConnection(server, client);
    if (!opened.ok) {
      unreachable = toConnectOutcome(opened.error);
      return unreachable;
    }
    connection = opened.value;
    return connection;
  }

  async function sendOnce(
    message: OutgoingMessage,
  ): Promise<{ outcomes: readonly AttemptOutcome[]; isStale: boolean }> {
    const wasOpen = connection?.wire.isOpen === true;
    const opened = await open();
    if ('kind' in opened) return { outcomes: message.to.map(() => opened), isStale: false };
    const result = await sendMessage(opened, message, message.openBody);
    if (!result.isReusable) {
      await opened.wire.close();
      connection = null;
    }
    return { outcomes: result.outcomes, isStale: wasOpen && result.isStale };
  }

  return {
    async send(message) {
      const first = await sendOnce(message);
      return first.isStale ? (await sendOnce(message)).outcomes : first.outcomes;
    },
    async close() {
      if (connection) await closeSmtpConnection(connection);
      connection = null;
    },
  };
}

function dial(server: SmtpServer): SmtpSocket {
  const secureTransport = server.tls === 'implicit' ? 'on' : server.tls === 'off' ? 'off' : 'starttls';
  return connect({ hostname: server.hostname, port: server.port }, { secureTransport, allowHalfOpen: false });
}
