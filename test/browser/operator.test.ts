import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { registerUser } from '../support/mail.ts';
import { startServer, type TestServer } from '../support/server.ts';
import { expectAccessible, hasChromium, launchChromium, openTab, patiently } from './chromium.ts';

describe.skipIf(!hasChromium)('the operator page', () => {
  let server: TestServer;
  let browser: Browser;
  beforeAll(async () => {
    [server, browser] = await Promise.all([
      startServer({ vars: { REGISTRATION: 'open', MAIL_HOLD_SECONDS: '0' } }),
      launchChromium(),
    ]);
  });
  afterAll(async () => {
    await browser?.close();
    await server?.[Symbol.asyncDispose]();
  });

  const tab = (page: Page, name: string) =>
    page.getByRole('navigation', { name: 'Operator' }).getByRole('link', { name });

  it('shows health, queues, domains with DKIM records and storage, and makes users, keys and tokens', async () => {
    const user = await registerUser(server, 'sender');
    const { page, troubles } = await openTab(browser);
    page.on('dialog', (dialog) => void dialog.accept());
    await page.goto(`${server.url}/_/operator`);
    await page.getByLabel('Token').fill('not the token');
    await page.keyboard.press('Enter');
    await page.getByRole('alert').waitFor();
    await page.getByLabel('Token').fill(server.rootToken);
    await page.keyboard.press('Enter');
    await page.getByText('Every store answers').waitFor();
    await expectAccessible(page);

    // A message without a recipient is refused, and lies in the error queue.
    const refused = await server.call('POST', '/v1/messages', { to: [], subject: 'To nobody', body: '.' }, user.token);
    expect(refused.status).toBe(400);
    await tab(page, 'Outbound').click();
    await page.getByRole('list', { name: 'Failed messages' }).getByRole('listitem').first().waitFor();
    await patiently(() =>
      page.getByRole('list', { name: 'Failed messages' }).getByRole('button', { name: 'Try again' }).count(),
    ).toBe(1);
    await expectAccessible(page);

    await tab(page, 'Quarantine').click();
    await page.getByText('Nothing is held back.').waitFor();

    await tab(page, 'Domains').click();
    await page.getByRole('button', { name: 'example.test' }).click();
    await page.getByRole('button', { name: 'Make new DKIM keys' }).click();
    await page
      .getByText(/v=DKIM1/)
      .first()
      .waitFor();
    await expectAccessible(page);

    await tab(page, 'Storage').click();
    await page.getByRole('heading', { name: 'Copies by location' }).waitFor();
    await page.getByRole('button', { name: 'Check' }).click();
    await page.getByText('Check: report').waitFor();
    await expectAccessible(page);

    await tab(page, 'Users').click();
    await page.getByLabel('Name of the new user').fill('backup');
    await page.keyboard.press('Enter');
    await page.getByRole('button', { name: 'New access key' }).click();
    await page.getByText('The secret is shown this once.').waitFor();

    await tab(page, 'Tokens').click();
    await page.getByLabel('Name').fill('game server');
    await page.getByLabel(/scores:write/).check();
    await page.getByRole('button', { name: 'Make token' }).click();
    const token = await page.getByRole('status').locator('pre').innerText();
    const scored = await server.call('POST', '/v1/scores', { user_id: 'p1', points: 3 }, token);
    expect(scored.status).toBe(200);
    await page.getByRole('button', { name: 'Revoke game server' }).click();
    await patiently(
      async () => (await server.call('POST', '/v1/scores', { user_id: 'p1', points: 3 }, token)).status,
    ).toBe(401);
    expect(troubles).toEqual([]);
    await page.context().close();
  });
});
