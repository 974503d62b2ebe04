import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type LocalServer, startLocalServer } from '../../dev/local-server.ts';
import type { StoreMessageInput } from '../../durable-objects/mailbox/delivered-message.ts';
import { hasChromium, launchChromium, PATIENCE_MS } from './chromium.ts';
import { PASSWORD, signIn } from './mail-page.ts';

const COUNT = Number(process.env.LARGE_MESSAGES ?? 20_000);
const PER_CALL = 250;

/** Each a conversation of its own, the higher number the newer. */
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

describe.skipIf(!hasChromium)(`a mailbox of ${COUNT} messages`, () => {
  let server: LocalServer;
  let browser: Browser;
  const user = { email: 'hoarder@example.test', token: '', userId: '' };
  const directory = mkdtempSync(join(tmpdir(), 'tessera-large-'));

  beforeAll(async () => {
    const vars = {
      ROOT_TOKEN: 'root',
      MASTER_KEY: Buffer.alloc(32, 1).toString('base64'),
      MAIL_DOMAINS: 'example.test',
      REGISTRATION: 'open',
    };
    // In this process, to fill the mailbox through its own method: no mail server sends 20,000 messages in a minute.
    [server, browser] = await Promise.all([
      startLocalServer({ host: '127.0.0.1', port: 0, stateDirectory: directory, vars }),
      launchChromium(),
    ]);
    const registered = await fetch(`${server.url}/v1/auth/register`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ email: user.email, password: PASSWORD, name: 'Hoarder' }),
    });
    const answer = (await registered.json()) as { user: { user_id: string } };
    const namespace = await server.miniflare.getDurableObjectNamespace('MAILBOX');
    const mailbox = namespace.get(namespace.idFromName(answer.user.user_id)) as unknown as {
      command(name: 'storeMessages', inputs: StoreMessageInput[]): Promise<{ ok: boolean }>;
    };
    for (let n = 0; n < COUNT; n += PER_CALL) {
      const inputs = Array.from({ length: Math.min(PER_CALL, COUNT - n) }, (_, at) => toInput(n + at));
      expect((await mailbox.command('storeMessages', inputs)).ok).toBe(true);
    }
  });
  afterAll(async () => {
    await browser?.close();
    await server?.stop();
    rmSync(directory, { recursive: true, force: true });
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
