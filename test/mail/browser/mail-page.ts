/** Helpers for browser tests of mail: users, incoming mail, and locators. */
import { createHmac } from 'node:crypto';
import type { Browser, Locator, Page } from 'playwright-core';
import { expect } from 'vitest';
import { importWhole, listFolder, type MailUser, until } from '../../support/mail/mail.ts';
import type { TestServer } from '../../support/server.ts';
import { openTab, type Tab, TIMEOUT_MS } from '../../web/browser/chromium.ts';

export const PASSWORD = 'correct horse battery';

/** Computes a one-time code (RFC 6238), as an authenticator app does from a Base32 secret. */
export function totp(secret: string, atMs: number): string {
  const bits = [...secret]
    .map((char) => 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567'.indexOf(char).toString(2).padStart(5, '0'))
    .join('');
  const key = Buffer.from((bits.match(/.{8}/g) ?? []).map((byte) => Number.parseInt(byte, 2)));
  const counter = Buffer.alloc(8);
  counter.writeBigUInt64BE(BigInt(Math.floor(atMs / 30_000)));
  const hash = createHmac('sha1', key).update(counter).digest();
  const offset = (hash.at(-1) ?? 0) & 15;
  return String((hash.readUInt32BE(offset) & 0x7fffffff) % 1_000_000).padStart(6, '0');
}

/** Delivers a message from outside, as the SMTP bridge does. */
export async function deliver(
  server: TestServer,
  to: MailUser,
  raw: string,
  from = 'carol@outside.test',
): Promise<void> {
  const response = await fetch(`${server.url}/v1/inbound`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${server.rootToken}`,
      'content-type': 'message/rfc822',
      'x-envelope-from': from,
      'x-envelope-to': to.email,
      'x-client-ip': '192.0.2.7',
      'x-helo': 'outside.test',
    },
    body: raw.replaceAll(/\r?\n/g, '\r\n'),
  });
  expect([response.status, await response.text()]).toEqual([202, expect.any(String)]);
}

let counter = 0;
/** Makes a raw message from Carol. `more` contains extra header fields, each with its line end. */
export function letter(to: MailUser, subject: string, body: string, more = ''): string {
  counter += 1;
  const date = new Date().toUTCString().replace('GMT', '+0000');
  return `From: Carol <carol@outside.test>\nTo: ${to.email}\nSubject: ${subject}\nDate: ${date}\nMessage-ID: <m${counter}.${Date.now()}@outside.test>\n${more || 'Content-Type: text/plain; charset=utf-8\n'}\n${body}\n`;
}

/** Invites to a lunch that Carol organises. */
export const invitation = (to: MailUser): string =>
  letter(
    to,
    'Invitation: Team lunch',
    [
      '--cut',
      'Content-Type: text/plain',
      '',
      'You are invited.',
      '--cut',
      'Content-Type: text/calendar; method=REQUEST; charset=utf-8; name="invite.ics"',
      'Content-Disposition: attachment; filename="invite.ics"',
      '',
      'BEGIN:VCALENDAR',
      'METHOD:REQUEST',
      'BEGIN:VEVENT',
      'UID:lunch-1@outside.test',
      'SEQUENCE:2',
      'DTSTAMP:20261101T080000Z',
      'DTSTART:20301105T113000Z',
      'DTEND:20301105T123000Z',
      'SUMMARY:Team lunch',
      'LOCATION:Café by the river',
      'ORGANIZER;CN=Carol:mailto:carol@outside.test',
      `ATTENDEE;PARTSTAT=NEEDS-ACTION:mailto:${to.email}`,
      'ATTENDEE;PARTSTAT=ACCEPTED:mailto:dan@outside.test',
      'END:VEVENT',
      'END:VCALENDAR',
      '--cut--',
    ].join('\n'),
    'MIME-Version: 1.0\nContent-Type: multipart/mixed; boundary=cut\n',
  );

/**
 * Imports old mail in one request. The server runs no checks on it, so this takes almost no time.
 * @param day the time of arrival, as mbox files write it.
 */
export async function importLetters(
  server: TestServer,
  user: MailUser,
  letters: readonly string[],
  day = 'Sat Jan 10 10:00:00 2026',
): Promise<void> {
  const mbox = letters.map((raw) => `From x@y.test ${day}\n${raw}\n`).join('');
  expect(await importWhole(server, user.token, mbox)).toMatchObject({ imported: letters.length });
}

/** Waits until a folder has this many messages. Waiting for the last message is not enough: messages are processed in parallel. */
export const awaitCount = (server: TestServer, user: MailUser, role: string, count: number): Promise<true> =>
  until(
    `${count} messages in ${role}`,
    async () => (await listFolder(server, user, role)).length === count || undefined,
    TIMEOUT_MS,
  );

export async function signIn(
  server: Pick<TestServer, 'url'>,
  browser: Browser,
  user: MailUser,
  options: Parameters<typeof openTab>[1] = {},
): Promise<Tab> {
  const tab = await openTab(browser, options);
  tab.page.on('dialog', (dialog) => void dialog.accept());
  // Signs in without the form: sets the session cookie from the registration. The sign-in form has its own tests (`enter`).
  await tab.page.context().addCookies([{ name: 'session', value: user.token, url: server.url, sameSite: 'Strict' }]);
  await tab.page.goto(`${server.url}/_/mail`);
  await tab.page.locator('.list-pane').waitFor();
  return tab;
}

export async function enter(page: Page, address: string): Promise<void> {
  await page.getByLabel(/^Address/).fill(address);
  await page.getByLabel('Password').fill(PASSWORD);
  await page.keyboard.press('Enter');
}

export async function signOut(page: Page): Promise<void> {
  await page.getByRole('button', { name: /^Account of/ }).click();
  const menu = page.getByRole('dialog', { name: 'Account and appearance' });
  await menu.getByRole('button', { name: 'Sign out' }).click();
}

/** Confirms the session with the password, in the dialog that a sensitive action opens. */
export async function confirmWithPassword(page: Page): Promise<void> {
  const dialog = page.getByRole('dialog', { name: 'Confirm that it is you' });
  await dialog.getByLabel('Password').fill(PASSWORD);
  await dialog.getByRole('button', { name: 'Confirm' }).click();
  await dialog.waitFor({ state: 'detached' });
}

export const row = (page: Page, subject: string): Locator => page.locator('.message-row', { hasText: subject });
export const openRow = (page: Page, subject: string): Promise<void> =>
  row(page, subject)
    .getByRole('link', { name: new RegExp(subject) })
    .click();
/** Finds a text in the open conversation. */
export const messageText = (page: Page, text: string): Locator => page.locator('article.message').getByText(text);
export const subjects = (page: Page): Promise<string[]> => page.locator('.message-row .subject').allInnerTexts();
export const folder = (page: Page, name: string): Locator =>
  page.getByRole('navigation', { name: 'Folders' }).getByRole('link', { name: new RegExp(`^${name}`) });
/** Switches between plain and formatted text in the menu of the message that is being written. */
export async function switchFormat(page: Page, name: 'Switch to plain text' | 'Format the text'): Promise<void> {
  await page.locator('.compose').getByRole('button', { name: 'More options' }).click();
  await page.getByRole('menuitem', { name }).click();
}
/** Reads the text of the message that is being written, formatted or plain. */
export const readText = (field: Locator): Promise<string> =>
  field.evaluate((element) => {
    const { value, innerText, childNodes } = element as unknown as {
      value?: string;
      innerText: string;
      childNodes: Iterable<{ innerText?: string }>;
    };
    // An empty line has a line end of its own, which is not one more line.
    const lines = [...childNodes].map((line) => line.innerText?.replace(/\n$/, ''));
    const shown = lines.includes(undefined) ? innerText : lines.join('\n');
    return value ?? shown.replaceAll('\u00a0', ' ');
  });
