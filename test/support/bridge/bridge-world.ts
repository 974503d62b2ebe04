/** A server, a person with an app token, and a bridge in this process that serves them, with and without TLS. */

import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ImapFlow } from 'imapflow';
import { expect } from 'vitest';
import { type Bridge, type BridgeOptions, startBridge } from '../../../bridge/start-bridge.ts';
import { awaitMessage, confirmSession, type MailUser, registerUser } from '../mail/mail.ts';
import { startServer, type TestServer, type TestServerOptions } from '../server.ts';

export interface Person extends MailUser {
  readonly appToken: string;
}

export interface BridgeWorld {
  readonly server: TestServer;
  readonly bridge: Bridge;
  /** Path of the certificate, which is its own authority. */
  readonly certificatePath: string;
  addPerson(name: string): Promise<Person>;
  [Symbol.asyncDispose](): Promise<void>;
}

export async function startBridgeWorld(
  options: Partial<BridgeOptions> = {},
  serverOptions: TestServerOptions = {},
): Promise<BridgeWorld> {
  const server = await startServer(serverOptions);
  const certificatePath = join(server.directory, 'bridge.crt');
  const keyPath = join(server.directory, 'bridge.key');
  const subject = ['-subj', '/CN=localhost', '-addext', 'subjectAltName=DNS:localhost,IP:127.0.0.1'];
  const key = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-keyout', keyPath];
  execFileSync('openssl', ['req', '-x509', '-days', '2', ...key, ...subject, '-out', certificatePath], {
    stdio: 'pipe',
  });
  const bridge = await startBridge({
    server: server.url,
    host: '127.0.0.1',
    ports: { imap: 0, smtp: 0, imaps: 0, smtps: 0 },
    certificate: { cert: readFileSync(certificatePath, 'utf8'), key: readFileSync(keyPath, 'utf8') },
    ...options,
  });
  return {
    server,
    bridge,
    certificatePath,
    addPerson: (name) => addPerson(server, name),
    async [Symbol.asyncDispose]() {
      await bridge.stop();
      await server[Symbol.asyncDispose]();
    },
  };
}

async function addPerson(server: TestServer, name: string): Promise<Person> {
  const user = await registerUser(server, name);
  await confirmSession(server, user.token);
  const { status, body } = await server.call('POST', '/v1/me/tokens', { name: 'mail program' }, user.token);
  expect(status).toBe(201);
  // Deletes the notice of the new token, which would be among the messages of a test: first to Trash, then for good.
  const notice = await awaitMessage(server, user, 'inbox', 'Security notice: New app token');
  for (let times = 0; times < 2; times++)
    await server.call('DELETE', `/v1/messages/${notice.id}`, undefined, user.token);
  return { ...user, appToken: body.token };
}

/** Logs a person in by IMAP over TLS. The caller logs out. */
export async function connectImapflow({ bridge }: BridgeWorld, { email, appToken }: Person): Promise<ImapFlow> {
  const client = new ImapFlow({
    host: 'localhost',
    port: bridge.imapsPort,
    secure: true,
    tls: { rejectUnauthorized: false },
    auth: { user: email, pass: appToken },
    logger: false,
  });
  await client.connect();
  return client;
}
