/** Inbound SMTP on this machine: asks `/v1/inbound/check` at RCPT time, hands raw bytes to `/v1/inbound`, and answers what it answers. */
import { SMTPServer } from 'smtp-server';

export interface SmtpBridgeOptions {
  readonly host: string;
  readonly port: number;
  /** Origin of the Worker. */
  readonly url: string;
  /** A token with scope `inbound`, or root's. */
  readonly token: string;
}

const SIZE_BYTES_MAX = 80 * 1024 * 1024;

export async function startSmtpBridge(options: SmtpBridgeOptions): Promise<{ port: number; stop(): Promise<void> }> {
  const server = new SMTPServer({
    disabledCommands: ['AUTH', 'STARTTLS'],
    size: SIZE_BYTES_MAX,
    onData(stream, _session, callback) {
      stream.resume();
      stream.on('end', () => callback(Object.assign(new Error('4.3.0 Not ready'), { responseCode: 451 })));
    },
  });
  const port = await new Promise<number>((resolve, reject) => {
    server.on('error', reject);
    const listening = server.listen(options.port, options.host, () => {
      const address = listening.address();
      resolve(typeof address === 'object' && address ? address.port : options.port);
    });
  });
  return { port, stop: () => new Promise((resolve) => server.close(() => resolve())) };
}
