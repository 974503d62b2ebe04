/**
 * Scrolls, ticks, sorts and finds in a folder of 100,000 objects with a slowed processor, and prints the times. The listings are made
 * here, because storing so many objects takes an hour and only the page is tested. `LARGE_OBJECTS` is another number of objects.
 */
import type { Page } from 'playwright-core';
import { beforeAll, describe, expect, it } from 'vitest';
import { eventually, expectAccessible, hasChromium } from '../../web/browser/chromium.ts';
import { useStage } from '../../web/browser/stage.ts';
import { openConsole, type StorageKey } from './storage-page.ts';

const COUNT = Number(process.env.LARGE_OBJECTS ?? 100_000);
const SLOWDOWN = 4;
const nameOf = (n: number) => `object-${String(n).padStart(6, '0')}.bin`;

function toListing(count: number, url: URL): string {
  const perPage = Number(url.searchParams.get('max-keys'));
  const prefix = url.searchParams.get('prefix') ?? '';
  const all = Array.from({ length: count }, (_, n) => n).filter((n) => nameOf(n).startsWith(prefix));
  const from = Number(url.searchParams.get('continuation-token') ?? 0);
  const contents = all
    .slice(from, from + perPage)
    .map(
      (n) =>
        `<Contents><Key>${nameOf(n)}</Key><LastModified>${new Date(1.7e12 + (n % 977) * 6e4).toISOString()}</LastModified>` +
        `<ETag>&quot;${n}&quot;</ETag><Size>${(n * 7919) % 10_007}</Size><StorageClass>STANDARD</StorageClass></Contents>`,
    );
  const next = from + perPage < all.length ? `<NextContinuationToken>${from + perPage}</NextContinuationToken>` : '';
  return `<ListBucketResult>${contents.join('')}${next}</ListBucketResult>`;
}

/** Collects the times of long tasks, and frames of which a part of the table had no row. */
const watch = (page: Page) =>
  page.addInitScript(() => {
    const watched = { tasks: [] as number[], frames: 0, blanks: 0 };
    Object.assign(globalThis, { watched });
    new PerformanceObserver((list) => {
      for (const { duration } of list.getEntries()) watched.tasks.push(Math.round(duration));
    }).observe({ type: 'longtask' });
    const look = () => {
      const table = document.querySelector('.objects tbody')?.getBoundingClientRect();
      if (table) {
        watched.frames += 1;
        const isBlank = [0.3, 0.5, 0.7].some((part) => {
          const y = innerHeight * part;
          if (y < table.top || y > table.bottom - 1) return false;
          return document.elementFromPoint(innerWidth / 2, y)?.closest('tr.gap') !== null;
        });
        if (isBlank) watched.blanks += 1;
      }
      requestAnimationFrame(look);
    };
    requestAnimationFrame(look);
  });
interface Watched {
  tasks: number[];
  frames: number;
  blanks: number;
}
const takeWatched = (page: Page) =>
  page.evaluate(() => {
    const holder = globalThis as unknown as { watched: Watched };
    const { tasks, frames, blanks } = holder.watched;
    Object.assign(holder.watched, { tasks: [], frames: 0, blanks: 0 });
    return { tasks, frames, blanks };
  });

