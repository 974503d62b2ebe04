/** Tests a folder of more objects than the page renders: rows, keys, refreshes and uploads are counted, not timed. */
import type { Page, Request } from 'playwright-core';
import { beforeAll, describe, expect, it } from 'vitest';
import { eventually, expectAccessible, hasChromium } from '../../web/browser/chromium.ts';
import { useStage } from '../../web/browser/stage.ts';
import { openConsole, openStore, type StorageKey, type Store } from './storage-page.ts';

const COUNT = 1_050;
const PUTS_AT_A_TIME = 16;
const nameOf = (n: number) => `object-${String(n).padStart(4, '0')}.txt`;
/** Limit of rows in the document: those of a screen of 800 pixels and those above and below it. */
const ROWS_RENDERED_MAX = 90;

async function fillBucket(store: Store): Promise<string> {
  const bucket = await store.createBucket();
  const names = Array.from({ length: COUNT }, (_, n) => nameOf(n));
  const work = async () => {
    for (let name = names.pop(); name !== undefined; name = names.pop()) await store.put(bucket, name, name);
  };
  await Promise.all(Array.from({ length: PUTS_AT_A_TIME }, work));
  return bucket;
}

const isListing = (request: Request) => request.url().includes('list-type=2');

/** Returns the addresses of all listings that the page requests from now on. */
function collectListings(page: Page): URL[] {
  const urls: URL[] = [];
  page.on('request', (request) => {
    if (isListing(request)) urls.push(new URL(request.url()));
  });
  return urls;
}

const table = (page: Page) => page.getByRole('table', { name: 'Folders and objects' });
const rows = (page: Page) => page.locator('.objects tbody tr:not([aria-hidden])');
const box = (page: Page, name: string) => page.getByRole('checkbox', { name: `Select ${name}`, exact: true });
const loadAll = (page: Page) => page.getByRole('button', { name: 'Load all' }).click();
const rowCount = (page: Page) => table(page).getAttribute('aria-rowcount');
/** The text of the focused row, or the tag of the focused element outside of rows. */
const focusedRow = (page: Page) =>
  page.evaluate(() => {
    const row = document.activeElement?.closest('tbody tr');
    return row?.querySelector('bdi')?.textContent ?? document.activeElement?.tagName ?? '';
  });
const isFocusVisible = (page: Page) =>
  page.evaluate(() => {
    const box = document.activeElement?.getBoundingClientRect();
    return box !== undefined && box.top >= 0 && box.bottom <= innerHeight;
  });

/** Counts the rows that are rendered: each formats one time. */
const countRenders = (page: Page) =>
  page.addInitScript(() => {
    const counted = { renders: 0 };
    Object.assign(globalThis, { counted });
    const { get } = Object.getOwnPropertyDescriptor(Intl.DateTimeFormat.prototype, 'format') ?? {};
    Object.defineProperty(Intl.DateTimeFormat.prototype, 'format', {
      get() {
        const format = get?.call(this) as (date: Date) => string;
        return (date: Date) => {
          counted.renders += 1;
          return format(date);
        };
      },
    });
  });
const rendersSince = (page: Page) =>
  page.evaluate(() => {
    const { counted } = globalThis as unknown as { counted: { renders: number } };
    const { renders } = counted;
    counted.renders = 0;
    return renders;
  });

