/** Tests the sign-in with a real provider of another site in a browser, on a desktop and on a phone. */
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startProvider, type TestProvider } from '../../support/identity/provider.ts';
import { registerUser } from '../../support/mail/mail.ts';
import { startServer, type TestServer } from '../../support/server.ts';
import { closeTabs, expectAccessible, hasChromium, openChromium, openTab } from '../../web/browser/chromium.ts';

const PHONE = { viewport: { width: 360, height: 740 }, hasTouch: true, isMobile: true };

describe.skipIf(!hasChromium)('the sign-in with the company account', () => {
  let server: TestServer;
  let provider: TestProvider;
  let browser: Browser;
  beforeAll(async () => {
    [server, browser] = await Promise.all([
      startServer({ vars: { REGISTRATION: 'open', MAIL_HOLD_SECONDS: '0' } }),
      openChromium(),
    ]);
    const key = await server.createAccessKey('engineers');
    provider = await startProvider(server.url, 'localhost');
    provider.accounts.set('ada', { email: 'ada@example.test', email_verified: true, name: 'Ada' });
    provider.accounts.set('grace', { groups: ['admins', 'engineers'], name: 'Grace' });
    await server.stop();
    await server.start({
      ...provider.vars,
      OIDC_NEW_ACCOUNTS: 'verified',
      OIDC_ROLES: 'admins=admin',
      OIDC_STORAGE_KEYS: `engineers=${key.accessKeyId}`,
    });
  });
  afterAll(async () => {
    await closeTabs(browser);
    await server?.[Symbol.asyncDispose]();
    await provider?.stop();
  });

  /** Logs in at the provider, and consents. */
  async function pass(page: Page, subject: string): Promise<void> {
    await page.waitForURL((url) => url.origin === provider.issuer);
    await page.locator('input[name=login]').fill(subject);
    await page.locator('input[name=password]').fill('any');
    await page.locator('button[type=submit]').click();
    await page.getByRole('button', { name: 'Continue' }).click();
  }
  const company = (page: Page) => page.getByRole('button', { name: 'Continue with Example Inc' });
  const widthsFit = async (page: Page) =>
    expect(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth)).toBe(true);

  it.each([
    ['desktop', {}],
    ['phone', PHONE],
  ])('opens mail on a %s, and confirms an app token', async (_, options) => {
    const { page, troubles } = await openTab(browser, options);
    await page.goto(`${server.url}/_/mail`);
    await company(page).waitFor();
    await expectAccessible(page);
    await widthsFit(page);
    await company(page).click();
    await pass(page, 'ada');
    await page.locator('.list-pane').waitFor();
    expect(new URL(page.url()).hash).not.toContain('signed-in');
    await page.goto(`${server.url}/_/mail#/settings/security`);
    const setting = page.getByRole('region', { name: 'Company account' });
    await setting.getByText('Connected').waitFor();
    await setting.scrollIntoViewIfNeeded();
    await widthsFit(page);
    await page
      .getByLabel('Name of the new token')
      .or(page.locator('form input[name=name]').last())
      .first()
      .fill('phone');
    await page.keyboard.press('Enter');
    const confirm = page.getByRole('button', { name: 'Confirm with Example Inc' });
    await confirm.waitFor();
    await expectAccessible(page);
    await confirm.click();
    await page.locator('input[name=login]').fill('ada');
    await page.locator('input[name=password]').fill('any');
    await page.locator('button[type=submit]').click();
    await page
      .getByRole('button', { name: 'Continue' })
      .or(page.getByText('Confirmed for ten minutes'))
      .first()
      .waitFor();
    if (await page.getByRole('button', { name: 'Continue' }).isVisible())
      await page.getByRole('button', { name: 'Continue' }).click();
    await page.getByText('Confirmed for ten minutes').waitFor();
    expect(troubles).toEqual([]);
  });

  it('connects a mailbox that has a password, and says why a sign-in failed', async () => {
    const user = await registerUser(server, 'owner');
    const { page } = await openTab(browser);
    await page.goto(`${server.url}/_/mail`);
    await page.getByLabel('Address').fill(user.email);
    await page.getByLabel('Password', { exact: true }).fill('correct horse battery');
    await page.keyboard.press('Enter');
    await page.locator('.list-pane').waitFor();
    await page.goto(`${server.url}/_/mail#/settings/security`);
    await page.getByRole('button', { name: 'Connect Example Inc' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Password').fill('correct horse battery');
    await dialog.getByRole('button', { name: 'Confirm', exact: true }).click();
    provider.accounts.set('owner', { email: 'o@corp.test' });
    await pass(page, 'owner');
    await page.getByText('Connected.').waitFor();

    const stranger = await openTab(browser);
    provider.accounts.set('stranger', { email: user.email, email_verified: true });
    await stranger.page.goto(`${server.url}/_/mail`);
    await company(stranger.page).click();
    await pass(stranger.page, 'stranger');
    await stranger.page.getByRole('alert').getByText('No account belongs to this sign-in').waitFor();
    // Without passwords, only the other ways in are shown.
    await stranger.page.route('**/_/config.json', async (route) => {
      const answer = await route.fetch();
      await route.fulfill({ json: { ...(await answer.json()), passwords: false } });
    });
    await stranger.page.reload();
    await company(stranger.page).waitFor();
    expect(await stranger.page.getByLabel('Password').count()).toBe(0);
    await expectAccessible(stranger.page);
  });

  it.each([
    ['desktop', {}],
    ['phone', PHONE],
  ])('opens the operator’s page and storage on a %s', async (_, options) => {
    const { page, troubles } = await openTab(browser, options);
    await page.goto(`${server.url}/_/operator`);
    await company(page).waitFor();
    await expectAccessible(page);
    await widthsFit(page);
    await company(page).click();
    await pass(page, 'grace');
    await page.getByText('All stores are working').waitFor();
    await page.goto(`${server.url}/_/storage`);
    await company(page).waitFor();
    await expectAccessible(page);
    await widthsFit(page);
    await company(page).click();
    // The provider knows the person, and asks for consent only.
    await page.getByRole('button', { name: 'Continue' }).click();
    await page.getByRole('heading', { name: 'Buckets' }).waitFor();
    await page.getByLabel('Name of the new bucket').fill(options === PHONE ? 'made-on-a-phone' : 'made-on-a-desktop');
    await page.keyboard.press('Enter');
    await page
      .getByRole('link', { name: /made-on-a-/ })
      .first()
      .waitFor();
    expect(troubles).toEqual([]);
  });
});
