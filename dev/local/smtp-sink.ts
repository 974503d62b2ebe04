/**
 * The local "outside world": an SMTP server that accepts mail for every recipient and stores each message as a file.
 *
 * `<time>-<n>.eml` contains the bytes as received, `<time>-<n>.json` the envelope. The envelope is written first, so every visible
 * `.eml` has its `.json`.
 */
import { mkdirSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { SMTPServer, type SMTPServerSession } from 'smtp-server';
import { listen, type RunningServer } from './smtp-listen.ts';

export interface SmtpSinkOptions {
  readonly host: string;
  /** Port to listen on; 0 picks a free one. */
  readonly port: number;
  /** Directory for the messages. It is created if it is missing. */
  readonly directory: string;
}

/** Content of a message's `.json` file: its envelope. */
export interface SinkEnvelope {
  readonly received_at: string;
  /** Envelope sender; empty for the null sender. */
  readonly from: string;
  readonly to: readonly string[];
  readonly helo: string;
  readonly client_ip: string;
  readonly secure: boolean;
  readonly size: number;
}

export async function startSmtpSink(options: SmtpSinkOptions): Promise<RunningServer> {
  mkdirSync(options.directory, { recursive: true });
  let count = 0;
  const server = new SMTPServer({
    name: 'sink.invalid',
    banner: 'outside world of a local Tessera',
    disabledCommands: ['AUTH', 'STARTTLS'],
    disableReverseLookup: true,
    hideSMTPUTF8: true,
    logger: false,
    onData(stream, session, done) {
      readAll(stream).then(
        (raw) => {
          count += 1;
          const name = keep(options.directory, count, raw, toEnvelope(session, raw.length));
          done(null, `kept as ${name}`);
        },
        (error: Error) => done(error),
      );
    },
  });
  return listen(server, options.port, options.host);
}

function toEnvelope(session: SMTPServerSession, size: number): SinkEnvelope {
  const { mailFrom, rcptTo } = session.envelope;
  return {
    received_at: new Date().toISOString(),
    from: mailFrom ? mailFrom.address : '',
    to: rcptTo.map((recipient) => recipient.address),
    helo: session.hostNameAppearsAs,
    client_ip: session.remoteAddress,
    secure: session.secure,
    size,
  };
}

function keep(folder: string, count: number, raw: Buffer, envelope: SinkEnvelope): string {
  const time = envelope.received_at.replaceAll(/[-:.]/g, '');
  const name = `${time}-${count}`;
  for (const [suffix, content] of [
    ['.json', `${JSON.stringify(envelope, null, 2)}\n`],
    ['.eml', raw],
  ] as const) {
    writeFileSync(join(folder, `.${name}${suffix}.part`), content);
    renameSync(join(folder, `.${name}${suffix}.part`), join(folder, `${name}${suffix}`));
  }
  return `${name}.eml`;
}

async function readAll(stream: Readable): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of stream) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks);
}
