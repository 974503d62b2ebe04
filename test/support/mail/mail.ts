/** Helpers of the black-box tests of mail: accounts, waiting for mail, reading the sink, and swaks. */
import { execFile } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import type { TestServer } from '../server.ts';

export interface MailUser {
  readonly email: string;
  readonly token: string;
  readonly userId: string;
}

export async function registerUser(server: TestServer, name: string): Promise<MailUser> {
  const email = `${name}@example.test`;
  const request = { email, password: 'correct horse battery', name };
  const { status, body } = await server.call('POST', '/v1/auth/register', request, null);
  expect([status, body.code]).toEqual([201, undefined]);
  return { email, token: body.token, userId: body.user.user_id };
}

/** Confirms a session for ten minutes, which sensitive actions need. */
export async function confirmSession(
  server: Pick<TestServer, 'call'>,
  token: string,
  password = 'correct horse battery',
): Promise<void> {
  const { status, body } = await server.call('POST', '/v1/auth/confirm', { password }, token);
  expect([status, body.code]).toEqual([204, undefined]);
}

/** Polls until `ask` returns a value other than undefined. @throws if that takes longer than `timeoutMs`. */
export async function until<T>(what: string, ask: () => Promise<T | undefined>, timeoutMs = 60_000): Promise<T> {
  const endsAt = Date.now() + timeoutMs;
  for (;;) {
    const answer = await ask();
    if (answer !== undefined) return answer;
    if (Date.now() > endsAt) throw new Error(`Timed out waiting for: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}

// biome-ignore lint/suspicious/noExplicitAny: responses of the API; each test asserts the members it needs
type Json = any;

/** Lists a folder. @returns the summaries of all its messages. */
export async function listFolder(server: TestServer, user: MailUser, role: string): Promise<Json[]> {
  const { body: folders } = await server.call('GET', '/v1/folders', undefined, user.token);
  const folder = folders.find((each: Json) => each.role === role);
  const all: Json[] = [];
  for (let cursor: string | null = ''; cursor !== null; ) {
    const query: string = cursor === '' ? '' : `&cursor=${encodeURIComponent(cursor)}`;
    const path = `/v1/folders/${folder.id}/messages?limit=200${query}`;
    const { body } = await server.call('GET', path, undefined, user.token);
    all.push(...body.data);
    cursor = body.next_cursor;
  }
  return all;
}

/** Waits for a message with this subject. @returns the whole message, not only its summary. */
export async function awaitMessage(server: TestServer, user: MailUser, role: string, subject: string): Promise<Json> {
  const found = await until(`"${subject}" in ${role}`, async () =>
    (await listFolder(server, user, role)).find((message) => message.subject === subject),
  );
  const { status, body } = await server.call('GET', `/v1/messages/${found.id}`, undefined, user.token);
  expect(status).toBe(200);
  return body;
}

/** Imports a file. Sends it again until no message remains, as the app does. @returns one report of all requests. */
export async function importWhole(
  server: Pick<TestServer, 'url'>,
  token: string,
  body: string | Uint8Array<ArrayBuffer>,
  type = 'application/mbox',
): Promise<Json> {
  let before = 0;
  for (;;) {
    const response = await fetch(`${server.url}/v1/import`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': type },
      body,
    });
    expect(response.status).toBe(200);
    const report: Json = await response.json();
    const { imported, duplicates, remaining } = report;
    if (remaining === 0 || imported === 0)
      return { ...report, imported: imported + before, duplicates: duplicates - before };
    before += imported;
  }
}

export interface SunkMessage {
  readonly raw: Buffer;
  readonly envelope: { readonly from: string; readonly to: string[] };
}

export function readSink(server: TestServer): SunkMessage[] {
  const folder = join(server.directory, 'sink');
  if (!existsSync(folder)) return [];
  const names = readdirSync(folder).filter((name) => name.endsWith('.eml') && !name.startsWith('.'));
  return names.sort().map((name) => ({
    raw: readFileSync(join(folder, name)),
    envelope: JSON.parse(readFileSync(join(folder, name.replace(/eml$/, 'json')), 'utf8')),
  }));
}

export const awaitSunk = (server: TestServer, what: string, match: (message: SunkMessage) => boolean) =>
  until(`${what} in the sink`, async () => readSink(server).find(match));

/** Runs swaks. @returns its exit code and output. */
export function swaks(server: TestServer, ...args: string[]): Promise<{ code: number; output: string }> {
  return new Promise((resolve) => {
    execFile('swaks', ['--server', `127.0.0.1:${server.smtpPort}`, ...args], (error, stdout, stderr) => {
      resolve({ code: typeof error?.code === 'number' ? error.code : 0, output: stdout + stderr });
    });
  });
}

/** Posts a raw message to `/v1/inbound`, as an SMTP gateway does. */
export async function postInbound(
  server: TestServer,
  raw: Buffer | string,
  envelope: { from: string; to: string; clientIp?: string },
  token = server.rootToken,
): Promise<{ status: number; body: Json }> {
  const response = await fetch(`${server.url}/v1/inbound`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${token}`,
      'x-envelope-from': envelope.from,
      'x-envelope-to': envelope.to,
      'x-client-ip': envelope.clientIp ?? '127.0.0.1',
      'x-helo': 'test.invalid',
    },
    body: typeof raw === 'string' ? raw : new Uint8Array(raw),
  });
  return { status: response.status, body: await response.json() };
}
