/** Tests that a second language needs only one file: with it, no page shows English. */
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import type { Dialog, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { enMailCompose } from '../../../web/shared/texts/en-mail-compose.ts';
import { enMailSettings } from '../../../web/shared/texts/en-mail-settings.ts';
import { enOperator } from '../../../web/shared/texts/en-operator.ts';
import { enWelcome } from '../../../web/shared/texts/en-welcome.ts';
import { postPlayers } from '../../leaderboard/browser/leaderboard-page.ts';
import { deliver, letter, PASSWORD } from '../../mail/browser/mail-page.ts';
import { openStore } from '../../storage/browser/storage-page.ts';
import { toGreek } from '../../support/mail/greek.ts';
import { registerUser } from '../../support/mail/mail.ts';
import { eventually, hasChromium, openTab, type Tab, takePictures } from './chromium.ts';
import { listEmptyFolders, listMailStates } from './language-mail-states.ts';
import { listOperatorStates, listPublicStates, listStorageStates, type States } from './language-states.ts';
import { useStage } from './stage.ts';
import { buildTranslated, findEnglish, isEnglish, serveTranslated } from './translation.ts';

const BUILD_MS = 300_000;
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

  async function expectGreekStates(page: Page, states: States, neutral: readonly string[] = []): Promise<void> {
    // Questions of the browser itself are in no element of the page.
    const asked: string[] = [];
    const answer = (dialog: Dialog) => {
      asked.push(dialog.message());
      void dialog.dismiss();
    };
    page.on('dialog', answer);
    for (const [state, show] of Object.entries(states)) {
      await show();
      await eventually(async () => [state, await findEnglish(page, neutral)]).toEqual([state, []]);
    }
    page.off('dialog', answer);
    expect(asked.filter((text) => isEnglish(text, neutral))).toEqual([]);
  }

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
      'sending',
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
      if (tab === 'audit') await page.locator('main td').first().waitFor();
      await expectGreek(page, ['example.test', 'anyone']);
    }
    expect(troubles).toEqual([]);
    await page.context().close();
  });

  it('is on the page of storage', async () => {
    const key = await stage.server.createAccessKey(`4${Date.now()}`);
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

  it('is in menus, errors and empty states of the pages for everyone', async () => {
    const board = `greek-${crypto.randomUUID().slice(0, 8)}`;
    const rules = { title: '7', sort: 'desc', operator: 'sum', period: 'month', public: true };
    await stage.server.call('PUT', `/v1/boards/${board}`, rules);
    const { page, troubles } = await open('/_/');
    await expectGreekStates(page, listPublicStates(page, stage.server.url, board), [board]);
    expect(troubles).toEqual([]);
    await page.context().close();
  });

  it('is in dialogs, menus, errors and empty states of the page of operators', async () => {
    const { page, troubles } = await open('/_/');
    await page.addInitScript(
      (token) => sessionStorage.setItem('tessera.operator.token', token),
      stage.server.rootToken,
    );
    const user = await registerUser(stage.server, `2${Date.now()}`);
    const name = user.email.split('@')[0] ?? '';
    const names = ['MX', 'TXT', 'SRV', 'SPF', 'DMARC', 'DKIM', '_dmarc', '_jmap', '_tcp', 'BLOBS'];
    const neutral = ['example.test', 'anyone', 'Leaderboard', name, ...names];
    await expectGreekStates(page, listOperatorStates(page, stage.server.url, name), neutral);
    expect(troubles).toEqual([]);
    await page.context().close();
  });

  it('is in dialogs, errors and empty states of the page of storage', async () => {
    const key = await stage.server.createAccessKey(`4${Date.now()}`);
    const store = openStore(stage.server, key);
    const bucket = await store.createBucket(true);
    const empty = await store.createBucket();
    await store.put(bucket, '1/2', '3');
    await store.put(bucket, '4', '5');
    const { page, troubles } = await open('/_/');
    await page.addInitScript(
      (text) => sessionStorage.setItem('tessera.storage.key', text),
      JSON.stringify({ ...key, endpoint: stage.server.url }),
    );
    const words = ['aws', 'us-east-1', 'text/plain', 'backup/', 'GET', 'HEAD', 'PUT', 'POST', 'DELETE'];
    const neutral = [bucket, empty, key.accessKeyId, ...words];
    await expectGreekStates(page, listStorageStates(page, stage.server.url, bucket, empty), neutral);
    expect(troubles).toEqual([]);
    await page.context().close();
  });

  it('is in dialogs, menus, errors and empty states of mail', async () => {
    const user = await registerUser(stage.server, `3${Date.now()}`);
    const { page, troubles } = await open('/_/mail');
    const neutral = [user.email, user.email.split('@')[0] ?? '', 'Carol', 'Chrome', 'Linux'];
    await page.getByLabel(word('Address')).fill(user.email);
    await page.getByLabel(word('Password')).fill(PASSWORD);
    await page.keyboard.press('Enter');
    await page.locator('.list-pane').waitFor();
    await expectGreekStates(page, listEmptyFolders(page, stage.server.url), neutral);
    const list = 'List-Unsubscribe: <mailto:1@lists.test>\nContent-Type: text/plain\n';
    await deliver(stage.server, user, letter(user, '27', '28', list));
    await expectGreekStates(page, listMailStates(page, stage.server.url), neutral);
    expect(troubles).toEqual([]);
    await page.context().close();
  });
});
