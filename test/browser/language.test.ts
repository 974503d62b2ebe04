/** Tests that a second language needs only one file: with it, no page shows English. */
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { enMailCompose } from '../../web/shared/texts/en-mail-compose.ts';
import { enMailSettings } from '../../web/shared/texts/en-mail-settings.ts';
import { enOperator } from '../../web/shared/texts/en-operator.ts';
import { enWelcome } from '../../web/shared/texts/en-welcome.ts';
import { toGreek } from '../support/greek.ts';
import { registerUser } from '../support/mail.ts';
import { eventually, hasChromium, openTab, type Tab, takePictures } from './chromium.ts';
import { postPlayers } from './leaderboard-page.ts';
import { deliver, letter, PASSWORD } from './mail-page.ts';
import { useStage } from './stage.ts';
import { openStore } from './storage-page.ts';
import { buildTranslated, serveTranslated } from './translation.ts';

const BUILD_MS = 300_000;
/** Texts that are the same in every language: addresses, hosts, ids, units, names of products, of settings and of tools. */
const NEUTRAL =
  /\S+@\S*|https?:\/\/\S+|\b[0-9a-f]{8}-[0-9a-f-]+|\b[A-Z]+(?:_[A-Z0-9]+)+\b|\b[a-z]+(?:[._:][a-z0-9]+)+\b|\b\d+(?:\.\d+)? [KMG]B\b|\b(?:Tessera|curl|TypeScript|UTC|USD)\b/g;

/** Finds English texts that the page shows or reads out: words in Latin letters. The second language has Greek letters. */
async function findEnglish(page: Page, neutral: readonly string[] = []): Promise<string[]> {
  const shown = await page.evaluate(() => {
    const CODE = 'code, kbd, pre, samp, script, style, [lang]:not(html), [data-language-neutral]';
    const found: string[] = [];
    const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    for (let node = walker.nextNode(); node; node = walker.nextNode()) {
      const parent = node.parentElement;
      if (parent && !parent.closest(CODE) && parent.closest('option, :not(:empty)')?.checkVisibility())
        found.push(node.textContent ?? '');
    }
    for (const element of document.querySelectorAll('[aria-label], [title], [placeholder], [alt], [data-tip]'))
      if (!element.closest(CODE) && element.checkVisibility())
        for (const name of ['aria-label', 'title', 'placeholder', 'alt', 'data-tip'])
          found.push(element.getAttribute(name) ?? '');
    return [...found, document.title];
  });
  const without = (text: string) =>
    neutral.reduce((rest, part) => rest.replaceAll(part, ''), text).replaceAll(NEUTRAL, '');
  return [...new Set(shown.filter((text) => /[a-z]{2}/i.test(without(text))).map((text) => text.trim()))];
}

