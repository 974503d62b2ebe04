import type { Page } from 'playwright-core';
import { describe, expect, it } from 'vitest';
import { deliver, letter, messageText, row, signIn, subjects } from '../../mail/browser/mail-page.ts';
import { awaitMessage, registerUser } from '../../support/mail/mail.ts';
import { eventually, hasChromium, openTab } from './chromium.ts';
import { useStage } from './stage.ts';

/** The focused element: its accessible name, and whether the focus is visible. */
interface Focused {
  readonly name: string;
  readonly isSeen: boolean;
}

const focused = (page: Page): Promise<Focused | null> =>
  page.evaluate(() => {
    const element = document.activeElement;
    if (!(element instanceof HTMLElement) || element === document.body) return null;
    const { outlineStyle, outlineColor, boxShadow } = getComputedStyle(element);
    const box = element.getBoundingClientRect();
    // The focus ring of a list row is around the whole row. A focused region that is not a control needs no ring.
    const ring = element.closest('.message-row');
    const isMarked =
      (outlineStyle !== 'none' && outlineColor !== 'rgba(0, 0, 0, 0)') ||
      boxShadow !== 'none' ||
      (ring !== null && getComputedStyle(ring).outlineStyle !== 'none') ||
      element.tabIndex === -1;
    const name =
      element.getAttribute('aria-label') ??
      (element as HTMLInputElement).labels?.[0]?.innerText ??
      element.innerText ??
      '';
    return { name: name.trim(), isSeen: isMarked && box.width > 0 && box.bottom > 0 && box.top < innerHeight };
  });

/** Presses Tab until the focused element has this name. Fails if the focus is not visible on an element on the way. */
async function tabTo(page: Page, name: RegExp, key = 'Tab'): Promise<void> {
  const passed: string[] = [];
  for (let step = 0; step < 60; step += 1) {
    const now = await focused(page);
    if (now && name.test(now.name)) {
      expect(now.isSeen, `the focus is to be seen on ${now.name}`).toBe(true);
      return;
    }
    passed.push(now?.name ?? '–');
    await page.keyboard.press(key);
  }
  throw new Error(`no way to ${name} by ${key}; passed ${passed.join(' | ')}`);
}

const keepsFocus = (page: Page) => eventually(async () => (await focused(page)) !== null).toBe(true);

