/** The local outside world: an SMTP server that takes every message and keeps it in a folder, with its envelope beside it. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { SMTPServer } from 'smtp-server';

export interface SmtpSinkOptions {
  readonly host: string;
  readonly port: number;
  readonly directory: string;
}

export async function startSmtpSink(options: SmtpSinkOptions): Promise<{ port: number; stop(): Promise<void> }> {
  mkdirSync(options.directory, { recursive: true });
  let count = 0;
  const server = new SMTPServer({
    disabledCommands: ['AUTH', 'STARTTLS'],
    onData(stream, session, callback) {
      const chunks: Buffer[] = [];
      stream.on('data', (chunk: Buffer) => chunks.push(chunk));
      stream.on('error', (error) => callback(error));
      stream.on('end', () => {
        const path = join(options.directory, `${new Date().toISOString().replaceAll(':', '-')}-${++count}`);
        const { mailFrom, rcptTo } = session.envelope;
        const envelope = { from: mailFrom ? mailFrom.address : '', to: rcptTo.map((recipient) => recipient.address) };
        writeFileSync(`${path}.json`, JSON.stringify(envelope));
        writeFileSync(`${path}.eml`, Buffer.concat(chunks));
        callback(null, 'kept');
      });
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