describe.skipIf(!hasChromium)('a second language', () => {
  const stage = useStage({ vars: { REGISTRATION: 'open', OWN_ACCESS_KEYS: 'true', MAIL_HOLD_SECONDS: '0' } });
  let pages: string;

  beforeAll(() => {
    pages = buildTranslated();
  }, BUILD_MS);
  afterAll(() => {
    if (pages) rmSync(join(pages, '../../..'), { recursive: true, force: true });
  });

  async function open(path: string): Promise<Tab> {
    const tab = await openTab(stage.browser, { locale: 'el-GR', serviceWorkers: 'block' });
    await serveTranslated(tab.page.context(), pages);
    await tab.page.goto(stage.server.url + path);
    return tab;
  }
  const word = (english: string) => toGreek(english);
  /** Expects no English on a page. The caller first waits for a part of the page's content. */
  const expectGreek = (page: Page, neutral: readonly string[] = []) =>
    eventually(() => findEnglish(page, neutral)).toEqual([]);

  it('is on the pages for everyone', async () => {
    await postPlayers(stage.server);
    const players = Array.from({ length: 40 }, (_, n) => [`Player ${n}`, `player-${n}`]).flat();
    const { page, troubles } = await open('/_/');
    await page.getByRole('heading', { name: word(enWelcome.page.threeServicesOnePlace) }).waitFor();
    await expectGreek(page);
    await page.goto(`${stage.server.url}/_/nowhere`);
    await page.getByRole('heading', { name: word('Page not found') }).waitFor();
    await expectGreek(page);
    await page.goto(`${stage.server.url}/_/leaderboard#/?player=player-7`);
    await page
      .getByRole('region', { name: word('Player') })
      .getByText(word('points'))
      .waitFor();
    await expectGreek(page, players);
    await page.getByText(word('Put this board on your own page')).click();
    await page.getByText(word('Preview')).or(page.locator('.embed-preview')).first().waitFor();
    await expectGreek(page, players);
    await takePictures(page, 'Board in Greek letters');
    await page.goto(`${stage.server.url}/_/embed/leaderboard`);
    await page.getByText(word('The whole board')).waitFor();
    await expectGreek(page, players);
    for (const [path, text] of [
      ['mail', 'Sign in to mail'],
      ['storage', 'Sign in to storage'],
      ['operator', 'With a token'],
    ] as const) {
      await page.goto(`${stage.server.url}/_/${path}`);
      await page.getByText(word(text)).first().waitFor();
      await expectGreek(page);
    }
    expect(troubles).toEqual([]);
    await page.context().close();
  });

  it('is on the page of operators', async () => {
    const { page, troubles } = await open('/_/');
    await page.addInitScript(
      (token) => sessionStorage.setItem('tessera.operator.token', token),
      stage.server.rootToken,
    );
    for (const tab of [
      'overview',
      'outbound',
      'quarantine',
      'domains',
      'storage',
      'quotas',
      'boards',
      'users',
      'tokens',
      'audit',
    ] as const) {
      await page.goto(`${stage.server.url}/_/operator#/${tab === 'overview' ? '' : tab}`);
      await page.locator('main a[aria-current="page"]', { hasText: word(enOperator.tabs[tab]) }).waitFor();
      await page.locator('main').getByRole('heading').first().waitFor();
      await expectGreek(page, ['example.test', 'anyone']);
    }
    expect(troubles).toEqual([]);
    await page.context().close();
  });

  it('is on the page of storage', async () => {
    const key = await stage.server.createAccessKey(`greek-${crypto.randomUUID().slice(0, 8)}`);
    const store = openStore(stage.server, key);
    const bucket = await store.createBucket(true);
    await store.put(bucket, '1/2', '3');
    await store.put(bucket, '4', '5');
    const { page, troubles } = await open('/_/');
    await page.addInitScript(
      (text) => sessionStorage.setItem('tessera.storage.key', text),
      JSON.stringify({ ...key, endpoint: stage.server.url }),
    );
    const neutral = [bucket, 'aws', 'us-east-1', key.accessKeyId];
    for (const hash of [
      '',
      `b/${bucket}`,
      ...['versions', 'jobs', 'settings', 'connect'].map((tab) => `b/${bucket}/${tab}`),
      'keys',
    ]) {
      await page.goto(`${stage.server.url}/_/storage#/${hash}`);
      await page.locator('main').getByRole('navigation').first().waitFor();
      await expectGreek(page, neutral);
    }
    expect(troubles).toEqual([]);
    await page.context().close();
  });

  it('is on the page of mail, its compose window and its settings', async () => {
    const user = await registerUser(stage.server, `1${Date.now()}`);
    await deliver(stage.server, user, letter(user, '17', '18'));
    const { page, troubles } = await open('/_/mail');
    const neutral = [user.email, user.email.split('@')[0] ?? '', 'Carol', 'Chrome', 'Linux', 'Re: 17'];
    await page.getByLabel(word('Address')).fill(user.email);
    await page.getByLabel(word('Password')).fill(PASSWORD);
    await page.keyboard.press('Enter');
    await page.getByText('17', { exact: true }).first().click();
    await page.getByText('18', { exact: true }).first().waitFor();
    await expectGreek(page, neutral);
    await takePictures(page, 'Mail in Greek letters');
    await page.keyboard.press('r');
    await page.getByRole('button', { name: word(enMailCompose.window.send), exact: true }).waitFor();
    await expectGreek(page, neutral);
    for (const tab of Object.keys(enMailSettings.profile.tabs)) {
      await page.goto(`${stage.server.url}/_/mail#/settings/${tab}`);
      await page.getByRole('heading', { name: word(enMailSettings.profile.settings), exact: true }).waitFor();
      await expectGreek(page, neutral);
    }
    expect(troubles).toEqual([]);
    await page.context().close();
  });
});
