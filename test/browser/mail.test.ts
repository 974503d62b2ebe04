import { createHmac } from 'node:crypto';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { awaitMessage, awaitSunk, type MailUser, registerUser } from '../support/mail.ts';
import { startServer, type TestServer } from '../support/server.ts';
import { expectAccessible, hasChromium, launchChromium, openTab, type Tab } from './chromium.ts';

const HOLD_SECONDS = 5;

/** As `expect.poll`, with time enough for a busy machine. */
const patiently = <T>(ask: () => T) => expect.poll(ask, { timeout: 15_000, interval: 50 });

/** RFC 6238: what an authenticator shows for a Base32 secret. */
function totp(secret: string, atMs: number): string {
  const bits = [...secret]
    .map((char) => 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567'.indexOf(char).toString(2).padStart(5, '0'))
    .join('');
  const key = Buffer.from((bits.match(/.{8}/g) ?? []).map((byte) => Number.parseInt(byte, 2)));
  const counter = Buffer.alloc(8);
  counter.writeBigUInt64BE(BigInt(Math.floor(atMs / 30_000)));
  const hash = createHmac('sha1', key).update(counter).digest();
  const offset = (hash.at(-1) ?? 0) & 15;
  return String((hash.readUInt32BE(offset) & 0x7fffffff) % 1_000_000).padStart(6, '0');
}

describe.skipIf(!hasChromium)('the mail page', () => {
  let server: TestServer;
  let browser: Browser;

  beforeAll(async () => {
    const vars = { MAIL_HOLD_SECONDS: String(HOLD_SECONDS), REGISTRATION: 'open' };
    [server, browser] = await Promise.all([startServer({ vars }), launchChromium()]);
  });
  afterAll(async () => {
    await browser?.close();
    await server?.[Symbol.asyncDispose]();
  });

  /** A message from outside, as the SMTP bridge hands it over. */
  async function deliver(to: MailUser, raw: string, from = 'carol@outside.test'): Promise<void> {
    const response = await fetch(`${server.url}/v1/inbound`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${server.rootToken}`,
        'content-type': 'message/rfc822',
        'x-envelope-from': from,
        'x-envelope-to': to.email,
        'x-client-ip': '192.0.2.7',
        'x-helo': 'outside.test',
      },
      body: raw.replaceAll(/\r?\n/g, '\r\n'),
    });
    expect([response.status, await response.text()]).toEqual([202, expect.any(String)]);
  }
  let counter = 0;
  function message(to: MailUser, subject: string, body: string, more = ''): string {
    counter += 1;
    const date = new Date().toUTCString().replace('GMT', '+0000');
    return `From: Carol <carol@outside.test>\nTo: ${to.email}\nSubject: ${subject}\nDate: ${date}\nMessage-ID: <m${counter}.${Date.now()}@outside.test>\n${more || 'Content-Type: text/plain; charset=utf-8\n'}\n${body}\n`;
  }

  async function signIn(user: MailUser, options: Parameters<typeof openTab>[1] = {}): Promise<Tab> {
    const tab = await openTab(browser, options);
    tab.page.on('dialog', (dialog) => void dialog.accept());
    await tab.page.goto(`${server.url}/_/mail`);
    await tab.page.getByLabel('Address').fill(user.email);
    await tab.page.getByLabel('Password').fill('correct horse battery');
    await tab.page.keyboard.press('Enter');
    await tab.page.locator('.list-pane').waitFor();
    return tab;
  }
  const row = (page: Page, subject: string) => page.locator('.message-row', { hasText: subject });
  /** What stands in the open conversation. */
  const said = (page: Page, text: string) => page.locator('article.message').getByText(text);
  const subjects = (page: Page) => page.locator('.message-row .subject').allInnerTexts();
  const folder = (page: Page, name: string) =>
    page.getByRole('navigation', { name: 'Folders' }).getByRole('link', { name: new RegExp(`^${name}`) });

  it('lets two people register and talk with the keyboard alone, each seeing the other at once', async () => {
    const [ann, bob] = await Promise.all([openTab(browser), openTab(browser)]);
    for (const [{ page }, name] of [
      [ann, 'ann'],
      [bob, 'bob'],
    ] as const) {
      await page.goto(`${server.url}/_/mail`);
      const fields = page.getByLabel('Address');
      await fields.waitFor();
      await page.getByRole('button', { name: 'Make a new mailbox' }).focus();
      await page.keyboard.press('Enter');
      await page.getByLabel('Your name').focus();
      await page.keyboard.type(name);
      await page.keyboard.press('Tab');
      await page.keyboard.type(name);
      await page.keyboard.press('Tab');
      await page.keyboard.type('correct horse battery');
      await page.keyboard.press('Enter');
      await page.locator('.list-pane').waitFor();
    }
    await ann.page.keyboard.press('c');
    await ann.page.getByLabel('To', { exact: true }).waitFor();
    await ann.page.keyboard.type('bob@example.test');
    await ann.page.getByLabel('Subject').focus();
    await ann.page.keyboard.type('Picnic');
    await ann.page.keyboard.press('Tab');
    await ann.page.keyboard.type('On Sunday by the lake?');
    await ann.page.keyboard.press('Control+Enter');
    await ann.page.getByText('Sent.').waitFor();

    // Bob does nothing, and there it is.
    await row(bob.page, 'Picnic').waitFor();
    await patiently(() => folder(bob.page, 'Inbox').innerText()).toContain('1');
    await bob.page.keyboard.press('j');
    await said(bob.page, 'On Sunday by the lake?').waitFor();
    await patiently(() => folder(bob.page, 'Inbox').innerText()).not.toContain('1');
    await bob.page.keyboard.press('r');
    await bob.page.getByRole('textbox', { name: 'Message' }).waitFor();
    await bob.page.keyboard.type('Gladly!');
    await bob.page.keyboard.press('Control+Enter');
    await bob.page.getByText('Sent.').waitFor();

    // The answer stands in one conversation with what it answers.
    await row(ann.page, 'Re: Picnic').waitFor();
    await ann.page.keyboard.press('j');
    await said(ann.page, 'Gladly!').waitFor();
    await patiently(() => ann.page.locator('article.message').count()).toBe(2);
    await expectAccessible(ann.page);
    expect([...ann.troubles, ...bob.troubles]).toEqual([]);
    await Promise.all([ann.page.context().close(), bob.page.context().close()]);
  });

  it('archives, undoes, flags, selects, deletes, searches and helps by keys', async () => {
    const user = await registerUser(server, 'keys');
    for (const subject of ['Alpha', 'Beta', 'Gamma']) await deliver(user, message(user, subject, `About ${subject}.`));
    await awaitMessage(server, user, 'inbox', 'Gamma');
    const { page, troubles } = await signIn(user);
    await patiently(() => subjects(page)).toEqual(['Gamma', 'Beta', 'Alpha']);
    const press = (key: string) => page.keyboard.press(key);

    await press('j');
    await said(page, 'About Gamma.').waitFor();
    await press('e');
    await patiently(() => subjects(page)).toEqual(['Beta', 'Alpha']);
    await said(page, 'About Beta.').waitFor();
    await press('z');
    await patiently(() => subjects(page)).toEqual(['Gamma', 'Beta', 'Alpha']);
    await press('s');
    await row(page, 'Beta').getByRole('button', { name: 'Remove the flag' }).waitFor();
    await press('k');
    await press('x');
    await press('j');
    await press('x');
    await page.getByText('2 selected').waitFor();
    await press('#');
    await patiently(() => subjects(page)).toEqual(['Alpha']);
    await folder(page, 'Trash').click();
    await patiently(() => subjects(page)).toHaveLength(2);
    await press('?');
    await page.getByRole('dialog', { name: 'Keys' }).waitFor();
    await expectAccessible(page);
    await press('Escape');
    await press('/');
    await page.keyboard.type('subj');
    await page.getByRole('option', { name: /^subject:/ }).waitFor();
    await press('ArrowDown');
    await press('Tab');
    await page.keyboard.type('alpha');
    await press('Enter');
    await page.getByRole('heading', { name: 'Search: subject:alpha' }).waitFor();
    await patiently(() => subjects(page)).toEqual(['Alpha']);
    expect(troubles).toEqual([]);
    await page.context().close();
  });

  it('takes a message back, and loses nothing when the tab is closed in mid-sentence', async () => {
    const user = await registerUser(server, 'writer');
    const { page } = await signIn(user);
    await page.keyboard.press('c');
    await page.getByLabel('To', { exact: true }).fill('friend@outside.test');
    await page.getByLabel('Subject').fill('Rash words');
    await page.getByRole('textbox', { name: 'Message' }).fill('You never listen.');
    await page
      .getByRole('button', { name: 'Attach' })
      .setInputFiles([{ name: 'list.txt', mimeType: 'text/plain', buffer: Buffer.from('one') }]);
    await page.getByRole('list', { name: 'Attachments' }).getByText('list.txt').waitFor();
    await patiently(() => page.locator('.uploads progress').count()).toBe(0);
    await page.getByRole('button', { name: 'Send', exact: true }).click();
    await page.getByRole('button', { name: 'Undo' }).click();
    await patiently(() => page.getByRole('textbox', { name: 'Message' }).inputValue()).toBe('You never listen.');
    await page.getByRole('textbox', { name: 'Message' }).fill('You never li');

    // Gone, without a word.
    await page.close({ runBeforeUnload: false });
    const again = await page.context().browser()?.contexts().at(-1)?.newPage();
    if (!again) throw new Error('no tab');
    await again.goto(`${server.url}/_/mail`);
    const body = again.getByRole('textbox', { name: 'Message' });
    await patiently(() => body.inputValue()).toBe('You never li');
    expect(await again.getByLabel('Subject').inputValue()).toBe('Rash words');
    await body.fill('You never liked soup, did you?');
    await again.getByRole('button', { name: 'Send', exact: true }).click();
    await again.getByText('Sent.').waitFor();
    const sunk = await awaitSunk(server, 'the second wording', (one) => one.raw.includes('Rash words'));
    expect(sunk.raw.toString()).toContain('You never liked soup');
    expect(sunk.raw.toString()).toContain('list.txt');
    await again.getByRole('navigation', { name: 'Folders' }).getByRole('link', { name: /^Sent/ }).click();
    await row(again, 'Rash words')
      .getByRole('button', { name: /Rash words/ })
      .click();
    await again.getByRole('region', { name: 'Delivery' }).getByText('friend@outside.test').waitFor();
    await again
      .getByRole('region', { name: 'Delivery' })
      .getByText(/^Sent$|^Delivered$/)
      .waitFor();
    await again.context().close();
  });

  it('shows hostile HTML mail that can do nothing, and remote images only when asked', async () => {
    const user = await registerUser(server, 'target');
    const bad = `<html><head><meta http-equiv="refresh" content="0;url=${server.url}/_/docs"><base href="https://evil.test/">
      <style>@import url("${server.url}/css-exfil"); body { background: url("${server.url}/css-background") } [value^=a] { background: url("${server.url}/css-attr") }</style>
      <link rel="stylesheet" href="${server.url}/linked"></head><body onload="parent.pwned=1">
      <p id="said" style="color:rgb(1, 2, 3)">Hello from the outside.</p><script>parent.pwned=1; top.location='https://evil.test/'</script>
      <img src="x" onerror="parent.pwned=1"><img id="pixel" alt="photo" width="90" height="90" src="${server.url}/remote-image.png">
      <svg onload="parent.pwned=1"><script>parent.pwned=1</script><image href="${server.url}/svg-image"/></svg>
      <form action="${server.url}/form"><input name="password"><button>Sign in</button></form>
      <iframe src="${server.url}/framed"></iframe><object data="${server.url}/object"></object>
      <a id="script-link" href="javascript:parent.pwned=1">prize</a> <a id="link" href="https://example.test/x">page</a>
      <div style="position:fixed;inset:0;background:url(${server.url}/style-attr)">cover</div></body></html>`;
    await deliver(
      user,
      message(user, 'You have won', bad, 'MIME-Version: 1.0\nContent-Type: text/html; charset=utf-8\n'),
    );
    // Whether the checks take it for junk is their matter.
    const place = await Promise.any(
      ['Inbox', 'Junk'].map(async (name) => {
        await awaitMessage(server, user, name.toLowerCase(), 'You have won');
        return name;
      }),
    );
    const { page, troubles } = await signIn(user);
    const asked: string[] = [];
    page.on('request', (request) => asked.push(new URL(request.url()).pathname));
    await folder(page, place).click();
    await row(page, 'You have won')
      .getByRole('button', { name: /You have won/ })
      .click();
    const frame = page.frameLocator('iframe.message-frame');
    await frame.getByText('Hello from the outside.').waitFor();
    const colour = frame.getByText('Hello from the outside.').evaluate((element) => getComputedStyle(element).color);
    expect(await colour, 'a harmless style of the sender').toBe('rgb(1, 2, 3)');
    const secret = frame.getByText('prize');
    if (await secret.count()) await secret.click({ force: true });
    await page.waitForTimeout(800);
    const foreign = () => asked.filter((path) => !path.startsWith('/_/') && !path.startsWith('/v1/'));
    expect(foreign()).toEqual([]);
    expect(asked).not.toContain('/_/docs');
    expect(await page.evaluate(() => 'pwned' in globalThis)).toBe(false);
    expect(new URL(page.url()).pathname).toBe('/_/mail');
    expect(await frame.locator('script, form, input, iframe, object, svg, style, link, meta').count()).toBe(3);
    await page.getByRole('button', { name: 'Show images' }).click();
    await patiently(foreign).toEqual(['/remote-image.png']);
    expect(await page.evaluate(() => 'pwned' in globalThis)).toBe(false);
    // Keys go on working with the focus inside of the message.
    await frame.getByText('Hello from the outside.').click();
    await page.keyboard.press('?');
    await page.getByRole('dialog', { name: 'Keys' }).waitFor();
    expect(troubles.filter((trouble) => !trouble.includes('mail-frame'))).toEqual([]);
    await page.context().close();
  });

  it('draws only the rows in sight of a long folder, and reads on as one scrolls', async () => {
    const user = await registerUser(server, 'reader');
    const count = 130;
    for (let start = 0; start < count; start += 10) {
      const batch = Array.from({ length: 10 }, (_, index) => `Letter ${String(start + index).padStart(3, '0')}`);
      await Promise.all(batch.map((subject) => deliver(user, message(user, subject, 'Text.'))));
    }
    await awaitMessage(server, user, 'inbox', 'Letter 129');
    const { page } = await signIn(user);
    await page.locator('.message-row').first().waitFor();
    const scroller = page.locator('.list-scroll');
    let mostRows = 0;
    const seen = new Set<string>();
    await expect
      .poll(
        async () => {
          const drawn = await subjects(page);
          for (const subject of drawn) seen.add(subject);
          mostRows = Math.max(mostRows, drawn.length);
          await scroller.evaluate((element) => element.scrollBy(0, element.clientHeight));
          return seen.size;
        },
        { timeout: 60_000, interval: 30 },
      )
      .toBe(count);
    expect(mostRows).toBeLessThan(40);
    await page.context().close();
  });

  it('says that it is offline and catches up when the network is back', async () => {
    const user = await registerUser(server, 'traveller');
    const { page } = await signIn(user);
    await page.getByText('Nothing here.').waitFor();
    await page.context().setOffline(true);
    await page.getByText('You are offline.').waitFor();
    await deliver(user, message(user, 'While you were away', 'Welcome back.'));
    await awaitMessage(server, user, 'inbox', 'While you were away');
    await page.context().setOffline(false);
    await row(page, 'While you were away').waitFor();
    await patiently(() => page.getByText('You are offline.').count()).toBe(0);
    await page.context().close();
  });

  it('sets up a second factor, a filter with a look at what it would catch, and imports a mailbox', async () => {
    const user = await registerUser(server, 'settler');
    await deliver(user, message(user, 'Weekly news', 'All the news.'));
    await awaitMessage(server, user, 'inbox', 'Weekly news');
    const { page, troubles } = await signIn(user);
    await page.getByRole('link', { name: 'Settings' }).click();
    await page.getByRole('link', { name: 'Filters' }).click();
    await page.getByRole('button', { name: 'New filter' }).click();
    await page.getByLabel('Name').fill('News away');
    await page.getByLabel('Text to look for').fill('carol@outside.test');
    await page.getByRole('region', { name: 'What it would catch' }).getByText('Weekly news').waitFor();
    await expectAccessible(page);
    await page.getByRole('button', { name: 'Save and apply' }).click();
    await page.getByText('Saved, and applied to 1 messages.').waitFor();
    await awaitMessage(server, user, 'archive', 'Weekly news');

    await page.getByRole('link', { name: 'Import and export' }).click();
    const mbox = ['One', 'Two'].map(
      (name) => `From x@y.test Sat Jan 10 10:00:00 2026\n${message(user, `Old ${name}`, 'Once.')}\n`,
    );
    await page
      .getByLabel('File')
      .setInputFiles([{ name: 'old.mbox', mimeType: 'application/mbox', buffer: Buffer.from(mbox.join('')) }]);
    await page.getByText('2 of 2 messages imported.').waitFor();

    await page.getByRole('link', { name: 'Security' }).click();
    const factor = page.getByRole('region', { name: 'Second factor' });
    await factor.getByLabel('Password').fill('correct horse battery');
    await factor.getByRole('button', { name: 'Set it up' }).click();
    const secret = (await factor.locator('pre').innerText()).replaceAll(/\s/g, '');
    await factor.getByLabel('Code').fill(totp(secret, Date.now() - 30_000));
    await factor.getByRole('button', { name: 'Turn it on' }).click();
    await factor.getByText('Keep these recovery codes').waitFor();
    await expectAccessible(page);
    await page.getByRole('button', { name: 'Sign out' }).click();
    await page.getByLabel('Address').fill('settler');
    await page.getByLabel('Password').fill('correct horse battery');
    await page.keyboard.press('Enter');
    await page.getByLabel('Code from your authenticator').fill(totp(secret, Date.now()));
    await page.keyboard.press('Enter');
    await row(page, 'Old Two').waitFor();
    expect(troubles).toEqual([]);
    await page.context().close();
  });

  it('works on a phone: list, message, back, archive by a swipe', async () => {
    const user = await registerUser(server, 'phone');
    await deliver(user, message(user, 'Pocket', 'Fits in a pocket.'));
    await awaitMessage(server, user, 'inbox', 'Pocket');
    const { page } = await signIn(user, {
      viewport: { width: 390, height: 780 },
      hasTouch: true,
      isMobile: true,
      colorScheme: 'dark',
    });
    await row(page, 'Pocket')
      .getByRole('button', { name: /Pocket/ })
      .tap();
    await said(page, 'Fits in a pocket.').waitFor();
    expect(await page.locator('.list-pane').isVisible()).toBe(false);
    await expectAccessible(page);
    await page.getByRole('button', { name: 'Back' }).tap();
    const box = await row(page, 'Pocket').boundingBox();
    if (!box) throw new Error('no row');
    const client = await page.context().newCDPSession(page);
    const y = box.y + box.height / 2;
    const touch = (type: 'touchStart' | 'touchMove' | 'touchEnd', x: number) =>
      client.send('Input.dispatchTouchEvent', { type, touchPoints: type === 'touchEnd' ? [] : [{ x, y }] });
    await touch('touchStart', 300);
    for (const x of [280, 240, 200, 150, 120]) await touch('touchMove', x);
    await touch('touchEnd', 120);
    await patiently(() => subjects(page)).toEqual([]);
    await awaitMessage(server, user, 'archive', 'Pocket');
    await page.context().close();
  });
});
