/** Tests the tab Jobs of a bucket: work that the server does. */
import type { Page } from 'playwright-core';
import { beforeAll, describe, expect, it } from 'vitest';
import { eventually, expectAccessible, hasChromium } from '../../web/browser/chromium.ts';
import { useStage } from '../../web/browser/stage.ts';
import { openConsole, openStore, type StorageKey, type Store } from './storage-page.ts';

describe.skipIf(!hasChromium)('the jobs of a bucket', () => {
  const stage = useStage();
  let key: StorageKey;
  let store: Store;

  beforeAll(async () => {
    key = await stage.server.createAccessKey(`jobs-${crypto.randomUUID().slice(0, 8)}`);
    store = openStore(stage.server, key);
  });
  const open = (bucket: string) => openConsole(stage.browser, stage.server, key, `#/b/${bucket}/jobs`);
  const form = (page: Page) => page.getByRole('form', { name: 'New job' });
  const jobs = (page: Page) => page.getByRole('list', { name: 'Jobs of this bucket' }).locator(':scope > li');
  const names = (page: Page) => page.locator('.objects tbody .name-cell bdi').allInnerTexts();

  it('previews and runs the deletion of a prefix, and shows what it did', async () => {
    const bucket = await store.createBucket(true);
    for (const name of ['logs/1.txt', 'logs/2.txt', 'kept.txt']) await store.put(bucket, name, name);
    const { page, troubles } = await open(bucket);
    await page.getByText('No jobs in the last 30 days.').waitFor();
    await form(page).getByLabel('Action').selectOption('Delete');
    await form(page).getByLabel('Names that begin with').fill('logs/');
    await form(page).getByRole('button', { name: 'Preview' }).click();
    await jobs(page).filter({ hasText: 'preview' }).getByText('Would be: 2 deleted').waitFor();
    await expectAccessible(page);
    await form(page).getByRole('button', { name: 'Start' }).click();
    await eventually(() => jobs(page).count()).toBe(2);
    await eventually(() => jobs(page).first().getAttribute('data-state')).toBe('done');
    await jobs(page).first().getByText('2 deleted').waitFor();
    await page.getByRole('link', { name: 'Objects', exact: true }).click();
    await eventually(() => names(page)).toEqual(['kept.txt']);
    expect(troubles).toEqual([]);
    await page.context().close();
  });

  it('restores a prefix to a time', async () => {
    const bucket = await store.createBucket(true);
    await store.put(bucket, 'site/index.html', 'good');
    const stored = Date.now();
    // Wait two seconds, because the time in the form has whole seconds.
    await eventually(() => Date.now() - stored).toBeGreaterThan(2_000);
    const at = new Date(Math.ceil(stored / 1000) * 1000);
    await store.delete(bucket, 'site/index.html');
    await store.put(bucket, 'site/malware.js', 'bad');
    const { page, troubles } = await open(bucket);
    await form(page).getByLabel('Action').selectOption('Restore to a time');
    await form(page).getByLabel('Names that begin with').fill('site/');
    // Write the time in the time zone of the tab.
    const local = at.toLocaleString('sv-SE', { timeZone: 'Europe/Berlin' }).replace(' ', 'T');
    await form(page).getByLabel('Time', { exact: true }).fill(local);
    await form(page).getByRole('button', { name: 'Start' }).click();
    await eventually(() => jobs(page).first().getAttribute('data-state')).toBe('done');
    await expectAccessible(page);
    await page.goto(`${stage.server.url}/_/storage#/b/${bucket}?prefix=site%2F`);
    await eventually(() => names(page)).toEqual(['index.html']);
    expect(troubles).toEqual([]);
    await page.context().close();
  });

  it('empties a bucket with all versions', async () => {
    const bucket = await store.createBucket(true);
    for (const text of ['one', 'two', 'three']) await store.put(bucket, 'a.txt', text);
    await store.delete(bucket, 'a.txt');
    const { page } = await open(bucket);
    await form(page).getByLabel('Action').selectOption('Empty');
    await form(page).getByRole('button', { name: 'Start' }).click();
    await eventually(() => jobs(page).first().getAttribute('data-state')).toBe('done');
    await jobs(page)
      .first()
      .getByText(/versions removed/)
      .waitFor();
    await page.goto(`${stage.server.url}/_/storage#/b/${bucket}/versions`);
    await page.getByText('Nothing is stored here yet, and nothing was deleted.').waitFor();
    await page.context().close();
  });

  it('shows the progress of a running job, and cancels it', async () => {
    const bucket = await store.createBucket();
    const { page } = await open(bucket);
    // Simulate a running job: a real one would need many thousands of objects to run long enough.
    let state = 'running';
    const job = () => ({
      job_id: 'j1',
      kind: 'empty',
      bucket,
      prefix: 'old/',
      at: null,
      target: null,
      dry_run: false,
      state,
      error: null,
      created_at: '2026-11-20T08:00:00Z',
      ended_at: null,
      position: 'old/4711.jpg',
      counts: { examined: 4711, versions_removed: 4700, locked: 11 },
      changes: [],
      obstacles: [{ key: 'old/1.jpg', reason: 'locked' }],
    });
    await page.route('**/v1/storage/jobs?*', (route) => route.fulfill({ json: { data: [job()], next_cursor: null } }));
    await page.route('**/v1/storage/jobs/j1/cancel', (route) => {
      state = 'cancelled';
      return route.fulfill({ json: job() });
    });
    await page.reload();
    await page.getByRole('progressbar', { name: 'Empty: old/' }).waitFor();
    await page.getByText('4,711 examined · at old/4711.jpg').waitFor();
    await page.getByText('4,700 versions removed, 11 kept by Object Lock').waitFor();
    await expectAccessible(page);
    await page.getByRole('button', { name: 'Cancel Empty: old/' }).click();
    await eventually(() => jobs(page).first().getAttribute('data-state')).toBe('cancelled');
    await eventually(() => page.getByRole('progressbar').count()).toBe(0);
    await page.context().close();
  });
});
