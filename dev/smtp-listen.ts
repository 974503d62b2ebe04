import type { AddressInfo } from 'node:net';
import type { SMTPServer } from 'smtp-server';

export interface RunningServer {
  readonly port: number;
  /** Ends the listener and every open connection. */
  stop(): Promise<void>;
}

/** @param port 0 picks a free one. @throws when the port is taken. */
export async function listen(server: SMTPServer, port: number, host: string): Promise<RunningServer> {
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, host, () => {
      server.off('error', reject);
      resolve();
    });
  });
  // A client that hangs up in the middle is everyday life for an SMTP server.
  server.on('error', (error: Error) => console.error(JSON.stringify({ event: 'smtp_error', message: error.message })));
  return {
    port: (server.server.address() as AddressInfo).port,
    stop: () =>
      new Promise((resolve) => {
        server.close(resolve);
        for (const connection of server.connections) connection.close();
      }),
  };
}
