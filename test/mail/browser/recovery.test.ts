/** Tests ways to sign in other than password and code: links for a new password, passkeys, challenges. */
import type { Browser, CDPSession, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { awaitMail, codeIn, linkIn, setRecoveryAddress } from '../../support/mail/account-mail.ts';
import { registerUser } from '../../support/mail/mail.ts';
import { startServer, type TestServer } from '../../support/server.ts';
import { startTurnstile, type TurnstileStandIn } from '../../support/turnstile.ts';
import { closeTabs, expectAccessible, hasChromium, openChromium, openTab } from '../../web/browser/chromium.ts';
import { confirmWithPassword, enter, PASSWORD, signIn } from './mail-page.ts';

const NEW_PASSWORD = 'staple of the horse';
const PHONE = { viewport: { width: 390, height: 844 } };
const SECRET = '0x4AAAAAAA-secret-of-the-test';
let server: TestServer;
let browser: Browser;
/** Passkeys need a domain as the host: `localhost` is one, an IP address is not. */
let local: { url: string };

beforeAll(async () => {
  if (!hasChromium) return;
  server = await startServer({ vars: { REGISTRATION: 'open', MAIL_HOLD_SECONDS: '0' } });
  local = { url: server.url.replace('127.0.0.1', 'localhost') };
  browser = await openChromium();
});
afterAll(async () => {
  await closeTabs(browser);
  await server?.[Symbol.asyncDispose]();
});

const section = (page: Page, name: string) => page.getByRole('region', { name });
async function openSecurity(page: Page): Promise<void> {
  await page.goto(`${new URL(page.url()).origin}/_/mail#/settings/security`);
  await page.getByRole('heading', { name: 'Passkeys' }).waitFor();
}

async function addAuthenticator(page: Page): Promise<{ cdp: CDPSession; authenticatorId: string }> {
  const cdp = await page.context().newCDPSession(page);
  await cdp.send('WebAuthn.enable');
  const { authenticatorId } = await cdp.send('WebAuthn.addVirtualAuthenticator', {
    options: {
      protocol: 'ctap2',
      transport: 'internal',
      hasResidentKey: true,
      hasUserVerification: true,
      isUserVerified: true,
      automaticPresenceSimulation: true,
    },
  });
  return { cdp, authenticatorId };
}

describe.skipIf(!hasChromium)('a forgotten password', () => {
  it('is replaced with the link that was mailed, on a phone', async () => {
    const user = await registerUser(server, 'fiona');
    await setRecoveryAddress(server, user.token, 'fiona@outside.test', PASSWORD);
    const { page, troubles } = await openTab(browser, PHONE);
    await page.goto(`${server.url}/_/mail`);
    await page.getByRole('button', { name: 'Forgot your password?' }).click();
    await page.getByLabel('Address').fill('fiona');
    await expectAccessible(page);
    await page.getByRole('button', { name: 'Send the link' }).click();
    await page.getByText('If fiona@example.test has a confirmed recovery address').waitFor();

    await page.goto(linkIn(await awaitMail(server, 'fiona@outside.test', 'Set a new password')));
    await page.locator('input[name=password]').fill('password123');
    await page.getByLabel('New password again').fill(NEW_PASSWORD);
    await page.getByRole('button', { name: 'Set the password' }).click();
    await page.getByText('The two passwords differ.').waitFor();
    await page.getByLabel('New password again').fill('password123');
    await page.getByRole('button', { name: 'Set the password' }).click();
    await page.getByText('Use a password of at least 8 characters that is not a common one.').waitFor();
    await page.locator('input[name=password]').fill(NEW_PASSWORD);
    await page.getByLabel('New password again').fill(NEW_PASSWORD);
    await expectAccessible(page);
    await page.getByRole('button', { name: 'Set the password' }).click();
    await page.getByRole('heading', { name: 'Your new password is set' }).waitFor();
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByLabel('Address').fill('fiona');
    await page.getByLabel('Password').fill(NEW_PASSWORD);
    await page.keyboard.press('Enter');
    const review = page.getByRole('region', { name: 'Still set' });
    await review.getByText('fiona@outside.test').first().waitFor();
    await expectAccessible(page);
    expect(await page.locator('.message-row').count()).toBe(0);
    await review.getByRole('button', { name: 'Remove fiona@outside.test' }).click();
    await page.getByRole('dialog').getByLabel('Password').fill(NEW_PASSWORD);
    await page.keyboard.press('Enter');
    // Nothing is left to look at, so the mail follows.
    await page.locator('.list-pane').waitFor();
    expect(page.url()).not.toContain('rst_');
    expect(troubles).toEqual([]);
    await page.context().close();
  });

  it('a recovery address is set, confirmed and removed in the settings', async () => {
    const user = await registerUser(server, 'rita');
    const { page, troubles } = await signIn(server, browser, user);
    await openSecurity(page);
    const recovery = section(page, 'Recovery address');
    await recovery.getByLabel('New recovery address').fill('rita@outside.test');
    await recovery.getByRole('button', { name: 'Send a code' }).click();
    await confirmWithPassword(page);
    const code = codeIn(await awaitMail(server, 'rita@outside.test', 'Confirm your recovery address'));
    await recovery.getByLabel('Code that was sent to rita@outside.test').fill(code);
    await recovery.getByRole('button', { name: 'Confirm' }).click();
    await recovery.getByText('confirmed').waitFor();
    await expectAccessible(page);
    await recovery.getByRole('button', { name: 'Remove' }).click();
    await recovery.getByText('confirmed').waitFor({ state: 'detached' });
    expect(troubles).toEqual([]);
    await page.context().close();
  });
});

describe.skipIf(!hasChromium)('a passkey', () => {
  it('is added in the settings, signs in alone and after the password, and is removed', async () => {
    const user = await registerUser(server, 'paula');
    const { page, troubles } = await signIn(local, browser, user);
    const { cdp, authenticatorId } = await addAuthenticator(page);
    await openSecurity(page);
    const passkeys = section(page, 'Passkeys');
    await passkeys.getByLabel('Name of the passkey').fill('My laptop');
    await expectAccessible(page);
    await passkeys.getByRole('button', { name: 'Add a passkey' }).click();
    await confirmWithPassword(page);
    await passkeys.getByText('not used yet').waitFor();
    const { credentials } = await cdp.send('WebAuthn.getCredentials', { authenticatorId });
    expect(credentials.map(({ isResidentCredential, rpId }) => [isResidentCredential, rpId])).toEqual([
      [true, 'localhost'],
    ]);

    await page.context().clearCookies();
    await page.goto(`${local.url}/_/mail`);
    await page.reload();
    await page.getByRole('button', { name: 'Sign in with a passkey' }).click();
    await page.locator('.list-pane').waitFor();
    await openSecurity(page);
    await passkeys.getByText(/My laptop since/).waitFor();
    expect(await passkeys.getByText('not used yet').count()).toBe(0);

    await passkeys.getByRole('button', { name: 'Require a passkey after the password' }).click();
    await confirmWithPassword(page);
    await passkeys.getByRole('button', { name: 'Allow the password alone' }).waitFor();
    await page.context().clearCookies();
    await page.goto(`${local.url}/_/mail`);
    await page.reload();
    await enter(page, 'paula');
    await page.getByRole('button', { name: 'Use a passkey' }).click();
    await page.locator('.list-pane').waitFor();

    await openSecurity(page);
    await passkeys.getByRole('button', { name: 'Remove My laptop' }).click();
    const dialog = page.getByRole('dialog', { name: 'Confirm that it is you' });
    await expectAccessible(page);
    await dialog.getByRole('button', { name: 'Use a passkey' }).click();
    await page.getByText('This passkey is the only way to sign in, so it cannot be removed.').waitFor();
    expect(troubles).toEqual([]);
    await page.context().close();
  });
});

/**
 * A script that replaces Cloudflare's: a Turnstile widget that solves itself. The policy of the frame and the server are the real
 * ones.
 */
const WIDGET = `globalThis.turnstile = { render: (container, options) => {
  document.querySelector(container).textContent = options.sitekey + ' ' + options.action;
  options.callback('solved-' + options.action);
  return 'widget';
} };`;

describe.skipIf(!hasChromium)('a challenge', () => {
  let turnstile: TurnstileStandIn;
  beforeAll(async () => {
    turnstile = await startTurnstile(SECRET);
    await server.stop();
    await server.start({
      TURNSTILE_SITE_KEY: '0x4AAAAAAAsite',
      TURNSTILE_SECRET: SECRET,
      TURNSTILE_VERIFY_URL: turnstile.url,
    });
  });
  afterAll(() => turnstile[Symbol.asyncDispose]());

  it('is solved in a frame for a registration and for a login', async () => {
    for (const action of ['register', 'login'])
      turnstile.tokens.set(`solved-${action}`, { hostname: '127.0.0.1', action });
    const { page, troubles } = await openTab(browser);
    await page.route('https://challenges.cloudflare.com/**', (route) =>
      route.fulfill({ contentType: 'text/javascript', body: WIDGET }),
    );
    await page.goto(`${server.url}/_/mail`);
    await page.getByRole('button', { name: 'Create a mailbox' }).click();
    await page.frameLocator('.turnstile').getByText('0x4AAAAAAAsite register').waitFor();
    await page.getByLabel('Your name').fill('Tess');
    await page.getByLabel('Address').fill('tess');
    await page.getByLabel('Password').fill(PASSWORD);
    await page.getByRole('button', { name: 'Create mailbox' }).click();
    await page.locator('.list-pane').waitFor();
    expect(turnstile.requests.at(-1)?.response).toBe('solved-register');

    await page.context().clearCookies();
    // Simulate the first answer, because the server gives it only after a hundred wrong passwords.
    // test/identity/security/login-challenges.test.ts tests that.
    await page.route(
      '**/v1/auth/login',
      (route) =>
        route.fulfill({
          status: 403,
          contentType: 'application/problem+json',
          body: JSON.stringify({ code: 'challenge_required', challenges: ['turnstile', 'recovery_code_mail'] }),
        }),
      { times: 1 },
    );
    await page.goto(`${server.url}/_/mail`);
    await page.reload();
    await enter(page, 'tess');
    await page.frameLocator('.turnstile').getByText('0x4AAAAAAAsite login').waitFor();
    await expectAccessible(page);
    await page.getByRole('button', { name: 'Mail a code to my recovery address' }).click();
    await page.getByText('If the account has a recovery address, a code was sent to it.').waitFor();
    const request = page.waitForRequest('**/v1/auth/login');
    await page.getByRole('button', { name: 'Sign in', exact: true }).click();
    expect((await request).postDataJSON()).toMatchObject({ turnstile: 'solved-login' });
    await page.locator('.list-pane').waitFor();
    expect(troubles).toEqual([]);
    await page.context().close();
  });

  it('has a frame only while Turnstile is set', async () => {
    const policyOf = async (path: string) =>
      (await fetch(server.url + path)).headers.get('content-security-policy') ?? '';
    expect(await policyOf('/_/mail')).toContain(`frame-src ${server.url}/_/mail-frame ${server.url}/_/turnstile;`);
    expect(await policyOf('/_/mail')).not.toContain('cloudflare');
    expect(await policyOf('/_/turnstile')).toContain(
      `script-src ${server.url}/_/assets/ https://challenges.cloudflare.com;`,
    );
    await server.stop();
    await server.start();
    expect((await fetch(`${server.url}/_/turnstile`)).status).toBe(404);
    expect(await policyOf('/_/mail')).toContain(`frame-src ${server.url}/_/mail-frame;`);
  });
});
