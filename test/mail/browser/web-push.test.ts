/**
 * Tests a push of new mail in the browser. The browser's push service is outside, so the test hands the push to the service worker.
 */
import { describe, expect, it } from 'vitest';
import { registerUser } from '../../support/mail/mail.ts';
import { eventually, hasWholeChromium, openWholeChromium } from '../../web/browser/chromium.ts';
import { useStage } from '../../web/browser/stage.ts';
import { awaitCount, deliver, letter, row, signIn } from './mail-page.ts';

describe.skipIf(!hasWholeChromium)('a push of new mail', () => {
  const stage = useStage({ vars: { REGISTRATION: 'open' } }, openWholeChromium);

  it('shows who wrote and the subject, if no tab with mail is visible', async () => {
    const user = await registerUser(stage.server, `pushed-${crypto.randomUUID().slice(0, 8)}`);
    const { page, troubles } = await signIn(stage.server, stage.browser, user);
    await page.context().grantPermissions(['notifications'], { origin: stage.server.url });
    const registered = page.evaluate(async () => Boolean((await navigator.serviceWorker.ready).active));
    await deliver(stage.server, user, letter(user, 'Supper', 'Are you coming?'));
    await awaitCount(stage.server, user, 'inbox', 1);
    await row(page, 'Supper').waitFor();
    expect(await registered).toBe(true);

    // Open a page of this origin that is not a mail tab, because an open mail tab suppresses notifications.
    await page.goto(`${stage.server.url}/v1/openapi.json`);
    const session = await page.context().newCDPSession(page);
    const registration = new Promise<string>((resolve) => {
      session.on('ServiceWorker.workerRegistrationUpdated', ({ registrations }) => {
        const found = registrations.find(({ scopeURL, isDeleted }) => scopeURL.endsWith('/_/') && !isDeleted);
        if (found) resolve(found.registrationId);
      });
    });
    await session.send('ServiceWorker.enable');
    const registrationId = await registration;
    await session.send('ServiceWorker.deliverPushMessage', { origin: stage.server.url, registrationId, data: '{}' });
    await eventually(() =>
      page.evaluate(async () => {
        const shown = await (await navigator.serviceWorker.getRegistration('/_/'))?.getNotifications();
        return shown?.map(({ title, body }) => [title, body]);
      }),
    ).toEqual([['Carol', 'Supper']]);
    expect(troubles).toEqual([]);
    await page.context().close();
  });
});
