/** Tests that a conversation has an address: links, reload, Back and Forward, bookmarks, new tabs and notifications. */
import type { Page } from 'playwright-core';
import { afterEach, describe, expect, it } from 'vitest';
import { listFolder, type MailUser, registerUser } from '../../support/mail/mail.ts';
import { eventually, hasWholeChromium, openWholeChromium } from '../../web/browser/chromium.ts';
import { useStage } from '../../web/browser/stage.ts';
import { awaitCount, deliver, folder, importLetters, letter, messageText, openRow, row, signIn } from './mail-page.ts';

const hashOf = (page: Page) => new URL(page.url()).hash;
const openSubject = (page: Page) => page.locator('.thread-subject').allInnerTexts();

describe.skipIf(!hasWholeChromium)('the address of a conversation', () => {
  const stage = useStage({ vars: { MAIL_HOLD_SECONDS: '0', REGISTRATION: 'open' } }, openWholeChromium);

  const makeUser = async (name: string): Promise<MailUser> => {
    const user = await registerUser(stage.server, `${name}-${crypto.randomUUID().slice(0, 8)}`);
    const letters = ['Alpha', 'Beta', 'Gamma'].map((subject) => letter(user, subject, `About ${subject}.`));
    await importLetters(stage.server, user, letters);
    return user;
  };
  const threadOf = async (user: MailUser, subject: string): Promise<string> =>
    (await listFolder(stage.server, user, 'inbox')).find((message) => message.subject === subject).thread_id;

  afterEach(async () => {
    for (const context of stage.browser.contexts()) await context.close();
  });

  it('is in the bar, survives a reload, and Back and Forward close and open it', async () => {
    const user = await makeUser('reader');
    const { page, troubles } = await signIn(stage.server, stage.browser, user);
    await openRow(page, 'Beta');
    await messageText(page, 'About Beta.').waitFor();
    const thread = await threadOf(user, 'Beta');
    expect(hashOf(page)).toBe(`#/inbox/t/${thread}`);
    await page.reload();
    await messageText(page, 'About Beta.').waitFor();
    await row(page, 'Alpha').waitFor();
    // Another conversation takes the place of the first, so that Back leads to the list at once.
    await openRow(page, 'Gamma');
    await messageText(page, 'About Gamma.').waitFor();
    await page.goBack();
    await eventually(() => openSubject(page)).toEqual([]);
    expect(hashOf(page)).toMatch(/^(?:#\/inbox)?$/);
    await row(page, 'Alpha').waitFor();
    await page.goForward();
    await messageText(page, 'About Gamma.').waitFor();
    // `u` closes it, and the address is that of the list.
    await page.keyboard.press('u');
    await eventually(() => openSubject(page)).toEqual([]);
    await eventually(() => hashOf(page)).toMatch(/^(?:#\/inbox)?$/);
    await page.keyboard.press('j');
    await eventually(() => hashOf(page)).toContain('#/inbox/t/');
    await folder(page, 'Archive').click();
    await eventually(() => openSubject(page)).toEqual([]);
    expect(hashOf(page)).toBe('#/archive');
    await page.goBack();
    await eventually(async () => (await openSubject(page)).length).toBe(1);
    expect(troubles).toEqual([]);
  });

  it('opens from a bookmark and in a new tab, and Back leads to its list', async () => {
    const user = await makeUser('marker');
    const { page, troubles } = await signIn(stage.server, stage.browser, user);
    await row(page, 'Alpha').waitFor();
    const [opened] = await Promise.all([
      page.context().waitForEvent('page'),
      row(page, 'Alpha')
        .getByRole('link')
        .click({ modifiers: ['ControlOrMeta'] }),
    ]);
    await messageText(opened, 'About Alpha.').waitFor();
    expect(await openSubject(page)).toEqual([]);
    await opened.close();
    const mark = await page.context().newPage();
    await mark.goto(`${stage.server.url}/_/mail#/archive/t/${await threadOf(user, 'Beta')}`);
    await messageText(mark, 'About Beta.').waitFor();
    // The conversation is not in this list, but keys act on it.
    await mark.locator('.thread-subject').click();
    await mark.keyboard.press('s');
    await eventually(
      async () => (await listFolder(stage.server, user, 'inbox')).filter(({ is_flagged }) => is_flagged).length,
    ).toBe(1);
    await mark.goBack();
    await eventually(() => openSubject(mark)).toEqual([]);
    expect(hashOf(mark)).toBe('#/archive');
    expect(troubles).toEqual([]);
  });

  it('opens in a search, where Back returns to the hits', async () => {
    const user = await makeUser('seeker');
    const { page, troubles } = await signIn(stage.server, stage.browser, user);
    await row(page, 'Alpha').waitFor();
    await page.keyboard.press('/');
    await page.keyboard.type('Gamma');
    await page.keyboard.press('Enter');
    await eventually(() => row(page, 'Alpha').count()).toBe(0);
    await openRow(page, 'Gamma');
    await messageText(page, 'About').waitFor();
    expect(hashOf(page)).toBe(`#/search/t/${await threadOf(user, 'Gamma')}?q=Gamma`);
    await page.reload();
    await messageText(page, 'About').waitFor();
    await page.goBack();
    await eventually(() => hashOf(page)).toBe('#/search?q=Gamma');
    await row(page, 'Gamma').waitFor();
    expect(troubles).toEqual([]);
  });

  it('is opened by a notification, in the tab that is there', async () => {
    const user = await makeUser('notified');
    const { page, troubles } = await signIn(stage.server, stage.browser, user);
    await page.context().grantPermissions(['notifications'], { origin: stage.server.url });
    await page.evaluate(async () => Boolean((await navigator.serviceWorker.ready).active));
    await deliver(stage.server, user, letter(user, 'Supper', 'Are you coming?'));
    await awaitCount(stage.server, user, 'inbox', 4);
    const hash = `#/inbox/t/${await threadOf(user, 'Supper')}`;
    const [worker] = page.context().serviceWorkers();
    if (!worker) throw new Error('The page has no service worker.');
    // The headless browser shows no notification that could be clicked, so the worker gets the event of the click.
    await worker.evaluate((data) => {
      const event = new Event('notificationclick') as Event & { notification?: unknown; waitUntil?: unknown };
      event.notification = { data, close: () => undefined };
      event.waitUntil = () => undefined;
      dispatchEvent(event);
    }, hash);
    await messageText(page, 'Are you coming?').waitFor();
    expect(hashOf(page)).toBe(hash);
    expect(troubles).toEqual([]);
  });
});
