/** Tests pasting from the real clipboard into a message: a copied picture, and text with pictures. */
import type { Page } from 'playwright-core';
import { afterEach, describe, expect, it } from 'vitest';
import { awaitMessage, type MailUser, registerUser } from '../../support/mail/mail.ts';
import { eventually, hasChromium, takePictures } from '../../web/browser/chromium.ts';
import { useStage } from '../../web/browser/stage.ts';
import { readText, signIn, switchFormat } from './mail-page.ts';

/** Writes one item to the clipboard, as "Copy image" and "Copy" of a browser do. The picture is a green square of two pixels. */
const copy = (page: Page, html: string, withPicture: boolean) =>
  page.evaluate(
    async ({ markup, isWithPicture }) => {
      const types: Record<string, Blob> = { 'text/html': new Blob([markup], { type: 'text/html' }) };
      if (isWithPicture) {
        const canvas = Object.assign(document.createElement('canvas'), { width: 2, height: 2 });
        canvas.getContext('2d')?.fillRect(0, 0, 2, 2);
        types['image/png'] = await new Promise<Blob>((resolve) =>
          canvas.toBlob((blob) => resolve(blob ?? new Blob()), 'image/png'),
        );
      }
      await navigator.clipboard.write([new ClipboardItem(types)]);
    },
    { markup: html, isWithPicture: withPicture },
  );

describe.skipIf(!hasChromium)('pasting', () => {
  const stage = useStage({ vars: { MAIL_HOLD_SECONDS: '0', REGISTRATION: 'open' } });
  const text = (page: Page) => page.getByRole('textbox', { name: 'Message' });

  const write = async (subject: string) => {
    const user = await registerUser(stage.server, `paster-${crypto.randomUUID().slice(0, 8)}`);
    const tab = await signIn(stage.server, stage.browser, user);
    await tab.page.context().grantPermissions(['clipboard-read', 'clipboard-write'], { origin: stage.server.url });
    await tab.page.keyboard.press('c');
    await tab.page.keyboard.type(`${user.email},`);
    await tab.page.keyboard.press('Tab');
    await tab.page.keyboard.type(subject);
    await tab.page.keyboard.press('Tab');
    await eventually(() => text(tab.page).evaluate((element) => element === document.activeElement)).toBe(true);
    return { ...tab, user };
  };
  const widths = (page: Page) =>
    text(page)
      .locator('img')
      .evaluateAll((all) => all.map((one) => (one as HTMLImageElement).naturalWidth));
  const sent = async (page: Page, user: MailUser, subject: string) => {
    await page.getByText('Saved in Drafts', { exact: true }).waitFor();
    await page.keyboard.press('Control+Enter');
    const { id } = await awaitMessage(stage.server, user, 'inbox', subject);
    return (await stage.server.call('GET', `/v1/messages/${id}`, undefined, user.token)).body;
  };

  afterEach(async () => {
    for (const context of stage.browser.contexts()) await context.close();
  });

  it('inserts a copied picture, and turns plain text into formatted text for it', async () => {
    const { page, user } = await write('Copied');
    await switchFormat(page, 'Switch to plain text');
    await page.keyboard.type('Look: ');
    await copy(page, '<img src="https://pictures.test/a.png" alt="A square">', true);
    await page.keyboard.press('Control+v');
    await eventually(() => widths(page)).toEqual([2]);
    await page.keyboard.type(' and again ');
    await page.keyboard.press('Control+v');
    await eventually(() => widths(page)).toEqual([2, 2]);
    await takePictures(page, 'pasted-picture');
    const message = await sent(page, user, 'Copied');
    expect(message.html).toMatch(/Look:.*<img.*and again.*<img/s);
    expect(message.html).not.toContain('pictures.test');
    expect(message.attachments).toMatchObject([
      { content_type: 'image/png', inline: true },
      { content_type: 'image/png', inline: true },
    ]);
  });

  it('keeps the pictures that come with their bytes, and says which are left out', async () => {
    const { page, user } = await write('Report');
    await copy(
      page,
      '<p>Before <img src="https://pictures.test/a.png"> after <img src="https://pictures.test/b.png"></p>',
      true,
    );
    await page.keyboard.press('Control+v');
    await eventually(() => widths(page)).toEqual([2]);
    await page.getByText('A picture was left out').waitFor();
    await takePictures(page, 'picture-left-out');
    await eventually(async () => (await text(page).innerText()).replaceAll('\u00a0', ' ').trim()).toMatch(
      /^Before\s+after/,
    );
    const message = await sent(page, user, 'Report');
    expect(message.html).toMatch(/Before.*<img.*after/s);
    expect(message.attachments).toHaveLength(1);
  });

  it('says that pictures are left out of plain text, and pastes the words', async () => {
    const { page } = await write('Words');
    await switchFormat(page, 'Switch to plain text');
    await page.evaluate(() =>
      navigator.clipboard.write([
        new ClipboardItem({
          'text/html': new Blob(['<p>One <img src="https://p.test/1"> two <img src="https://p.test/2"></p>'], {
            type: 'text/html',
          }),
          'text/plain': new Blob(['One two'], { type: 'text/plain' }),
        }),
      ]),
    );
    await page.keyboard.press('Control+v');
    await eventually(() => readText(text(page))).toBe('One two');
    await page.getByText('2 pictures were left out').waitFor();
  });
});
