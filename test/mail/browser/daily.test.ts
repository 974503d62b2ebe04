/** Tests the daily use of mail: the list, a conversation with a reply at its end, keys, and the phone. */
import type { Page } from 'playwright-core';
import { describe, expect, it } from 'vitest';
import { awaitMessage, listFolder, type MailUser, registerUser } from '../../support/mail/mail.ts';
import { eventually, expectAccessible, hasChromium, type Tab, takePictures } from '../../web/browser/chromium.ts';
import { useStage } from '../../web/browser/stage.ts';
import {
  deliver,
  importLetters,
  letter,
  messageText,
  openRow,
  readText,
  row,
  signIn,
  signOut,
  subjects,
} from './mail-page.ts';

/** A red square of one pixel. */
const PNG = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg==';

/** Delivers a conversation of Dennis and the user, oldest message first. */
const conversation = (user: MailUser, count: number): string[] =>
  Array.from({ length: count }, (_, at) =>
    [
      `From: Dennis Ritchie <dennis@outside.test>`,
      `To: ${user.email}`,
      `Subject: ${at > 0 ? 'Re: ' : ''}Pointers`,
      `Date: Sat, 10 Jan 2026 1${at}:00:00 +0000`,
      `Message-ID: <pointer${at}@outside.test>`,
      ...(at > 0 ? [`In-Reply-To: <pointer${at - 1}@outside.test>`] : []),
      '',
      `Thought ${at}.`,
      ...(at > 0 ? ['', 'On Saturday Dennis wrote:', `> Thought ${at - 1}.`, '> More words.'] : []),
    ].join('\n'),
  );

