/** Tests the editor of formatted text with real keys, the pointer and the clipboard. */
import type { Page } from 'playwright-core';
import { afterEach, describe, expect, it } from 'vitest';
import { awaitMessage, type MailUser, registerUser } from '../../support/mail/mail.ts';
import { eventually, expectAccessible, hasChromium, takePictures } from '../../web/browser/chromium.ts';
import { useStage } from '../../web/browser/stage.ts';
import { readText, signIn, switchFormat } from './mail-page.ts';

/** Writes to the clipboard from another page: HTML with its plain text, and perhaps a picture of two pixels. */
async function copy(page: Page, html: string, plain: string, withPicture = false): Promise<void> {
  const other = await page.context().newPage();
  await other.route('**/other-page', (route) => route.fulfill({ contentType: 'text/html', body: '<p>Other</p>' }));
  await other.goto(new URL('/other-page', page.url()).href);
  await other.evaluate(
    async ({ markup, words, isWithPicture }) => {
      const types: Record<string, Blob> = {
        'text/html': new Blob([markup], { type: 'text/html' }),
        'text/plain': new Blob([words], { type: 'text/plain' }),
      };
      if (isWithPicture) {
        const canvas = Object.assign(document.createElement('canvas'), { width: 2, height: 2 });
        types['image/png'] = await new Promise<Blob>((resolve) =>
          canvas.toBlob((blob) => resolve(blob ?? new Blob()), 'image/png'),
        );
      }
      await navigator.clipboard.write([new ClipboardItem(types)]);
    },
    { markup: html, words: plain, isWithPicture: withPicture },
  );
  await other.close();
  await page.bringToFront();
}

