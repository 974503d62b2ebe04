/** Tests the mail page without a network: the page opens, mail read before can be read, and changes and messages are sent later. */
import type { Page } from 'playwright-core';
import { describe, expect, it } from 'vitest';
import { awaitMessage, awaitSunk, listFolder, registerUser } from '../../support/mail/mail.ts';
import {
  countOpenWrites,
  eventually,
  expectAccessible,
  hasChromium,
  openTab,
  TIMEOUT_MS,
  takePictures,
} from '../../web/browser/chromium.ts';
import { useStage } from '../../web/browser/stage.ts';
import {
  importLetters,
  invitation,
  letter,
  messageText,
  openRow,
  readText,
  row,
  signIn,
  signOut,
  subjects,
} from './mail-page.ts';

describe.skipIf(!hasChromium)('mail without a network', () => {
  const stage = useStage({ vars: { MAIL_HOLD_SECONDS: '1', REGISTRATION: 'open' } });

  /**
   * Cuts the network once the service worker has stored the page and no change is on its way: the answer of a change that is cut
   * off is lost, so the page would keep that change too.
   */
  async function goOffline(page: Page): Promise<void> {
    await eventually(() =>
      page.evaluate(async () => {
        const names = await caches.keys();
        return names.length > 0 && Boolean((await navigator.serviceWorker.ready).active);
      }),
    ).toBe(true);
    await eventually(() => countOpenWrites(page)).toBe(0);
    await page.context().setOffline(true);
    await page.getByText('You are offline.').waitFor();
  }

  /** Fills in and sends the form of the page of senders. */
  async function decideAbout(page: Page, sender: string, decision: 'Trust' | 'Block'): Promise<void> {
    await page.getByLabel('Address, domain or mailing list').fill(sender);
    await page.getByLabel('Decision').selectOption(decision);
    await page.getByRole('button', { name: 'Add' }).click();
  }

  it('opens offline, shows mail that was read, and sends changes and messages when the network is back', async () => {
    const user = await registerUser(stage.server, 'sailor');
    await importLetters(stage.server, user, [
      letter(user, 'Harbour', 'The harbour is full.'),
      letter(user, 'Weather', 'It will rain.'),
      letter(user, 'Ropes', 'Buy ropes.'),
    ]);
    const { page, troubles } = await signIn(stage.server, stage.browser, user);
    await openRow(page, 'Harbour');
    await messageText(page, 'The harbour is full.').waitFor();
    await eventually(async () => (await awaitMessage(stage.server, user, 'inbox', 'Harbour')).is_read).toBe(true);
    const context = page.context();
    await goOffline(page);
    await page.keyboard.press('e');
    await page.getByText(/moved to Archive\. This is saved on this device until you are online\./).waitFor();
    await page.getByText(/1 change is saved on this device/).waitFor();
    expect(await page.locator('.toast.bad').count()).toBe(0);
    expect((await listFolder(stage.server, user, 'archive')).length).toBe(0);

    // Close the tab and open the page again, still without a network.
    await page.close();
    const again = await context.newPage();
    again.setDefaultTimeout(TIMEOUT_MS);
    await again.goto(`${stage.server.url}/_/mail`);
    await eventually(() => subjects(again)).toEqual(['Ropes', 'Weather']);
    await again.goto(`${stage.server.url}/_/mail#/search?q=harbour`);
    await again.getByText('The server cannot be reached.').first().waitFor();
    await again.goto(`${stage.server.url}/_/mail#/inbox`);
    await row(again, 'Ropes').waitFor();
    await again.keyboard.press('c');
    await again.getByLabel('To', { exact: true }).fill('crew@outside.test');
    await again.getByLabel('Subject').fill('From the sea');
    await again.getByRole('textbox', { name: 'Message' }).fill('We are fine.');
    await again.keyboard.press('Control+Enter');
    await again.getByText('The message is saved on this device and will be sent when you are online.').waitFor();
    await again.getByText(/1 change and 1 message are saved on this device/).waitFor();
    expect(await again.locator('.compose').count()).toBe(0);

    await context.setOffline(false);
    await awaitMessage(stage.server, user, 'archive', 'Harbour');
    const sunk = await awaitSunk(stage.server, 'the message from the sea', (one) => one.raw.includes('From the sea'));
    expect(sunk.raw.toString()).toContain('We are fine.');
    await again.getByText('Sent.').waitFor();
    await eventually(() => again.getByText('saved on this device').count()).toBe(0);
    expect((await listFolder(stage.server, user, 'sent')).length).toBe(1);
    expect(troubles).toEqual([]);
    await context.close();
  });

  it('shows a conversation that was read before, and undoes a change and a message that wait', async () => {
    const user = await registerUser(stage.server, 'diver');
    await importLetters(stage.server, user, [letter(user, 'Depth', 'How deep?'), letter(user, 'Air', 'How much air?')]);
    const { page } = await signIn(stage.server, stage.browser, user);
    await openRow(page, 'Depth');
    await messageText(page, 'How deep?').waitFor();
    await openRow(page, 'Air');
    await messageText(page, 'How much air?').waitFor();
    await eventually(async () => (await awaitMessage(stage.server, user, 'inbox', 'Air')).is_read).toBe(true);
    await goOffline(page);
    await openRow(page, 'Depth');
    await messageText(page, 'How deep?').waitFor();
    await page.keyboard.press('r');
    await page.getByRole('textbox', { name: 'Message' }).waitFor();
    await page.keyboard.type('Forty metres.');
    await page.keyboard.press('Control+Enter');
    const card = page.locator('article.outgoing');
    await card.getByText('Waiting for the network').waitFor();
    await card.getByRole('button', { name: 'Undo' }).click();
    await eventually(() => readText(page.getByRole('textbox', { name: 'Message' }))).toContain('Forty metres.');
    await page.getByRole('button', { name: 'Discard' }).click();
    await row(page, 'Air').getByRole('checkbox').click();
    await page.keyboard.press('e');
    await eventually(() => subjects(page)).toEqual(['Depth']);
    await page.keyboard.press('z');
    await eventually(() => subjects(page)).toEqual(['Air', 'Depth']);
    await page.context().setOffline(false);
    await eventually(() => page.getByText('You are offline.').count()).toBe(0);
    await eventually(async () => (await listFolder(stage.server, user, 'inbox')).length).toBe(2);
    expect((await listFolder(stage.server, user, 'sent')).length).toBe(0);
    await page.context().close();
  });

  it('blocks, trusts, mutes, snoozes and unsubscribes offline, says so, and does it when the network is back', async () => {
    const user = await registerUser(stage.server, `hermit-${crypto.randomUUID().slice(0, 8)}`);
    const list = 'List-Unsubscribe: <mailto:leave@lists.test?subject=leave%20digest>\n';
    await importLetters(stage.server, user, [
      letter(user, 'Digest', 'News.', list),
      letter(user, 'Noise', 'Bang.'),
      letter(user, 'Tax', 'Due soon.'),
    ]);
    const { page, troubles } = await signIn(stage.server, stage.browser, user);
    for (const [subject, text] of Object.entries({ Noise: 'Bang.', Tax: 'Due soon.', Digest: 'News.' })) {
      await openRow(page, subject);
      await messageText(page, text).waitFor();
      await eventually(async () => (await awaitMessage(stage.server, user, 'inbox', subject)).is_read).toBe(true);
    }
    // The page must know it too: it would mark a message that it shows as unread once more.
    await eventually(() => page.locator('.message-row.unread').count()).toBe(0);
    const context = page.context();
    await goOffline(page);
    const kept = 'This is saved on this device until you are online.';
    const menu = page.getByRole('button', { name: 'More about Carol' });
    await menu.click();
    await page.getByRole('menuitem', { name: 'Trust carol@outside.test' }).click();
    await page.getByText(`Mail from this sender does not go to Junk if the sender is verified. ${kept}`).waitFor();
    await page.keyboard.press('z');
    await eventually(() => page.getByText('carol@outside.test is trusted').count()).toBe(0);
    await page.getByText(/2 changes are saved on this device/).waitFor();
    await menu.click();
    await page.getByRole('menuitem', { name: 'Block carol@outside.test' }).click();
    await page.getByText(`carol@outside.test is blocked. New mail from this sender goes to Junk. ${kept}`).waitFor();
    await page.getByRole('button', { name: 'Unsubscribe' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Unsubscribe' }).click();
    await page.getByText('You will be unsubscribed from Carol when you are online.').waitFor();
    await page.getByText('Unsubscribing…').waitFor();
    await expectAccessible(page);
    await takePictures(page, 'offline-senders');
    await openRow(page, 'Noise');
    await messageText(page, 'Bang.').waitFor();
    // The stored conversation says that the message is unread. The list knows better, so it is not marked again, however long it is open.
    await page.waitForTimeout(1_000);
    await page.keyboard.press('m');
    await page.getByText(`Muted. New messages of this conversation skip the Inbox. ${kept}`).waitFor();
    await row(page, 'Tax').hover();
    await row(page, 'Tax').getByRole('button', { name: 'Snooze' }).click();
    await page.getByRole('button', { name: /^Tomorrow/ }).click();
    await page.getByText(new RegExp(`It returns to the Inbox then\\. ${kept}`)).waitFor();
    await eventually(() => subjects(page)).toEqual(['Digest']);
    await page.getByText(/6 changes are saved on this device/).waitFor();
    expect(await page.locator('.toast.bad').count()).toBe(0);

    // Close the tab and open the page again, still without a network.
    await page.close();
    const again = await context.newPage();
    again.setDefaultTimeout(TIMEOUT_MS);
    await again.goto(`${stage.server.url}/_/mail`);
    await eventually(() => subjects(again)).toEqual(['Digest']);
    await openRow(again, 'Digest');
    await again.getByText('Unsubscribing…').waitFor();
    expect((await listFolder(stage.server, user, 'archive')).length).toBe(0);

    await context.setOffline(false);
    await eventually(() => again.getByText('saved on this device').count()).toBe(0);
    const get = async (path: string) => (await stage.server.call('GET', path, undefined, user.token)).body;
    expect((await get('/v1/senders')).data).toMatchObject([{ sender: 'carol@outside.test', status: 'blocked' }]);
    await awaitMessage(stage.server, user, 'sent', 'leave digest');
    const noise = await awaitMessage(stage.server, user, 'archive', 'Noise');
    expect((await get(`/v1/threads/${noise.thread_id}`)).is_muted).toBe(true);
    expect((await awaitMessage(stage.server, user, 'archive', 'Tax')).snoozed_until).not.toBeNull();
    expect(troubles).toEqual([]);
    await context.close();
  });

  it('answers an invitation and decides about senders in the settings offline, and sends each once', async () => {
    const user = await registerUser(stage.server, `guest-${crypto.randomUUID().slice(0, 8)}`);
    await importLetters(stage.server, user, [invitation(user)]);
    const blocked = { sender: 'spam@outside.test', status: 'blocked' };
    await stage.server.call('POST', '/v1/senders', blocked, user.token);
    const { page, troubles } = await signIn(stage.server, stage.browser, user);
    await page.goto(`${stage.server.url}/_/mail#/settings/senders`);
    await page.getByText(blocked.sender).first().waitFor();
    await page.goto(`${stage.server.url}/_/mail#/inbox`);
    await openRow(page, 'Team lunch');
    const card = page.getByRole('region', { name: 'Invitation' });
    await card.getByText('Café by the river').waitFor();
    const read = async () => (await awaitMessage(stage.server, user, 'inbox', 'Invitation: Team lunch')).is_read;
    await eventually(read).toBe(true);
    const context = page.context();
    await goOffline(page);
    const kept = 'This is saved on this device until you are online.';
    await card.getByRole('button', { name: 'Yes' }).click();
    await card.getByText(`You accepted. ${kept}`).waitFor();
    await page.getByText(/1 change is saved on this device/).waitFor();
    await takePictures(page, 'offline-invitation');

    await page.goto(`${stage.server.url}/_/mail#/settings/senders`);
    const list = (name: string) => page.getByRole('region', { name });
    await list('Blocked')
      .getByRole('button', { name: `Remove ${blocked.sender}` })
      .click();
    await page.getByText(`${blocked.sender} was removed from the list. ${kept}`).waitFor();
    await list('Blocked').getByText('No blocked senders.').waitFor();
    await decideAbout(page, '@friends.test', 'Trust');
    await page.getByText('@friends.test is trusted.').waitFor();
    await list('Trusted').getByText('@friends.test').first().waitFor();
    await decideAbout(page, '@foes.test', 'Block');
    await list('Blocked').getByText('@foes.test').first().waitFor();
    await page.keyboard.press('z');
    await list('Blocked').getByText('No blocked senders.').waitFor();
    await expectAccessible(page);
    await takePictures(page, 'offline-senders-settings');
    await page.getByText(/5 changes are saved on this device/).waitFor();

    // The tab is closed and opened again, still without a network.
    await page.close();
    const again = await context.newPage();
    again.setDefaultTimeout(TIMEOUT_MS);
    await again.goto(`${stage.server.url}/_/mail`);
    await openRow(again, 'Team lunch');
    const cardAgain = again.getByRole('region', { name: 'Invitation' });
    await cardAgain.getByText(`You accepted. ${kept}`).waitFor();
    expect((await listFolder(stage.server, user, 'sent')).length).toBe(0);

    // The server gets the first answer, but its response is lost.
    let requests = 0;
    await context.route('**/v1/messages', async (route) => {
      if (route.request().method() !== 'POST') return route.continue();
      requests += 1;
      if (requests > 1) return route.continue();
      await route.fetch();
      await route.abort();
    });
    await context.setOffline(false);
    await eventually(() => requests).toBeGreaterThan(0);
    await eventually(async () => {
      // In place of the pause before the next attempt.
      await again.evaluate(() => dispatchEvent(new Event('online')));
      return again.getByText('saved on this device').count();
    }).toBe(0);
    expect(requests).toBe(2);
    await cardAgain.getByText('You accepted.').waitFor();
    expect(await again.locator('.toast.bad').count()).toBe(0);
    const sent = await listFolder(stage.server, user, 'sent');
    expect(sent.map(({ subject }) => subject)).toEqual(['Accepted: Team lunch']);
    const { data } = (await stage.server.call('GET', '/v1/senders', undefined, user.token)).body;
    expect(data).toMatchObject([{ sender: '@friends.test', status: 'trusted' }]);
    expect(troubles).toEqual([]);
    await context.close();
  });

  it('forgets the mail on this device at sign-out', async () => {
    const user = await registerUser(stage.server, 'leaver');
    await importLetters(stage.server, user, [letter(user, 'Private', 'For my eyes.')]);
    const { page } = await signIn(stage.server, stage.browser, user);
    await openRow(page, 'Private');
    await messageText(page, 'For my eyes.').waitFor();
    const kept = () =>
      page.evaluate(
        () =>
          new Promise<number>((resolve) => {
            const opening = indexedDB.open('tessera.mail');
            opening.onsuccess = () => {
              const count = opening.result.transaction('answers').objectStore('answers').count();
              count.onsuccess = () => {
                opening.result.close();
                resolve(count.result);
              };
            };
          }),
      );
    await eventually(kept).toBeGreaterThan(2);
    await signOut(page);
    await page.getByLabel('Password').waitFor();
    await eventually(kept).toBe(0);
    const stored = await page.evaluate(async () => {
      const names = await caches.keys();
      const requests = await Promise.all(names.map(async (name) => (await caches.open(name)).keys()));
      return requests.flat().map(({ url }) => new URL(url).pathname);
    });
    expect(stored.filter((path) => !path.startsWith('/_/'))).toEqual([]);
    await page.context().setOffline(true);
    // The page opens only if its service worker was ready before.
    const shown = await page.reload().then(
      () => page.content(),
      () => '',
    );
    expect(shown).not.toMatch(/Private|For my eyes|leaver/);
    await page.context().close();
  });

  it('can be installed as an app of its own', async () => {
    const { page, troubles } = await openTab(stage.browser);
    await page.goto(`${stage.server.url}/_/mail`);
    await page.getByLabel('Password').waitFor();
    const client = await page.context().newCDPSession(page);
    const { errors, data = '{}' } = await client.send('Page.getAppManifest');
    expect(errors).toEqual([]);
    const { start_url: start, scope, display, icons } = JSON.parse(data);
    expect([start, scope, display]).toEqual(['/_/mail', '/_/', 'standalone']);
    const icon = await fetch(new URL(icons[0].src, stage.server.url));
    expect([icon.status, icon.headers.get('content-type')]).toEqual([200, 'image/svg+xml']);
    expect((await client.send('Page.getInstallabilityErrors')).installabilityErrors).toEqual([]);
    expect(troubles).toEqual([]);
    await page.context().close();
  });

  it('serves the service worker under /_/ only, and without a stale copy', async () => {
    const script = await fetch(`${stage.server.url}/_/sw.js`, { headers: { 'service-worker': 'script' } });
    expect([script.status, script.headers.get('cache-control')]).toEqual([200, 'no-cache']);
    expect(script.headers.get('content-type')).toMatch(/javascript/);
    const policy = (await fetch(`${stage.server.url}/_/mail`)).headers.get('content-security-policy');
    expect(policy).toContain(`worker-src ${stage.server.url}/_/sw.js;`);
    const other = (await fetch(`${stage.server.url}/_/storage`)).headers.get('content-security-policy');
    expect(other).toContain("worker-src 'none';");
    expect((await fetch(`${stage.server.url}/sw.js`, { headers: { 'service-worker': 'script' } })).status).toBe(403);
  });
});
