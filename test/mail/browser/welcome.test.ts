/** Tests that the welcome of a new mailbox ticks what was done, and nothing else. */
import type { Page } from 'playwright-core';
import { describe, expect, it } from 'vitest';
import { registerUser } from '../../support/mail/mail.ts';
import { eventually, hasChromium, takePictures } from '../../web/browser/chromium.ts';
import { useStage } from '../../web/browser/stage.ts';
import { awaitCount, confirmWithPassword, deliver, folder, letter, signIn } from './mail-page.ts';

const steps = async (page: Page): Promise<string[]> =>
  (await page.locator('.first-steps').getByRole('heading', { level: 3 }).allInnerTexts()).map((text) =>
    text.replaceAll(/\s+/g, ' '),
  );

describe.skipIf(!hasChromium)('the welcome', () => {
  const stage = useStage({ vars: { MAIL_HOLD_SECONDS: '0', REGISTRATION: 'open' } });

  it('ticks an import and a passkey, but neither a draft nor mail that arrived', async () => {
    const user = await registerUser(stage.server, `newcomer-${crypto.randomUUID().slice(0, 8)}`);
    const { page, troubles } = await signIn(
      // A passkey needs the name of a host.
      { url: stage.server.url.replace('127.0.0.1', 'localhost') },
      stage.browser,
      user,
    );
    const cdp = await page.context().newCDPSession(page);
    await cdp.send('WebAuthn.enable');
    await cdp.send('WebAuthn.addVirtualAuthenticator', {
      options: {
        ...{ protocol: 'ctap2', transport: 'internal', hasResidentKey: true, hasUserVerification: true },
        ...{ isUserVerified: true, automaticPresenceSimulation: true },
      },
    });
    const open = ['Send yourself a message', 'Import your old mail', 'Protect your account'];
    await eventually(() => steps(page)).toEqual(open);
    await deliver(stage.server, user, letter(user, 'Hello', 'A first letter.'));
    await page.keyboard.press('c');
    await page.keyboard.type(`${user.email},`);
    await page.keyboard.press('Tab');
    await page.keyboard.type('Kept');
    await page.getByText('Saved in Drafts', { exact: true }).waitFor();
    await page.keyboard.press('Escape');
    await awaitCount(stage.server, user, 'inbox', 1);
    await awaitCount(stage.server, user, 'drafts', 1);
    await page.reload();
    await eventually(() => folder(page, 'Drafts').innerText()).toContain('1');
    expect(await steps(page)).toEqual(open);

    await page.locator('.first-steps').getByRole('link', { name: 'Import' }).click();
    const guide = page.getByRole('region', { name: 'Import' });
    const mbox = `From x@y.test Sat Jan 10 10:00:00 2026\n${letter(user, 'Old', 'Long ago.')}\n`;
    await guide.getByLabel('File').setInputFiles({ name: 'Inbox', mimeType: '', buffer: Buffer.from(mbox) });
    await guide.getByText('1 of 1 message imported.').waitFor();
    await folder(page, 'Inbox').click();
    await eventually(() => steps(page)).toEqual([open[0], `${open[1]} (done)`, open[2]]);

    await page.locator('.first-steps').getByRole('link', { name: 'Security' }).click();
    await page.getByLabel('Name of the passkey').fill('Laptop');
    await page.getByRole('button', { name: 'Add a passkey' }).click();
    await confirmWithPassword(page);
    await page.getByText('Laptop').first().waitFor();
    await folder(page, 'Inbox').click();
    await eventually(() => steps(page)).toEqual([open[0], `${open[1]} (done)`, `${open[2]} (done)`]);
    await takePictures(page, 'welcome-ticks');
    expect(troubles).toEqual([]);
    await page.context().close();
  });
});
