/** Tests that type: messages are written with the keyboard alone, and no letter in a window is a command for the list behind it. */
import type { Page } from 'playwright-core';
import { afterEach, describe, expect, it } from 'vitest';
import { awaitMessage, type MailUser, registerUser } from '../../support/mail/mail.ts';
import { eventually, hasChromium, takePictures } from '../../web/browser/chromium.ts';
import { useStage } from '../../web/browser/stage.ts';
import {
  importLetters,
  letter,
  messageText,
  openRow,
  readText,
  row,
  signIn,
  subjects,
  switchFormat,
} from './mail-page.ts';
import { collectChanges, focusableIn, randomText, readMailbox, seededRandom } from './typing.ts';
import { DIALOGS, WRITING } from './typing-scenes.ts';

const seed = Number(process.env.SEED ?? Math.floor(Math.random() * 2 ** 32));
const TEXTS = 200;

const text = (page: Page) => page.getByRole('textbox', { name: 'Message' });
const focusedName = (page: Page) =>
  page.evaluate(() => {
    const element = document.activeElement as HTMLInputElement | null;
    return element?.getAttribute('aria-label') ?? element?.labels?.[0]?.innerText ?? element?.innerText ?? '';
  });

describe.skipIf(!hasChromium)('typing', () => {
  const stage = useStage({ vars: { MAIL_HOLD_SECONDS: '0', REGISTRATION: 'open' } });
  const LETTERS = ['Alpha', 'Beta', 'Gamma', 'Delta', 'Epsilon', 'Zeta'];

  const makeUser = async (name: string): Promise<MailUser> => {
    const user = await registerUser(stage.server, `${name}-${crypto.randomUUID().slice(0, 8)}`);
    await importLetters(
      stage.server,
      user,
      LETTERS.map((subject) => letter(user, subject, `About ${subject}.`)),
    );
    return user;
  };
  const enter = async (user: MailUser) => {
    const tab = await signIn(stage.server, stage.browser, user);
    await row(tab.page, 'Alpha').waitFor();
    return tab;
  };
  const read = (user: MailUser) => readMailbox(stage.server, user, new Set());

  afterEach(async () => {
    for (const context of stage.browser.contexts()) await context.close();
  });

  it('writes a message: c, address, Tab, subject, Tab, text, Ctrl+Enter', async () => {
    const user = await makeUser('writer');
    const before = await read(user);
    const { page, troubles } = await enter(user);
    await page.keyboard.press('c');
    await page.keyboard.type(user.email);
    await page.keyboard.press('Tab');
    await page.keyboard.type('See the report here');
    await page.keyboard.press('Tab');
    await page.keyboard.type('There are three errors in there.');
    await page.keyboard.press('Enter');
    await page.keyboard.type('Yours');
    await takePictures(page, 'typed-message');
    await page.keyboard.press('Control+Enter');
    const sent = await awaitMessage(stage.server, user, 'inbox', 'See the report here');
    expect(sent.body.trim().replaceAll('\r\n', '\n')).toBe('There are three errors in there.\nYours');
    expect(sent.to.map((one: { email: string }) => one.email)).toEqual([user.email]);
    expect([sent.cc, sent.bcc ?? []]).toEqual([[], []]);
    const after = (await read(user)).filter((line) => !line.includes('See the report here'));
    expect(after).toEqual(before);
    expect(troubles).toEqual([]);
  });

  it('opens Cc and Bcc by keys and by the button, and what is typed at once is an address', async () => {
    const user = await makeUser('copier');
    const before = await read(user);
    const { page, troubles } = await enter(user);
    await page.keyboard.press('c');
    await page.keyboard.type(`${user.email},`);
    await page.keyboard.press('Control+Shift+C');
    await page.keyboard.type('cc@example.test,');
    await page.keyboard.press('Control+Shift+B');
    await page.keyboard.type('there@example.test');
    await page.keyboard.press('Tab');
    await page.keyboard.type('Copies');
    await eventually(() => page.locator('.chip').allInnerTexts()).toEqual([
      user.email,
      'cc@example.test',
      'there@example.test',
    ]);
    expect(await page.getByRole('combobox', { name: 'Bcc' }).inputValue()).toBe('');
    await page.keyboard.press('Shift+Tab');
    await eventually(() => focusedName(page)).toBe('Bcc');
    await page.keyboard.press('Escape');
    await page.locator('.compose').waitFor({ state: 'detached' });
    // The button, with the pointer: the field has the focus at once.
    await page.keyboard.press('c');
    await page.keyboard.type(user.email);
    await page.getByRole('button', { name: 'Cc, Bcc' }).click();
    await page.keyboard.type('there@example.test');
    await eventually(() => page.getByRole('combobox', { name: 'Cc', exact: true }).inputValue()).toBe(
      'there@example.test',
    );
    expect(await subjects(page)).toHaveLength(LETTERS.length);
    expect(await read(user)).toEqual(before);
    expect(troubles).toEqual([]);
  });

  it('keeps the keys that are typed before the window is there for its first field', async () => {
    const user = await makeUser('hasty');
    const before = await read(user);
    const { page, troubles } = await signIn(stage.server, stage.browser, user);
    let release = () => {};
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    await page.route('**/assets/compose-*.js', async (route) => {
      await held;
      await route.continue();
    });
    await row(page, 'Alpha').waitFor();
    await page.keyboard.press('c');
    await page.keyboard.type(`${user.email},`);
    await page.keyboard.press('Tab');
    await page.keyboard.type('Early beer');
    await page.keyboard.press('Backspace');
    await page.keyboard.press('Backspace');
    await page.keyboard.type('es');
    await page.keyboard.press('Tab');
    await page.keyboard.type('hre');
    await page.keyboard.press('ArrowLeft');
    await page.keyboard.press('ArrowLeft');
    await page.keyboard.type('e');
    await page.keyboard.press('End');
    await page.keyboard.press('Enter');
    await page.keyboard.type('and there');
    expect(await page.locator('.compose').count()).toBe(0);
    release();
    await eventually(() => readText(text(page))).toBe('here\nand there');
    expect(await page.getByLabel('Subject').inputValue()).toBe('Early bees');
    expect(await page.locator('.chip').allInnerTexts()).toEqual([user.email]);
    await page.keyboard.type('!');
    await eventually(() => readText(text(page))).toBe('here\nand there!');
    expect(await read(user)).toEqual(before);
    expect(troubles).toEqual([]);
  });

  it('keeps the keys for a reply whose message is still loading', async () => {
    const user = await makeUser('prompt');
    const { page, troubles } = await enter(user);
    let release = () => {};
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    await page.route(/\/v1\/(?:messages|threads)\//, async (route) => {
      if (route.request().method() === 'GET') await held;
      await route.continue();
    });
    const changes = collectChanges(page);
    await page.keyboard.press('j');
    await page.keyboard.press('r');
    await page.keyboard.type('there!');
    release();
    await page.getByRole('button', { name: 'Edit quote' }).waitFor();
    await eventually(() => readText(text(page))).toBe('there!');
    expect(changes.filter((change) => !change.includes('is_read'))).toEqual([]);
    expect(await subjects(page)).toHaveLength(LETTERS.length);
    expect(troubles).toEqual([]);
  });

  it('goes on typing at the same place after the switch to formatted text, and after the switch back', async () => {
    const user = await makeUser('formatter');
    const { page, troubles } = await enter(user);
    await page.keyboard.press('c');
    await page.keyboard.type(`${user.email},`);
    await page.keyboard.press('Tab');
    await page.keyboard.type('Formats');
    await page.keyboard.press('Tab');
    await page.keyboard.type('First line');
    await page.keyboard.press('Enter');
    await page.keyboard.type('Hello Mira, you');
    for (const _ of ' you') await page.keyboard.press('ArrowLeft');
    await switchFormat(page, 'Switch to plain text');
    await page.keyboard.type(' here is ');
    await eventually(() => text(page).inputValue()).toBe('First line\nHello Mira, here is  you');
    await page.getByRole('button', { name: 'Format the text' }).click();
    await page.keyboard.type('for');
    await eventually(() => readText(text(page))).toBe('First line\nHello Mira, here is for you');
    await takePictures(page, 'format-switch');
    // By keys alone: Tab to the button, Space, and the text is typed at its end.
    await switchFormat(page, 'Switch to plain text');
    await page.keyboard.press('Control+End');
    for (let step = 0; step < 8 && (await focusedName(page)) !== 'Format the text'; step += 1)
      await page.keyboard.press('Tab');
    await page.keyboard.press('Space');
    await page.keyboard.type(' and me');
    await eventually(() => text(page).innerText()).toMatch(/for you and me$/);
    expect(troubles).toEqual([]);
  });

  it('acts on nothing while a window, dialog, menu or panel has the focus', async () => {
    console.log(`SEED=${seed}`);
    const random = seededRandom(seed);
    const user = await makeUser('monkey');
    const { page, troubles } = await enter(user);
    await openRow(page, 'Gamma');
    await messageText(page, 'About Gamma.').waitFor();
    await eventually(async () => (await read(user)).filter((line) => line.includes('"is_read":true'))).toHaveLength(1);
    const before = await read(user);
    const changes = collectChanges(page);
    const scenes = [...DIALOGS, ...WRITING];
    for (const [at, scene] of scenes.entries()) {
      await scene.open(page);
      const root = scene.root(page);
      await root.waitFor();
      const elements = focusableIn(root);
      const texts = Math.floor((TEXTS * (at + 1)) / scenes.length) - Math.floor((TEXTS * at) / scenes.length);
      for (let count = 0; count < texts; count += 1) {
        const typed = randomText(random);
        const element = elements.nth(Math.floor(random() * (await elements.count())));
        await element.focus();
        await page.keyboard.type(typed);
        expect([scene.name, typed, changes]).toEqual([scene.name, typed, []]);
      }
      expect([scene.name, await root.isVisible()]).toEqual([scene.name, true]);
      // A press on the bare ground of the window takes the focus to the body of the page.
      if (scene.bare) {
        await scene.bare(page);
        await page.keyboard.type('there#e!');
      }
      await scene.close(page);
      await root.waitFor({ state: 'hidden' });
      expect([scene.name, await read(user)]).toEqual([scene.name, before]);
    }
    expect(await subjects(page)).toHaveLength(LETTERS.length);
    expect(changes).toEqual([]);
    // The same keys are commands as soon as the list has the focus again.
    await openRow(page, 'Gamma');
    await page.keyboard.press('e');
    await row(page, 'Gamma').waitFor({ state: 'detached' });
    expect(troubles).toEqual([]);
  });
});
