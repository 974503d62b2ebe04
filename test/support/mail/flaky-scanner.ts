/**
 * A proxy between the Worker and a real scanner. If the Subject of a message is the proxy's name and a fault (`clamd-hangs`),
 * it simulates that fault once. Retries and all other messages pass through unchanged.
 */
import { connect, createServer, type Server, type Socket } from 'node:net';

export const SCANNER_FAULTS = ['hangs', 'hangs-up', 'garbles', 'cuts', 'dies-midstream'] as const;
type Fault = (typeof SCANNER_FAULTS)[number];

export interface FlakyScanner {
  readonly port: number;
  /** Faults that were simulated so far. */
  readonly committed: Set<Fault>;
  /** Stops listening and closes all connections. */
  goDown(): Promise<void>;
  comeBack(): Promise<void>;
  stop(): Promise<void>;
}

export async function startFlakyScanner(name: string, realPort: number, port: number): Promise<FlakyScanner> {
  const committed = new Set<Fault>();
  const sockets = new Set<Socket>();
  let server: Server | undefined;

  function serve(client: Socket): void {
    sockets.add(client.on('error', () => {}).on('close', () => sockets.delete(client)));
    const chunks: Buffer[] = [];
    const onData = (chunk: Buffer) => {
      chunks.push(chunk);
      const seen = Buffer.concat(chunks).toString('latin1');
      const subject = /^Subject: (\S+).*\r\n/im.exec(seen)?.[1];
      if (subject === undefined) return;
      const fault = SCANNER_FAULTS.find((one) => subject === `${name}-${one}` && !committed.has(one));
      if (fault === 'dies-midstream' && seen.length < 200_000) return;
      client.off('data', onData);
      if (fault) committed.add(fault);
      act(client, Buffer.concat(chunks), fault);
    };
    client.on('data', onData);
  }

  function act(client: Socket, seen: Buffer, fault: Fault | undefined): void {
    if (fault === 'hangs') client.resume();
    else if (fault === 'garbles')
      client.end('\x00\xffHTTP/1.1 2\x13 garbage\r\n\r\n{"score":0,"action":"no action"}stream: OK');
    else if (fault === 'hangs-up' || fault === 'dies-midstream') client.destroy();
    else {
      const real = connect(realPort, '127.0.0.1');
      sockets.add(real.on('error', () => client.destroy()).on('close', () => sockets.delete(real)));
      real.write(seen);
      client.pipe(real);
      if (fault === 'cuts') real.once('data', (answer: Buffer) => client.end(answer.subarray(0, answer.length / 2)));
      else real.pipe(client);
    }
  }

  async function comeBack(): Promise<void> {
    server = createServer(serve);
    await new Promise<void>((resolve) => server?.listen(port, '127.0.0.1', resolve));
  }
  async function goDown(): Promise<void> {
    const closed = new Promise<void>((resolve) => server?.close(() => resolve()));
    for (const socket of sockets) socket.destroy();
    await closed;
  }
  await comeBack();
  return { port, committed, goDown, comeBack, stop: goDown };
}
