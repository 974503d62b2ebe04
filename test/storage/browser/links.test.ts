/** Tests links to objects: they outlive the sign-in, ask for a password, and end with a click. */
import type { Page } from 'playwright-core';
import { beforeAll, describe, expect, it } from 'vitest';
import { type MailUser, registerUser } from '../../support/mail/mail.ts';
import { eventually, expectAccessible, hasChromium, openTab, type Tab } from '../../web/browser/chromium.ts';
import { useStage } from '../../web/browser/stage.ts';
import { openConsole, openStore, type StorageKey, type Store } from './storage-page.ts';

const PASSWORD = 'correct horse battery';

describe.skipIf(!hasChromium)('links to stored objects', () => {
  const stage = useStage({ vars: { REGISTRATION: 'open', OWN_ACCESS_KEYS: 'true' } });
  let key: StorageKey;
  let store: Store;

  beforeAll(async () => {
    key = await stage.server.createAccessKey(`links-${crypto.randomUUID().slice(0, 8)}`);
    store = openStore(stage.server, key);
  });

  const buckets = (page: Page) => page.getByRole('heading', { name: 'Buckets' });

  /** Signs in to storage with the session of a new mailbox. */
  async function signInWithMailbox(): Promise<Tab & { user: MailUser }> {
    const user = await registerUser(stage.server, `links-${crypto.randomUUID().slice(0, 8)}`);
    const tab = await openTab(stage.browser);
    const { page } = tab;
    await page.goto(`${stage.server.url}/_/mail`);
    await page.getByLabel('Address').fill(user.email);
    await page.getByLabel('Password').fill(PASSWORD);
    await page.keyboard.press('Enter');
    await page.getByRole('navigation', { name: 'Folders' }).waitFor();
    await page.goto(`${stage.server.url}/_/storage`);
    await page.getByRole('button', { name: `Continue as ${user.email}` }).click();
    await confirmIfAsked(page, buckets(page));
    return { ...tab, user };
  }
  async function confirmIfAsked(page: Page, next: ReturnType<Page['getByText']>): Promise<void> {
    const dialog = page.getByRole('dialog');
    await dialog.or(next).first().waitFor();
    if (!(await dialog.isVisible())) return;
    await dialog.getByLabel('Password').fill(PASSWORD);
    await page.keyboard.press('Enter');
    await next.waitFor();
  }
  async function uploadAndOpen(page: Page): Promise<void> {
    const name = `b-${crypto.randomUUID()}`;
    await page.getByLabel('Name of the new bucket').fill(name);
    await page.keyboard.press('Enter');
    await page.getByRole('link', { name, exact: true }).click();
    await page.getByText('No objects here yet.').waitFor();
    await page
      .getByLabel('Upload files')
      .setInputFiles([{ name: 'a.txt', mimeType: 'text/plain', buffer: Buffer.from('shared') }]);
    await page.getByRole('link', { name: 'a.txt' }).click();
    await page.getByText('shared', { exact: true }).waitFor();
  }
  async function copyLink(page: Page): Promise<string> {
    await page.getByRole('button', { name: 'Copy a link' }).click();
    return page.getByLabel('Link', { exact: true }).inputValue();
  }
  async function signOut(page: Page): Promise<void> {
    await page.getByRole('button', { name: /^Account/ }).click();
    await page.getByRole('button', { name: 'Sign out' }).click();
  }
  const ownKeys = async (user: MailUser) =>
    (
      await (
        await fetch(`${stage.server.url}/v1/me/access-keys`, { headers: { authorization: `Bearer ${user.token}` } })
      ).json()
    ).data.length as number;

  it('work after storage is signed out, until they are ended', async () => {
    const { page, troubles, user } = await signInWithMailbox();
    await uploadAndOpen(page);
    const times = page.getByLabel('valid for');
    expect(await times.locator('option').allInnerTexts()).toEqual(['1 hour', '1 day', '7 days', '30 days']);
    expect(await times.inputValue()).toBe(String(7 * 86_400));
    const link = await copyLink(page);
    expect(await (await fetch(link)).text()).toBe('shared');
    await page.getByText(/opened about 0 ×/).waitFor();
    await expectAccessible(page);
    expect(await ownKeys(user)).toBe(1);
    await signOut(page);
    await page.getByText('Signed out. The key of this sign-in is revoked.').waitFor();
    await page.getByRole('heading', { name: 'Sign in to storage' }).waitFor();
    expect(await page.evaluate(() => JSON.stringify({ ...sessionStorage, ...localStorage }))).not.toContain('secret');
    expect(await ownKeys(user)).toBe(0);
    expect(await (await fetch(link)).text()).toBe('shared');
    expect(troubles).toEqual([]);
    await page.context().close();
  });

  it('leave no key unsaid that could not be revoked', async () => {
    const { page, user } = await signInWithMailbox();
    // The session of the mailbox ended meanwhile, so this browser may not revoke keys.
    await page.context().clearCookies();
    await signOut(page);
    await page.getByText(/^Signed out here, but the key \w+ could not be revoked/).waitFor();
    await page.getByText(/It works until .*\d:\d\d/).waitFor();
    await page.getByRole('heading', { name: 'Sign in to storage' }).waitFor();
    expect(await page.evaluate(() => JSON.stringify({ ...sessionStorage, ...localStorage }))).not.toContain('secret');
    expect(await ownKeys(user)).toBe(1);
    await page.context().close();
  });

  it('ask for a password if they have one, are listed with their openings, and end with a click', async () => {
    const bucket = await store.createBucket();
    await store.put(bucket, 'a.txt', 'shared');
    const { page } = await openConsole(stage.browser, stage.server, key, `#/b/${bucket}?key=a.txt`);
    await page.getByText('shared', { exact: true }).waitFor();
    await page.getByLabel('password').fill('open sesame');
    const link = await copyLink(page);
    expect((await fetch(link)).status).toBe(401);
    const visitor = await openTab(stage.browser);
    await visitor.page.goto(link);
    await visitor.page.getByLabel('This link needs a password.').fill('wrong');
    await visitor.page.getByRole('button', { name: 'Open' }).click();
    await visitor.page.getByRole('alert').getByText('That is not the password.').waitFor();
    await expectAccessible(visitor.page);
    await visitor.page.getByLabel('This link needs a password.').fill('open sesame');
    const [download] = await Promise.all([
      visitor.page.waitForEvent('download'),
      visitor.page.getByRole('button', { name: 'Open' }).click(),
    ]);
    expect(download.suggestedFilename()).toBe('a.txt');
    await visitor.page.context().close();
    await page.reload();
    await page.getByText(/Link with a password, until .* opened about 1 ×/).waitFor();
    await page.getByRole('button', { name: 'End the link' }).click();
    await eventually(async () => (await fetch(link)).status).toBe(404);
    await eventually(() => page.getByRole('list', { name: 'Links to this object' }).count()).toBe(0);
    await page.context().close();
  });
});