describe.skipIf(!hasChromium)(`a folder of ${COUNT} objects`, () => {
  const stage = useStage();
  let key: StorageKey;
  beforeAll(async () => {
    key = await stage.server.createAccessKey('large');
  });

  async function openFolder(count: number): Promise<Page> {
    const { page } = await openConsole(stage.browser, stage.server, key, '#/keys');
    await watch(page);
    await page.route('**/large?*', async (route) => {
      const url = new URL(route.request().url());
      const isListing = url.searchParams.has('list-type');
      const body = isListing ? toListing(count, url) : '<VersioningConfiguration/>';
      await route.fulfill({ status: 200, contentType: 'application/xml', body });
    });
    await page.reload();
    const session = await page.context().newCDPSession(page);
    await session.send('Emulation.setCPUThrottlingRate', { rate: SLOWDOWN });
    return page;
  }
  const box = (page: Page, n: number) => page.getByRole('checkbox', { name: `Select ${nameOf(n)}`, exact: true });
  const rows = (page: Page) => page.locator('.objects tbody tr:not([aria-hidden])');

  /** Runs a step and prints its time and its long tasks. */
  async function time(page: Page, what: string, step: () => Promise<unknown>): Promise<Watched> {
    await takeWatched(page);
    const startedAt = performance.now();
    await step();
    const took = Math.round(performance.now() - startedAt);
    const watched = await takeWatched(page);
    const longest = Math.max(0, ...watched.tasks);
    console.log(`${what}: ${took} ms, ${watched.tasks.length} long tasks, longest ${longest} ms`);
    return watched;
  }
  const tick = (page: Page, n: number, selected: string) => async () => {
    await box(page, n).click();
    await page.getByText(`${selected} selected`).waitFor();
  };

  it('stays usable while it scrolls, sorts, selects and searches', async () => {
    const small = await openFolder(100);
    await small.goto(`${stage.server.url}/_/storage#/b/large`);
    await box(small, 0).waitFor();
    for (const n of [1, 2, 3]) await time(small, 'tick of 100', tick(small, n, n === 1 ? '1 object' : `${n} objects`));
    await small.context().close();

    const page = await openFolder(COUNT);
    await time(page, 'first rows', async () => {
      await page.goto(`${stage.server.url}/_/storage#/b/large`);
      await box(page, 0).waitFor();
    });
    await page.mouse.move(600, 500);
    await page.mouse.wheel(0, 100_000);
    await time(page, 'load all', async () => {
      await page.getByRole('button', { name: 'Load all' }).click();
      await eventually(() => page.locator('.objects').getAttribute('aria-rowcount')).toBe(String(COUNT + 1));
    });
    await page.mouse.wheel(0, -10_000_000);
    await box(page, 0).waitFor();
    for (const n of [1, 2, 3]) await time(page, 'tick', tick(page, n, n === 1 ? '1 object' : `${n} objects`));
    const scrolled = await time(page, 'scroll', async () => {
      for (let step = 0; step < 60; step++) {
        await page.mouse.wheel(0, 600);
        await page.waitForTimeout(16);
      }
    });
    console.log(`${scrolled.frames} frames, ${scrolled.blanks} with a gap`);
    expect(scrolled.blanks).toBe(0);
    await time(page, 'to the end', async () => {
      await page.mouse.wheel(0, 10_000_000);
      await box(page, COUNT - 1).waitFor();
    });
    expect(await rows(page).count()).toBeLessThan(90);
    await page.mouse.wheel(0, -10_000_000);
    await page.getByRole('button', { name: 'Clear selection' }).click();
    const head = page.locator('.objects thead');
    for (const by of ['Size', 'Modified', 'Name'] as const)
      await time(page, `sort by ${by}`, async () => {
        await head.getByRole('button', { name: by }).click();
        await page.locator(`th[aria-sort] >> text=${by}`).waitFor();
        await page.evaluate(() => new Promise(requestAnimationFrame));
      });
    await time(page, 'select all', async () => {
      await page.getByRole('checkbox', { name: 'Select all that are loaded' }).click();
      await page.getByText(/000 objects selected/).waitFor();
    });
    await time(page, 'untick one', async () => {
      await box(page, 4).click();
      await page.getByText(/999 objects selected/).waitFor();
    });
    await expectAccessible(page);
    await time(page, 'find', async () => {
      await page.getByRole('searchbox').pressSequentially('object-0123');
      await eventually(() => page.locator('.objects').getAttribute('aria-rowcount')).toBe('101');
    });
    await page.context().close();
  });
});
