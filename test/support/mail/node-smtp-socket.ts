/** Implements the socket of the SMTP client with Node sockets, so that the client can be tested without workerd. */
import { connect as connectTcp, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import type { SmtpServer } from '../../../workers/mail/smtp/smtp-connection.ts';
import type { SmtpSocket } from '../../../workers/mail/smtp/smtp-wire.ts';

export function dialOverNode(server: SmtpServer): SmtpSocket {
  const address = { host: server.hostname, port: server.port };
  const socket =
    server.tls === 'implicit' ? connectTls({ ...address, rejectUnauthorized: false }) : connectTcp(address);
  return toSmtpSocket(socket);
}

function toSmtpSocket(socket: Socket): SmtpSocket {
  socket.on('error', () => {});
  const lazy = wrap(socket);
  return {
    ...lazy,
    startTls() {
      lazy.detach();
      return toSmtpSocket(connectTls({ socket, rejectUnauthorized: false }));
    },
    close: async () => {
      socket.destroy();
    },
  };
}

/** Creates web streams for a socket. Duplex.toWeb cannot release the socket when TLS takes it over. */
function wrap(socket: Socket) {
  let isDetached = false;
  const onData = (chunk: Buffer) => controllerOf.controller?.enqueue(new Uint8Array(chunk));
  const controllerOf: { controller?: ReadableStreamDefaultController<Uint8Array> } = {};
  const readable = new ReadableStream<Uint8Array>({
    start(controller) {
      controllerOf.controller = controller;
      socket.on('data', onData);
      socket.once('end', () => !isDetached && closeQuietly(controller));
      socket.once('error', (error) => !isDetached && controller.error(error));
      socket.once('close', () => !isDetached && closeQuietly(controller));
    },
  });
  const writable = new WritableStream<Uint8Array>({
    write: (chunk) =>
      new Promise((resolve, reject) => socket.write(chunk, (error) => (error ? reject(error) : resolve()))),
  });
  return {
    readable,
    writable,
    detach() {
      isDetached = true;
      socket.off('data', onData);
    },
  };
}

function closeQuietly(controller: ReadableStreamDefaultController<Uint8Array>): void {
  try {
    controller.close();
  } catch {
    // An error means that the stream is already closed or has failed.
  }
}