describe.skipIf(!hasChromium)('the editor', () => {
  const stage = useStage({ vars: { MAIL_HOLD_SECONDS: '0', REGISTRATION: 'open' } });
  const text = (page: Page) => page.getByRole('textbox', { name: 'Message' });
  const bar = (page: Page) => page.getByRole('toolbar', { name: 'Formatting' });
  const tool = (page: Page, name: string) => bar(page).getByRole('button', { name, exact: true });
  const isPressed = (page: Page, name: string) => tool(page, name).getAttribute('aria-pressed');
  const html = (page: Page) => text(page).evaluate((element) => element.innerHTML.replaceAll('\u200b', ''));
  const hasFocus = (page: Page) => text(page).evaluate((element) => element === document.activeElement);

  /** Opens a new message with keys alone. The cursor is in its text. */
  const write = async (subject: string, options: Parameters<typeof signIn>[3] = {}) => {
    const user = await registerUser(stage.server, `editor-${crypto.randomUUID().slice(0, 8)}`);
    const tab = await signIn(stage.server, stage.browser, user, options);
    await tab.page.context().grantPermissions(['clipboard-read', 'clipboard-write'], { origin: stage.server.url });
    await tab.page.keyboard.press('c');
    await tab.page.keyboard.type(`${user.email},`);
    await tab.page.keyboard.press('Tab');
    await tab.page.keyboard.type(subject);
    await tab.page.keyboard.press('Tab');
    await eventually(() => hasFocus(tab.page)).toBe(true);
    return { ...tab, user };
  };
  const sent = async (page: Page, user: MailUser, subject: string) => {
    await page.keyboard.press('Control+Enter');
    const { id } = await awaitMessage(stage.server, user, 'inbox', subject);
    return (await stage.server.call('GET', `/v1/messages/${id}`, undefined, user.token)).body;
  };

  afterEach(async () => {
    for (const context of stage.browser.contexts()) await context.close();
  });

  it('is there without a switch, and text without formatting is sent as plain text', async () => {
    const { page, user, troubles } = await write('Plain words');
    await page.keyboard.type('  Dear Mira,');
    await page.keyboard.press('Enter');
    await page.keyboard.press('Enter');
    await page.keyboard.type('two  spaces <b> & "quotes"');
    await tool(page, 'Bold').waitFor();
    const message = await sent(page, user, 'Plain words');
    expect(message.html).toBeNull();
    expect(message.body.replaceAll('\r\n', '\n').trimEnd()).toBe('  Dear Mira,\n\ntwo  spaces <b> & "quotes"');
    expect(troubles).toEqual([]);
  });

  it('shows the formats at the cursor, and each tool takes its format away again', async () => {
    const { page, troubles } = await write('States');
    const tools = ['Bold', 'Italic', 'Underline', 'Strikethrough', 'List', 'Numbered list', 'Quotation', 'Code'];
    await page.keyboard.type('word');
    for (const name of tools) {
      await page.keyboard.press('Home');
      await page.keyboard.press('Shift+End');
      expect([name, await isPressed(page, name)]).toEqual([name, 'false']);
      const before = await html(page);
      await tool(page, name).click();
      await eventually(() => isPressed(page, name)).toBe('true');
      expect(await html(page)).not.toBe(before);
      expect(await hasFocus(page)).toBe(true);
      await tool(page, name).click();
      await eventually(() => isPressed(page, name)).toBe('false');
      await eventually(() => html(page)).toMatch(/^<div>word<\/div>(?:<div><br><\/div>)*$/);
    }
    // The state follows the cursor.
    await page.keyboard.press('End');
    await page.keyboard.press('Control+b');
    await page.keyboard.type('strong');
    await page.keyboard.press('Control+b');
    await page.keyboard.type('light');
    await eventually(() => isPressed(page, 'Bold')).toBe('false');
    for (const _ of 'light and') await page.keyboard.press('ArrowLeft');
    await eventually(() => isPressed(page, 'Bold')).toBe('true');
    await expectAccessible(page);
    expect(troubles).toEqual([]);
  });

  it('takes back and repeats every step, also colours, quotations, tables and pasted text', async () => {
    const { page, troubles } = await write('Steps');
    const shown: string[] = [];
    const step = async (work: () => Promise<unknown>) => {
      shown.push(await readText(text(page)), await html(page));
      await work();
    };
    const pick = async (menu: string, item: string) => {
      await tool(page, menu).click();
      await page.getByRole('menuitem', { name: item, exact: true }).click();
    };
    await page.keyboard.type('Hello');
    await step(async () => {
      await page.keyboard.press('Control+a');
      await pick('Text colour', 'Red');
    });
    await step(() => pick('Text size', 'Large'));
    await step(() => tool(page, 'Quotation').click());
    await page.keyboard.press('Control+End');
    await step(() => pick('Table', 'Insert a table'));
    await step(() => pick('Table', 'Add a row below'));
    await step(async () => {
      await copy(page, '<p>from <b>elsewhere</b></p>', 'from elsewhere');
      await page.keyboard.press('Control+End');
      await page.keyboard.press('Control+v');
      await text(page).getByText('elsewhere').waitFor();
    });
    const last = await html(page);
    while (shown.length > 0) {
      const [words, markup] = shown.splice(-2);
      await page.keyboard.press('Control+z');
      await eventually(() => html(page)).toBe(markup);
      expect(await readText(text(page))).toBe(words);
    }
    for (let count = 0; count < 6; count += 1) await tool(page, 'Forward one step').click();
    await eventually(() => html(page)).toBe(last);
    expect(troubles).toEqual([]);
  });

  it('keeps what documents and web pages paste: tables, lists, links, bold words and code', async () => {
    const { page, user, troubles } = await write('Pasted');
    await copy(
      page,
      `<meta charset="utf-8"><b style="font-weight:normal"><p style="color:#999;font-family:Arial"><span style="font-weight:700">Totals</span>
       and <span style="font-style:italic">more</span>, <a href="https://example.test/a?b=1&amp;c=2" onclick="x()">a link</a></p>
       <table border="1"><tbody><tr><td style="width:90px" colspan="2">Who</td></tr><tr><td>Ada</td><td>12</td></tr></tbody></table>
       <ol><li>first<ul><li>inner</li></ul></li><li>second</li></ol><pre>if (a)\n  b();</pre></b>`,
      'Totals and more',
    );
    await page.keyboard.press('Control+v');
    await text(page).getByText('Ada').waitFor();
    await takePictures(page, 'pasted-document');
    const message = await sent(page, user, 'Pasted');
    expect(message.html).toMatch(
      /<b>Totals<\/b> and <i>more<\/i>, <a href="https:\/\/example.test\/a\?b=1&amp;c=2"[^>]*>a link/,
    );
    expect(message.html).toMatch(/<td colspan="2"[^>]*>Who<\/td><\/tr><tr><td[^>]*>Ada<\/td><td[^>]*>12<\/td>/);
    expect(message.html).toMatch(/<ol><li>.*first.*<ul><li>.*inner.*second/s);
    expect(message.html).toMatch(/<pre>if \(a\)\n {2}b\(\);<\/pre>/);
    expect(message.html).not.toMatch(/Arial|#999|onclick/);
    expect(message.body).toMatch(/Totals and more, a link <https:\/\/example\.test\/a\?b=1&c=2>/);
    expect(message.body).toContain('Ada | 12');
    expect(message.body).toMatch(/1\. first\r?\n {3}- inner\r?\n2\. second/);
    expect(troubles).toEqual([]);
  });

  it('lets in no script, handler, form or style that covers the page', async () => {
    const { page, user, troubles } = await write('Hostile');
    const hostile = `<p>Seen</p><script>window.hacked = 1</script><img src="x" onerror="window.hacked = 1">
      <div style="position:fixed;inset:0;z-index:9999;background:red" class="mark-yellow modal" id="app">over</div>
      <a href="javascript:window.hacked=1">run</a><iframe src="https://evil.test"></iframe><style>*{display:none}</style>
      <form action="https://evil.test"><input name="password"><button>go</button></form><svg onload="window.hacked=1"></svg>`;
    // Chromium cleans what a page writes to the clipboard, but not what other programs write: the event has the raw HTML.
    for (const type of ['paste', 'drop'] as const)
      await text(page).evaluate(
        (editor, { name, markup }) => {
          const data = new DataTransfer();
          data.setData('text/html', markup);
          const options = { bubbles: true, cancelable: true };
          const event =
            name === 'paste'
              ? new ClipboardEvent(name, { ...options, clipboardData: data })
              : new DragEvent(name, { ...options, dataTransfer: data });
          editor.dispatchEvent(event);
        },
        { name: type, markup: hostile },
      );
    await eventually(() => text(page).getByText('Seen').count()).toBe(2);
    const forbidden =
      /script|onerror|onload|position|z-index|modal|id=|javascript|iframe|<style|form|<input|<button|svg|hacked/i;
    expect(await html(page)).not.toMatch(forbidden);
    // The history holds HTML too: a step back and forward brings nothing in.
    await page.keyboard.press('Control+z');
    await page.keyboard.press('Control+Shift+z');
    expect(await html(page)).not.toMatch(forbidden);
    const message = await sent(page, user, 'Hostile');
    expect(message.html ?? '').not.toMatch(forbidden);
    expect(await page.evaluate(() => 'hacked' in window)).toBe(false);
    expect(troubles).toEqual([]);
  });

  it('loses nothing on the way to plain text and back', async () => {
    const { page, user, troubles } = await write('Ways');
    await page.keyboard.press('Control+b');
    await page.keyboard.type('Strong');
    await page.keyboard.press('Control+b');
    await page.keyboard.press('Enter');
    await copy(page, '<img src="https://pictures.test/a.png" alt="Plan">', '', true);
    await page.keyboard.press('Control+v');
    await text(page).getByRole('img').waitFor();
    await page.keyboard.press('Enter');
    await page.keyboard.press('Control+Shift+8');
    await page.keyboard.type('one');
    await page.keyboard.press('Enter');
    await page.keyboard.type('two');
    const before = await html(page);
    await switchFormat(page, 'Switch to plain text');
    await eventually(() => text(page).inputValue()).toMatch(/^Strong\n\[[^\]]+\]\n- one\n- two$/);
    // The picture is still part of the message.
    await page
      .locator('.file-rows')
      .getByText(/\.png|Plan/)
      .first()
      .waitFor();
    await switchFormat(page, 'Format the text');
    const bare = (markup: string) => markup.replaceAll(/ (?:src|referrerpolicy)="[^"]*"/g, '');
    await eventually(async () => bare(await html(page))).toBe(bare(before));
    await eventually(() =>
      text(page)
        .getByRole('img')
        .evaluate((one: HTMLImageElement) => one.naturalWidth),
    ).toBe(2);
    // A line that changed in between loses its own formatting, and no other.
    await switchFormat(page, 'Switch to plain text');
    await page.keyboard.press('Control+End');
    await page.keyboard.type(' and a half');
    await page.getByRole('button', { name: 'Format the text' }).click();
    await page.keyboard.type('!');
    await eventually(() => html(page)).toMatch(
      /^<div><b>Strong<\/b>.*<img.*<div>- one<\/div><div>- two and a half!<\/div>$/s,
    );
    const message = await sent(page, user, 'Ways');
    expect(message.html).toMatch(/<b>Strong<\/b>.*<img/s);
    expect(message.attachments).toHaveLength(1);
    expect(troubles).toEqual([]);
  });

  it('remembers the choice of plain text for the next message', async () => {
    const { page, troubles } = await write('Choice');
    await switchFormat(page, 'Switch to plain text');
    await page.keyboard.type('plain');
    await page.keyboard.press('Escape');
    await page.locator('.compose').waitFor({ state: 'detached' });
    await page.reload();
    await page.locator('.list-pane').waitFor();
    await page.keyboard.press('c');
    await page.locator('textarea.compose-body').waitFor();
    await page.getByRole('button', { name: 'Format the text' }).click();
    await page.keyboard.type('rich');
    await eventually(() => html(page)).toBe('<div>rich</div>');
    expect(troubles).toEqual([]);
  });

  it('sets links with keys alone, and the toolbar is one stop of the Tab key', async () => {
    const { page, troubles } = await write('Links');
    await page.keyboard.type('see here');
    for (const _ of 'here') await page.keyboard.press('Shift+ArrowLeft');
    const focused = () => page.evaluate(() => document.activeElement?.getAttribute('aria-label') ?? '');
    await page.keyboard.press('Tab');
    await eventually(focused).toBe('Bold');
    for (let step = 0; step < 20 && (await focused()) !== 'Link'; step += 1) await page.keyboard.press('ArrowRight');
    await page.keyboard.press('Enter');
    await page.getByLabel('Address of the link').waitFor();
    await page.keyboard.type('no address');
    await page.keyboard.press('Enter');
    await page.getByText('Write an address').waitFor();
    await page.keyboard.press('Control+a');
    await page.keyboard.type('example.test/report');
    await expectAccessible(page);
    await page.keyboard.press('Enter');
    await eventually(() => html(page)).toContain('<a href="https://example.test/report">here</a>');
    expect(await hasFocus(page)).toBe(true);
    await eventually(() => isPressed(page, 'Link')).toBe('true');
    await tool(page, 'Link').click();
    await page.getByRole('button', { name: 'Remove the link' }).click();
    await eventually(() => html(page)).toBe('<div>see here</div>');
    expect(troubles).toEqual([]);
  });

  it('fills the page on request and works on a phone', async () => {
    const { page, troubles } = await write('Sizes');
    await page.keyboard.type('Hello');
    await page.getByRole('button', { name: 'Full screen' }).click();
    const width = () => page.locator('.compose').evaluate((element) => element.getBoundingClientRect().width);
    await eventually(width).toBe(1280);
    expect(await hasFocus(page)).toBe(true);
    await page.keyboard.type(' again');
    await takePictures(page, 'full-screen');
    await expectAccessible(page);
    await page.getByRole('button', { name: 'Leave full screen' }).click();
    await eventually(width).toBe(600);
    await page.setViewportSize({ width: 390, height: 760 });
    await eventually(() => page.evaluate(() => document.documentElement.scrollWidth)).toBe(390);
    await page.emulateMedia({ colorScheme: 'dark' });
    await expectAccessible(page);
    expect(await readText(text(page))).toBe('Hello again');
    expect(troubles).toEqual([]);
  });

  it('keeps the cells of a table apart: Backspace and Delete stay in theirs', async () => {
    const { page, troubles } = await write('Cells');
    await tool(page, 'Table').click();
    await page.getByRole('menuitem', { name: 'Insert a table' }).click();
    await page.keyboard.type('a');
    await page.keyboard.press('Delete');
    await page.keyboard.press('ArrowRight');
    await page.keyboard.type('b');
    await page.keyboard.press('Backspace');
    await page.keyboard.press('Backspace');
    await page.keyboard.type('c');
    await page.keyboard.press('Enter');
    await page.keyboard.type('d');
    const cells = () => text(page).locator('tr').first().locator('td').allInnerTexts();
    await eventually(cells).toEqual(['a', 'c\nd', expect.any(String)]);
    expect(troubles).toEqual([]);
  });
});
