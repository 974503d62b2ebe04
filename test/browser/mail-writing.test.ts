/** Formatted text in the compose window: tools, pictures by paste and drop, drafts, the quote beside it. */
import type { Page } from 'playwright-core';
import { describe, expect, it } from 'vitest';
import { awaitMessage, registerUser } from '../support/mail.ts';
import { eventually, expectAccessible, hasChromium, takePictures } from './chromium.ts';
import { folder, importLetters, letter, openRow, signIn } from './mail-page.ts';
import { useStage } from './stage.ts';

/** A red square of one pixel. */
const PNG = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg==';

/** Gives an event with files or texts to the focused editor, as the clipboard and the mouse do. */
const give = (page: Page, type: 'paste' | 'drop', { file = '', html = '' }) =>
  page.locator('.compose-body').evaluate(
    (editor, { type: name, file: bytes, html: markup }) => {
      const data = new DataTransfer();
      if (markup) data.setData('text/html', markup);
      if (bytes) {
        const content = Uint8Array.from(atob(bytes), (char) => char.charCodeAt(0));
        data.items.add(new File([content], 'square.png', { type: 'image/png' }));
      }
      const options = { bubbles: true, cancelable: true };
      editor.dispatchEvent(
        name === 'paste'
          ? new ClipboardEvent('paste', { ...options, clipboardData: data })
          : new DragEvent('drop', { ...options, dataTransfer: data }),
      );
    },
    { type, file, html },
  );

/**
 * Chromium joins paragraphs of an editor by writing them as markup, with styles of its own. The page's policy drops these
 * styles and reports that.
 */
const serious = (troubles: readonly string[]): string[] =>
  troubles.filter((trouble) => !trouble.startsWith('Applying inline style violates'));

