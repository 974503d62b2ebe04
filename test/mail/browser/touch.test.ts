/** Tests the mail page on a phone: no second tap discards, and targets are large enough for a finger. */
import type { Locator } from 'playwright-core';
import { describe, expect, it } from 'vitest';
import { registerUser } from '../../support/mail/mail.ts';
import { hasChromium, takePictures } from '../../web/browser/chromium.ts';
import { useStage } from '../../web/browser/stage.ts';
import { importLetters, letter, row, signIn } from './mail-page.ts';

const PHONE = { viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true };
/** Half of 44 pixels, less a part of one that rounding may take. */
const REACH_PX = 21;

/** Lists the directions from the middle of a target in which a finger misses it. */
const missesOf = (target: Locator): Promise<string[]> =>
  target.evaluate((element, reach) => {
    const { left, top, width, height } = element.getBoundingClientRect();
    const [x, y] = [left + width / 2, top + height / 2];
    const ends = { left: [-reach, 0], right: [reach, 0], up: [0, -reach], down: [0, reach] };
    return Object.entries(ends).flatMap(([name, [dx = 0, dy = 0]]) => {
      const hit = document.elementFromPoint(x + dx, y + dy);
      return hit && element.contains(hit) ? [] : [name];
    });
  }, REACH_PX);

describe.skipIf(!hasChromium)('mail on a phone', () => {
  const stage = useStage({ vars: { MAIL_HOLD_SECONDS: '0', REGISTRATION: 'open' } });

  it('keeps the window that a double tap on Write opens', async () => {
    const user = await registerUser(stage.server, `thumb-${crypto.randomUUID().slice(0, 8)}`);
    await importLetters(stage.server, user, [letter(user, 'Alpha', 'About Alpha.')]);
    const { page, troubles } = await signIn(stage.server, stage.browser, user, PHONE);
    await row(page, 'Alpha').waitFor();
    const box = await page.locator('.write-round').boundingBox();
    if (!box) throw new Error('The page has no round button.');
    // The second tap is anywhere on the button that was tapped first.
    for (const part of [0.2, 0.5, 0.8]) {
      const [x, y] = [box.x + box.width * part, box.y + box.height * part];
      await page.touchscreen.tap(x, y);
      const window = page.locator('.compose');
      await window.waitFor();
      await page.touchscreen.tap(x, y);
      // If a menu opened, Escape closes only that menu.
      if (await page.locator('.menu:popover-open').count()) await page.keyboard.press('Escape');
      await window.getByLabel('Subject').tap();
      await page.keyboard.type('Still here');
      expect(await window.getByLabel('Subject').inputValue()).toBe('Still here');
      await takePictures(page, 'phone-compose');
      await window.getByRole('button', { name: 'Discard' }).tap();
      await window.waitFor({ state: 'detached' });
    }
    expect(troubles).toEqual([]);
    await page.context().close();
  });

  it('has targets of 44 pixels', async () => {
    const user = await registerUser(stage.server, `finger-${crypto.randomUUID().slice(0, 8)}`);
    await importLetters(stage.server, user, [letter(user, 'Alpha', 'About Alpha.')]);
    const { page } = await signIn(stage.server, stage.browser, user, PHONE);
    await row(page, 'Alpha').waitFor();
    await takePictures(page, 'phone-list');
    expect(await missesOf(page.getByRole('button', { name: 'Folders' }))).toEqual([]);
    expect(await missesOf(row(page, 'Alpha').getByRole('button', { name: 'Flag' }))).toEqual([]);
    expect(await missesOf(row(page, 'Alpha').getByRole('checkbox'))).toEqual([]);
    expect(await missesOf(page.getByRole('checkbox', { name: 'Select all that are loaded' }))).toEqual([]);
    await page.getByRole('button', { name: 'Write', exact: true }).last().tap();
    expect(await missesOf(page.getByRole('button', { name: 'Discard' }))).toEqual([]);
    await page.context().close();
  });
});
