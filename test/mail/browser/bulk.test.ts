/** Tests actions on whole folders and on all mail of a sender, also what is not loaded, with real keys and the pointer. */
import type { Page } from 'playwright-core';
import { afterEach, describe, expect, it } from 'vitest';
import { listFolder, type MailUser, registerUser } from '../../support/mail/mail.ts';
import { eventually, expectAccessible, hasChromium, takePictures } from '../../web/browser/chromium.ts';
import { useStage } from '../../web/browser/stage.ts';
import { importLetters, letter, row, signIn } from './mail-page.ts';

const LETTERS = 130;

describe.skipIf(!hasChromium)('many messages at once', () => {
  const stage = useStage({ vars: { REGISTRATION: 'open' } });
  const head = (page: Page) => page.locator('.list-head');
  const count = async (user: MailUser, role: string) => {
    const { body: folders } = await stage.server.call('GET', '/v1/folders', undefined, user.token);
    return folders.find((folder: { role: string }) => folder.role === role).total as number;
  };

  const open = async (name: string) => {
    const user = await registerUser(stage.server, `${name}-${crypto.randomUUID().slice(0, 8)}`);
    const letters = Array.from({ length: LETTERS }, (_, at) => {
      const raw = letter(user, `Letter ${at}`, 'Words.');
      return at % 13 === 0 ? raw.replace('From: Carol <carol@outside.test>', 'From: News <news@list.test>') : raw;
    });
    await importLetters(stage.server, user, letters);
    const tab = await signIn(stage.server, stage.browser, user);
    await tab.page.locator('.message-row').first().waitFor();
    return { ...tab, user };
  };

  afterEach(async () => {
    for (const context of stage.browser.contexts()) await context.close();
  });

  it('are all of the folder, which are archived and come back with Undo', async () => {
    const { page, user, troubles } = await open('tidy');
    await page.keyboard.press('*');
    await page.keyboard.press('a');
    await page.getByRole('button', { name: `Select all ${LETTERS} in this folder` }).click();
    await head(page).getByText(`${LETTERS} selected`).waitFor();
    await expectAccessible(page);
    await takePictures(page, 'whole-folder');
    await head(page).getByRole('button', { name: 'Archive' }).click();
    await eventually(() => count(user, 'archive')).toBe(LETTERS);
    expect(await count(user, 'inbox')).toBe(0);
    await eventually(() => page.locator('.message-row').count()).toBe(0);
    await page.getByRole('button', { name: 'Undo', exact: true }).click();
    await eventually(() => count(user, 'inbox')).toBe(LETTERS);
    expect(troubles).toEqual([]);
  });

  it('are all of one sender, which go to Junk', async () => {
    const { page, user, troubles } = await open('swept');
    const news = Math.ceil(LETTERS / 13);
    await row(page, `Letter ${13 * (news - 1)}`)
      .getByRole('checkbox')
      .click();
    await page.getByRole('button', { name: 'Select all from News' }).click();
    await head(page).getByText(`${news} selected`).waitFor();
    await head(page).getByRole('button', { name: 'Mark as junk' }).click();
    await eventually(() => count(user, 'junk')).toBe(news);
    expect(await count(user, 'inbox')).toBe(LETTERS - news);
    const moved = await listFolder(stage.server, user, 'junk');
    expect(new Set(moved.map((one: { from: { email: string } }) => one.from.email))).toEqual(
      new Set(['news@list.test']),
    );
    expect(troubles).toEqual([]);
  });

  it('are only the selected rows as soon as the selection changes, and can be snoozed', async () => {
    const { page, user, troubles } = await open('chooser');
    await head(page).getByRole('checkbox').click();
    await page.getByRole('button', { name: `Select all ${LETTERS} in this folder` }).click();
    await head(page).getByText(`${LETTERS} selected`).waitFor();
    await head(page).getByRole('checkbox').click();
    await row(page, `Letter ${LETTERS - 1}`)
      .getByRole('checkbox')
      .click();
    await head(page).getByText('1 selected').waitFor();
    await head(page).getByRole('button', { name: 'Snooze' }).click();
    await page.keyboard.press('Enter');
    await eventually(() => count(user, 'inbox')).toBe(LETTERS - 1);
    await page.getByRole('button', { name: 'Undo', exact: true }).click();
    await eventually(() => count(user, 'inbox')).toBe(LETTERS);
    expect(troubles).toEqual([]);
  });
});