describe.skipIf(!hasChromium)('formatted text', () => {
  const stage = useStage({ vars: { MAIL_HOLD_SECONDS: '0', REGISTRATION: 'open' } });

  const text = (page: Page) => page.getByRole('textbox', { name: 'Message' });
  const isSaved = (page: Page) => page.getByText('Saved in Drafts', { exact: true }).waitFor();
  const addressTo = async (page: Page, email: string, subject: string) => {
    await page.getByRole('button', { name: 'Write', exact: true }).first().click();
    await page
      .getByLabel('To: recipients')
      .or(page.getByRole('combobox', { name: 'To' }))
      .first()
      .waitFor();
    await page.keyboard.type(`${email},`);
    await page.getByRole('textbox', { name: 'Subject' }).fill(subject);
  };

  it('is written with tools, survives a draft, and arrives as HTML with its plain text', async () => {
    const user = await registerUser(stage.server, 'stylist');
    const { page, troubles } = await signIn(stage.server, stage.browser, user);
    await addressTo(page, user.email, 'Styled');
    await page.getByRole('button', { name: 'Format the text' }).click();
    await text(page).click();
    await page.getByRole('toolbar', { name: 'Formatting' }).getByRole('button', { name: 'Bold' }).click();
    await page.keyboard.type('Strong');
    await page.keyboard.press('Control+b');
    await page.keyboard.type(' words  <b>');
    await page.keyboard.press('Enter');
    await page.getByRole('button', { name: 'List', exact: true }).click();
    await page.keyboard.type('first');
    await give(page, 'paste', {
      html: '<p class="x" style="background:url(https://leak.test/a)">and <a href="https://example.test/">more</a><img src="https://leak.test/b"></p>',
    });
    await expectAccessible(page);
    await takePictures(page, 'rich-text');
    await isSaved(page);
    await page.keyboard.press('Escape');
    await folder(page, 'Drafts').click();
    await openRow(page, 'Styled');
    await page.getByRole('button', { name: 'Go on writing' }).click();
    await eventually(() => text(page).locator('b').first().innerText()).toBe('Strong');
    expect(await text(page).locator('li').first().innerText()).toContain('first');
    await page.getByRole('button', { name: 'Send', exact: true }).click();
    const arrived = await awaitMessage(stage.server, user, 'inbox', 'Styled');
    const { body: message } = await stage.server.call('GET', `/v1/messages/${arrived.id}`, undefined, user.token);
    expect(message.body).toContain('Strong words  <b>');
    expect(message.html).toContain('<b>Strong</b>');
    expect(message.html).toContain('href="https://example.test/"');
    expect(message.html).not.toContain('leak.test');
    expect(serious(troubles)).toEqual([]);
    await page.context().close();
  });

  it('shows pictures that are pasted and dropped, keeps them in the draft and sends them inside the text', async () => {
    const user = await registerUser(stage.server, 'painter');
    const { page, troubles } = await signIn(stage.server, stage.browser, user);
    await addressTo(page, user.email, 'Squares');
    await text(page).fill('Look:');
    await give(page, 'paste', { file: PNG });
    const pictures = text(page).getByRole('img', { name: 'square.png' });
    const widths = () => pictures.evaluateAll((all) => all.map((one) => (one as HTMLImageElement).naturalWidth));
    await eventually(widths).toEqual([1]);
    // At the cursor, which was behind the words.
    expect(
      await text(page)
        .locator('div')
        .first()
        .evaluate((line) => line.innerHTML),
    ).toMatch(/^Look:<img/);
    await give(page, 'drop', { file: PNG });
    await eventually(widths).toEqual([1, 1]);
    await isSaved(page);
    // Another device has only the draft.
    await page.evaluate(() => localStorage.clear());
    await page.reload();
    await folder(page, 'Drafts').click();
    await openRow(page, 'Squares');
    await page.getByRole('button', { name: 'Go on writing' }).click();
    await eventually(widths).toEqual([1, 1]);
    await takePictures(page, 'rich-pictures');
    // A picture that is taken out again is not sent.
    await pictures.last().evaluate((picture) => {
      getSelection()?.selectAllChildren(picture);
      getSelection()?.setBaseAndExtent(picture.parentNode as Node, 0, picture, 0);
      picture.remove();
      document.querySelector('.compose-body')?.dispatchEvent(new InputEvent('input', { bubbles: true }));
    });
    await page.getByRole('button', { name: 'Send', exact: true }).click();
    const arrived = await awaitMessage(stage.server, user, 'inbox', 'Squares');
    const { body: message } = await stage.server.call('GET', `/v1/messages/${arrived.id}`, undefined, user.token);
    expect(message.attachments).toMatchObject([{ content_type: 'image/png', inline: true }]);
    await folder(page, 'Inbox').click();
    await openRow(page, 'Squares');
    const frame = page.frameLocator('iframe.message-frame').last();
    await frame.getByRole('img', { name: 'square.png' }).waitFor();
    expect(serious(troubles)).toEqual([]);
    await page.context().close();
  });

  it('stands before the quote of a newsletter, and back to plain text leaves the quote as it is', async () => {
    const user = await registerUser(stage.server, 'replier');
    const html = '<table width="600"><tr><td style="color:red">Sale</td></tr></table>';
    const type = 'Content-Type: text/html; charset=utf-8\n';
    await importLetters(stage.server, user, [letter(user, 'Shop', html, type)]);
    const { page, troubles } = await signIn(stage.server, stage.browser, user);
    await openRow(page, 'Shop');
    await page.getByRole('button', { name: 'Reply', exact: true }).last().click();
    await text(page).fill('Plain');
    await page.getByRole('button', { name: 'Format the text' }).click();
    await text(page).press('Control+a');
    await page.keyboard.press('Control+i');
    await page.getByRole('button', { name: 'Switch to plain text' }).last().click();
    await eventually(() => text(page).inputValue()).toContain('Plain');
    await page.getByRole('region', { name: 'Quoted message' }).waitFor();
    await page.getByRole('button', { name: 'Undo' }).last().click();
    await text(page).locator('i').waitFor();
    await page.getByRole('button', { name: 'Send', exact: true }).click();
    const sent = await awaitMessage(stage.server, user, 'sent', 'Re: Shop');
    const { body: message } = await stage.server.call('GET', `/v1/messages/${sent.id}`, undefined, user.token);
    expect(message.html).toMatch(/<i>Plain.*<blockquote.*<table width="600">.*color: ?red.*Sale/s);
    expect(serious(troubles)).toEqual([]);
    await page.context().close();
  });
});
