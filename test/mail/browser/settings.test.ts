import { readFileSync } from 'node:fs';
import type { Browser } from 'playwright-core';
import PostalMime from 'postal-mime';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { readMboxMessage } from '../../../workers/mail/domain/mbox.ts';
import { MboxSplitter } from '../../../workers/mail/domain/mbox-splitter.ts';
import { awaitMessage, awaitSunk, registerUser } from '../../support/mail/mail.ts';
import { startServer, type TestServer } from '../../support/server.ts';
import { closeTabs, eventually, expectAccessible, hasChromium, openChromium } from '../../web/browser/chromium.ts';
import {
  awaitCount,
  confirmWithPassword,
  deliver,
  folder,
  letter,
  messageText,
  openRow,
  row,
  signIn,
  subjects,
} from './mail-page.ts';

/** Decodes the text of a raw message. */
const textOf = async (raw: Buffer): Promise<string> => (await PostalMime.parse(raw)).text?.trim() ?? '';

describe.skipIf(!hasChromium)('the mailbox and its settings', () => {
  let server: TestServer;
  let browser: Browser;
  beforeAll(async () => {
    [server, browser] = await Promise.all([
      startServer({ vars: { MAIL_HOLD_SECONDS: '0', REGISTRATION: 'open' } }),
      openChromium(),
    ]);
  });
  afterAll(async () => {
    await closeTabs(browser);
    await server?.[Symbol.asyncDispose]();
  });

  it('receives new mail by long polling if sockets are blocked', async () => {
    const user = await registerUser(server, 'walled');
    const { page } = await signIn(server, browser, user, {});
    await page.context().close();
    const tab = await browser.newContext();
    const pollingPage = await tab.newPage();
    await pollingPage.routeWebSocket(/.*/, (socket) => socket.close());
    const polls: string[] = [];
    pollingPage.on('request', (request) => {
      if (/\/v1\/events(\?|$)/.test(request.url())) polls.push(request.url());
    });
    await pollingPage.goto(`${server.url}/_/mail`);
    await pollingPage.getByLabel('Address').fill(user.email);
    await pollingPage.getByLabel('Password').fill('correct horse battery');
    await pollingPage.keyboard.press('Enter');
    await pollingPage.getByText('Your inbox is empty.').waitFor();
    await eventually(() => polls.length).toBeGreaterThan(0);
    await deliver(server, user, letter(user, 'Through the wall', 'By poll.'));
    await row(pollingPage, 'Through the wall').waitFor();
    await eventually(() => pollingPage.title()).toBe('(1) Mail · Tessera');
    await tab.close();
  });

  it('schedules a message, shows when it leaves, and cancels it', async () => {
    const user = await registerUser(server, 'planner');
    const { page, troubles } = await signIn(server, browser, user);
    await page.keyboard.press('c');
    await page.getByLabel('To', { exact: true }).fill('friend@outside.test');
    await page.getByLabel('Subject').fill('For tomorrow');
    await page.getByRole('textbox', { name: 'Message' }).fill('Not today.');
    await page.getByRole('button', { name: 'Later' }).click();
    await page.getByRole('button', { name: 'Tomorrow, 8:00' }).click();
    await page.getByText(/Will be sent /).waitFor();
    await folder(page, 'Sent').click();
    await openRow(page, 'For tomorrow');
    const delivery = page.getByRole('region', { name: 'Delivery' });
    await delivery.getByText(/^Sends /).waitFor();
    await expectAccessible(page);
    await delivery.getByRole('button', { name: 'Undo send' }).click();
    await page.getByText('Send cancelled.').waitFor();
    const draft = await awaitMessage(server, user, 'drafts', 'For tomorrow');
    expect(draft.body).toContain('Not today.');
    expect(troubles).toEqual([]);
    await page.context().close();
  });

  it('sends the vacation reply', async () => {
    const away = await registerUser(server, 'away');
    const { page } = await signIn(server, browser, away);
    await page.getByRole('link', { name: 'Settings' }).click();
    await page.getByRole('link', { name: 'Away' }).click();
    await page.getByLabel('Reply automatically while I am away').check();
    await page.getByLabel('Subject').fill('At the lake');
    await page.getByRole('textbox', { name: 'Reply' }).fill('Back on Monday.');
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByText('The automatic reply is on.').waitFor();
    await deliver(server, away, letter(away, 'Are you there?', 'Hello?'));
    const answer = await awaitSunk(server, 'the answer', (one) => one.raw.includes('Auto-Submitted: auto-replied'));
    expect(answer.envelope.to).toEqual(['carol@outside.test']);
    expect(await textOf(answer.raw)).toContain('Back on Monday.');
    await page.context().close();
  });

  it('labels conversations, creates, renames and deletes a folder, and empties Trash', async () => {
    const user = await registerUser(server, 'sorter');
    for (const subject of ['One', 'Two']) {
      await deliver(server, user, letter(user, subject, `About ${subject}.`));
      await awaitMessage(server, user, 'inbox', subject);
    }
    const { page, troubles } = await signIn(server, browser, user);
    await openRow(page, 'One');
    await messageText(page, 'About One.').waitFor();
    await page.keyboard.press('l');
    await page.getByLabel('New label').fill('travel');
    await page.keyboard.press('Enter');
    await row(page, 'One').getByText('travel').waitFor();
    await eventually(async () => (await awaitMessage(server, user, 'inbox', 'One')).labels).toEqual(['travel']);
    await page.getByRole('button', { name: 'Remove the label travel' }).click();
    await eventually(async () => (await awaitMessage(server, user, 'inbox', 'One')).labels).toEqual([]);

    await page.getByRole('button', { name: '+ New folder' }).click();
    await page.getByLabel('Name of the new folder').fill('Lake');
    await page.keyboard.press('Enter');
    await folder(page, 'Lake').waitFor();
    // Wait until the form has closed: the new folder may arrive by push before the answer closes the form.
    await page.getByLabel('Name of the new folder').waitFor({ state: 'detached' });
    await page.keyboard.press('v');
    await page.getByRole('dialog', { name: 'Move to' }).getByLabel('Folder').fill('lak');
    await page.keyboard.press('Enter');
    await eventually(() => subjects(page)).toEqual(['Two']);
    await folder(page, 'Lake').click();
    await eventually(() => subjects(page)).toEqual(['One']);
    // `signIn` accepts all dialogs with their default answer. This dialog gets another one.
    page.removeAllListeners('dialog');
    page.once('dialog', (dialog) => void dialog.accept('River'));
    await page.getByRole('button', { name: 'Rename' }).click();
    await folder(page, 'River').waitFor();
    page.on('dialog', (dialog) => void dialog.accept());
    await page.getByRole('region', { name: 'River' }).waitFor();
    await page.locator('.list-head').getByRole('button', { name: 'Delete' }).click();
    await folder(page, 'Trash').click();
    await eventually(() => subjects(page)).toEqual(['One']);
    await page.getByRole('button', { name: 'Empty' }).click();
    await page.getByText('1 message deleted permanently.').waitFor();
    await eventually(() => subjects(page)).toEqual([]);
    await expectAccessible(page);
    expect(troubles).toEqual([]);
    await page.context().close();
  });

  it('manages contacts, sends from a second address, and confirms a forward target', async () => {
    const user = await registerUser(server, 'many');
    const { page, troubles } = await signIn(server, browser, user);
    await page.getByRole('link', { name: 'Settings' }).click();
    await page.getByLabel('Another address').fill('other@example.test');
    await page.getByRole('button', { name: 'Add', exact: true }).click();
    await confirmWithPassword(page);
    await page.getByText('other@example.test was added.').waitFor();
    await expectAccessible(page);

    await page.getByRole('link', { name: 'Contacts' }).click();
    await page.getByRole('button', { name: 'New contact' }).click();
    await page.getByLabel('Name', { exact: true }).fill('Zoe');
    await page.getByLabel('Address').fill('zoe@outside.test');
    await page.getByRole('button', { name: 'Save' }).click();
    const contacts = page.getByRole('list', { name: 'Contacts' });
    await contacts.getByText('Zoe').first().waitFor();
    await page.getByRole('button', { name: 'Edit Zoe' }).click();
    await page.getByLabel('Name', { exact: true }).fill('Zoe of the Lake');
    await page.getByRole('button', { name: 'Save' }).click();
    await contacts.getByText('Zoe of the Lake').first().waitFor();
    await expectAccessible(page);
    await page.getByRole('button', { name: 'Write to Zoe of the Lake' }).click();
    const recipients = page.getByRole('list', { name: 'To: recipients' });
    await recipients.getByRole('button', { name: 'Remove Zoe of the Lake' }).waitFor();
    await page.getByLabel('From').selectOption('other@example.test');
    await page.getByLabel('Subject').fill('From my other side');
    await page.keyboard.press('Control+Enter');
    const sunk = await awaitSunk(server, 'the letter', (one) => one.raw.includes('From my other side'));
    expect(sunk.raw.toString()).toMatch(/^From: .*other@example\.test/m);
    await page.getByRole('button', { name: 'Delete Zoe of the Lake' }).click();
    await eventually(() => contacts.getByText('Zoe of the Lake').count()).toBe(0);

    await page.getByRole('link', { name: 'Filters' }).click();
    const forwarding = page.getByRole('region', { name: 'Forwarding' });
    await forwarding.getByLabel('Address').fill('archive@outside.test');
    await forwarding.getByRole('button', { name: 'Send a code' }).click();
    const asked = await awaitSunk(server, 'the code', (one) => one.envelope.to.includes('archive@outside.test'));
    const code = /\b\d{8}\b/.exec(await textOf(asked.raw))?.[0] ?? '';
    await forwarding.getByLabel('Code sent to archive@outside.test').fill(code);
    await forwarding.getByRole('button', { name: 'Confirm' }).click();
    await forwarding.getByText('confirmed').waitFor();
    expect(troubles).toEqual([]);
    await page.context().close();
  });

  it('attaches dropped files and shows received pictures', async () => {
    const user = await registerUser(server, 'drops');
    const { page, troubles } = await signIn(server, browser, user);
    // A picture of 2 by 2 pixels, drawn here so that its bytes are a valid PNG.
    const files = await page.evaluateHandle(async () => {
      const canvas = new OffscreenCanvas(2, 2);
      canvas.getContext('2d')?.fillRect(0, 0, 2, 2);
      const transfer = new DataTransfer();
      transfer.items.add(new File([await canvas.convertToBlob()], 'dot.png', { type: 'image/png' }));
      transfer.items.add(new File([new Uint8Array(3_000_000)], 'large.bin'));
      return transfer;
    });
    await page.locator('.list-pane').dispatchEvent('drop', { dataTransfer: files });
    const attached = page.getByRole('list', { name: 'Attachments' });
    await attached.getByText('dot.png').waitFor();
    await attached.getByText('large.bin').waitFor();
    await eventually(() => page.locator('.file-rows progress').count()).toBe(0);
    await page.getByLabel('To', { exact: true }).fill(user.email);
    await page.getByLabel('Subject').fill('A dot');
    await page.getByRole('button', { name: 'Send', exact: true }).click();
    await folder(page, 'Inbox').click();
    await openRow(page, 'A dot');
    const picture = page.getByRole('link', { name: /dot\.png/ }).locator('img');
    await picture.waitFor();
    expect(await picture.evaluate((image: HTMLImageElement) => image.decode().then(() => image.naturalWidth))).toBe(2);
    await page.getByRole('link', { name: /large\.bin/ }).waitFor();
    expect(troubles).toEqual([]);
    await page.context().close();
  });

  it('starts a pull from another mailbox, shows why it waits, and ends it', async () => {
    const user = await registerUser(server, 'puller');
    const { page, troubles } = await signIn(server, browser, user);
    await page.goto(`${server.url}/_/mail#/settings/transfer`);
    const card = page.getByRole('region', { name: 'From another mailbox' });
    await card.getByText('Create an app password there').waitFor();
    await card.getByLabel('Where is your mail now?').selectOption('other');
    await card.getByLabel('IMAP server').fill('imap.elsewhere.test');
    await card.getByLabel('User name').fill('me@elsewhere.test');
    await card.getByLabel('Password there').fill('old secret');
    await expectAccessible(page);
    await card.getByRole('button', { name: 'Start' }).click();
    await card.getByText('The server cannot be reached.').waitFor();
    await card.getByRole('button', { name: 'End me@elsewhere.test' }).click();
    await card.getByText('its password was erased').waitFor();
    await eventually(() => card.getByRole('listitem').count()).toBe(0);
    expect(troubles).toEqual([]);
    await page.context().close();
  });

  it('imports a mailbox in pieces, stops and resumes, and exports it whole', async () => {
    const user = await registerUser(server, 'mover');
    const { page, troubles } = await signIn(server, browser, user);
    await page.goto(`${server.url}/_/mail#/settings/transfer`);
    const card = page.getByRole('region', { name: 'Import' });
    const count = 40;
    const filler = `${'All work and no play. '.repeat(45)}\n`.repeat(60);
    const letters = Array.from(
      { length: count },
      (_, n) => `From x@y.test Sat Jan 10 10:00:00 2026\n${letter(user, `Old ${n}`, `${n}\n${filler}`)}\n`,
    );
    const mbox = Buffer.from([...letters, letters[0]].join(''));
    // Let the first piece of the import pass, and hold the second one until the import is stopped.
    let pieces = 0;
    await page.route('**/v1/import?*', async (route) => {
      pieces += 1;
      if (pieces !== 2) await route.continue();
    });
    await card.getByLabel('File').setInputFiles([{ name: 'old.mbox', mimeType: 'application/mbox', buffer: mbox }]);
    await eventually(() => pieces).toBe(2);
    await card.getByRole('button', { name: 'Cancel' }).click();
    await card.getByText('Stopped. Messages that were imported are kept.').waitFor();
    await expectAccessible(page);
    await card.getByRole('button', { name: 'Resume' }).click();
    await card.getByText(`${count} of ${count + 1} messages imported.`).waitFor();
    await card.getByText('Already in the mailbox').locator('..').getByText('1', { exact: true }).waitFor();
    expect(pieces).toBeGreaterThan(3);
    await awaitCount(server, user, 'inbox', count);

    const downloaded = page.waitForEvent('download');
    await page.getByRole('button', { name: 'Download everything' }).click();
    await confirmWithPassword(page);
    const file = readFileSync(await (await downloaded).path());
    await page.getByText(new RegExp(`^${count} messages, `)).waitFor();
    const splitter = new MboxSplitter(1_000_000);
    const messages = [...splitter.push(file), ...splitter.end()].map(readMboxMessage);
    expect(messages).toHaveLength(count);
    const texts = await Promise.all(messages.map(async (one) => (await PostalMime.parse(one.raw)).text ?? ''));
    expect(texts.map((text) => Number.parseInt(text, 10)).sort((a, b) => a - b)).toEqual([...letters.keys()]);
    expect(troubles).toEqual([]);
    await page.context().close();
  });

  it('restores the focus when a dialog or the compose window closes', async () => {
    const user = await registerUser(server, 'focused');
    await deliver(server, user, letter(user, 'Here', 'Now.'));
    await awaitMessage(server, user, 'inbox', 'Here');
    const { page } = await signIn(server, browser, user);
    await openRow(page, 'Here');
    const isOnRow = () => page.evaluate(() => document.activeElement?.matches('.message-row .row-body') ?? false);
    await eventually(isOnRow).toBe(true);
    await page.keyboard.press('?');
    await page.getByRole('dialog', { name: 'Keyboard shortcuts' }).waitFor();
    await page.keyboard.press('Escape');
    await eventually(isOnRow).toBe(true);
    await page.keyboard.press('c');
    await page.getByLabel('To', { exact: true }).waitFor();
    await page.keyboard.press('Escape');
    await eventually(isOnRow).toBe(true);
    await page.context().close();
  });
});
