import type { Page } from 'playwright-core';
import { describe, expect, it } from 'vitest';
import { awaitMessage, listFolder, type MailUser, registerUser } from '../../support/mail/mail.ts';
import { eventually, expectAccessible, hasChromium, TIMEOUT_MS, takePictures } from '../../web/browser/chromium.ts';
import { useStage } from '../../web/browser/stage.ts';
import { deliver, folder, letter, openRow, readText, signIn } from './mail-page.ts';

describe.skipIf(!hasChromium)('a draft that is edited in two places', () => {
  const stage = useStage({ vars: { MAIL_HOLD_SECONDS: '0', REGISTRATION: 'open' } });

  const text = (page: Page) => page.getByRole('textbox', { name: 'Message' });
  const isSaved = (page: Page) => page.getByText('Saved in Drafts', { exact: true }).waitFor();
  const alarm = (page: Page) => page.getByText('This message was changed in another tab or on another device.');
  const bodies = async (user: MailUser): Promise<string[]> => {
    const list = await listFolder(stage.server, user, 'drafts');
    const drafts = await Promise.all(
      list.map((one) => stage.server.call('GET', `/v1/drafts/${one.id}`, undefined, user.token)),
    );
    return drafts.map((draft) => draft.body.body).sort();
  };

  async function makeDraft(user: MailUser, draft: Record<string, unknown>): Promise<string> {
    const made = await stage.server.call('POST', '/v1/drafts', draft, user.token);
    expect(made.status).toBe(201);
    return made.body.id;
  }
  /** Opens a draft from the Drafts folder, as a user does. */
  async function openDraft(page: Page, subject: string): Promise<void> {
    await folder(page, 'Drafts').click();
    await openRow(page, subject);
    await page.getByRole('button', { name: 'Continue writing' }).click();
    await text(page).waitFor();
  }

  it('shows the newest text in a tab without other changes, and closes once the draft is sent elsewhere', async () => {
    const user = await registerUser(stage.server, 'calm');
    await makeDraft(user, { subject: 'Soup', body: 'Carrots', to: [{ email: user.email }] });
    const { page, troubles } = await signIn(stage.server, stage.browser, user);
    const other = await page.context().newPage();
    other.setDefaultTimeout(TIMEOUT_MS);
    await other.goto(`${stage.server.url}/_/mail`);
    await openDraft(page, 'Soup');
    await openDraft(other, 'Soup');
    await text(page).fill('Carrots and leeks');
    await eventually(() => readText(text(other))).toBe('Carrots and leeks');
    await text(other).fill('Carrots, leeks and salt');
    await eventually(() => readText(text(page))).toBe('Carrots, leeks and salt');
    await page.getByRole('button', { name: 'Send', exact: true }).click();
    await other.locator('.compose').waitFor({ state: 'detached' });
    await awaitMessage(stage.server, user, 'inbox', 'Soup');
    expect(await bodies(user)).toEqual([]);
    expect(troubles).toEqual([]);
    await page.context().close();
  });

  it('keeps the formatting of another program until the user removes it', async () => {
    const user = await registerUser(stage.server, 'formatter');
    const html = '<p>Carrots <b>and</b> leeks</p>';
    const id = await makeDraft(user, { subject: 'Formatted', html, to: [{ email: user.email }] });
    const read = async () => (await stage.server.call('GET', `/v1/drafts/${id}`, undefined, user.token)).body;
    const { page, troubles } = await signIn(stage.server, stage.browser, user);
    await openDraft(page, 'Formatted');
    expect(await readText(text(page))).toContain('Carrots and leeks');
    expect(await text(page).isEditable()).toBe(false);
    await page.getByLabel('Subject').fill('Formatted soup');
    await eventually(async () => (await read()).subject).toBe('Formatted soup');
    expect((await read()).html).toBe(html);
    await page.getByRole('button', { name: 'Switch to plain text' }).click();
    await text(page).fill('Carrots and salt');
    await eventually(async () => (await read()).body).toBe('Carrots and salt');
    expect((await read()).html).toBeNull();
    await page.getByRole('button', { name: 'Undo' }).click();
    await eventually(async () => (await read()).html).toBe(html);
    await page.getByRole('button', { name: 'Send', exact: true }).click();
    const sent = await awaitMessage(stage.server, user, 'inbox', 'Formatted soup');
    expect(sent.html).toContain('<b>and</b>');
    expect(troubles).toEqual([]);
    await page.context().close();
  });

  it('cannot cover the page, even if a program wrote it, and keeps its ordinary formatting', async () => {
    const user = await registerUser(stage.server, 'covered');
    const start = '<div class="tessera-rich" dir="auto" style="white-space:pre-wrap">';
    const place = 'position:fixed;inset:0;background:#fff;z-index:99999';
    const layer = `<div style="${place}" title="layer">Type your password</div>`;
    const large = '<div title="large" style="margin:-2000px;width:5000px;height:5000px;background:#fff">x</div>';
    const html = `${start}${layer}${large}<b>Carrots</b></div>`;
    const id = await makeDraft(user, { subject: 'Layer', html, body: 'Carrots', to: [{ email: user.email }] });
    const { page, troubles } = await signIn(stage.server, stage.browser, user);
    // The page is a wall of its own: the server's answer is replaced by what an earlier version stored.
    await page.route(`**/v1/drafts/${id}`, async (route) => {
      const response = await route.fetch();
      await route.fulfill({ response, json: { ...(await response.json()), html } });
    });
    await openDraft(page, 'Layer');
    await text(page).getByText('Type your password').waitFor();
    /** Points of the page outside the editor at which an element of the editor is on top. */
    const covered = () =>
      text(page).evaluate((editor) => {
        const { left, right, top, bottom } = editor.getBoundingClientRect();
        const points: string[] = [];
        for (let x = 5; x < innerWidth; x += 20)
          for (let y = 5; y < innerHeight; y += 20) {
            const isInside = x >= left && x <= right && y >= top && y <= bottom;
            if (!isInside && editor.contains(document.elementFromPoint(x, y))) points.push(`${x},${y}`);
          }
        return points;
      });
    expect(await covered()).toEqual([]);
    const position = await text(page)
      .getByTitle('layer')
      .evaluate((element) => getComputedStyle(element).position);
    expect(position).toBe('static');
    expect(await text(page).locator('b').innerText()).toBe('Carrots');
    // The editor is the second wall: a layer that no cleaner saw stays in it.
    await text(page)
      .getByTitle('layer')
      .evaluate((element, style) => {
        (element as HTMLElement).style.cssText = style;
      }, place);
    expect(await covered()).toEqual([]);
    expect(troubles).toEqual([]);
    await page.context().close();
  });

  it('keeps reply address, importance, header fields and what it forwards through an edit, and sends them', async () => {
    const user = await registerUser(stage.server, 'keeper');
    await deliver(stage.server, user, letter(user, 'Original', 'To pass on.'));
    const source = await awaitMessage(stage.server, user, 'inbox', 'Original');
    await makeDraft(user, {
      to: [{ email: user.email }],
      subject: 'Full draft',
      body: 'First.',
      reply_to: [{ name: 'Desk', email: 'desk@example.test' }],
      importance: 'high',
      headers: [{ name: 'X-Ticket', value: '4711' }],
      forward_of: source.id,
    });
    const { page, troubles } = await signIn(stage.server, stage.browser, user);
    await openDraft(page, 'Full draft');
    await page.getByLabel('Reply to: recipients').getByText('Desk').waitFor();
    await page.getByRole('region', { name: 'New message' }).getByText('High importance').waitFor();
    await expectAccessible(page);
    await takePictures(page, 'draft-options');
    await text(page).fill('Second.');
    await isSaved(page);
    await eventually(() => bodies(user)).toEqual(['Second.']);
    const [saved] = await listFolder(stage.server, user, 'drafts');
    const draft = await stage.server.call('GET', `/v1/drafts/${saved.id}`, undefined, user.token);
    expect(draft.body).toMatchObject({
      reply_to: [{ name: 'Desk', email: 'desk@example.test' }],
      importance: 'high',
      headers: [{ name: 'X-Ticket', value: '4711' }],
      forward_of: source.id,
    });
    await page.getByRole('button', { name: 'More options' }).click();
    await page.getByRole('menuitem', { name: 'Low importance' }).click();
    await page.getByRole('button', { name: 'Send', exact: true }).click();
    const sent = await awaitMessage(stage.server, user, 'sent', 'Full draft');
    const { body: message } = await stage.server.call('GET', `/v1/messages/${sent.id}`, undefined, user.token);
    expect(message).toMatchObject({ importance: 'low', reply_to: [{ name: 'Desk', email: 'desk@example.test' }] });
    const raw = await fetch(`${stage.server.url}/v1/messages/${sent.id}/raw`, {
      headers: { authorization: `Bearer ${user.token}` },
    });
    expect(await raw.text()).toContain('X-Ticket: 4711');
    await eventually(
      async () =>
        (await stage.server.call('GET', `/v1/messages/${source.id}`, undefined, user.token)).body.is_forwarded,
    ).toBe(true);
    expect(troubles).toEqual([]);
    await page.context().close();
  });

  it('keeps the texts of both tabs until the user chooses', async () => {
    const user = await registerUser(stage.server, 'torn');
    const { page, troubles } = await signIn(stage.server, stage.browser, user);
    const other = await page.context().newPage();
    other.setDefaultTimeout(TIMEOUT_MS);
    await other.goto(`${stage.server.url}/_/mail`);
    /** Opens one draft in both tabs and makes a conflict: one tab cannot save, and the texts of the two tabs differ. */
    const makeConflict = async (subject: string) => {
      await makeDraft(user, { subject, body: 'As it was' });
      await openDraft(page, subject);
      await openDraft(other, subject);
      await page.route('**/v1/drafts/*', (route) => route.abort());
      await text(page).fill('Mine\nAs it was');
      await page.getByText('Drafts cannot be reached').waitFor();
      await text(other).fill('As it was\nTheirs');
      await isSaved(other);
      await page.unroute('**/v1/drafts/*');
      await text(page).press('End');
      await text(page).pressSequentially('!');
      await alarm(page).waitFor();
      expect(await readText(text(page))).toBe('Mine\nAs it was!');
      await page.getByRole('button', { name: 'Compare and choose' }).click();
      const dialog = page.getByRole('dialog', { name: 'Two versions of this message' });
      await dialog.getByRole('region', { name: 'Your version, in this tab' }).getByText('Mine').waitFor();
      await dialog
        .getByRole('region', { name: /^The other version, saved/ })
        .getByText('Theirs')
        .waitFor();
      return dialog;
    };
    const finish = async (subject: string) => {
      for (const tab of [page, other]) {
        await tab.keyboard.press('Escape');
        await tab.locator('.compose').waitFor({ state: 'detached' });
      }
      const found = (await listFolder(stage.server, user, 'drafts')).filter((one) => one.subject === subject);
      for (const { id } of found) await stage.server.call('DELETE', `/v1/drafts/${id}`, undefined, user.token);
    };

    const first = await makeConflict('First');
    await expectAccessible(page);
    await first.getByRole('button', { name: 'Keep both' }).click();
    await isSaved(page);
    expect(await bodies(user)).toEqual(['As it was\nTheirs', 'Mine\nAs it was!']);
    expect(await readText(text(other))).toBe('As it was\nTheirs');
    await finish('First');

    const second = await makeConflict('Second');
    await second.getByRole('button', { name: 'Keep mine' }).click();
    await isSaved(page);
    expect(await bodies(user)).toEqual(['Mine\nAs it was!']);
    // The choice can be undone, so a wrong one loses no text.
    await page.getByRole('button', { name: 'Undo' }).click();
    await eventually(() => bodies(user)).toEqual(['As it was\nTheirs']);
    await finish('Second');

    const third = await makeConflict('Third');
    await third.getByRole('button', { name: 'Use the other' }).click();
    await eventually(() => readText(text(page))).toBe('As it was\nTheirs');
    await page.getByRole('button', { name: 'Undo' }).last().click();
    await eventually(() => readText(text(page))).toBe('Mine\nAs it was!');
    await eventually(() => bodies(user)).toEqual(['Mine\nAs it was!']);
    expect(troubles).toEqual([]);
    await page.context().close();
  });

  it('restores text typed offline in a closed tab, although the draft was changed elsewhere', async () => {
    const user = await registerUser(stage.server, 'cutoff');
    const draftId = await makeDraft(user, { subject: 'Letter home', body: 'Dear all' });
    const { page } = await signIn(stage.server, stage.browser, user);
    await openDraft(page, 'Letter home');
    await page.context().setOffline(true);
    await text(page).fill('Dear all, the train st');
    await page.getByText('Drafts cannot be reached').waitFor();
    const context = page.context();
    await page.close({ runBeforeUnload: false });
    const elsewhere = { subject: 'Letter home', body: 'Dear all, from my other machine' };
    expect((await stage.server.call('PUT', `/v1/drafts/${draftId}`, elsewhere, user.token)).status).toBe(200);

    await context.setOffline(false);
    const again = await context.newPage();
    again.setDefaultTimeout(TIMEOUT_MS);
    await again.goto(`${stage.server.url}/_/mail`);
    await eventually(() => readText(text(again))).toBe('Dear all, the train st');
    await alarm(again).waitFor();
    // A send must be refused, because it would delete the draft and with it the other text.
    await again.getByLabel('To', { exact: true }).fill('home@outside.test');
    await again.getByRole('button', { name: 'Send', exact: true }).click();
    await again.getByText('Choose which version to keep.').waitFor();
    // Closing the window without a choice must keep both texts.
    await again.getByRole('button', { name: 'Close and keep in Drafts' }).click();
    await again.getByText('Both versions are in Drafts.').waitFor();
    expect(await bodies(user)).toEqual(['Dear all, from my other machine', 'Dear all, the train st']);
    await context.close();
  });

  it('recognises its own text after the answer to a save was lost, and restores a discarded draft', async () => {
    const user = await registerUser(stage.server, 'unlucky');
    await makeDraft(user, { subject: 'Poem', body: 'A rose' });
    const { page } = await signIn(stage.server, stage.browser, user);
    await openDraft(page, 'Poem');
    // Simulate a save that arrives at the server while its answer is lost.
    await page.route('**/v1/drafts/*', async (route) => {
      await route.fetch();
      await route.abort();
    });
    await text(page).fill('A rose is');
    await page.getByText('Drafts cannot be reached').waitFor();
    // Wait for requests in progress, because a repeated save may be running.
    await page.unrouteAll({ behavior: 'wait' });
    await text(page).fill('A rose is a rose');
    await isSaved(page);
    expect(await alarm(page).count()).toBe(0);
    expect(await bodies(user)).toEqual(['A rose is a rose']);

    await page.getByRole('button', { name: 'Discard' }).click();
    await eventually(() => bodies(user)).toEqual([]);
    await page.getByRole('button', { name: 'Undo' }).click();
    await eventually(() => readText(text(page))).toBe('A rose is a rose');
    await eventually(() => bodies(user)).toEqual(['A rose is a rose']);
    await page.context().close();
  });
});
