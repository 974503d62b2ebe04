/** Tests deleting and restoring many objects. */
import type { Page } from 'playwright-core';
import { beforeAll, describe, expect, it } from 'vitest';
import { eventually, expectAccessible, hasChromium, openTab, type Tab } from '../../web/browser/chromium.ts';
import { useStage } from '../../web/browser/stage.ts';

describe.skipIf(!hasChromium)('many objects in the storage page', () => {
  const stage = useStage();
  let key: { accessKeyId: string; secretAccessKey: string };

  beforeAll(async () => {
    key = await stage.server.createAccessKey('keeper');
  });

  async function signIn(): Promise<Tab> {
    const tab = await openTab(stage.browser);
    tab.page.on('dialog', (dialog) => void dialog.accept());
    await tab.page.goto(`${stage.server.url}/_/storage`);
    await tab.page.getByLabel('Access key', { exact: true }).fill(key.accessKeyId);
    await tab.page.getByLabel('Secret access key').fill(key.secretAccessKey);
    await tab.page.getByRole('button', { name: 'Sign in' }).click();
    await tab.page.getByRole('heading', { name: 'Buckets' }).waitFor();
    return tab;
  }
  async function createBucket(page: Page, name: string): Promise<void> {
    await page.getByLabel('Name of the new bucket').fill(name);
    await page.keyboard.press('Enter');
    await page.getByRole('link', { name, exact: true }).click();
    await page.getByRole('region', { name: `Bucket ${name}` }).waitFor();
  }
  /** Uploads empty files and waits until the table lists them. */
  async function upload(page: Page, names: readonly string[]): Promise<void> {
    await page
      .getByLabel('Upload files')
      .setInputFiles(names.map((name) => ({ name, mimeType: 'text/plain', buffer: Buffer.from(name) })));
    await page.getByRole('heading', { name: 'Uploads complete' }).waitFor();
  }
  const link = (page: Page, name: string) => page.getByRole('link', { name, exact: true });
  const box = (page: Page, name: string) => page.getByRole('checkbox', { name: `Select ${name}`, exact: true });
  const names = (page: Page) => page.locator('.objects tbody .name-cell bdi').allInnerTexts();

  it('deletes a range and a folder in batches, and shows the list of uploads where it covers nothing', async () => {
    const { page, troubles } = await signIn();
    await createBucket(page, 'ranges');
    await upload(page, ['a.txt', 'b.txt', 'c.txt', 'd.txt', 'e.txt']);
    const list = await page.getByRole('region', { name: 'Uploads' }).boundingBox();
    expect(list?.x).toBeGreaterThan(640);
    // The list of uploads must fold once everything is stored.
    expect(list?.height).toBeLessThan(70);
    await eventually(() => names(page)).toEqual(['a.txt', 'b.txt', 'c.txt', 'd.txt', 'e.txt']);
    const requests: string[] = [];
    page.on('request', (request) => {
      if (request.method() === 'DELETE' || request.url().endsWith('?delete=')) requests.push(request.method());
    });
    await box(page, 'b.txt').click();
    await box(page, 'd.txt').click({ modifiers: ['Shift'] });
    await page.getByText('3 objects selected').waitFor();
    await page.getByRole('button', { name: 'Delete…' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Delete', exact: true }).click();
    await eventually(() => names(page)).toEqual(['a.txt', 'e.txt']);
    expect(requests).toEqual(['POST']);

    await page.goto(`${stage.server.url}/_/storage#/b/ranges?prefix=logs%2F`);
    await upload(page, ['one.log', 'two.log']);
    await page.goto(`${stage.server.url}/_/storage#/b/ranges`);
    await box(page, 'logs/').click();
    await page.getByText('1 folder selected').waitFor();
    await page.getByRole('button', { name: 'Delete…' }).click();
    await page.getByText('Folders are deleted with everything in them.').waitFor();
    await expectAccessible(page);
    await page.getByRole('dialog').getByRole('button', { name: 'Delete', exact: true }).click();
    await eventually(() => names(page)).toEqual(['a.txt', 'e.txt']);
    expect(troubles).toEqual([]);
    await page.context().close();
  });

  it('lists deleted objects in place and restores one, and empties a versioned bucket before it deletes it', async () => {
    const { page, troubles } = await signIn();
    await createBucket(page, 'kept-versions');
    await page.getByRole('link', { name: 'Settings' }).click();
    await page.getByLabel('Keep every version').check();
    await page.getByText('On: overwritten').waitFor();
    await page.getByRole('link', { name: 'Objects' }).click();
    await upload(page, ['first.txt', 'second.txt']);
    await eventually(() => names(page)).toEqual(['first.txt', 'second.txt']);
    await box(page, 'first.txt').click();
    await page.getByRole('button', { name: 'Delete…' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Delete', exact: true }).click();
    await eventually(() => names(page)).toEqual(['second.txt']);
    await page.getByLabel('Show deleted').check();
    await eventually(() => names(page)).toEqual(['first.txt', 'second.txt']);
    await page.getByText('deleted', { exact: true }).waitFor();
    await expectAccessible(page);
    await page.getByRole('button', { name: 'Restore first.txt' }).click();
    await eventually(() => page.locator('.objects tr.deleted').count()).toBe(0);
    await page.getByLabel('Show deleted').uncheck();
    await eventually(() => names(page)).toEqual(['first.txt', 'second.txt']);

    await page.getByRole('link', { name: 'Buckets' }).click();
    await page.getByRole('button', { name: 'Delete kept-versions' }).click();
    const dialog = page.getByRole('dialog', { name: 'kept-versions is not empty' });
    await dialog.getByLabel('Type “kept-versions” to confirm').fill('kept-versions');
    await dialog.getByRole('button', { name: 'Empty and delete' }).click();
    await link(page, 'kept-versions').waitFor({ state: 'detached' });
    await page.getByText('Bucket kept-versions deleted.').waitFor();
    expect(troubles).toEqual([]);
    await page.context().close();
  });

  it('lists what could not be deleted', async () => {
    const { page } = await signIn();
    await createBucket(page, 'stubborn');
    await upload(page, ['free.txt', 'locked.txt']);
    await eventually(() => names(page)).toEqual(['free.txt', 'locked.txt']);
    await page.route('**/stubborn?delete=', async (route) => {
      const body =
        '<DeleteResult><Error><Key>locked.txt</Key><Code>AccessDenied</Code><Message>Access Denied</Message></Error></DeleteResult>';
      await route.fulfill({ status: 200, contentType: 'application/xml', body });
    });
    await page.getByRole('checkbox', { name: 'Select all that are loaded' }).click();
    await page.getByText('2 objects selected').waitFor();
    await page.getByRole('button', { name: 'Delete…' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Delete', exact: true }).click();
    await page.getByText('1 deleted, 1 object not deleted').waitFor();
    await page.getByText('Objects not deleted').click();
    await page.getByText('locked.txt: Access Denied').waitFor();
    await page.context().close();
  });
});
