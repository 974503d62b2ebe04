/** Tests the JavaScript client in a page: that of its README, served from another origin than the leaderboard. */
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { eventually, hasChromium, openTab } from '../../web/browser/chromium.ts';
import { useStage } from '../../web/browser/stage.ts';

const CLIENT = join(import.meta.dirname, '../../../clients/javascript');

describe.skipIf(!hasChromium)('the page of the README', () => {
  const stage = useStage();
  const files = new Map<string, string>();
  const site = createServer(({ url = '' }, response) => {
    const type = url.endsWith('.js') ? 'text/javascript' : 'text/html';
    response.writeHead(files.has(url) ? 200 : 404, { 'content-type': type }).end(files.get(url));
  });
  let origin: string;
  let token: string;

  beforeAll(async () => {
    const read = (name: string) => readFileSync(join(CLIENT, name), 'utf8');
    const pages = Array.from(read('README.md').matchAll(/```html\n([\s\S]*?)```/g), ([, page]) => page as string);
    for (const [i, page] of pages.entries())
      files.set(`/${i}.html`, page.replace('https://scores.example.com', stage.server.url));
    files.set('/leaderboard.js', read('leaderboard.js'));
    await new Promise<void>((resolve) => site.listen(0, '127.0.0.1', resolve));
    origin = `http://127.0.0.1:${(site.address() as AddressInfo).port}`;
    const { call } = stage.server;
    token = (await call('POST', '/v1/iam/tokens', { name: 'game', scopes: ['scores:write'] })).body.token;
    const rules = { title: 'Laps', sort: 'asc', operator: 'best', period: 'none', public: true };
    await call('PUT', '/v1/boards/laps', rules);
  });
  afterAll(() => site.close());

  it('plays a game without a server, on a board that lists the page', async () => {
    const session_rules = { origins: [origin], most_points: 2_000 };
    const rules = { title: 'Arcade', sort: 'desc', operator: 'best', period: 'none', public: true };
    const put = (board: object) => stage.server.call('PUT', '/v1/boards/arcade', { ...rules, ...board });
    await put({ sessions: 'required', session_rules });
    const { page, troubles } = await openTab(stage.browser);
    await page.goto(`${origin}/1.html`);
    await page.getByRole('button', { name: 'Start' }).click();
    await page.getByRole('button', { name: 'End' }).click();
    await page.getByText('Rank 1').waitFor();
    const { body } = await stage.server.call('GET', '/v1/boards/arcade/scores', undefined, null);
    expect(body.data).toMatchObject([{ user_name: 'Ada', score: 1_200 }]);
    await page.reload();
    await page.getByRole('button', { name: 'Start' }).click();
    await page.getByRole('button', { name: 'End' }).click();
    await page.getByText('Rank 1').waitFor();
    const again = await stage.server.call('GET', '/v1/boards/arcade/scores', undefined, null);
    expect(again.body.data).toHaveLength(1);
    expect(troubles).toEqual([]);
    await page.context().close();
  });

  const post = (user_name: string, points: number) =>
    stage.server.call('POST', '/v1/boards/laps/scores', { user_id: user_name.toLowerCase(), user_name, points }, token);

  it('shows the live board', async () => {
    const { page, troubles } = await openTab(stage.browser);
    await page.goto(`${origin}/0.html`);
    await page.getByText('live', { exact: true }).waitFor();
    await post('Grace', 83);
    await eventually(() => page.locator('li').allInnerTexts()).toEqual(['Grace: 83']);
    await post('Linus', 71);
    await eventually(() => page.locator('li').allInnerTexts()).toEqual(['Linus: 71', 'Grace: 83']);
    expect(troubles).toEqual([]);
    await page.context().close();
  });
});
