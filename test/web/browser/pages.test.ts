import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { eventually, expectAccessible, hasChromium, openTab } from './chromium.ts';
import { useStage } from './stage.ts';

/** Selector of an element of each page that appears with the server's answers. Before that, every page fits every width. */
const RENDERED: Record<string, string> = {
  '/_/': 'text=Version 0',
  '/_/mail': 'text=name or name@example.test',
  '/_/storage': 'text="Secret access key"',
  '/_/leaderboard': 'text=No scores yet.',
  '/_/operator': 'text=ROOT_TOKEN',
  '/_/docs': '.operation >> nth=0',
  '/_/embed/leaderboard': 'text=No scores yet.',
};
const PAGES = Object.keys(RENDERED);

async function openRendered(page: Page, url: string, path: string): Promise<number | undefined> {
  const response = await page.goto(url + path);
  await page.locator(RENDERED[path] ?? 'main').waitFor();
  return response?.status();
}

describe.skipIf(!hasChromium)('the pages of the web app', () => {
  const stage = useStage();
  /** Server of another web site, which embeds a board in a frame. */
  let otherSite: Server;

  beforeAll(async () => {
    otherSite = createServer((request, response) => {
      const framed = new URL(request.url ?? '/', 'http://stranger.test').searchParams.get('framed') ?? '';
      response.setHeader('content-type', 'text/html');
      response.end(`<title>other site</title><iframe src="${stage.server.url}${framed}"></iframe>`);
    });
    await new Promise<void>((resolve) => otherSite.listen(0, '127.0.0.1', resolve));
  });
  afterAll(() => otherSite?.close());

  it.each(PAGES)(
    '%s can be used by anybody: light, dark, small, zoomed, in wide letters and without motion',
    async (path) => {
      const { page, troubles } = await openTab(stage.browser);
      const overflow = () => page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
      expect(await openRendered(page, stage.server.url, path)).toBe(200);
      await expectAccessible(page);
      await page.emulateMedia({ colorScheme: 'dark', reducedMotion: 'reduce' });
      await page.reload();
      await page.locator(RENDERED[path] ?? 'main').waitFor();
      // Check only rules about colours, because the dark theme differs in nothing else.
      await expectAccessible(page, ['color-contrast', 'link-in-text-block']);
      // With reduced motion, no animation may be longer than 20 ms.
      const moving = await page.evaluate(() =>
        document.getAnimations().map((one) => Number(one.effect?.getComputedTiming().duration ?? 0)),
      );
      expect(moving.filter((durationMs) => durationMs > 20)).toEqual([]);
      // Poll: directly after a change of size, Chromium may report the overflow of the previous layout for less than a second. The
      // sizes are those of a zoomed 1280 by 800 page: 640 by 400 CSS pixels at 200%, 320 by 200 at 400% (WCAG 1.4.10).
      for (const [width, height] of [
        [640, 400],
        [360, 740],
        [320, 200],
      ] as const) {
        await page.setViewportSize({ width, height });
        await eventually(async () => [path, width, Math.max(0, await overflow())]).toEqual([path, width, 0]);
      }
      // Test with wider letters: other machines have other fonts, and some users need more space between letters (WCAG 1.4.12).
      await page.evaluate(() => {
        document.documentElement.style.letterSpacing = '0.12em';
        document.documentElement.style.wordSpacing = '0.16em';
      });
      await page.setViewportSize({ width: 360, height: 740 });
      await eventually(async () => [path, 'wide letters', Math.max(0, await overflow())]).toEqual([
        path,
        'wide letters',
        0,
      ]);
      expect(troubles).toEqual([]);
      await page.context().close();
    },
  );

  it('draws the rail with the logo before any script, at the place where it stays', async () => {
    const { page } = await openTab(stage.browser);
    const placeOf = (picture: string) => page.locator(`.rail .brand ${picture}`).boundingBox();
    for (const path of PAGES.filter((one) => !one.startsWith('/_/embed/'))) {
      await page.route('**/*.js', (route) => route.abort());
      await page.goto(stage.server.url + path);
      const before = await placeOf('svg');
      await page.unroute('**/*.js');
      await openRendered(page, stage.server.url, path);
      expect([path, before]).toEqual([path, await placeOf('img')]);
      expect(before?.width).toBeGreaterThan(20);
    }
    await page.context().close();
  });

  it('allows scripts only from its own assets, and none inline', async () => {
    for (const path of PAGES) {
      const response = await fetch(stage.server.url + path);
      const policy = response.headers.get('content-security-policy') ?? '';
      expect(policy).toContain(`script-src ${stage.server.url}/_/assets/;`);
      expect(policy).not.toMatch(/unsafe-|script-src[^;]*'self'/);
      expect(response.headers.get('x-content-type-options')).toBe('nosniff');
      expect(await response.text()).not.toMatch(/<script(?![^>]*\ssrc=)|<style|\son\w+=/);
    }
  });

  it('lets browsers cache only files with a hash in their names', async () => {
    const html = await (await fetch(`${stage.server.url}/_/`)).text();
    const script = /src="(\/_\/assets\/[^"]+\.js)"/.exec(html)?.[1];
    expect((await fetch(`${stage.server.url}${script}`)).headers.get('cache-control')).toContain('immutable');
    expect((await fetch(`${stage.server.url}/_/`)).headers.get('cache-control')).toBe('no-cache');
    expect((await fetch(`${stage.server.url}/_/config.json`)).headers.get('cache-control')).toBe('no-store');
    expect((await fetch(`${stage.server.url}/_/nothing`)).status).toBe(404);
  });

  it('has a page for unknown addresses, and compresses what it sends', async () => {
    const { page, troubles } = await openTab(stage.browser);
    const response = await page.goto(`${stage.server.url}/_/nope`);
    expect(response?.status()).toBe(404);
    await page.getByRole('heading', { name: 'Page not found' }).waitFor();
    await expectAccessible(page);
    expect(troubles).toEqual([]);
    await page.context().close();
    const html = await (await fetch(`${stage.server.url}/_/mail`)).text();
    const script = /src="(\/_\/assets\/[^"]+\.js)"/.exec(html)?.[1];
    const answer = await fetch(`${stage.server.url}${script}`, { headers: { 'accept-encoding': 'gzip' } });
    expect([answer.headers.get('content-encoding'), answer.headers.get('vary')]).toEqual(['gzip', 'accept-encoding']);
    expect(await answer.text()).toContain('import');
    const asset = await fetch(`${stage.server.url}/_/assets/nothing.js`);
    expect([asset.status, await asset.text()]).toEqual([404, '']);
  });

  it('lets other sites frame the embedded board and no other page', async () => {
    const { page } = await openTab(stage.browser);
    const base = `http://127.0.0.1:${(otherSite.address() as AddressInfo).port}`;
    await page.goto(`${base}/?framed=/_/embed/leaderboard`);
    await page.frameLocator('iframe').getByText('No scores yet.').waitFor();
    for (const path of PAGES.filter((one) => !one.startsWith('/_/embed/'))) {
      await page.goto(`${base}/?framed=${path}`);
      const frame = page.frames().find((one) => one !== page.mainFrame());
      expect(await frame?.locator('#app').count()).toBe(0);
    }
    await page.context().close();
  });

  it("shows the API from the service's OpenAPI document", async () => {
    const { page } = await openTab(stage.browser);
    await page.goto(`${stage.server.url}/_/docs#problem-not_found`);
    await page.getByText('You came here from a problem with the code').waitFor();
    await page.getByLabel('Filter operations').fill('neighbors');
    await page.getByRole('heading', { name: '/v1/boards/{board}/scores/{user_id}/neighbors' }).waitFor();
    // The search also finds the same operation of the default board, so there are two headings.
    expect(await page.getByRole('heading', { level: 3 }).count()).toBe(2);
    await page.context().close();
  });
});
