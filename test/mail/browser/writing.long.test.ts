/** Tests formatted text in the compose window: tools, pictures by paste and drop, drafts, the quote beside it. */
import type { Page } from 'playwright-core';
import { describe, expect, it } from 'vitest';
import { awaitMessage, registerUser } from '../../support/mail/mail.ts';
import { eventually, expectAccessible, hasChromium, takePictures } from '../../web/browser/chromium.ts';
import { useStage } from '../../web/browser/stage.ts';
import { folder, importLetters, letter, openRow, signIn, switchFormat } from './mail-page.ts';

/** A red square of one pixel. */
const PNG = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg==';

/** Dispatches a paste or drop event with files or texts to the focused editor, as the clipboard and the mouse do. */
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
    await page.getByRole('button', { name: 'Continue writing' }).click();
    await eventually(() => text(page).locator('b').first().innerText()).toBe('Strong');
    expect(await text(page).locator('li').first().innerText()).toContain('first');
    await page.getByRole('button', { name: 'Send', exact: true }).click();
    const arrived = await awaitMessage(stage.server, user, 'inbox', 'Styled');
    const { body: message } = await stage.server.call('GET', `/v1/messages/${arrived.id}`, undefined, user.token);
    expect(message.body).toContain('Strong words  <b>');
    expect(message.html).toContain('<b>Strong</b>');
    expect(message.html).toContain('href="https://example.test/"');
    expect(message.html).not.toContain('leak.test');
    expect(troubles).toEqual([]);
    await page.context().close();
  });

  it('of every tool is stored as the page wrote it, and the editor shows the same after it was opened again', async () => {
    const user = await registerUser(stage.server, `toolbox-${crypto.randomUUID().slice(0, 8)}`);
    const { page, troubles } = await signIn(stage.server, stage.browser, user);
    const changed: string[] = [];
    let saved = '';
    page.on('response', async (response) => {
      if (!/\/v1\/drafts(?:\/|$)/.test(new URL(response.url()).pathname) || !response.request().postData()) return;
      const sent = response.request().postDataJSON().html ?? null;
      const stored = (await response.json()).html;
      saved = stored ?? '';
      if (sent !== stored) changed.push(`${sent} became ${stored}`);
    });
    const bar = page.getByRole('toolbar', { name: 'Formatting' });
    const press = (name: string) => bar.getByRole('button', { name, exact: true }).click();
    const pick = async (menu: string, item: string | number) => {
      await press(menu);
      const items = page.getByRole('menuitem');
      await (typeof item === 'number'
        ? items.nth(item)
        : page.getByRole('menuitem', { name: item, exact: true })
      ).click();
    };
    const line = async (words: string) => {
      await page.keyboard.type(words);
      await page.keyboard.press('Enter');
    };
    await addressTo(page, user.email, 'Toolbox');
    await text(page).click();
    for (const [menu, none] of [
      ['Text size', 'Normal'],
      ['Text colour', 'No colour'],
      ['Highlight', 'No highlight'],
    ] as const) {
      await press(menu);
      const count = await page.getByRole('menuitem').count();
      await page.keyboard.press('Escape');
      for (let at = 1; at < count; at += 1) {
        await text(page).focus();
        await pick(menu, at);
        await page.keyboard.type(`${menu} ${at} `);
      }
      await pick(menu, none);
      await page.keyboard.press('Enter');
    }
    for (const tool of ['Bold', 'Italic', 'Underline', 'Strikethrough']) {
      await press(tool);
      await line(`${tool} "quoted"  & <b>`);
      await press(tool);
    }
    for (const tool of ['List', 'Numbered list']) {
      await press(tool);
      await line(`${tool} first`);
      await line('second');
      await page.keyboard.press('Enter');
    }
    await page.keyboard.type('linked');
    await page.keyboard.press('Shift+Home');
    await press('Link');
    await line('https://example.test/?a=1&b=2');
    await page.keyboard.press('End');
    await page.keyboard.press('Enter');
    await pick('Table', 'Insert a table');
    await page.keyboard.type('cell');
    await page.keyboard.press('Control+End');
    await give(page, 'paste', {
      html: '<h2 style="color:red">Head</h2><ul><li>one <i>two</i></li></ul><form>in a form <details><summary>sum</summary></details></form><script>no</script>',
    });
    await give(page, 'paste', { file: PNG });
    await page.keyboard.press('Control+End');
    await page.keyboard.press('Enter');
    await press('Quotation');
    await page.keyboard.type('said');
    await isSaved(page);
    await eventually(() => saved).toMatch(/said<\/div><\/blockquote>.*<\/div>$/s);
    for (const made of [
      /<b>Bold &quot;quoted&quot;/,
      /<i>Italic/,
      /<u>Underline.*<s>Strikethrough/s,
      /<ul><li>List first/,
      /<ol><li>Numbered list first/,
      /<a href="https:\/\/example\.test\/\?a=1&amp;b=2">linked<\/a>/,
      /<table style="border-collapse:collapse"><tbody><tr><td style="[^"]+">cell/,
      /<h2>Head<\/h2>/,
      /in a form/,
      /sum/,
      /<img alt="square.png" src="cid:[^"]+@attachment">/,
      /(?:<span style="color:#[0-9a-f]{6}">.*){6}/s,
      /(?:background-color:#[0-9a-f]{6};.*){4}/s,
      /font-size:small.*font-size:large.*font-size:xx-large/s,
    ])
      expect(saved).toMatch(made);
    expect(saved).not.toContain('no</');
    const shown = () => text(page).evaluate((editor) => editor.innerHTML.replaceAll(/ src="blob:[^"]*"/g, ''));
    const before = await text(page).innerText();
    const html = saved;
    await page.keyboard.press('Escape');
    await folder(page, 'Drafts').click();
    await openRow(page, 'Toolbox');
    await page.getByRole('button', { name: 'Continue writing' }).click();
    await eventually(() => text(page).innerText()).toBe(before);
    expect(await shown()).not.toContain('data-style');
    // Typing saves the text again: what was there before is unchanged.
    await text(page).click();
    await page.keyboard.press('Control+End');
    await page.keyboard.type('!');
    await eventually(() => saved).toBe(html.replace(/said(?=<\/div><\/blockquote>)/, 'said!'));
    expect(changed).toEqual([]);
    expect(troubles).toEqual([]);
    await page.context().close();
  });

  it('takes colours, highlights and tables, which survive a draft and are readable in light and dark', async () => {
    const user = await registerUser(stage.server, `decorator-${crypto.randomUUID().slice(0, 8)}`);
    const { page, troubles } = await signIn(stage.server, stage.browser, user);
    await addressTo(page, user.email, 'Plan');
    await text(page).click();
    const tool = async (menu: string, item: string) => {
      await page.getByRole('toolbar', { name: 'Formatting' }).getByRole('button', { name: menu, exact: true }).click();
      await page.getByRole('menuitem', { name: item, exact: true }).click();
    };
    await tool('Text colour', 'Red');
    await page.keyboard.type('Urgent');
    await tool('Text colour', 'No colour');
    await page.keyboard.type(' and ');
    await tool('Highlight', 'Yellow');
    await page.keyboard.type('marked');
    await tool('Highlight', 'No highlight');
    await page.keyboard.type(' plain');
    await page.keyboard.press('Home');
    for (const _ of 'Urgent') await page.keyboard.press('Shift+ArrowRight');
    await tool('Highlight', 'Light green');
    await page.keyboard.press('End');
    await page.keyboard.press('Enter');
    await tool('Table', 'Insert a table');
    await page.keyboard.type('Who');
    const shape = () =>
      text(page)
        .locator('table')
        .evaluateAll((all) => all.map((one) => [...(one as HTMLTableElement).rows].map((row) => row.cells.length)));
    await eventually(shape).toEqual([[3, 3, 3]]);
    await tool('Table', 'Add a row below');
    await page.keyboard.type('Carol');
    await tool('Table', 'Add a column');
    await page.keyboard.type('Friday');
    await eventually(shape).toEqual([[4, 4, 4, 4]]);
    await tool('Table', 'Remove the row');
    await tool('Table', 'Remove the column');
    await eventually(shape).toEqual([[3, 3, 3]]);
    await page.keyboard.type('x');
    await page.getByRole('button', { name: 'Text colour', exact: true }).click();
    await page.getByRole('menuitem', { name: 'Violet' }).waitFor();
    await expectAccessible(page);
    await takePictures(page, 'colours');
    await page.keyboard.press('Escape');
    await isSaved(page);
    // Without local storage, the page has only the draft, as another device does. Dark colours must not change the message.
    await page.evaluate(() => localStorage.clear());
    await page.emulateMedia({ colorScheme: 'dark', reducedMotion: 'reduce' });
    await page.reload();
    await folder(page, 'Drafts').click();
    await openRow(page, 'Plan');
    await page.getByRole('button', { name: 'Continue writing' }).click();
    await text(page).locator('.mark-yellow', { hasText: 'marked' }).waitFor();
    await text(page).locator('.ink-red', { hasText: 'Urgent' }).waitFor();
    await eventually(shape).toEqual([[3, 3, 3]]);
    await expectAccessible(page, ['color-contrast']);
    await text(page).locator('td').last().click();
    await page.keyboard.type('Last');
    await page.getByRole('button', { name: 'Send', exact: true }).click();
    const arrived = await awaitMessage(stage.server, user, 'inbox', 'Plan');
    const { body: message } = await stage.server.call('GET', `/v1/messages/${arrived.id}`, undefined, user.token);
    expect(message.html).toMatch(/background-color:#d6f3d3;color:#cb291d">Urgent</);
    expect(message.html).toMatch(/background-color:#fff1a8;color:#1d1c1a">marked</);
    expect(message.html).toMatch(/<td style="border:1px solid[^"]*">Last/);
    expect(message.body).toMatch(/Urgent and marked plain.*Who.*Last/s);
    await folder(page, 'Inbox').click();
    await openRow(page, 'Plan');
    await page.frameLocator('iframe.message-frame').last().getByRole('cell', { name: 'Who' }).waitFor();
    await takePictures(page, 'colours-read');
    expect(troubles).toEqual([]);
    await page.context().close();
  });

  it('inserts no table into a table, and removes a table with its last row', async () => {
    const user = await registerUser(stage.server, `tabler-${crypto.randomUUID().slice(0, 8)}`);
    const { page, troubles } = await signIn(stage.server, stage.browser, user);
    await addressTo(page, user.email, 'Grid');
    await text(page).click();
    const open = () => page.getByRole('button', { name: 'Table', exact: true }).click();
    const items = () => page.getByRole('menuitem').filter({ visible: true }).allInnerTexts();
    await open();
    await eventually(items).toEqual(['Insert a table']);
    await page.keyboard.press('Enter');
    await page.keyboard.type('Cell');
    for (const left of [2, 1, 0]) {
      await open();
      await eventually(items).toEqual([
        'Add a row below',
        'Add a column',
        'Remove the row',
        'Remove the column',
        'Remove the table',
      ]);
      await page.getByRole('menuitem', { name: 'Remove the row' }).click();
      await eventually(() => text(page).locator('tr').count()).toBe(left);
    }
    expect(await text(page).locator('table').count()).toBe(0);
    await page.keyboard.type('After');
    await eventually(() => text(page).innerText()).toContain('After');
    expect(troubles).toEqual([]);
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
    // The pictures must be at the cursor, which was after the words.
    expect(
      await text(page)
        .locator('div')
        .first()
        .evaluate((line) => line.innerHTML),
    ).toMatch(/^Look:<img/);
    await give(page, 'drop', { file: PNG });
    await eventually(widths).toEqual([1, 1]);
    await isSaved(page);
    // Without local storage, the page has only the draft, as another device does.
    await page.evaluate(() => localStorage.clear());
    await page.reload();
    await folder(page, 'Drafts').click();
    await openRow(page, 'Squares');
    await page.getByRole('button', { name: 'Continue writing' }).click();
    await eventually(widths).toEqual([1, 1]);
    await takePictures(page, 'rich-pictures');
    // A picture that was removed from the text must not be sent.
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
    expect(troubles).toEqual([]);
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
    await text(page).press('Control+a');
    await page.keyboard.press('Control+i');
    await switchFormat(page, 'Switch to plain text');
    await eventually(() => text(page).inputValue()).toContain('Plain');
    await page.getByRole('region', { name: 'Quoted message' }).waitFor();
    await page.getByRole('button', { name: 'Undo' }).last().click();
    await text(page).locator('i').waitFor();
    await page.getByRole('button', { name: 'Send', exact: true }).click();
    const sent = await awaitMessage(stage.server, user, 'sent', 'Re: Shop');
    const { body: message } = await stage.server.call('GET', `/v1/messages/${sent.id}`, undefined, user.token);
    expect(message.html).toMatch(/<i>Plain.*<blockquote.*<table width="600">.*color: ?red.*Sale/s);
    expect(troubles).toEqual([]);
    await page.context().close();
  });
});
