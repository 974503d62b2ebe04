import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type MailUser, registerUser } from '../support/mail.ts';
import { startServer, type TestServer } from '../support/server.ts';
import { hasChromium, launchChromium, PATIENCE_MS } from './chromium.ts';
import { signIn } from './mail-page.ts';

const COUNT = Number(process.env.LARGE_MESSAGES ?? 20_000);
const PER_IMPORT = 2_000;

/** One message of an mbox, each a conversation of its own, the higher number the newer. */
function entry(n: number): string {
  const date = new Date(Date.UTC(2016, 0, 1) + n * 120_000).toUTCString().replace('GMT', '+0000');
  return `From x@y.test Sat Jan 10 10:00:00 2026\nFrom: Person ${n % 300} <p${n % 300}@elsewhere.test>\nTo: me@example.test\nSubject: Letter ${n}\nDate: ${date}\nMessage-ID: <${n}@large.test>\n\nThe text of letter ${n}.\n\n`;
}

describe.skipIf(!hasChromium)(`a mailbox of ${COUNT} messages`, () => {
  let server: TestServer;
  let browser: Browser;
  let user: MailUser;

  beforeAll(async () => {
    [server, browser] = await Promise.all([startServer({ vars: { REGISTRATION: 'open' } }), launchChromium()]);
    user = await registerUser(server, 'hoarder');
    for (let start = 0; start < COUNT; start += PER_IMPORT) {
      const mbox = Array.from({ length: Math.min(PER_IMPORT, COUNT - start) }, (_, at) => entry(start + at)).join('');
      const response = await fetch(`${server.url}/v1/import?folder_id=inbox`, {
        method: 'POST',
        headers: { authorization: `Bearer ${user.token}`, 'content-type': 'application/mbox' },
        body: mbox,
      });
      expect(response.status).toBe(200);
    }
  });
  afterAll(async () => {
    await browser?.close();
    await server?.[Symbol.asyncDispose]();
  });

  it('is scrolled to its end and to its middle, drawing few rows, and opened, selected and left in between', async () => {
    const { page, troubles } = await signIn(server, browser, user);
    await page.locator('.message-row').first().waitFor();
    const scroller = page.locator('.list-scroll');
    const rows = page.locator('.message-row');
    let mostRows = 0;
    const startedAt = Date.now();
    await expect
      .poll(
        async () => {
          mostRows = Math.max(mostRows, await rows.count());
          await scroller.evaluate((element) => element.scrollTo(0, element.scrollHeight));
          return rows.last().locator('.subject').innerText();
        },
        { timeout: 20 * PATIENCE_MS, interval: 20 },
      )
      .toBe('Letter 0');
    const session = await page.context().newCDPSession(page);
    await session.send('HeapProfiler.collectGarbage');
    await session.send('Performance.enable');
    const { metrics } = await session.send('Performance.getMetrics');
    const metric = (name: string) => metrics.find((one) => one.name === name)?.value ?? 0;
    const heapMiB = metric('JSHeapUsedSize') / 2 ** 20;
    console.log(
      `${COUNT} rows read in ${((Date.now() - startedAt) / 1000).toFixed(1)} s; heap ${heapMiB.toFixed(0)} MiB, ${metric('Nodes')} nodes, at most ${mostRows} rows drawn`,
    );
    expect(mostRows).toBeLessThan(40);
    // 200,000 rows must still fit into a tab: about 2 KiB a row, and the app itself.
    expect(heapMiB).toBeLessThan(30 + COUNT / 500);

    await scroller.evaluate((element) => element.scrollTo(0, element.scrollHeight / 2));
    const middle = page.locator('.message-row', { hasText: `Letter ${COUNT / 2}` }).first();
    await middle.getByRole('button', { name: new RegExp(`Letter ${COUNT / 2}`) }).click();
    await page
      .locator('article.message')
      .getByText(`The text of letter ${COUNT / 2}.`)
      .waitFor();
    const top = () => scroller.evaluate((element) => element.scrollTop);
    const before = await top();
    await page.keyboard.press('j');
    await page
      .locator('article.message')
      .getByText(`The text of letter ${COUNT / 2 - 1}.`)
      .waitFor();
    expect(Math.abs((await top()) - before)).toBeLessThan(1000);
    // A message that leaves from the middle leaves the place where one was.
    await page.keyboard.press('e');
    await page
      .locator('article.message')
      .getByText(`The text of letter ${COUNT / 2 - 2}.`)
      .waitFor();
    expect(Math.abs((await top()) - before)).toBeLessThan(1000);

    await page.getByLabel('Select all that are loaded').check();
    await page.getByText(`${COUNT - 1} selected`).waitFor();
    await page.getByLabel('Select nothing').click();
    await page.getByText(`${COUNT - 1} selected`).waitFor({ state: 'detached' });
    expect(troubles).toEqual([]);
    await page.context().close();
  });
});
