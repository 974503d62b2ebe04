/** Reads the mail that the service sends about accounts, with links and codes. */
import { expect } from 'vitest';
import type { TestServer } from '../server.ts';
import { awaitSunk, readSink } from './mail.ts';

/** Returns the texts of all messages with this subject to this address, oldest first. */
export const listMails = (server: TestServer, to: string, subject: string): string[] =>
  readSink(server)
    .filter(({ envelope, raw }) => envelope.to.includes(to) && raw.includes(`Subject: ${subject}\r\n`))
    .map(({ raw }) => toText(raw.toString()));

/** Decodes the body of a quoted-printable message. */
const toText = (raw: string): string =>
  raw.slice(raw.indexOf('\r\n\r\n')).replaceAll('=\r\n', '').replaceAll('=3D', '=');

/** Waits until `count` messages with this subject and address have arrived. @returns the newest. */
export async function awaitMail(server: TestServer, to: string, subject: string, count = 1): Promise<string> {
  await awaitSunk(server, `${count} × "${subject}" to ${to}`, () => listMails(server, to, subject).length >= count);
  return listMails(server, to, subject).at(-1) ?? '';
}

export const codeIn = (text: string): string => /\b[a-z0-9]{5}-[a-z0-9]{5}\b/.exec(text)?.[0] ?? '';
export const linkIn = (text: string): string => /https?:\S+/.exec(text)?.[0] ?? '';
export const resetTokenIn = (url: string): string => /#\/reset\/(rst_(?:\d+_)?[\w-]{43})$/.exec(url)?.[1] ?? '';

/** Sets a recovery address and confirms it. */
export async function setRecoveryAddress(server: TestServer, sessionToken: string, email: string, password: string) {
  const set = await server.call('PUT', '/v1/me/recovery-address', { email, password }, sessionToken);
  expect([set.status, set.body.code]).toEqual([202, undefined]);
  const code = codeIn(await awaitMail(server, email, 'Confirm your recovery address'));
  const confirmed = await server.call('POST', '/v1/me/recovery-address/confirm', { code }, sessionToken);
  expect([confirmed.status, confirmed.body.code]).toEqual([204, undefined]);
}
