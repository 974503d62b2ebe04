/** Tests links to objects, and the end of the key that signs them. */
import type { Page } from 'playwright-core';
import { beforeAll, describe, expect, it } from 'vitest';
import { type MailUser, registerUser } from '../../support/mail/mail.ts';
import { eventually, expectAccessible, hasChromium, openTab, type Tab } from '../../web/browser/chromium.ts';
import { useStage } from '../../web/browser/stage.ts';
import { openConsole, openStore, type StorageKey, type Store } from './storage-page.ts';

const PASSWORD = 'correct horse battery';
const HOUR_MS = 3_600_000;

describe.skipIf(!hasChromium)('links to stored objects', () => {
  const stage = useStage({ vars: { REGISTRATION: 'open', OWN_ACCESS_KEYS: 'true' } });
  let key: StorageKey;
  let store: Store;

  beforeAll(async () => {
    key = await stage.server.createAccessKey(`links-${crypto.randomUUID().slice(0, 8)}`);
    store = openStore(stage.server, key);
  });

  const choice = (page: Page) => page.getByLabel('valid for');
  const options = (page: Page) => choice(page).locator('option').allInnerTexts();
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

  it('are offered for no longer than the key of the sign-in lives, and end when storage is signed out', async () => {
    const { page, troubles, user } = await signInWithMailbox();
    await uploadAndOpen(page);
    const offered = await options(page);
    expect(offered).toHaveLength(2);
    expect(offered[0]).toBe('1 hour');
    expect(offered[1]).toMatch(/^until .*\d:\d\d/);
    await page.getByText('For a longer link').waitFor();
    await expectAccessible(page);
    await choice(page).selectOption({ index: 1 });
    const link = await copyLink(page);
    const seconds = Number(new URL(link).searchParams.get('X-Amz-Expires'));
    expect(seconds * 1_000).toBeLessThanOrEqual(12 * HOUR_MS);
    expect(seconds * 1_000).toBeGreaterThan(11 * HOUR_MS);
    // The control and the line under the link name the same end.
    const end = offered[1]?.replace(/^until /, '') ?? '';
    await page.getByText(`can open the file until ${end}`).waitFor();
    expect((await fetch(link)).status).toBe(200);
    expect(await ownKeys(user)).toBe(1);
    await page.getByRole('link', { name: 'own access key' }).click();
    await page.getByRole('button', { name: 'Create access key' }).waitFor();

    await signOut(page);
    await page.getByText('Signed out. The key of this sign-in is revoked.').waitFor();
    await page.getByRole('heading', { name: 'Sign in to storage' }).waitFor();
    expect(await page.evaluate(() => JSON.stringify({ ...sessionStorage, ...localStorage }))).not.toContain('secret');
    expect(await ownKeys(user)).toBe(0);
    // Isolates may keep a key for some seconds.
    await eventually(async () => (await fetch(link)).status).toBe(403);
    expect(troubles).toEqual([]);
    await page.context().close();
  });

  it('tell until when they work if the key could not be revoked', async () => {
    const { page, user } = await signInWithMailbox();
    // The session of the mailbox ended meanwhile, so this browser may not revoke keys.
    await page.context().clearCookies();
    await signOut(page);
    await page.getByText(/^Signed out here, but the key \w+ could not be revoked/).waitFor();
    await page.getByText(/It and its links work until .*\d:\d\d/).waitFor();
    await page.getByRole('heading', { name: 'Sign in to storage' }).waitFor();
    expect(await page.evaluate(() => JSON.stringify({ ...sessionStorage, ...localStorage }))).not.toContain('secret');
    expect(await ownKeys(user)).toBe(1);
    await page.context().close();
  });

  it('last up to seven days with a key of one’s own, which signing out does not revoke', async () => {
    const bucket = await store.createBucket();
    await store.put(bucket, 'a.txt', 'shared');
    const { page } = await openConsole(stage.browser, stage.server, key, `#/b/${bucket}?key=a.txt`);
    await page.getByText('shared', { exact: true }).waitFor();
    expect(await options(page)).toEqual(['1 hour', '1 day', '7 days']);
    expect(await page.getByText('For a longer link').count()).toBe(0);
    await choice(page).selectOption({ index: 2 });
    const link = await copyLink(page);
    await signOut(page);
    await page.getByRole('heading', { name: 'Sign in to storage' }).waitFor();
    expect((await fetch(link)).status).toBe(200);
    await page.context().close();
  });

  it('are offered for no longer than a key with an end that was typed in', async () => {
    const { page } = await signInWithMailbox();
    const expiresAt = new Date(Date.now() + 30 * HOUR_MS).toISOString();
    const made = await page.evaluate(async (expires_at) => {
      const body = JSON.stringify({ expires_at });
      const headers = { 'content-type': 'application/json' };
      return (await (await fetch('/v1/me/access-keys', { method: 'POST', body, headers })).json()) as Record<
        string,
        string
      >;
    }, expiresAt);
    await signOut(page);
    await page.getByLabel('Access key', { exact: true }).fill(made.access_key_id ?? '');
    await page.getByLabel('Secret access key').fill(made.secret_access_key ?? '');
    await page.keyboard.press('Enter');
    await buckets(page).waitFor();
    await uploadAndOpen(page);
    const offered = await options(page);
    expect(offered.slice(0, 2)).toEqual(['1 hour', '1 day']);
    expect(offered[2]).toMatch(/^until /);
    expect(offered).toHaveLength(3);
    await page.context().close();
  });
});
