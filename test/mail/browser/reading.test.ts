/** Tests how a message is shown: width, direction, dates, pictures, verdicts, printing. */
import type { Page } from 'playwright-core';
import { describe, expect, it } from 'vitest';
import { awaitMessage, type MailUser, registerUser } from '../../support/mail/mail.ts';
import { eventually, hasChromium, type Tab } from '../../web/browser/chromium.ts';
import { useStage } from '../../web/browser/stage.ts';
import { deliver, importLetters, letter, messageText, openRow, row, signIn } from './mail-page.ts';

const HTML = 'MIME-Version: 1.0\nContent-Type: text/html; charset=utf-8\n';
const PHONE = { viewport: { width: 390, height: 800 }, isMobile: true, hasTouch: true };

describe.skipIf(!hasChromium)('a message that is read', () => {
  const stage = useStage({ vars: { REGISTRATION: 'open' } });

  const frame = (page: Page) => page.frameLocator('iframe.message-frame');
  async function open(
    name: string,
    raw: (user: MailUser) => string,
    options: Parameters<typeof signIn>[3] = {},
  ): Promise<Tab & { user: MailUser }> {
    const user = await registerUser(stage.server, name);
    await importLetters(stage.server, user, [raw(user)]);
    const tab = await signIn(stage.server, stage.browser, user, options);
    await openRow(tab.page, 'Reading');
    return { ...tab, user };
  }

  it('fits HTML to the width of a phone, and shows it at full size on request', async () => {
    const table =
      '<table width="600"><tr><td><div style="width:600px;text-align:right"><span>right end</span></div></td></tr></table>';
    const { page, troubles } = await open('narrow', (user) => letter(user, 'Reading', table, HTML), PHONE);
    await frame(page).getByText('right end').waitFor();
    const width = () => page.locator('iframe.message-frame').evaluate((element) => element.clientWidth);
    const rightEdge = () =>
      frame(page)
        .getByText('right end')
        .evaluate((cell) => cell.getBoundingClientRect().right);
    await eventually(async () => (await rightEdge()) <= (await width()) + 1).toBe(true);
    await page.getByRole('button', { name: 'Show at full size' }).tap();
    await eventually(rightEdge).toBeGreaterThan(590);
    await page.getByRole('button', { name: 'Fit to the screen' }).tap();
    await eventually(async () => (await rightEdge()) <= (await width()) + 1).toBe(true);
    expect(troubles).toEqual([]);
    await page.context().close();
  });

  it('folds wide tables on a phone if their text would be too small to read', async () => {
    const cell = '<td><div style="width:400px;font-size:10px"><span>small text in a column</span></div></td>';
    const table = `<table width="800"><tr>${cell}${cell.replace('small', 'other')}</tr></table>`;
    const { page, troubles } = await open('folded', (user) => letter(user, 'Reading', table, HTML), PHONE);
    const boxOf = (text: string) =>
      frame(page)
        .getByText(text)
        .evaluate((element) => {
          const { left, top, height } = element.getBoundingClientRect();
          return { left, top, height };
        });
    await frame(page).getByText('other text').waitFor();
    await eventually(async () => (await boxOf('other text')).top > (await boxOf('small text')).top).toBe(true);
    expect((await boxOf('other text')).height).toBeGreaterThan(10);
    await page.getByRole('button', { name: 'Show at full size' }).tap();
    await eventually(async () => (await boxOf('other text')).left).toBeGreaterThan(390);
    expect(troubles).toEqual([]);
    await page.context().close();
  });

  it('sets right-to-left text from the right, in the list, the message and the compose window', async () => {
    const subject = 'Reading';
    const { page, user } = await open('rtl', (one) =>
      letter(one, subject, 'مرحبا، كيف حالك اليوم؟', 'MIME-Version: 1.0\nContent-Type: text/plain; charset=utf-8\n'),
    );
    const direction = (text: string) =>
      messageText(page, text).evaluate((element) => getComputedStyle(element).direction);
    await messageText(page, 'مرحبا').waitFor();
    expect(await direction('مرحبا')).toBe('rtl');
    const preview = row(page, subject).locator('.preview');
    expect(await preview.evaluate((element) => getComputedStyle(element).direction)).toBe('rtl');
    await importLetters(stage.server, user, [letter(user, 'Html', '<p>שלום לכולם</p>', HTML)]);
    await openRow(page, 'Html');
    const paragraph = frame(page).getByText('שלום');
    await paragraph.waitFor();
    expect(await paragraph.evaluate((element) => getComputedStyle(element).direction)).toBe('rtl');
    await page.keyboard.press('c');
    const text = page.getByRole('textbox', { name: 'Message' });
    await text.fill('مرحبا');
    expect(await text.evaluate((element) => getComputedStyle(element).direction)).toBe('rtl');
    await page.context().close();
  });

  it('lists mail by its arrival, and shows the date of the sender inside the message', async () => {
    const user = await registerUser(stage.server, 'dated');
    const raw = letter(user, 'Old date', 'Text.').replace(/Date: .*/, 'Date: Tue, 15 Jan 2002 10:00:00 +0000');
    await deliver(stage.server, user, raw);
    const { received_at } = await awaitMessage(stage.server, user, 'inbox', 'Old date');
    const { page } = await signIn(stage.server, stage.browser, user);
    const time = row(page, 'Old date').locator('time');
    expect(await time.getAttribute('datetime')).toBe(received_at);
    expect(await time.innerText()).toMatch(/^\d{1,2}:\d\d$/);
    await openRow(page, 'Old date');
    await page.locator('article.message').getByText('15 Jan 2002').waitFor();
    await page
      .locator('article.message')
      .getByText(/^Received /)
      .waitFor();
    await page.context().close();
  });

  it('shows attached pictures without an error of the policy', async () => {
    const png = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg==';
    const related = 'MIME-Version: 1.0\nContent-Type: multipart/related; boundary=rel\n';
    const body = `--rel\nContent-Type: text/html\n\n<p>Look</p><img src="cid:p@x" alt="dot">\n--rel\nContent-Type: image/png; name=p.png\nContent-Transfer-Encoding: base64\nContent-ID: <p@x>\n\n${png}\n--rel--`;
    const { page, troubles } = await open('viewer', (user) => letter(user, 'Reading', body, related));
    const image = frame(page).getByAltText('dot');
    await eventually(() => image.evaluate((element: HTMLImageElement) => element.naturalWidth)).toBe(1);
    expect(troubles).toEqual([]);
    await page.context().close();
  });

  it('prints the conversation without the list, the bars and the buttons', async () => {
    const { page } = await open('printer', (user) => letter(user, 'Reading', 'On paper.'));
    await messageText(page, 'On paper.').waitFor();
    await page.emulateMedia({ media: 'print' });
    expect(await messageText(page, 'On paper.').isVisible()).toBe(true);
    for (const hidden of ['.rail', '.page-bar', '.folders', '.list-pane', '.reader-toolbar', '.message-actions'])
      expect([hidden, await page.locator(hidden).isVisible()]).toEqual([hidden, false]);
    await page.context().close();
  });

  it('says “No such folder” for an unknown address, and shows a whole focus ring in the tabs', async () => {
    const user = await registerUser(stage.server, 'lost');
    const { page } = await signIn(stage.server, stage.browser, user);
    await page.goto(`${stage.server.url}/_/mail#/nonsense`);
    await page.getByText('No such folder.').waitFor();
    await page.getByRole('link', { name: 'Go to Inbox' }).click();
    await page.getByRole('heading', { name: 'Inbox' }).waitFor();
    await page.goto(`${stage.server.url}/_/mail#/settings/filters`);
    const tab = page.locator('.tabs a').first();
    await tab.waitFor();
    await page.keyboard.press('Tab');
    await tab.focus();
    // The focus ring must be inside the element: outside, the scroll area would cut it off.
    expect(await tab.evaluate((element) => Number.parseFloat(getComputedStyle(element).outlineOffset))).toBeLessThan(0);
    await page.context().close();
  });

  it('explains errors in sentences', async () => {
    const { page } = await (async () => {
      const tab = await stage.browser.newPage();
      return { page: tab };
    })();
    await page.goto(`${stage.server.url}/_/`);
    await page.getByRole('link', { name: 'Create a mailbox' }).click();
    await page.getByLabel('Your name').fill('Short');
    await page.getByLabel('Address').fill('short');
    await page.getByText('Your address will be short@example.test').waitFor();
    const password = page.getByLabel('Password');
    await password.fill('123');
    await page.getByRole('button', { name: 'Show', exact: true }).click();
    expect(await password.getAttribute('type')).toBe('text');
    expect(await password.evaluate((field: HTMLInputElement) => field.checkValidity())).toBe(false);
    await password.fill('password1');
    await page.keyboard.press('Enter');
    await page.getByRole('alert').waitFor();
    expect(await page.getByRole('alert').innerText()).toBe(
      'Use a password of at least 8 characters that is not a common one.',
    );
    await page.close();
  });
});
