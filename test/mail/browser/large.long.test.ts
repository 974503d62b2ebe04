import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type LocalServer, startLocalServer } from '../../../dev/local/local-server.ts';
import type { StoreMessageInput } from '../../../durable-objects/mail/contract/delivered-message.ts';
import { closeTabs, hasChromium, openChromium, TIMEOUT_MS } from '../../web/browser/chromium.ts';
import { PASSWORD, signIn } from './mail-page.ts';

const COUNT = Number(process.env.LARGE_MESSAGES ?? 200_000);
const PER_CALL = 1_000;

/** Message number `n` of the mailbox. A higher number is newer. Each message is a conversation of its own. */
const toInput = (n: number): StoreMessageInput => ({
  deliveryKey: `large:${n}`,
  rawKey: `mail/large/${n}`,
  rawSha256: String(n),
  sizeBytes: 3_000,
  receivedAt: Date.UTC(2016, 0, 1) + n * 120_000,
  origin: 'received',
  folder: 'inbox',
  isRead: n % 10 !== 0,
  isFlagged: false,
  labels: [],
  envelopeFrom: '',
  envelopeTo: null,
  spam: null,
  authentication: null,
  applyRules: false,
  enforceQuota: false,
  parsed: {
    from: { name: `Person ${n % 300}`, email: `person${n % 300}@elsewhere.test` },
    to: [{ name: '', email: 'hoarder@example.test' }],
    cc: [],
    bcc: [],
    replyTo: [],
    subject: `Letter ${n}`,
    sentAt: null,
    messageId: `<${n}@large.test>`,
    inReplyTo: null,
    references: [],
    text: { value: `The text of letter ${n}.`, r2Key: null },
    html: null,
    headers: [],
    attachments: [],
  },
});

interface Mailbox {
  storeMessages(inputs: StoreMessageInput[]): Promise<{ ok: boolean }>;
}

describe.skipIf(!hasChromium)(`a mailbox of ${COUNT} messages`, () => {
  let server: LocalServer;
  let browser: Browser;
  let mailbox: Mailbox;
  const user = { email: 'hoarder@example.test', token: '', userId: '' };
  const directory = mkdtempSync(join(tmpdir(), 'tessera-large-'));

  beforeAll(async () => {
    const vars = {
      ROOT_TOKEN: 'root',
      MASTER_KEY: Buffer.alloc(32, 1).toString('base64'),
      MAIL_DOMAINS: 'example.test',
      REGISTRATION: 'open',
    };
    // Fill the mailbox with the object's own method, in this process: SMTP is too slow for so many messages.
    [server, browser] = await Promise.all([
      startLocalServer({ host: '127.0.0.1', port: 0, stateDirectory: directory, vars }),
      openChromium(),
    ]);
    const registered = await fetch(`${server.url}/v1/auth/register`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ email: user.email, password: PASSWORD, name: 'Hoarder' }),
    });
    const answer = (await registered.json()) as { token: string; user: { user_id: string } };
    user.token = answer.token;
    const namespace = await server.miniflare.getDurableObjectNamespace('MAILBOX');
    mailbox = namespace.get(namespace.idFromName(answer.user.user_id)) as unknown as Mailbox;
    for (let n = 0; n < COUNT; n += PER_CALL) {
      const inputs = Array.from({ length: Math.min(PER_CALL, COUNT - n) }, (_, at) => toInput(n + at));
      expect((await mailbox.storeMessages(inputs)).ok).toBe(true);
    }
  });
  afterAll(async () => {
    await closeTabs(browser);
    await server?.stop();
    rmSync(directory, { recursive: true, force: true });
  });

  it('scrolls to its middle and its end with few rendered rows, and opens and archives messages there', async () => {
    const { page, troubles } = await signIn(server, browser, user);
    await page.locator('.message-row').first().waitFor();
    const scroller = page.locator('.list-scroll');
    const rows = page.locator('.message-row');
    const scrollTo = (part: number) =>
      scroller.evaluate((element, to) => element.scrollTo(0, (element.scrollHeight - element.clientHeight) * to), part);
    const top = () => scroller.evaluate((element) => element.scrollTop);
    const letter = (n: number) => page.locator('.message-row', { has: page.getByText(`Letter ${n}`, { exact: true }) });
    const messageText = (n: number) => page.locator('article.message').getByText(`The text of letter ${n}.`);
    let mostRows = 0;
    /** Waits until a message is shown. @returns the time in seconds. */
    const awaitLetter = async (n: number) => {
      const startedAt = Date.now();
      await expect
        .poll(
          async () => {
            mostRows = Math.max(mostRows, await rows.count());
            return letter(n).count();
          },
          { timeout: TIMEOUT_MS, interval: 20 },
        )
        .toBe(1);
      return ((Date.now() - startedAt) / 1000).toFixed(2);
    };

    let pages = 0;
    page.on('request', (request) => {
      if (/folders\/[^/]+\/messages/.test(request.url())) pages += 1;
    });
    const middle = Math.round(COUNT / 2);
    await scrollTo(0.5);
    console.log(`the middle of ${COUNT} after ${await awaitLetter(middle)} s`);
    expect(pages).toBeLessThan(4);
    await letter(middle)
      .getByRole('link', { name: /Letter/ })
      .click();
    await messageText(middle).waitFor();
    const before = await top();
    await page.keyboard.press('j');
    await messageText(middle - 1).waitFor();
    // When the open message leaves the middle of the list, the next one must be opened.
    await page.keyboard.press('e');
    await messageText(middle - 2).waitFor();
    await page.keyboard.press('z');
    await letter(middle - 1).waitFor();
    await page.keyboard.press('k');
    await messageText(middle - 1).waitFor();
    await page.keyboard.press('e');
    await messageText(middle - 2).waitFor();
    expect(Math.abs((await top()) - before)).toBeLessThan(1000);

    await scrollTo(1);
    console.log(`the end after ${await awaitLetter(0)} s more`);
    const session = await page.context().newCDPSession(page);
    await session.send('HeapProfiler.collectGarbage');
    await session.send('Performance.enable');
    const { metrics } = await session.send('Performance.getMetrics');
    const metric = (name: string) => metrics.find((one) => one.name === name)?.value ?? 0;
    const heapMiB = metric('JSHeapUsedSize') / 2 ** 20;
    console.log(`heap ${heapMiB.toFixed(0)} MiB, ${metric('Nodes')} nodes, at most ${mostRows} rows drawn`);
    expect(mostRows).toBeLessThan(40);
    // The heap must stay small: the page never holds more than parts of the mailbox.
    expect(heapMiB).toBeLessThan(30);

    // Keys must work at the end of the list too, and new mail at the top must not move it.
    await letter(1)
      .getByRole('link', { name: /Letter/ })
      .click();
    await messageText(1).waitFor();
    await page.keyboard.press('j');
    await messageText(0).waitFor();
    expect((await mailbox.storeMessages([toInput(COUNT)])).ok).toBe(true);
    await page.evaluate(() => document.querySelector('.list-scroll')?.scrollTo(0, 0));
    await letter(COUNT).waitFor();

    await page.getByLabel('Select all that are loaded').check();
    await page.getByText(/\d selected$/).waitFor();
    await page.getByLabel('Clear selection').click();
    await page.getByText(/ selected$/).waitFor({ state: 'detached' });
    expect(troubles).toEqual([]);
    await page.context().close();
  });
});