describe.skipIf(!hasChromium)('mail every day', () => {
  const stage = useStage({ vars: { MAIL_HOLD_SECONDS: '0', REGISTRATION: 'open' } });

  const text = (page: Page) => page.getByRole('textbox', { name: 'Message' });
  async function open(
    name: string,
    letters: (user: MailUser) => string[],
    options = {},
  ): Promise<Tab & { user: MailUser }> {
    const user = await registerUser(stage.server, name);
    await importLetters(stage.server, user, letters(user));
    return { ...(await signIn(stage.server, stage.browser, user, options)), user };
  }

  it('shows “me”, the count and the answered mark in the row as soon as a reply is sent', async () => {
    const { page, user, troubles } = await open('replier', () => []);
    await deliver(stage.server, user, letter(user, 'Supper', 'Are you coming?'));
    await row(page, 'Supper').waitFor();
    expect(await row(page, 'Supper').locator('.people').innerText()).toBe('Carol');
    await openRow(page, 'Supper');
    await messageText(page, 'Are you coming?').waitFor();
    await page.keyboard.press('r');
    await text(page).waitFor();
    await page.keyboard.type('Yes!');
    await page.keyboard.press('Control+Enter');
    await eventually(() => row(page, 'Supper').locator('.people').innerText()).toBe('Carol, me');
    await row(page, 'Supper').getByRole('img', { name: 'You answered last' }).waitFor();
    expect(await row(page, 'Supper').locator('.count').innerText()).toBe('2');
    expect(troubles).toEqual([]);
    await page.context().close();
  });

  it('leaves a search with the cross of its field', async () => {
    const { page, troubles } = await open(`searcher-${crypto.randomUUID().slice(0, 8)}`, (to) => [
      letter(to, 'Boiler', 'The valve.'),
      letter(to, 'Supper', 'At eight.'),
    ]);
    const field = page.getByRole('combobox', { name: 'Search mail' });
    await field.fill('valve');
    await field.press('Enter');
    await eventually(() => subjects(page)).toEqual(['Boiler']);
    // Chromium's cross empties the field, as this does.
    await field.fill('');
    await eventually(async () => (await subjects(page)).toSorted()).toEqual(['Boiler', 'Supper']);
    expect(troubles).toEqual([]);
    await page.context().close();
  });

  it('groups the list by days, and acts on a row under the pointer without opening it', async () => {
    const { page, user, troubles } = await open('lister', (to) => [letter(to, 'Old one', 'Long ago.')]);
    await deliver(stage.server, user, letter(user, 'New one', 'Just now.'));
    await row(page, 'New one').waitFor();
    expect(await page.locator('.day-head').allInnerTexts()).toEqual(['Today', 'January 2026']);
    await row(page, 'Old one').hover();
    await row(page, 'Old one').getByRole('button', { name: 'Mark as read' }).click();
    await eventually(() => row(page, 'Old one').getAttribute('class')).not.toContain('unread');
    await row(page, 'Old one').getByRole('button', { name: 'Archive' }).click();
    await eventually(() => subjects(page)).toEqual(['New one']);
    expect(await page.locator('.day-head').allInnerTexts()).toEqual(['Today']);
    expect(await page.locator('article.message').count()).toBe(0);
    await row(page, 'New one').hover();
    await row(page, 'New one').getByRole('button', { name: 'Delete' }).click();
    await page.getByText('Your inbox is empty.').waitFor();
    await eventually(async () => (await listFolder(stage.server, user, 'archive')).length).toBe(1);
    expect(troubles).toEqual([]);
    await page.context().close();
  });

  it('asks for the folders and the inbox of a returning user before the profile has arrived', async () => {
    const { page, troubles } = await open(`returner-${crypto.randomUUID().slice(0, 8)}`, (to) => [
      letter(to, 'Back', 'Hi.'),
    ]);
    await row(page, 'Back').waitFor();
    const folders = page.waitForRequest(/\/v1\/folders$/);
    const inbox = page.waitForRequest(/\/v1\/folders\/inbox\/messages/);
    await page.route('**/v1/me', async (route) => {
      await Promise.all([folders, inbox]);
      await route.continue();
    });
    await page.reload();
    await row(page, 'Back').waitFor();
    await page.getByRole('link', { name: 'Tessera, start page' }).click();
    await page.getByRole('link', { name: 'Open your mailbox' }).click();
    await row(page, 'Back').waitFor();
    // The next user of this browser starts without them.
    await signOut(page);
    await page.getByRole('heading', { name: 'Sign in to mail' }).waitFor();
    await page.unroute('**/v1/me');
    const asked: string[] = [];
    page.on('request', (request) => asked.push(new URL(request.url()).pathname));
    await page.reload();
    await page.getByRole('heading', { name: 'Sign in to mail' }).waitFor();
    expect(asked.filter((path) => path.startsWith('/v1/'))).toEqual(['/v1/me']);
    expect(troubles).toEqual([]);
    await page.context().close();
  });

  it('goes to folders with g and a letter, and through the messages with n and p', async () => {
    const { page, troubles } = await open('keyed', (user) => conversation(user, 2));
    await row(page, 'Pointers').waitFor();
    await page.keyboard.press('g');
    await page.keyboard.press('t');
    await page.getByRole('region', { name: 'Sent' }).waitFor();
    await page.keyboard.press('g');
    await page.keyboard.press('i');
    await row(page, 'Pointers').waitFor();
    // `g x` is no shortcut, so it does nothing, and `x` must not act as a shortcut of its own.
    await page.keyboard.press('g');
    await page.keyboard.press('x');
    await page.keyboard.press('*');
    await page.keyboard.press('a');
    await page.getByText('1 selected').waitFor();
    await page.keyboard.press('j');
    await messageText(page, 'Thought 1.').first().waitFor();
    const focusedCard = () =>
      page.evaluate(() =>
        [...document.querySelectorAll('.message')].findIndex((one) => one.contains(document.activeElement)),
      );
    await page.keyboard.press('n');
    await eventually(focusedCard).toBe(0);
    await page.keyboard.press('n');
    await eventually(focusedCard).toBe(1);
    await page.keyboard.press('p');
    await eventually(focusedCard).toBe(0);
    expect(troubles).toEqual([]);
    await page.context().close();
  });

  it('folds read messages and quotes of a conversation, and unfolds them on request', async () => {
    const { page, user, troubles } = await open('folder', (to) => conversation(to, 6));
    const ids = (await listFolder(stage.server, user, 'inbox')).map((message: { id: string }) => message.id);
    await stage.server.call('POST', '/v1/messages/batch', { message_ids: ids, is_read: true }, user.token);
    await openRow(page, 'Pointers');
    const earlier = page.getByRole('button', { name: '4 earlier messages' });
    await earlier.waitFor();
    await expectAccessible(page);
    expect(await page.locator('article.message').count()).toBe(2);
    const last = page.locator('article.message').last();
    expect(await last.getByText('More words.').count()).toBe(0);
    await last.getByRole('button', { name: 'Quoted text' }).click();
    await last.getByText('More words.').waitFor();
    await earlier.click();
    await eventually(() => page.locator('article.message').count()).toBe(6);
    expect(troubles).toEqual([]);
    await page.context().close();
  });

  it('folds the quote at the end of HTML mail, and no other quotation', async () => {
    const html = 'Content-Type: text/html; charset=utf-8\n';
    const { page, troubles } = await open('quoted', (user) => [
      letter(
        user,
        'Answer',
        '<blockquote>A poem</blockquote><p>Agreed.</p><div>On Friday Ann wrote:</div><blockquote>Shall we?</blockquote>',
        html,
      ),
      letter(user, 'Poems', '<p>My favourite:</p><blockquote>Roses</blockquote><p>Good?</p>', html),
    ]);
    const frame = page.frameLocator('iframe.message-frame');
    await openRow(page, 'Answer');
    await frame.getByText('Agreed.').waitFor();
    await frame.getByText('A poem').waitFor();
    expect(await frame.getByText('Shall we?').isVisible()).toBe(false);
    await page.getByRole('button', { name: 'Quoted text' }).click();
    await frame.getByText('Shall we?').waitFor();
    await openRow(page, 'Poems');
    await frame.getByText('Roses').waitFor();
    expect(await page.getByRole('button', { name: 'Quoted text' }).count()).toBe(0);
    expect(troubles).toEqual([]);
    await page.context().close();
  });

  it('keeps Send in view in a reply with a picture, which is shown with its name, size and a button that removes it', async () => {
    const { page, user, troubles } = await open(`painter-${crypto.randomUUID().slice(0, 8)}`, (to) => [
      letter(to, 'Pointers', Array.from({ length: 60 }, (_, line) => `Line ${line}.`).join('\n')),
    ]);
    await openRow(page, 'Pointers');
    await messageText(page, 'Line 59.').waitFor();
    await page.getByRole('button', { name: 'Reply', exact: true }).click();
    const inline = page.locator('.reader .compose');
    await inline.waitFor();
    const files = ['one.png', 'two.png', 'three.txt'].map((name) => ({
      name,
      mimeType: name.endsWith('png') ? 'image/png' : 'text/plain',
      buffer: name.endsWith('png') ? Buffer.from(PNG, 'base64') : Buffer.from('three'),
    }));
    await inline.getByLabel('Attach', { exact: true }).setInputFiles(files);
    const list = page.getByRole('list', { name: 'Attachments' });
    const widths = () =>
      list.locator('img').evaluateAll((all) => all.map((one) => (one as HTMLImageElement).naturalWidth));
    await eventually(widths).toEqual([1, 1]);
    expect(await list.getByText('one.png').count()).toBe(1);
    expect(await list.getByText(`${Buffer.from(PNG, 'base64').length} bytes`).count()).toBe(2);
    const send = page.locator('.compose').getByRole('button', { name: 'Send', exact: true });
    const visible = () =>
      send.evaluate((button) => {
        const { top, bottom } = button.getBoundingClientRect();
        // On a phone, the form covers the pane once it is drawn again.
        const pane =
          button.closest('.compose.inline') && document.querySelector('.reader-scroll')?.getBoundingClientRect();
        return top >= 0 && bottom <= Math.min(innerHeight, pane?.bottom ?? innerHeight);
      });
    const scrollTo = (edge: 'top' | 'end') =>
      page.locator('.reader-scroll').evaluate((pane, where) => {
        const form = pane.querySelector('.compose');
        if (where === 'end') pane.scrollTop = pane.scrollHeight;
        // Scroll until the form begins near the middle of the pane. It is higher than the rest of the pane.
        else pane.scrollTop += (form?.getBoundingClientRect().top ?? 0) - pane.clientHeight * 0.6;
      }, edge);
    await eventually(visible).toBe(true);
    await scrollTo('top');
    await eventually(visible).toBe(true);
    await expectAccessible(page);
    await takePictures(page, 'reply-with-picture');
    await scrollTo('end');
    await eventually(visible).toBe(true);
    await list.getByRole('button', { name: 'Remove two.png' }).click();
    await eventually(widths).toEqual([1]);
    // On a phone, the form fills the page, and its Send button must still be visible.
    await page.setViewportSize({ width: 390, height: 560 });
    await eventually(visible).toBe(true);
    await page.setViewportSize({ width: 1280, height: 800 });
    await send.click();
    const sent = await awaitMessage(stage.server, user, 'sent', 'Re: Pointers');
    expect(sent.attachments.map((one: { file_name: string }) => one.file_name)).toEqual(['one.png', 'three.txt']);
    expect(troubles).toEqual([]);
    await page.context().close();
  });

  it('writes a reply at the end of its conversation, and in a window after the user leaves it', async () => {
    const { page, user, troubles } = await open('writer', (to) => [
      ...conversation(to, 2),
      letter(to, 'Other', 'Else.'),
    ]);
    await openRow(page, 'Pointers');
    await messageText(page, 'Thought 1.').first().waitFor();
    await page.getByRole('button', { name: 'Reply', exact: true }).click();
    const inline = page.locator('.reader .compose');
    await inline.waitFor();
    await eventually(() => page.evaluate(() => document.activeElement?.matches('.compose .compose-body'))).toBe(true);
    await page.keyboard.type('My thought.');
    await expectAccessible(page);
    await openRow(page, 'Other');
    await messageText(page, 'Else.').waitFor();
    await inline.waitFor({ state: 'detached' });
    await eventually(() => readText(text(page))).toContain('My thought.');
    await openRow(page, 'Pointers');
    await inline.waitFor();
    await page.getByRole('button', { name: 'Write in a window' }).click();
    await inline.waitFor({ state: 'detached' });
    await text(page).focus();
    await page.keyboard.press('Control+Enter');
    const sent = await awaitMessage(stage.server, user, 'sent', 'Re: Pointers');
    expect(sent.body).toContain('My thought.');
    expect(troubles).toEqual([]);
    await page.context().close();
  });

  it('shows the original of a message, with a download', async () => {
    const { page, troubles } = await open('curious', (user) => conversation(user, 1));
    await openRow(page, 'Pointers');
    await page.getByRole('button', { name: 'More about Dennis Ritchie' }).click();
    await page.getByRole('menuitem', { name: 'Show original' }).click();
    const original = page.getByRole('dialog', { name: 'Original message' });
    await original.getByText('Message-ID: <pointer0@outside.test>').waitFor();
    await expectAccessible(page);
    const download = page.waitForEvent('download');
    await original.getByRole('link', { name: 'Download as .eml' }).click();
    expect((await download).suggestedFilename()).toMatch(/\.eml$/);
    await page.keyboard.press('Escape');
    await original.waitFor({ state: 'detached' });
    expect(troubles).toEqual([]);
    await page.context().close();
  });

  it('says in plain words who sent a message and whether that is proven', async () => {
    const { page, user, troubles } = await open('doubter', () => []);
    await deliver(stage.server, user, letter(user, 'Proof', 'Believe me.'));
    await openRow(page, 'Proof');
    await messageText(page, 'Believe me.').waitFor();
    await page.getByRole('button', { name: 'Details' }).click();
    await page.locator('.details dd').getByText('carol@outside.test').first().waitFor();
    const checks = page.getByRole('region', { name: 'Checks' });
    await checks.getByText('Sender not verified: the domain publishes no rules for checking its mail.').waitFor();
    await expectAccessible(page);
    expect(troubles).toEqual([]);
    await page.context().close();
  });

  it('closes the message being written, the folders and the conversation with Back on a phone', async () => {
    const phone = { viewport: { width: 390, height: 760 }, hasTouch: true, isMobile: true };
    const { page, troubles } = await open(
      `backer-${crypto.randomUUID().slice(0, 8)}`,
      (to) => [letter(to, 'Pocket', 'Fits in a pocket.')],
      phone,
    );
    /** Waits until the history has an entry for each thing that covers the list. */
    const covered = (times: number) =>
      eventually(() => page.evaluate(() => (history.state as { covers?: number } | null)?.covers ?? 0)).toBe(times);
    const goBack = () => page.evaluate(() => history.back());
    const tapRow = () =>
      row(page, 'Pocket')
        .getByRole('link', { name: /Pocket/ })
        .tap();
    const folders = page.getByRole('navigation', { name: 'Folders' });
    await tapRow();
    await messageText(page, 'Fits in a pocket.').waitFor();
    await page.getByRole('button', { name: 'Reply', exact: true }).last().tap();
    await text(page).fill('Mine too.');
    await covered(2);
    await goBack();
    await text(page).waitFor({ state: 'detached' });
    await covered(1);
    await messageText(page, 'Fits in a pocket.').waitFor();
    await goBack();
    await row(page, 'Pocket').waitFor();
    // The button of the page leaves nothing behind that Back would have to close.
    await tapRow();
    await covered(1);
    await page.getByRole('button', { name: 'Back', exact: true }).tap();
    await row(page, 'Pocket').waitFor();
    await covered(0);
    await page.getByRole('button', { name: 'Folders' }).tap();
    await covered(1);
    await goBack();
    await folders.waitFor({ state: 'hidden' });
    // The folder that is open already, and the page beside the folders, close them too.
    await page.getByRole('button', { name: 'Folders' }).tap();
    await folders.getByRole('link', { name: /^Inbox/ }).tap();
    await folders.waitFor({ state: 'hidden' });
    await covered(0);
    await page.getByRole('button', { name: 'Folders' }).tap();
    await page.getByRole('button', { name: 'Close' }).tap({ position: { x: 370, y: 300 } });
    await folders.waitFor({ state: 'hidden' });
    await covered(0);
    await page.getByRole('button', { name: 'Folders' }).tap();
    await covered(1);
    await folders.getByRole('link', { name: 'Sent' }).tap();
    await page.getByRole('region', { name: 'Sent' }).waitFor();
    await goBack();
    await row(page, 'Pocket').waitFor();
    await covered(0);
    await page.goBack();
    expect(page.url()).toBe('about:blank');
    expect(troubles).toEqual([]);
    await page.context().close();
  });

  it('works with a thumb: a bar at the bottom of the conversation, and a list that is pulled down to refresh', async () => {
    const phone = { viewport: { width: 390, height: 760 }, hasTouch: true, isMobile: true };
    const { page, user, troubles } = await open('thumb', (to) => conversation(to, 1), phone);
    await row(page, 'Pointers')
      .getByRole('link', { name: /Pointers/ })
      .tap();
    const bar = page.getByRole('toolbar', { name: 'Conversation' });
    await bar.waitFor();
    const box = await bar.boundingBox();
    expect((box?.y ?? 0) + (box?.height ?? 0)).toBeGreaterThanOrEqual(759);
    await expectAccessible(page);
    await bar.getByRole('button', { name: 'Reply' }).tap();
    await text(page).waitFor();
    await page.keyboard.press('Escape');
    await page.locator('.compose').waitFor({ state: 'detached' });
    await page.getByRole('button', { name: 'Back' }).tap();
    // Cut the page off from events, and then let mail arrive that only a refresh can find.
    await page.routeWebSocket(/.*/, (socket) => socket.close());
    await page.route('**/v1/events*', (route) => route.abort());
    await page.reload();
    await row(page, 'Pointers').waitFor();
    await deliver(stage.server, user, letter(user, 'Pulled', 'In sight.'));
    await awaitMessage(stage.server, user, 'inbox', 'Pulled');
    const client = await page.context().newCDPSession(page);
    const touch = (type: 'touchStart' | 'touchMove' | 'touchEnd', y: number) =>
      client.send('Input.dispatchTouchEvent', { type, touchPoints: type === 'touchEnd' ? [] : [{ x: 200, y }] });
    await touch('touchStart', 200);
    for (const y of [230, 280, 340]) await touch('touchMove', y);
    await page.getByText('Release to refresh').waitFor();
    await touch('touchEnd', 340);
    await row(page, 'Pulled').waitFor();
    expect(troubles).toEqual([]);
    await page.context().close();
  });
});