describe.skipIf(!hasChromium)('with the keyboard alone', () => {
  const stage = useStage({ vars: { MAIL_HOLD_SECONDS: '0', REGISTRATION: 'open' } });

  it('mail: reaches the list and keeps the focus in it when messages leave', async () => {
    const user = await registerUser(stage.server, 'hands');
    for (const subject of ['One', 'Two', 'Three', 'Four']) {
      await deliver(stage.server, user, letter(user, subject, `About ${subject}.`));
      await awaitMessage(stage.server, user, 'inbox', subject);
    }
    const { page, troubles } = await signIn(stage.server, stage.browser, user);
    await eventually(() => subjects(page)).toEqual(['Four', 'Three', 'Two', 'One']);
    await page.keyboard.press('Tab');
    await tabTo(page, /^Skip to content$/);
    await page.keyboard.press('Enter');
    // The skip link must not change the address, which would replace the list.
    expect(await subjects(page)).toHaveLength(4);
    // Match from the start of the element's name, because the text of the whole page contains the word too.
    await tabTo(page, /^Unread\.[\s\S]*Four/);
    await page.keyboard.press('ArrowDown');
    await messageText(page, 'About Three.').waitFor();
    await page.keyboard.press('e');
    await eventually(() => subjects(page)).toEqual(['Four', 'Two', 'One']);
    await eventually(async () => (await focused(page))?.name).toMatch(/Two/);
    await page.keyboard.press('#');
    await eventually(async () => (await focused(page))?.name).toMatch(/One/);
    await page.keyboard.press('ArrowUp');
    await eventually(async () => (await focused(page))?.name).toMatch(/Four/);
    // Dialogs and the compose window must restore the focus when they close, and so must a toast whose button disappears.
    for (const key of ['v', 'l', 'c']) {
      await page.keyboard.press(key);
      await eventually(async () => (await focused(page))?.name ?? '').not.toMatch(/Four/);
      await keepsFocus(page);
      await page.keyboard.press('Escape');
      await eventually(async () => (await focused(page))?.name).toMatch(/Four/);
    }
    await page.keyboard.press('e');
    await eventually(() => subjects(page)).toEqual(['One']);
    await tabTo(page, /^Undo$/);
    // Take the last Undo button: older toasts may still be there, each with its own, and the newest toast is the last.
    await page.getByRole('button', { name: 'Undo' }).last().focus();
    await page.keyboard.press('Enter');
    await row(page, 'Four').waitFor();
    await keepsFocus(page);
    expect(troubles).toEqual([]);
    await page.context().close();
  });

  it('storage: creates a bucket, uploads an object, tags it and deletes it', async () => {
    const key = await stage.server.createAccessKey('hands');
    const { page, troubles } = await openTab(stage.browser);
    page.on('dialog', (dialog) => void dialog.accept());
    await page.goto(`${stage.server.url}/_/storage`);
    await page.getByRole('heading', { name: 'Sign in to storage' }).waitFor();
    await tabTo(page, /^Access key/);
    await page.keyboard.type(key.accessKeyId);
    await page.keyboard.press('Tab');
    await page.keyboard.type(key.secretAccessKey);
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'Buckets' }).waitFor();
    await tabTo(page, /^Name of the new bucket$/);
    await page.keyboard.type('by-hand');
    await page.keyboard.press('Enter');
    await page.getByRole('link', { name: 'by-hand' }).waitFor();
    await tabTo(page, /^by-hand$/);
    await page.keyboard.press('Enter');
    await page.getByRole('region', { name: 'Bucket by-hand' }).waitFor();
    await keepsFocus(page);
    // The file chooser belongs to the browser, so test only that its button can be reached.
    await tabTo(page, /^Upload files$/);
    await page
      .getByLabel('Upload files')
      .setInputFiles([{ name: 'a.txt', mimeType: 'text/plain', buffer: Buffer.from('by hand') }]);
    await page.getByRole('link', { name: 'a.txt' }).waitFor();
    await tabTo(page, /^a\.txt$/);
    await page.keyboard.press('Enter');
    await page.getByText('by hand', { exact: true }).waitFor();
    await tabTo(page, /^Name of a tag$/);
    await page.keyboard.type('colour');
    await page.keyboard.press('Tab');
    await page.keyboard.type('green');
    await page.keyboard.press('Enter');
    await page.getByText('colour: green').waitFor();
    await tabTo(page, /^Remove the tag colour$/, 'Shift+Tab');
    await page.keyboard.press('Enter');
    await page.getByRole('region', { name: 'Tags' }).getByText('None').waitFor();
    await keepsFocus(page);
    await tabTo(page, /^Delete$/);
    await page.keyboard.press('Enter');
    await page.getByText('No object has this name now.').waitFor();
    await keepsFocus(page);
    expect(troubles).toEqual([]);
    await page.context().close();
  });

  it('leaderboard: finds a player and closes the panel', async () => {
    const game = await stage.server.call('POST', '/v1/iam/tokens', { name: 'game', scopes: ['scores:write'] });
    await stage.server.call('POST', '/v1/scores', { user_id: 'p1', points: 7, user_name: 'Ada' }, game.body.token);
    const { page, troubles } = await openTab(stage.browser);
    await page.goto(`${stage.server.url}/_/leaderboard`);
    await page.getByRole('table', { name: 'Top list' }).getByText('Ada').waitFor();
    await tabTo(page, /^Ada$/);
    await page.keyboard.press('Enter');
    await page.getByRole('region', { name: 'Player' }).getByText('p1').waitFor();
    await tabTo(page, /^Close/);
    await page.keyboard.press('Enter');
    await page.getByRole('region', { name: 'Player' }).waitFor({ state: 'detached' });
    await keepsFocus(page);
    await tabTo(page, /^Find a player by id$/, 'Shift+Tab');
    expect(troubles).toEqual([]);
    await page.context().close();
  });

  it('operator: creates and revokes a token', async () => {
    const { page, troubles } = await openTab(stage.browser);
    page.on('dialog', (dialog) => void dialog.accept());
    await page.goto(`${stage.server.url}/_/operator`);
    await tabTo(page, /^Token/);
    await page.keyboard.type(stage.server.rootToken);
    await page.keyboard.press('Enter');
    await page.getByText('All stores are working').waitFor();
    await tabTo(page, /^Tokens$/);
    await page.keyboard.press('Enter');
    await tabTo(page, /^Name/);
    await page.keyboard.type('by hand');
    await tabTo(page, /scores:write/);
    await page.keyboard.press('Space');
    await tabTo(page, /^Create token$/);
    await page.keyboard.press('Enter');
    await page.getByRole('button', { name: 'Revoke by hand' }).waitFor();
    await tabTo(page, /^Revoke\s+by hand$/);
    await page.keyboard.press('Enter');
    await page.getByRole('button', { name: 'Revoke by hand' }).waitFor({ state: 'detached' });
    await keepsFocus(page);
    expect(troubles).toEqual([]);
    await page.context().close();
  });
});