describe.skipIf(!hasChromium)('a large folder of the storage page', () => {
  const stage = useStage();
  let key: StorageKey;
  let store: Store;
  let bucket: string;

  beforeAll(async () => {
    key = await stage.server.createAccessKey(`large-${crypto.randomUUID().slice(0, 8)}`);
    store = openStore(stage.server, key);
    bucket = await fillBucket(store);
  });
  const open = async (of = bucket) => {
    const tab = await openConsole(stage.browser, stage.server, key, '#/keys');
    await countRenders(tab.page);
    await tab.page.reload();
    const listings = collectListings(tab.page);
    await tab.page.goto(`${stage.server.url}/_/storage#/b/${of}`);
    return { ...tab, listings };
  };

  it('renders only the rows near the screen, tells their positions, and shows no gap while scrolling', async () => {
    const { page, troubles, listings } = await open();
    await rows(page).first().waitFor();
    expect(await rows(page).count()).toBeLessThan(ROWS_RENDERED_MAX);
    // The number of rows is unknown while more can be loaded.
    expect(await rowCount(page)).toBe('-1');
    await page.mouse.move(600, 500);
    await page.keyboard.press('End');
    await page.mouse.wheel(0, 1_000_000);
    await loadAll(page);
    await eventually(() => rowCount(page)).toBe(String(COUNT + 1));
    expect(listings.map((url) => url.searchParams.get('max-keys'))).toEqual(['1000', '1000']);
    await page.mouse.wheel(0, -1_000_000);
    await eventually(() => rows(page).first().getAttribute('aria-rowindex')).toBe('2');
    for (let step = 0; step < 12; step++) {
      await page.mouse.wheel(0, 3_000);
      // The row at the middle of the screen has its name.
      await eventually(() =>
        page.evaluate(
          () => document.elementFromPoint(innerWidth / 2, 500)?.closest('tr:not([aria-hidden])')?.textContent ?? '',
        ),
      ).toContain('object-');
      expect(await rows(page).count()).toBeLessThan(ROWS_RENDERED_MAX);
    }
    await page.mouse.wheel(0, 1_000_000);
    await rows(page)
      .filter({ hasText: nameOf(COUNT - 1) })
      .waitFor();
    expect(await rows(page).last().getAttribute('aria-rowindex')).toBe(String(COUNT + 1));
    await expectAccessible(page);
    expect(troubles).toEqual([]);
    await page.context().close();
  });

  it('renders one row again when its box is ticked, and selects ranges beyond the screen', async () => {
    const { page } = await open();
    await box(page, nameOf(3)).waitFor();
    await box(page, nameOf(0)).click();
    await page.getByText('1 object selected').waitFor();
    await rendersSince(page);
    await box(page, nameOf(3)).click();
    await page.getByText('2 objects selected').waitFor();
    // The row that had the focus, the one that gets it, and the ticked one again.
    expect(await rendersSince(page)).toBeLessThan(5);
    await page.mouse.move(600, 500);
    await page.mouse.wheel(0, 20_000);
    // The first row is the one that has the focus.
    await eventually(async () => Number(await rows(page).nth(1).getAttribute('aria-rowindex'))).toBeGreaterThan(100);
    const far = Number(await rows(page).nth(30).getAttribute('aria-rowindex')) - 2;
    await box(page, nameOf(far)).click({ modifiers: ['Shift'] });
    await page.getByText(`${far - 1} objects selected`).waitFor();
    await page.context().close();
  });

  it('moves between rows with the arrow keys, Home and End, and extends the selection with Shift', async () => {
    const { page, troubles } = await open();
    await box(page, nameOf(0)).waitFor();
    await page.getByRole('columnheader', { name: 'Modified' }).getByRole('button').click();
    await page.getByRole('columnheader', { name: 'Name' }).getByRole('button').click();
    await eventually(() => rows(page).first().innerText()).toContain(nameOf(0));
    // One more column follows before the rows, which are one stop of the Tab key.
    for (let tries = 0; tries < 5 && (await focusedRow(page)) !== nameOf(0); tries++) await page.keyboard.press('Tab');
    expect(await focusedRow(page)).toBe(nameOf(0));
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('ArrowDown');
    expect(await focusedRow(page)).toBe(nameOf(2));
    await page.keyboard.press('ArrowUp');
    expect(await focusedRow(page)).toBe(nameOf(1));
    await page.keyboard.press('Space');
    await page.getByText('1 object selected').waitFor();
    await page.keyboard.press('Shift+ArrowDown');
    await page.keyboard.press('Shift+ArrowDown');
    await page.getByText('3 objects selected').waitFor();
    expect(await focusedRow(page)).toBe(nameOf(3));
    await page.keyboard.press('Shift+ArrowUp');
    await page.getByText('2 objects selected').waitFor();
    await page.keyboard.press('End');
    await eventually(() => focusedRow(page)).toBe(nameOf(999));
    await eventually(() => isFocusVisible(page)).toBe(true);
    await page.keyboard.press('Shift+Home');
    // The range starts at the row that had the focus.
    await page.getByText(/^1,?000 objects selected/).waitFor();
    await eventually(() => focusedRow(page)).toBe(nameOf(0));
    await page.keyboard.press('PageDown');
    await eventually(() => isFocusVisible(page)).toBe(true);
    const paged = await focusedRow(page);
    expect(paged > nameOf(5)).toBe(true);
    // A focused row stays in the document while it is off the screen.
    await page.mouse.move(600, 500);
    await page.mouse.wheel(0, 20_000);
    await eventually(() => isFocusVisible(page)).toBe(false);
    expect(await focusedRow(page)).toBe(paged);
    await page.keyboard.press('Home');
    await page.keyboard.press('ArrowRight');
    await page.keyboard.press('Enter');
    await page.getByRole('complementary', { name: `Object ${nameOf(0)}` }).waitFor();
    expect(troubles).toEqual([]);
    await page.context().close();
  });

  it('keeps what was loaded while files are uploaded, and reads the list at most once per second', async () => {
    const { page, troubles, listings } = await open();
    await rows(page).first().waitFor();
    await loadAll(page);
    await eventually(() => rowCount(page)).toBe(String(COUNT + 1));
    listings.length = 0;
    const files = Array.from({ length: 60 }, (_, n) => ({
      name: `upload-${n}.txt`,
      mimeType: 'text/plain',
      buffer: Buffer.from(`upload ${n}`),
    }));
    // The page's clock runs only in these steps, so the number of seconds is known.
    await page.clock.install();
    await page.clock.pauseAt(Date.now() + 60_000);
    await page.getByLabel('Upload files').setInputFiles(files);
    let elapsedMs = 0;
    const complete = page.getByRole('heading', { name: 'Uploads complete' });
    while ((await complete.count()) === 0) {
      await page.clock.runFor(20);
      elapsedMs += 20;
    }
    await page.clock.runFor(1_000);
    await page.clock.resume();
    await eventually(() => rowCount(page)).toBe(String(COUNT + 61));
    // A refresh reads the page of the listing that changed: here the last one.
    expect(listings.length).toBeLessThanOrEqual(2 + Math.ceil(elapsedMs / 1_000));
    await page.mouse.move(600, 500);
    await page.mouse.wheel(0, 1_000_000);
    await box(page, 'upload-9.txt').waitFor();
    await page.mouse.wheel(0, -1_000_000);
    await box(page, nameOf(0)).waitFor();
    expect(troubles).toEqual([]);
    await page.context().close();
  });

  it('deletes a selection without unloading the rest', async () => {
    const { page, listings } = await open();
    await rows(page).first().waitFor();
    await loadAll(page);
    await eventually(() => rowCount(page)).not.toBe('-1');
    const before = Number(await rowCount(page));
    listings.length = 0;
    await page.mouse.move(600, 500);
    await page.mouse.wheel(0, -1_000_000);
    await box(page, nameOf(1)).click();
    await box(page, nameOf(5)).click({ modifiers: ['Shift'] });
    await page.getByRole('button', { name: 'Delete…' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Delete', exact: true }).click();
    await eventually(() => rowCount(page)).toBe(String(before - 5));
    await eventually(() => rows(page).nth(1).innerText()).toContain(nameOf(6));
    expect(await box(page, nameOf(3)).count()).toBe(0);
    // Only the first page of the listing changed.
    expect(listings.map((url) => url.searchParams.has('continuation-token'))).toEqual([false]);
    await page.context().close();
  });

  it('uploads more files at a time while that is faster, up to five of six connections', async () => {
    const empty = await store.createBucket();
    const { page } = await open(empty);
    await page.getByText('No objects here yet.').waitFor();
    const inFlight = new Set<Request>();
    let most = 0;
    page.on('request', (request) => {
      if (request.method() !== 'PUT') return;
      inFlight.add(request);
      most = Math.max(most, inFlight.size);
    });
    page.on('requestfinished', (request) => inFlight.delete(request));
    // A line with a long round trip: more requests at a time are faster.
    await page.route(`**/${empty}/**`, async (route) => {
      await new Promise((resolve) => setTimeout(resolve, 150));
      await route.continue();
    });
    await page
      .getByLabel('Upload files')
      .setInputFiles(
        Array.from({ length: 90 }, (_, n) => ({ name: `${n}.txt`, mimeType: 'text/plain', buffer: Buffer.from('x') })),
      );
    await page.getByRole('heading', { name: 'Uploads complete' }).waitFor();
    expect(most).toBeGreaterThan(2);
    expect(most).toBeLessThanOrEqual(5);
    await page.context().close();
  });
});
