/** Tests what a new user sees: first steps, the first message with its recipients, and the security page. */
import type { Page } from 'playwright-core';
import { describe, expect, it } from 'vitest';
import { awaitMessage, registerUser } from '../../support/mail/mail.ts';
import { eventually, expectAccessible, hasChromium, openTab, takePictures } from '../../web/browser/chromium.ts';
import { useStage } from '../../web/browser/stage.ts';
import { confirmWithPassword, deliver, folder, letter, PASSWORD, row, signIn } from './mail-page.ts';

describe.skipIf(!hasChromium)('a new user of mail', () => {
  const stage = useStage({ vars: { MAIL_HOLD_SECONDS: '0', REGISTRATION: 'open' } });

  const steps = (page: Page) => page.getByRole('region', { name: /^Welcome/ });

  it('is shown three things to try, sees the first one ticked after sending, and ends it for good', async () => {
    const user = await registerUser(stage.server, 'nora');
    const { page, troubles } = await signIn(stage.server, stage.browser, user);
    await steps(page).getByText(user.email).waitFor();
    await expectAccessible(page);
    expect(await steps(page).getByRole('listitem').count()).toBe(3);
    await steps(page).getByRole('button', { name: 'Write' }).click();
    await page.getByRole('list', { name: 'To: recipients' }).getByText(user.email).waitFor();
    await page.getByRole('textbox', { name: 'Message' }).waitFor();
    await page.keyboard.press('Control+Enter');
    await row(page, 'Hello from my new mailbox').waitFor();
    await steps(page).getByRole('heading', { name: 'Send yourself a message (done)' }).waitFor();
    await steps(page).getByRole('button', { name: 'Do not show this again' }).click();
    await page.getByText('Select a conversation.').waitFor();
    await page.reload();
    await row(page, 'Hello from my new mailbox').waitFor();
    await page.getByText('Select a conversation.').waitFor();
    expect(await steps(page).count()).toBe(0);
    expect(troubles).toEqual([]);
    await page.context().close();
  });

  it('sees the size of the mailbox change without a reload: mail arrives, and Trash is emptied', async () => {
    const user = await registerUser(stage.server, `sized-${crypto.randomUUID().slice(0, 8)}`);
    const { page, troubles } = await signIn(stage.server, stage.browser, user);
    const size = page.locator('.quota');
    await size.getByText(/^0 bytes of/).waitFor();
    await deliver(stage.server, user, letter(user, 'Heavy', 'Heavy words. '.repeat(10_000)));
    await row(page, 'Heavy').waitFor();
    await size.getByText(/^1\d\d(?:\.\d)? KB of/).waitFor();
    await takePictures(page, 'mailbox-size');
    await row(page, 'Heavy').hover();
    await row(page, 'Heavy').getByRole('button', { name: 'Delete' }).click();
    await folder(page, 'Trash').click();
    await row(page, 'Heavy').waitFor();
    await page.getByRole('button', { name: 'Empty' }).click();
    await eventually(() => row(page, 'Heavy').count()).toBe(0);
    await size.getByText(/^0 bytes of/).waitFor();
    expect(troubles).toEqual([]);
    await page.context().close();
  });

  it('has the focus in the field to fill in: at first, after a refusal, and for a forgotten password', async () => {
    const user = await registerUser(stage.server, `focused-${crypto.randomUUID().slice(0, 8)}`);
    const { page, troubles } = await openTab(stage.browser);
    const focused = () => page.evaluate(() => document.activeElement?.getAttribute('name'));
    await page.goto(`${stage.server.url}/_/mail#/register`);
    await eventually(focused).toBe('name');
    await page.getByRole('button', { name: 'I already have a mailbox' }).click();
    await eventually(focused).toBe('email');
    await page.keyboard.type(user.email);
    await page.getByLabel('Password').fill('wrong horse');
    await page.keyboard.press('Enter');
    await page.getByText('Wrong address or password.').waitFor();
    await eventually(focused).toBe('password');
    expect(await page.evaluate(() => getSelection()?.toString().length)).toBe('wrong horse'.length);
    await page.getByRole('button', { name: 'Forgot your password?' }).click();
    await eventually(focused).toBe('email');
    expect(await page.getByLabel('Address').inputValue()).toBe(user.email);
    expect(troubles).toEqual([]);
    await page.context().close();
  });

  it('is led to the file of another service, and imports a file without an ending', async () => {
    const user = await registerUser(stage.server, 'mover');
    const { page, troubles } = await signIn(stage.server, stage.browser, user);
    await steps(page).getByRole('link', { name: 'Import' }).click();
    const guide = page.getByRole('region', { name: 'Import' });
    await guide.getByText('takeout.google.com').waitFor();
    await expectAccessible(page);
    await takePictures(page, 'import-guide');
    await guide.getByLabel('Where is your mail now?').selectOption('Thunderbird');
    await guide.getByText('Local Directory').waitFor();
    const mbox = `From x@y.test Sat Jan 10 10:00:00 2026\n${letter(user, 'From Thunderbird', 'Old mail.')}\n`;
    await guide.getByLabel('File').setInputFiles({ name: 'Inbox', mimeType: '', buffer: Buffer.from(mbox) });
    await guide.getByText('1 of 1 message imported.').waitFor();
    await awaitMessage(stage.server, user, 'inbox', 'From Thunderbird');
    expect(troubles).toEqual([]);
    await page.context().close();
  });

  it('sees recipients as chips: completed from contacts, marked if invalid, edited and removed by keyboard', async () => {
    const user = await registerUser(stage.server, 'chipper');
    const contact = { email: 'zoe@outside.test', name: 'Zoe Lake' };
    const added = await stage.server.call('POST', '/v1/contacts', contact, user.token);
    expect([added.status, added.body.code]).toEqual([201, undefined]);
    const { page, troubles } = await signIn(stage.server, stage.browser, user);
    await page.keyboard.press('c');
    const field = page.getByLabel('To', { exact: true });
    await field.waitFor();
    const chips = page.getByRole('list', { name: 'To: recipients' });
    const names = () => chips.locator('.chip-name').allInnerTexts();
    await page.keyboard.type('zo');
    await page.getByRole('option', { name: /Zoe Lake/ }).waitFor();
    await page.keyboard.press('Enter');
    await eventually(names).toEqual(['Zoe Lake']);
    await page.keyboard.type('nonsense, "Bond, James" <bond@outside.test>;');
    await eventually(names).toEqual(['Zoe Lake', expect.stringContaining('nonsense'), 'Bond, James']);
    expect(await field.inputValue()).toBe('');
    await expectAccessible(page);
    expect(await chips.getByText('(Invalid address)').count()).toBe(1);
    // Backspace must turn the last recipient into text again.
    await page.keyboard.press('Backspace');
    expect(await field.inputValue()).toBe('"Bond, James" <bond@outside.test>');
    await page.keyboard.press('Enter');
    await chips.getByRole('button', { name: 'Remove nonsense' }).click();
    await eventually(names).toEqual(['Zoe Lake', 'Bond, James']);
    await page.getByLabel('Subject').fill('Two chips');
    await page.keyboard.press('Control+Enter');
    const sent = await awaitMessage(stage.server, user, 'sent', 'Two chips');
    expect(sent.to.map((one: { email: string }) => one.email)).toEqual(['zoe@outside.test', 'bond@outside.test']);
    expect(troubles).toEqual([]);
    await page.context().close();
  });

  it('creates and revokes an app password, signs out another device, and gets a security notice', async () => {
    const user = await registerUser(stage.server, `guarded-${crypto.randomUUID().slice(0, 8)}`);
    const other = await fetch(`${stage.server.url}/v1/auth/login`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'user-agent': 'Firefox/140 (Linux)' },
      body: JSON.stringify({ email: user.email, password: PASSWORD }),
    });
    const { token: otherToken } = (await other.json()) as { token: string };
    const statusOf = async (token: string) => (await stage.server.call('GET', '/v1/me', undefined, token)).status;
    expect(await statusOf(otherToken)).toBe(200);
    const { page, troubles } = await signIn(stage.server, stage.browser, user);
    await page.goto(`${stage.server.url}/_/mail#/settings/security`);
    const programs = page.getByRole('region', { name: 'App passwords' });
    await programs.getByLabel('Name of the program').fill('phone');
    await programs.getByRole('button', { name: 'Create' }).click();
    await confirmWithPassword(page);
    const token = (await programs.getByRole('status').locator('pre').innerText()).trim();
    expect(await statusOf(token)).toBe(200);
    await awaitMessage(stage.server, user, 'inbox', 'Security notice: New app token');
    await programs.getByRole('button', { name: 'Revoke phone' }).click();
    await eventually(() => statusOf(token)).toBe(401);
    const firefox = page
      .getByRole('region', { name: 'Devices' })
      .getByRole('listitem')
      .filter({ hasText: 'Firefox on Linux' });
    await firefox.getByRole('button', { name: 'Sign out' }).click();
    await eventually(() => statusOf(otherToken)).toBe(401);
    expect(await statusOf(user.token)).toBe(200);
    expect(troubles).toEqual([]);
    await page.context().close();
  });

  it('has one security page: how to sign in, what helps if locked out, and who has access', async () => {
    const user = await registerUser(stage.server, 'careful');
    const { page, troubles } = await signIn(stage.server, stage.browser, user);
    await page.goto(`${stage.server.url}/_/mail#/settings/security`);
    await page.getByRole('heading', { name: 'Who has access' }).waitFor();
    await page.getByText('This device').waitFor();
    await expectAccessible(page);
    const topics = page.locator('.setting').evaluateAll((all) => all.map((one) => one.getAttribute('aria-label')));
    expect(await topics).toEqual([
      'Password',
      'Passkeys',
      'Two-factor authentication',
      'Recovery address',
      'Devices',
      'App passwords',
    ]);
    await page.getByRole('button', { name: 'Change password' }).click();
    await eventually(() => page.evaluate(() => document.activeElement?.getAttribute('name'))).toBe('new');
    expect(troubles).toEqual([]);
    await page.context().close();
  });
});
