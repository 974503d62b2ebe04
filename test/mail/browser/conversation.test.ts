/** Tests replies and forwarded messages: the sent message in its conversation, and the HTML and pictures of the original. */
import type { Page } from 'playwright-core';
import { describe, expect, it } from 'vitest';
import { awaitMessage, awaitSunk, type MailUser, registerUser } from '../../support/mail/mail.ts';
import { startServer } from '../../support/server.ts';
import { eventually, hasChromium } from '../../web/browser/chromium.ts';
import { useStage } from '../../web/browser/stage.ts';
import { deliver, importLetters, letter, messageText, openRow, readText, row, signIn } from './mail-page.ts';

/** A PNG of one pixel. */
const PNG = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg==';

const NEWSLETTER = `MIME-Version: 1.0
Content-Type: multipart/related; boundary=rel

--rel
Content-Type: multipart/alternative; boundary=alt

--alt
Content-Type: text/plain; charset=utf-8

Read online.
--alt
Content-Type: text/html; charset=utf-8

<table width="600" bgcolor="#eeeeee"><tr><td style="color:#aa0000"><b>Spring</b> sale</td></tr></table>
<img src="cid:logo@outside.test" alt="logo"><img src="https://cdn.outside.test/photo.png" alt="photo" width="300" height="200">
<script>top.pwned = 1</script><img src="https://track.outside.test/pixel.gif" width="1" height="1">
--alt--
--rel
Content-Type: image/png; name=logo.png
Content-Transfer-Encoding: base64
Content-ID: <logo@outside.test>
Content-Disposition: inline; filename=logo.png

${PNG}
--rel--
`;

