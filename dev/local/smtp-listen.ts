import type { AddressInfo } from 'node:net';
import type { SMTPServer } from 'smtp-server';

export interface RunningServer {
  readonly port: number;
  /** Closes the listener and every open connection. */
  stop(): Promise<void>;
}

/** Starts to listen. @param port 0 picks a free port. @throws if the port is in use. */
export async function listen(server: SMTPServer, port: number, host: string): Promise<RunningServer> {
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, host, () => {
      server.off('error', reject);
      resolve();
    });
  });
  // Clients often disconnect early. Log the error instead of crashing.
  server.on('error', (error: Error) =>
    console.error(JSON.stringify({ event: 'smtp_connection_failed', message: error.message })),
  );
  return {
    port: (server.server.address() as AddressInfo).port,
    stop: () =>
      new Promise((resolve) => {
        server.close(resolve);
        for (const connection of server.connections) connection.close();
      }),
  };
}
