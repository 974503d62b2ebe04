/** Tests what all pages share: the rail, the account menu, the command palette, tooltips and monograms. */
import type { Page } from 'playwright-core';
import { beforeAll, describe, expect, it } from 'vitest';
import { importLetters, letter, row, signIn } from '../../mail/browser/mail-page.ts';
import { type MailUser, registerUser } from '../../support/mail/mail.ts';
import { eventually, expectAccessible, hasChromium, openTab } from './chromium.ts';
import { useStage } from './stage.ts';

describe.skipIf(!hasChromium)('the design of all pages', () => {
  const stage = useStage({ vars: { REGISTRATION: 'open' } });
  let user: MailUser;

  beforeAll(async () => {
    user = await registerUser(stage.server, 'looker');
    await importLetters(stage.server, user, [letter(user, 'Alpha', 'One.'), letter(user, 'Beta', 'Two.')]);
  });

  const background = (page: Page) =>
    page.evaluate(() => getComputedStyle(document.body.parentElement as Element).backgroundColor);
  const menu = (page: Page) => page.getByRole('dialog', { name: 'Account and appearance' });
  const openMenu = async (page: Page) => {
    await page.getByRole('button', { name: /^Account/ }).click();
    await menu(page).waitFor();
  };

  it('leads from each product to the others by one rail', async () => {
    const { page, troubles } = await openTab(stage.browser);
    await page.goto(`${stage.server.url}/_/`);
    for (const name of ['Storage', 'Leaderboard', 'Operator', 'Docs', 'Mail']) {
      const rail = page.getByRole('navigation', { name: 'Products' });
      await rail.getByRole('link', { name }).click();
      await rail.locator('a[aria-current="page"]', { hasText: name }).waitFor();
    }
    expect(troubles).toEqual([]);
    await page.context().close();
  });

  it('keeps theme, density and language on the device, and is accessible in each theme', async () => {
    const { page, troubles } = await signIn(stage.server, stage.browser, user, { colorScheme: 'light' });
    await row(page, 'Beta').waitFor();
    const light = await background(page);
    await openMenu(page);
    await expectAccessible(page);
    await menu(page).getByText('Dark', { exact: true }).click();
    await eventually(() => background(page)).not.toBe(light);
    await expectAccessible(page, ['color-contrast']);
    await menu(page).getByText('High contrast').click();
    await eventually(() => background(page)).toBe('rgb(255, 255, 255)');
    await expectAccessible(page, ['color-contrast']);
    const height = async () => (await row(page, 'Beta').boundingBox())?.height ?? 0;
    const comfortable = await height();
    await menu(page).getByText('Compact').click();
    await eventually(height).toBeLessThan(comfortable);
    await page.keyboard.press('Escape');
    await menu(page).waitFor({ state: 'hidden' });
    await page.reload();
    await row(page, 'Beta').waitFor();
    expect(await background(page)).toBe('rgb(255, 255, 255)');
    expect(await height()).toBeLessThan(comfortable);
    // The language changes the format of times: 20:00 in British English is 8:00 PM in American English.
    const times = () => page.locator('.message-row time').first().getAttribute('title');
    const british = await times();
    await openMenu(page);
    await Promise.all([
      page.waitForEvent('load'),
      menu(page).getByLabel('Language, dates and numbers').selectOption('en-US'),
    ]);
    await row(page, 'Beta').waitFor();
    expect(await times()).not.toBe(british);
    expect(await page.locator('html').getAttribute('lang')).toBe('en-US');
    expect(troubles).toEqual([]);
    await page.context().close();
  });

  it('finds a command by its words with Ctrl+K and runs it by keyboard', async () => {
    const { page, troubles } = await signIn(stage.server, stage.browser, user);
    await row(page, 'Beta').waitFor();
    await page.keyboard.press('Control+k');
    const palette = page.getByRole('dialog', { name: 'Command palette' });
    await palette.getByRole('combobox').fill('sent go');
    await expectAccessible(page);
    await eventually(() => palette.getByRole('option').allInnerTexts()).toEqual([
      expect.stringContaining('Go to Sent'),
    ]);
    await page.keyboard.press('Enter');
    await page.getByRole('region', { name: 'Sent' }).waitFor();
    expect(await palette.count()).toBe(0);
    await page.keyboard.press('Control+k');
    await palette.getByRole('combobox').fill('no such thing');
    await palette.getByText('No matching command.').waitFor();
    await page.keyboard.press('Escape');
    await palette.waitFor({ state: 'detached' });
    expect(troubles).toEqual([]);
    await page.context().close();
  });

  it('shows the name and the key of an icon in a tooltip', async () => {
    const { page, troubles } = await signIn(stage.server, stage.browser, user);
    await row(page, 'Beta').hover();
    await row(page, 'Beta').getByRole('button', { name: 'Archive' }).hover();
    const tooltip = page.locator('.tooltip');
    await eventually(() => tooltip.innerText()).toMatch(/^Archive\s*e$/);
    await page.keyboard.press('Escape');
    await tooltip.waitFor({ state: 'detached' });
    expect(troubles).toEqual([]);
    await page.context().close();
  });
});
