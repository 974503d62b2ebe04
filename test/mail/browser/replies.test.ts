/** Tests replies with real keys: no draft without a typed letter, one draft for each message, a folded quote, one undo. */
import type { Page } from 'playwright-core';
import { afterEach, describe, expect, it } from 'vitest';
import { awaitMessage, listFolder, type MailUser, registerUser } from '../../support/mail/mail.ts';
import { eventually, expectAccessible, hasChromium, takePictures } from '../../web/browser/chromium.ts';
import { useStage } from '../../web/browser/stage.ts';
import { importLetters, letter, messageText, openRow, readText, row, signIn } from './mail-page.ts';

describe.skipIf(!hasChromium)('replies', () => {
  const stage = useStage({ vars: { MAIL_HOLD_SECONDS: '0', REGISTRATION: 'open' } });
  const text = (page: Page) => page.getByRole('textbox', { name: 'Message' });
  const isSaved = (page: Page) => page.getByText('Saved in Drafts', { exact: true }).waitFor();
  const isClosed = (page: Page) => page.locator('.compose').waitFor({ state: 'detached' });
  const drafts = async (user: MailUser) => (await listFolder(stage.server, user, 'drafts')).length;

  const open = async (name: string, subject: string, body: string, more = '') => {
    const user = await registerUser(stage.server, `${name}-${crypto.randomUUID().slice(0, 8)}`);
    await importLetters(stage.server, user, [letter(user, 'Other', 'Other words.'), letter(user, subject, body, more)]);
    const tab = await signIn(stage.server, stage.browser, user);
    await openRow(tab.page, subject);
    return { ...tab, user };
  };

  afterEach(async () => {
    for (const context of stage.browser.contexts()) await context.close();
  });

  it('leave no draft if no letter was typed', async () => {
    const boundary = 'Content-Type: multipart/mixed; boundary=cut\n';
    const file =
      '--cut\nContent-Type: text/plain\n\nSee the file.\n--cut\nContent-Type: text/csv\nContent-Disposition: attachment; filename="a.csv"\n\n1,2\n--cut--';
    const { page, user, troubles } = await open('quiet', 'Numbers', file, boundary);
    await messageText(page, 'See the file.').waitFor();
    for (const key of ['r', 'a', 'f']) {
      await page.keyboard.press(key);
      await text(page).waitFor();
      // The forwarded file has been copied, which saves nothing either.
      if (key === 'f') await page.locator('.file-rows').getByText('a.csv').waitFor();
      if (key === 'f') await eventually(() => page.locator('.file-rows progress').count()).toBe(0);
      await page.keyboard.press('Escape');
      await isClosed(page);
    }
    // A letter that was taken back is no text, even if it was saved.
    await page.keyboard.press('r');
    await text(page).waitFor();
    await page.keyboard.type('x');
    await isSaved(page);
    expect(await drafts(user)).toBe(1);
    await page.keyboard.press('Backspace');
    await page.keyboard.press('Escape');
    await isClosed(page);
    await eventually(() => drafts(user)).toBe(0);
    expect(await page.evaluate(() => Object.keys(localStorage).filter((name) => name.includes('writing')))).toEqual([]);
    expect(troubles).toEqual([]);
  });

  it('continue the draft that is there', async () => {
    const { page, user, troubles } = await open('steady', 'Question', 'How are you?');
    await messageText(page, 'How are you?').waitFor();
    await page.keyboard.press('r');
    await text(page).waitFor();
    await page.keyboard.type('Well, ');
    await isSaved(page);
    await page.keyboard.press('Escape');
    await isClosed(page);
    await page.keyboard.press('r');
    await eventually(() => readText(text(page))).toContain('Well, ');
    await page.keyboard.press('Escape');
    await isClosed(page);
    // Another browser, from the list: the conversation is read first.
    const other = await signIn(stage.server, stage.browser, user);
    await openRow(other.page, 'Question');
    await other.page.keyboard.press('r');
    await eventually(() => readText(text(other.page))).toContain('Well, ');
    await other.page.keyboard.press('Control+End');
    await other.page.keyboard.type('thanks.');
    await other.page.keyboard.press('Control+Enter');
    const { body } = await awaitMessage(stage.server, user, 'sent', 'Re: Question');
    expect(body).toMatch(/^Well, thanks\./);
    await eventually(() => drafts(user)).toBe(0);
    expect([...troubles, ...other.troubles]).toEqual([]);
  });

  it('fold the quote of plain text, which follows the text and can be edited', async () => {
    const { page, user, troubles } = await open('folder', 'Plain', 'First line.\nSecond line.');
    await messageText(page, 'First line.').waitFor();
    await page.keyboard.press('r');
    await text(page).waitFor();
    await page.keyboard.type('My answer');
    expect(await readText(text(page))).toBe('My answer');
    await isSaved(page);
    await takePictures(page, 'folded-quote');
    // Without local storage, the page has only the draft, as another device does.
    await page.evaluate(() => localStorage.clear());
    // The folders may arrive after the conversation, and the reply goes on all the same.
    const isAnswered = Promise.withResolvers<void>();
    await page.route(/\/v1\/folders$/, (route) => isAnswered.promise.then(() => route.continue()));
    await page.reload();
    await page.locator('article.message').first().waitFor();
    await page.keyboard.press('r');
    await eventually(() => readText(text(page))).toBe('My answer');
    isAnswered.resolve();
    await page.getByRole('button', { name: 'Show the quoted message' }).click();
    await page.frameLocator('.compose-quote iframe').getByText('> First line.').waitFor();
    await expectAccessible(page);
    await page.getByRole('button', { name: 'Edit quote' }).click();
    await eventually(() => readText(text(page))).toMatch(
      /^My answer\n\nOn .* wrote:\n> First line\.\n> Second line\.$/,
    );
    await page.getByRole('button', { name: 'Send', exact: true }).click();
    const sent = await awaitMessage(stage.server, user, 'sent', 'Re: Plain');
    const { body: message } = await stage.server.call('GET', `/v1/messages/${sent.id}`, undefined, user.token);
    expect(message.html).toBeNull();
    expect(message.body.replaceAll('\r\n', '\n')).toMatch(
      /^My answer\n\nOn .* wrote:\n> First line\.\n> Second line\.\s*$/,
    );
    expect(troubles).toEqual([]);
  });

  it('and other changes offer one undo at a time', async () => {
    const { page, user, troubles } = await open('careful', 'Undone', 'Words to answer.');
    await messageText(page, 'Words to answer.').waitFor();
    const undos = () => page.getByRole('button', { name: /^Undo/ }).filter({ visible: true }).allInnerTexts();
    await page.keyboard.press('r');
    await text(page).waitFor();
    await page.keyboard.type('Yes.');
    await page.keyboard.press('Control+Enter');
    await messageText(page, 'Yes.').waitFor();
    await awaitMessage(stage.server, user, 'sent', 'Re: Undone');
    expect((await undos()).length).toBeLessThanOrEqual(1);
    await page.keyboard.press('u');
    await row(page, 'Other').hover();
    await page.keyboard.press('e');
    await page.getByRole('button', { name: 'Undo', exact: true }).waitFor();
    await page.keyboard.press('e');
    await eventually(() => page.locator('.message-row').count()).toBe(0);
    expect(await undos()).toEqual(['Undo']);
    expect(troubles).toEqual([]);
  });
});