describe.skipIf(!hasChromium)('a conversation', () => {
  const stage = useStage({ vars: { MAIL_HOLD_SECONDS: '2', REGISTRATION: 'open' } });

  const text = (page: Page) => page.getByRole('textbox', { name: 'Message' });
  const cards = (page: Page) => page.locator('article.message');

  async function openNewsletter(name: string): Promise<{ user: MailUser; page: Page; troubles: string[] }> {
    const user = await registerUser(stage.server, name);
    const [head = '', ...body] = NEWSLETTER.split('\n\n');
    await importLetters(stage.server, user, [letter(user, 'Spring', body.join('\n\n'), `${head}\n`)]);
    const { page, troubles } = await signIn(stage.server, stage.browser, user);
    await openRow(page, 'Spring');
    await page.frameLocator('iframe.message-frame').getByText('Spring', { exact: true }).waitFor();
    return { user, page, troubles };
  }

  it('shows a sent reply at once, with an undo, and then the copy of the server', async () => {
    await using patient = await startServer({ vars: { MAIL_HOLD_SECONDS: '600', REGISTRATION: 'open' } });
    const user = await registerUser(patient, 'answerer');
    await deliver(patient, user, letter(user, 'Supper', 'Are you coming?'));
    await awaitMessage(patient, user, 'inbox', 'Supper');
    const { page, troubles } = await signIn(patient, stage.browser, user);
    await openRow(page, 'Supper');
    await messageText(page, 'Are you coming?').waitFor();
    // Hold back the server's answer to the send, so that only this page knows of the reply.
    let answer = (): void => undefined;
    const isHeld = new Promise<void>((resolve) => {
      answer = resolve;
    });
    await page.route('**/v1/messages', async (route) => {
      await isHeld;
      await route.continue();
    });
    await page.keyboard.press('r');
    await text(page).waitFor();
    await page.keyboard.type('With pleasure!');
    await page.keyboard.press('Control+Enter');
    await messageText(page, 'With pleasure!').waitFor();
    await cards(page).last().getByText('Sending…').waitFor();
    expect(await page.locator('.compose').count()).toBe(0);
    answer();
    await eventually(() => cards(page).last().locator('time').count()).toBe(1);
    expect(await cards(page).count()).toBe(2);
    await messageText(page, 'With pleasure!').waitFor();
    await cards(page).last().getByRole('button', { name: 'Undo send' }).click();
    await eventually(() => readText(text(page))).toContain('With pleasure!');
    await eventually(() => cards(page).count()).toBe(2);
    expect(troubles).toEqual([]);
    await page.context().close();
  });

  it('sends one version of a message whose answer was lost before the send was undone', async () => {
    const user = await registerUser(stage.server, 'doubter');
    const { page } = await signIn(stage.server, stage.browser, user);
    await page.keyboard.press('c');
    await page.getByLabel('To', { exact: true }).fill('friend@outside.test');
    await page.getByLabel('Subject').fill('Only once');
    await text(page).fill('first version');
    // The message reaches the server, but the answer does not reach the page.
    await page.route('**/v1/messages', async (route) => {
      await route.fetch();
      await route.abort();
    });
    await page.keyboard.press('Control+Enter');
    await page.getByText('The server cannot be reached. The message is saved').waitFor();
    await page.getByRole('button', { name: 'Undo' }).click();
    await eventually(() => readText(text(page))).toContain('first version');
    await page.unroute('**/v1/messages');
    await text(page).fill('second version');
    await page.keyboard.press('Control+Enter');
    await page.getByText('An earlier version of this message was sent.').waitFor();
    await eventually(() => readText(text(page))).toContain('second version');
    const sunk = await awaitSunk(stage.server, 'the message', (one) => one.raw.includes('Subject: Only once'));
    expect(sunk.raw.toString()).toContain('first version');
    // The user sends the second version too, although the first one was sent.
    await page.keyboard.press('Control+Enter');
    await awaitSunk(stage.server, 'the second version', (one) => one.raw.includes('second version'));
    await page.context().close();
  });

  it('forwards the HTML of a newsletter with its picture, and nothing that it did not show', async () => {
    const { user, page, troubles } = await openNewsletter('forwarder');
    await page.keyboard.press('f');
    await page.getByLabel('To', { exact: true }).fill('friend@outside.test');
    await text(page).fill('Look at this <offer> & tell me.');
    const quote = page.frameLocator('.compose-quote iframe');
    await quote.getByText('Spring', { exact: true }).waitFor();
    await eventually(() => quote.locator('img[data-cid]').evaluate((image: HTMLImageElement) => image.src)).toMatch(
      /^blob:/,
    );
    await eventually(() => page.locator('.file-rows progress').count()).toBe(0);
    await page.keyboard.press('Control+Enter');
    const sunk = await awaitSunk(stage.server, 'the forwarded message', (one) => one.raw.includes('Fwd: Spring'));
    const raw = sunk.raw.toString();
    expect(raw).toContain('Content-Type: multipart/related');
    expect(raw.replaceAll(/\s/g, '')).toContain(PNG);
    const sent = await awaitMessage(stage.server, user, 'sent', 'Fwd: Spring');
    expect(sent.body).toContain('Look at this <offer> & tell me.\n\n---------- Forwarded message');
    expect(sent.body).toContain('Read online.');
    expect(sent.html).toContain('Look at this &lt;offer&gt; &amp; tell me.');
    expect(sent.html).toMatch(/<table width="600"[^>]*bgcolor="#eeeeee"/);
    expect(sent.html).toContain('color:#aa0000');
    expect(sent.html).toContain('https://cdn.outside.test/photo.png');
    expect(sent.html).not.toMatch(/script|track\.outside/);
    const [attachment] = sent.attachments;
    expect(sent.attachments).toHaveLength(1);
    expect(attachment).toMatchObject({ inline: true, content_type: 'image/png' });
    expect(sent.html).toContain(`src="cid:${attachment?.content_id}"`);
    expect(troubles).toEqual([]);
    await page.context().close();
  });

  it('keeps the quoted HTML in a draft, outside the editor, and turns it into plain text on request', async () => {
    const { user, page, troubles } = await openNewsletter('quoter');
    await page.keyboard.press('r');
    await text(page).fill('Thank you.\nGoodbye.');
    await page.getByText('Saved in Drafts', { exact: true }).waitFor();
    await eventually(() => page.locator('.file-rows progress').count()).toBe(0);
    const draft = async () => await awaitMessage(stage.server, user, 'drafts', 'Re: Spring');
    await eventually(async () => (await draft()).attachments.map((one: { inline: boolean }) => one.inline)).toEqual([
      true,
    ]);
    expect((await draft()).html).toContain('<blockquote');
    expect((await draft()).body).toMatch(/^Thank you\.\nGoodbye\.\n\nOn .* wrote:\n> Read online\./);
    // A reload without local storage opens the draft as another browser does: the typed text in the editor, the quote beside it
    // with its picture.
    const other = await signIn(stage.server, stage.browser, user);
    await other.page.goto(`${stage.server.url}/_/mail#/drafts`);
    await openRow(other.page, 'Re: Spring');
    await other.page.getByRole('button', { name: 'Continue writing' }).click();
    await eventually(() => readText(text(other.page))).toBe('Thank you.\nGoodbye.');
    await other.page.getByRole('button', { name: 'Show the quoted message' }).click();
    const picture = other.page.frameLocator('.compose-quote iframe').locator('img[data-cid]');
    await eventually(() => picture.evaluate((image: HTMLImageElement) => image.src)).toMatch(/^blob:/);
    await other.page.getByRole('button', { name: 'Switch to plain text' }).click();
    await eventually(() => readText(text(other.page))).toMatch(
      /^Thank you\.\nGoodbye\.\n\nOn .* wrote:\n> Read online\./,
    );
    await eventually(async () => (await draft()).html).toBeNull();
    await other.page.getByRole('button', { name: 'Undo' }).click();
    await eventually(async () => (await draft()).html).toContain('<blockquote');
    expect([...troubles, ...other.troubles]).toEqual([]);
    await Promise.all([page.context().close(), other.page.context().close()]);
  });

  it('asks once before sending without the announced file', async () => {
    const user = await registerUser(stage.server, 'forgetful');
    const friend = { name: 'Friend', email: 'friend@outside.test' };
    expect((await stage.server.call('POST', '/v1/contacts', friend, user.token)).status).toBe(201);
    const { page } = await signIn(stage.server, stage.browser, user);
    await page.keyboard.press('c');
    await page.getByLabel('To', { exact: true }).fill('friend@outside.test');
    await page.getByLabel('Subject').fill('The report');
    await text(page).fill('See the attached file.');
    await page.keyboard.press('Control+Enter');
    await page.getByText('You mention a file, but nothing is attached.').waitFor();
    await page.getByRole('button', { name: 'Go back' }).click();
    expect(await readText(text(page))).toBe('See the attached file.');
    await page.keyboard.press('Control+Enter');
    await page.getByText('Sent.').waitFor();
    await page.keyboard.press('c');
    await page.getByLabel('To', { exact: true }).fill('friend@outside.test');
    // The keys that send the message must work while a suggestion is open.
    await page.getByRole('option', { name: /friend@outside.test/ }).waitFor();
    await page.keyboard.press('Control+Enter');
    await page.getByText('This message has no subject.').waitFor();
    // The dialog focuses its default action, so Enter sends the message.
    await page.keyboard.press('Enter');
    await page.locator('.compose').waitFor({ state: 'detached' });
    await page.context().close();
  });

  it('selects a range of rows with Shift', async () => {
    const user = await registerUser(stage.server, 'ranger');
    await importLetters(
      stage.server,
      user,
      ['One', 'Two', 'Three', 'Four', 'Five', 'Six'].map((subject) => letter(user, subject, 'Text.')),
    );
    const { page } = await signIn(stage.server, stage.browser, user);
    await row(page, 'Two').getByRole('checkbox').click();
    await row(page, 'Five')
      .getByRole('checkbox')
      .click({ modifiers: ['Shift'] });
    await page.getByText('4 selected').waitFor();
    await row(page, 'Three')
      .getByRole('checkbox')
      .click({ modifiers: ['Shift'] });
    await page.getByText('1 selected').waitFor();
    expect(await row(page, 'Two').getByRole('checkbox').isChecked()).toBe(true);
    await page.context().close();
  });
});
