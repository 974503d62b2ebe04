import { join } from 'node:path';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startSmtpSink } from '../../../dev/local/smtp-sink.ts';
import { deliver, folder, letter, openRow, row, signIn as signInToMail } from '../../mail/browser/mail-page.ts';
import { registerUser, until } from '../../support/mail/mail.ts';
import { freePort, startServer, type TestServer } from '../../support/server.ts';
import {
  closeTabs,
  eventually,
  expectAccessible,
  hasChromium,
  openChromium,
  openTab,
  type Tab,
} from '../../web/browser/chromium.ts';

/** The EICAR test virus, in parts, so that scanners do not report this file. */
const EICAR = ['X5O!P%@AP[4\\PZX54(P^)7CC)7}', '$EICAR-STANDARD-ANTIVIRUS-TEST-FILE!', '$H+H*'].join('');

describe.skipIf(!hasChromium)('the operator page', () => {
  let server: TestServer;
  let browser: Browser;
  let outsidePort: number;
  beforeAll(async () => {
    outsidePort = await freePort();
    [server, browser] = await Promise.all([
      // Outgoing mail goes to a port on which no server listens yet, so it must wait.
      startServer({
        vars: { REGISTRATION: 'open', MAIL_HOLD_SECONDS: '0', MAIL_TRANSPORT: `smtp://127.0.0.1:${outsidePort}` },
      }),
      openChromium(),
    ]);
  });
  afterAll(async () => {
    await closeTabs(browser);
    await server?.[Symbol.asyncDispose]();
  });

  async function signIn(): Promise<Tab> {
    const opened = await openTab(browser);
    opened.page.on('dialog', (dialog) => void dialog.accept());
    await opened.page.goto(`${server.url}/_/operator`);
    await opened.page.getByLabel('Token').fill(server.rootToken);
    await opened.page.keyboard.press('Enter');
    await opened.page.getByText('All stores are working').waitFor();
    return opened;
  }

  const tab = (page: Page, name: string) =>
    page.getByRole('navigation', { name: 'Operator' }).getByRole('link', { name });

  it('shows health, queues, domains with DKIM records and storage, and creates users, keys and tokens', async () => {
    const user = await registerUser(server, 'sender');
    const { page, troubles } = await openTab(browser);
    page.on('dialog', (dialog) => void dialog.accept());
    await page.goto(`${server.url}/_/operator`);
    await page.getByLabel('Token').fill('not the token');
    await page.keyboard.press('Enter');
    await page.getByRole('alert').waitFor();
    await page.getByLabel('Token').fill(server.rootToken);
    await page.keyboard.press('Enter');
    await page.getByText('All stores are working').waitFor();
    await expectAccessible(page);

    // Make a failure: a message without a recipient is rejected and goes to the error queue.
    const refused = await server.call('POST', '/v1/messages', { to: [], subject: 'To nobody', body: '.' }, user.token);
    expect(refused.status).toBe(400);
    await tab(page, 'Outbound').click();
    await page.getByRole('list', { name: 'Failed messages' }).getByRole('listitem').first().waitFor();
    await eventually(() =>
      page.getByRole('list', { name: 'Failed messages' }).getByRole('button', { name: 'Try again' }).count(),
    ).toBe(1);
    await expectAccessible(page);

    await tab(page, 'Quarantine').click();
    await page.getByText('The quarantine is empty.').waitFor();

    await tab(page, 'Domains').click();
    await page.getByRole('button', { name: 'example.test' }).click();
    await page.getByRole('button', { name: 'Create new DKIM keys' }).click();
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

    await tab(page, 'Accounts').click();
    await page.getByLabel('Name of the new user').fill('backup');
    await page.keyboard.press('Enter');
    await page.getByRole('button', { name: 'New access key' }).click();
    await page.getByText('Copy the secret now.').waitFor();

    await tab(page, 'Tokens').click();
    // Wait for the new form: until then, the fields of the previous page are still there.
    await page.getByRole('button', { name: 'Create token' }).waitFor();
    await page.getByLabel('Name').fill('game server');
    await page.getByLabel(/scores:write/).check();
    await page.getByRole('button', { name: 'Create token' }).click();
    const token = await page.getByRole('status').locator('pre').innerText();
    const scored = await server.call('POST', '/v1/scores', { user_id: 'p1', points: 3 }, token);
    expect(scored.status).toBe(200);
    await page.getByRole('button', { name: 'Revoke game server' }).click();
    await eventually(
      async () => (await server.call('POST', '/v1/scores', { user_id: 'p1', points: 3 }, token)).status,
    ).toBe(401);
    expect(troubles).toEqual([]);
    await page.context().close();
  });

  it('shows mail that waits for an unreachable server to operator and sender, and retries on request', async () => {
    const user = await registerUser(server, 'patient');
    const mail = await signInToMail(server, browser, user);
    await server.call(
      'POST',
      '/v1/messages',
      { to: [{ email: 'friend@outside.test' }], subject: 'Into the dark', body: 'Anybody?' },
      user.token,
    );
    await folder(mail.page, 'Sent').click();
    await openRow(mail.page, 'Into the dark');
    const delivery = mail.page.getByRole('region', { name: 'Delivery' });
    await delivery.getByText('Retrying').waitFor();
    await delivery.getByText(/^Next attempt /).waitFor();

    const { page, troubles } = await signIn();
    await tab(page, 'Outbound').click();
    const waiting = page.getByRole('list', { name: 'Waiting messages' });
    // The operator must see a message that has not been sent for five seconds.
    await eventually(async () => {
      await page.getByRole('button', { name: 'Reload' }).click();
      return waiting.getByText('outside.test').count();
    }).toBe(1);
    await expectAccessible(page);
    const sink = await startSmtpSink({
      host: '127.0.0.1',
      port: outsidePort,
      directory: join(server.directory, 'outside'),
    });
    await waiting.getByRole('button', { name: 'Try now' }).click();
    await page.getByText('Retrying now.').waitFor();
    // The sender must see the new status without any action.
    await delivery.getByText(/^Sent$|^Delivered$/).waitFor();
    // The sender's mailbox has the status at once. The operator's view of all mailboxes is about a second behind.
    await eventually(async () => {
      await page.getByRole('button', { name: 'Reload' }).click();
      return waiting.count();
    }).toBe(0);
    await sink.stop();
    expect([...troubles, ...mail.troubles]).toEqual([]);
    await Promise.all([page.context().close(), mail.page.context().close()]);
  });

  it('delivers one message from quarantine and destroys another', async () => {
    const user = await registerUser(server, 'careful');
    for (const subject of ['First catch', 'Second catch']) await deliver(server, user, letter(user, subject, EICAR));
    await until('both lie in quarantine', async () =>
      (await server.call('GET', '/v1/quarantine')).body.data.length === 2 ? true : undefined,
    );
    const { page, troubles } = await signIn();
    await tab(page, 'Quarantine').click();
    const item = (subject: string) => page.getByRole('listitem').filter({ hasText: subject });
    await item('First catch').getByText(/EICAR/i).first().waitFor();
    await expectAccessible(page);
    await item('First catch').getByRole('button', { name: 'Deliver anyway' }).click();
    await eventually(() => item('First catch').count()).toBe(0);
    await item('Second catch').getByRole('button', { name: 'Delete' }).click();
    await page.getByText('The quarantine is empty.').waitFor();
    const mail = await signInToMail(server, browser, user);
    await row(mail.page, 'First catch').waitFor();
    expect(troubles).toEqual([]);
    await Promise.all([page.context().close(), mail.page.context().close()]);
  });
});
