/**
 * The listeners of IMAP and submission in Node: sockets, TLS, and the number of connections.
 *
 * This is the only file that knows `node:net` and `node:tls`.
 */
import { createServer, type Server, type Socket } from 'node:net';
import { createSecureContext, createServer as createTlsServer, type SecureContext, TLSSocket } from 'node:tls';
import type { Peer, Pipe } from './session/pipe.ts';

/** A socket without a byte in either direction for this time is closed, whatever the session waits for. */
const SILENCE_MS = 31 * 60_000;
const HANDSHAKE_MS = 30_000;

export interface ListenOptions {
  readonly host: string;
  readonly port: number;
  /** PEM texts. With `isTls` all is encrypted, else STARTTLS is offered. */
  readonly certificate: { readonly cert: string; readonly key: string } | null;
  readonly isTls: boolean;
  readonly connectionsMax: number;
  readonly connectionsPerAddressMax: number;
  readonly serve: (pipe: Pipe, peer: Peer) => Promise<void>;
}

export interface Listening {
  readonly port: number;
  /** Closes the listener and its connections. */
  stop(): Promise<void>;
}

/** @throws if the port is in use. */
export async function listen(options: ListenOptions): Promise<Listening> {
  const secureContext = options.certificate && !options.isTls ? createSecureContext(options.certificate) : null;
  const sockets = new Set<Socket>();
  const counts = new Map<string, number>();
  const accept = (socket: Socket): void => {
    const address = socket.remoteAddress ?? '';
    const count = counts.get(address) ?? 0;
    socket.on('error', () => socket.destroy());
    if (address === '' || count >= options.connectionsPerAddressMax || sockets.size >= options.connectionsMax) {
      socket.end('* BYE Too many connections\r\n');
      socket.destroySoon();
      return;
    }
    counts.set(address, count + 1);
    sockets.add(socket);
    socket.once('close', () => {
      sockets.delete(socket);
      const left = (counts.get(address) ?? 1) - 1;
      if (left > 0) counts.set(address, left);
      else counts.delete(address);
    });
    socket.setNoDelay(true).setKeepAlive(true, 60_000);
    socket.setTimeout(SILENCE_MS, () => socket.destroy());
    void options.serve(socketPipe(socket, secureContext), { address, isTls: options.isTls });
  };
  const server = options.isTls
    ? createTlsServer({ ...options.certificate, handshakeTimeout: HANDSHAKE_MS }, accept).on('tlsClientError', () => {})
    : createServer({ allowHalfOpen: true }, accept);
  const port = await start(server, options);
  return {
    port,
    stop: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        for (const socket of sockets) socket.destroy();
      }),
  };
}

function start(server: Server, { port, host }: ListenOptions): Promise<number> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, host, () => {
      server.off('error', reject);
      server.on('error', () => {});
      const address = server.address();
      resolve(typeof address === 'object' && address ? address.port : port);
    });
  });
}

/** A pipe over a socket. It reads only when it is asked, so a slow session holds the peer back. */
function socketPipe(first: Socket, secureContext: SecureContext | null): Pipe {
  let socket = first;
  let reader = readerOf(first);
  const base: Pipe = {
    read: () => reader.read(),
    write: (bytes) =>
      new Promise((resolve, reject) => {
        if (socket.destroyed || !socket.writable) reject(new Error('The connection is closed'));
        else socket.write(bytes, (error) => (error ? reject(error) : resolve()));
      }),
    async close() {
      socket.end();
      socket.destroySoon();
    },
  };
  if (!secureContext) return base;
  return {
    ...base,
    async startTls() {
      reader.detach();
      socket = await secure(first, secureContext);
      reader = readerOf(socket);
    },
  };
}

function secure(raw: Socket, secureContext: SecureContext): Promise<TLSSocket> {
  return new Promise((resolve, reject) => {
    const socket = new TLSSocket(raw, { isServer: true, secureContext });
    const timer = setTimeout(() => socket.destroy(new Error('TLS handshake timed out')), HANDSHAKE_MS);
    socket.once('secure', () => {
      clearTimeout(timer);
      socket.on('error', () => raw.destroy());
      resolve(socket);
    });
    socket.once('error', reject);
    socket.once('close', () => {
      clearTimeout(timer);
      raw.destroy();
      reject(new Error('The connection is closed'));
    });
  });
}

interface SocketReader {
  read(): Promise<Uint8Array | null>;
  /** Takes its listeners off the socket, and discards what was read and not used. */
  detach(): void;
}

function readerOf(socket: Socket): SocketReader {
  let isEnded = false;
  let wake = (): void => {};
  const note = (): void => wake();
  const end = (): void => {
    isEnded = true;
    wake();
  };
  socket.on('readable', note).on('end', end).on('close', end);
  return {
    async read() {
      for (;;) {
        const bytes = socket.read() as Buffer | null;
        if (bytes !== null) return bytes;
        if (isEnded || socket.destroyed) return null;
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
      }
    },
    detach() {
      socket.off('readable', note).off('end', end).off('close', end);
      while (socket.read() !== null);
    },
  };
}
