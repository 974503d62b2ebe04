/** Fields for files: drawn by the page, for the mouse, the keyboard and screen readers. */
import type { Page } from 'playwright-core';
import { describe, expect, it } from 'vitest';
import { expectLogo, LOGO } from '../../leaderboard/browser/leaderboard-page.ts';
import { letter, signIn } from '../../mail/browser/mail-page.ts';
import { openConsole, openStore } from '../../storage/browser/storage-page.ts';
import { registerUser } from '../../support/mail/mail.ts';
import { eventually, expectAccessible, hasChromium, openTab, takePictures } from './chromium.ts';
import { useStage } from './stage.ts';

describe.skipIf(!hasChromium)('a field for files', () => {
  const stage = useStage({ vars: { REGISTRATION: 'open' } });

  /** The browser's own look is at most a pixel of each field. */
  const expectDrawn = async (page: Page) => {
    const widths = await page
      .locator('input[type="file"]')
      .evaluateAll((fields) => fields.map((field) => field.getBoundingClientRect().width));
    expect(widths.length).toBeGreaterThan(0);
    expect(Math.max(...widths)).toBeLessThanOrEqual(1);
  };

  it('takes dropped files, and shows the name, the size and the progress of each', async () => {
    const user = await registerUser(stage.server, `files-${crypto.randomUUID().slice(0, 8)}`);
    const { page, troubles } = await signIn(stage.server, stage.browser, user);
    await page.goto(`${stage.server.url}/_/mail#/settings/transfer`);
    const card = page.getByRole('region', { name: 'Import' });
    await card.getByText('or drop them here').waitFor();
    await expectDrawn(page);
    await expectAccessible(page);
    await takePictures(page, 'import-field');
    // The first file is imported. The second one waits until the rows were seen.
    let requests = 0;
    let release = (): void => undefined;
    const seen = new Promise<void>((resolve) => {
      release = resolve;
    });
    await page.route('**/v1/import?*', async (route) => {
      requests += 1;
      if (requests === 2) await seen;
      await route.continue();
    });
    const raw = ['One', 'Two'].map((subject) => letter(user, subject, 'Old mail.'));
    const dropped = await page.evaluateHandle((letters) => {
      const transfer = new DataTransfer();
      for (const [n, text] of letters.entries())
        transfer.items.add(new File([text], `${n}.eml`, { type: 'message/rfc822' }));
      return transfer;
    }, raw);
    await card.locator('.file-drop').dispatchEvent('drop', { dataTransfer: dropped });
    await eventually(() => requests).toBe(2);
    const rows = card.getByRole('list', { name: 'Files being imported' }).getByRole('listitem');
    await eventually(() => rows.count()).toBe(2);
    await rows.nth(1).getByText('1.eml').waitFor();
    await rows.nth(1).getByText(`${raw[1]?.length} bytes`).waitFor();
    const progress = () =>
      rows.getByRole('progressbar').evaluateAll((bars) => bars.map((bar) => (bar as HTMLProgressElement).value));
    await eventually(progress).toEqual([1, 0]);
    await expectAccessible(page);
    await takePictures(page, 'import-rows');
    release();
    await card.getByText('2 of 2 messages imported.').waitFor();
    // The files were for the import, not for a new message.
    expect(await page.locator('.compose').count()).toBe(0);
    expect(troubles).toEqual([]);
    await page.context().close();
  });

  it('opens with the keyboard, and shows and removes what is stored', async () => {
    const { page, troubles } = await openTab(stage.browser);
    await page.addInitScript(
      (token) => sessionStorage.setItem('tessera.operator.token', token),
      stage.server.rootToken,
    );
    await page.goto(`${stage.server.url}/_/operator#/boards`);
    const id = `files-${crypto.randomUUID().slice(0, 8)}`;
    const rules = { title: `Files ${id}`, sort: 'desc', operator: 'sum', period: 'day', public: true };
    expect((await stage.server.call('PUT', `/v1/boards/${id}`, rules)).status).toBe(200);
    await page.reload();
    await page.getByRole('button', { name: `Edit ${rules.title}` }).click();
    const dialog = page.getByRole('dialog');
    const field = dialog.getByRole('button', { name: 'Logo Choose a file' });
    // The dialog moves the focus when it opens.
    await eventually(() => dialog.evaluate((element) => element.contains(document.activeElement))).toBe(true);
    const chooser = page.waitForEvent('filechooser');
    await field.press('Enter');
    await (await chooser).setFiles({ name: 'logo.png', mimeType: 'image/png', buffer: LOGO });
    await expectLogo(dialog);
    await expectDrawn(page);
    await expectAccessible(page);
    await takePictures(page, 'logo-field');
    await dialog.getByRole('button', { name: 'Remove the current logo' }).click();
    await eventually(() => dialog.locator('.board-logo').count()).toBe(0);
    expect((await stage.server.call('GET', `/v1/boards/${id}`)).body.logo ?? null).toBeNull();
    expect(troubles).toEqual([]);
    await page.context().close();
  });

  it('is drawn in the compose window and in buckets, too', async () => {
    const user = await registerUser(stage.server, `files-${crypto.randomUUID().slice(0, 8)}`);
    const mail = await signIn(stage.server, stage.browser, user);
    await mail.page.keyboard.press('c');
    await mail.page.getByLabel('Attach', { exact: true }).waitFor({ state: 'attached' });
    await expectDrawn(mail.page);
    const key = await stage.server.createAccessKey(`files-${crypto.randomUUID().slice(0, 8)}`);
    const bucket = await openStore(stage.server, key).createBucket();
    const storage = await openConsole(stage.browser, stage.server, key, `#/b/${bucket}`);
    await storage.page.getByLabel('Upload files').waitFor({ state: 'attached' });
    await expectDrawn(storage.page);
    await takePictures(storage.page, 'upload-buttons');
    expect([...mail.troubles, ...storage.troubles]).toEqual([]);
    await Promise.all([mail.page.context().close(), storage.page.context().close()]);
  });
});
