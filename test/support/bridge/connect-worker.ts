/**
 * A Worker whose `connect()` runs a session of the bridge: a test that the session needs nothing of Node. The account is in memory.
 * The Worker of the product has no `connect()`.
 */
import { Accounts } from '../../../bridge/session/account.ts';
import type { Pipe } from '../../../bridge/session/pipe.ts';
import { runSession } from '../../../bridge/session/session.ts';
import { MemoryAccount } from './memory-account.ts';

interface InboundSocket {
  readonly readable: ReadableStream<Uint8Array>;
  readonly writable: WritableStream<Uint8Array>;
}

function socketPipe({ readable, writable }: InboundSocket): Pipe {
  const reader = readable.getReader();
  const writer = writable.getWriter();
  return {
    read: async () => (await reader.read()).value ?? null,
    write: (bytes) => writer.write(bytes),
    close: () => writer.close(),
  };
}

export default {
  async connect(socket: InboundSocket): Promise<void> {
    const memory = new MemoryAccount();
    memory.add('From: bob@elsewhere.test\r\nSubject: inside workerd\r\n\r\nHello\r\n');
    const accounts = new Accounts({ server: 'https://tessera.test', network: memory.network });
    await runSession(socketPipe(socket), { address: '192.0.2.7', isTls: true }, { accounts, devicesUrl: '' });
  },
  fetch: () => new Response(null, { status: 404 }),
};
