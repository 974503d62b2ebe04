/** Tests several boards, any part of the ranks, and the builder of embedded boards. */
import { beforeAll, describe, expect, it } from 'vitest';
import { eventually, expectAccessible, hasChromium, openTab } from '../../web/browser/chromium.ts';
import { useStage } from '../../web/browser/stage.ts';
import { expectLogo, postPlayers, readTopList, setLogo } from './leaderboard-page.ts';

describe.skipIf(!hasChromium)('the boards of the leaderboard', () => {
  const stage = useStage();
  let gameToken: string;

  beforeAll(async () => {
    gameToken = await postPlayers(stage.server);
  });

  it('goes to any rank, page by page', async () => {
    const { page, troubles } = await openTab(stage.browser);
    await page.goto(`${stage.server.url}/_/leaderboard`);
    const ranks = page.getByRole('region', { name: 'All ranks' });
    await ranks.getByLabel('Go to rank').fill('5');
    await ranks.getByRole('button', { name: 'Go', exact: true }).click();
    const first = ranks.locator('.standings .rank').first();
    await eventually(() => first.innerText()).toBe('5');
    await ranks.getByText(/^Ranks 5 to \d+ of \d+$/).waitFor();
    await expectAccessible(page);
    await ranks.getByRole('button', { name: 'Lower ranks' }).click();
    await eventually(async () => Number(await first.innerText())).toBeGreaterThan(20);
    await page.goBack();
    await eventually(() => first.innerText()).toBe('5');
    await ranks.getByRole('button', { name: 'Close' }).click();
    await eventually(() => ranks.getByRole('table').count()).toBe(0);
    expect(troubles).toEqual([]);
    await page.context().close();
  });

  it('shows several boards, each with its title, season and scores', async () => {
    const id = `laps-${crypto.randomUUID().slice(0, 8)}`;
    const rules = { title: `Laps ${id}`, sort: 'asc', operator: 'best', period: 'week', public: true, decimals: 1 };
    expect((await stage.server.call('PUT', `/v1/boards/${id}`, rules)).status).toBe(200);
    const updates = [
      { user_id: 'fast', user_name: 'Fast', points: 61 },
      { user_id: 'slow', user_name: 'Slow', points: 75 },
    ];
    await stage.server.call('POST', `/v1/boards/${id}/scores/batch`, { updates }, gameToken);
    const { page, troubles } = await openTab(stage.browser);
    await page.goto(`${stage.server.url}/_/leaderboard`);
    await page.getByRole('combobox', { name: /^Board/ }).selectOption(rules.title);
    await page.getByRole('heading', { name: rules.title }).waitFor();
    await eventually(() => readTopList(page)).toEqual(['1 Fast 6.1', '2 Slow 7.5']);
    await page.getByText(/^Week of .* 2 players/).waitFor();
    await page.getByText(/^Ends in /).waitFor();
    await page.getByText('Live', { exact: true }).waitFor();
    await expectAccessible(page);
    const posted = { user_id: 'faster', user_name: 'Faster', points: 59 };
    await stage.server.call('POST', `/v1/boards/${id}/scores`, posted, gameToken);
    await eventually(() => readTopList(page)).toEqual(['1 Faster 5.9', '2 Fast 6.1', '3 Slow 7.5']);
    await page.getByRole('button', { name: 'Slow', exact: true }).first().click();
    await page.getByRole('region', { name: 'Player' }).getByText('#3').waitFor();
    expect(new URL(page.url()).hash).toContain(`board=${id}`);
    await page.getByRole('combobox', { name: /^Board/ }).selectOption('Main board');
    await eventually(async () => (await readTopList(page)).length).toBe(10);
    expect(troubles).toEqual([]);
    await page.context().close();
  });

  it('shows the title and the logo that an operator gave the main board, also where it is embedded', async () => {
    const title = `Cup & “${crypto.randomUUID().slice(0, 8)}”`;
    const path = '/v1/boards/default';
    expect((await stage.server.call('PUT', path, { title })).status).toBe(200);
    await setLogo(stage.server, 'default');
    const { page, troubles } = await openTab(stage.browser);
    await page.goto(`${stage.server.url}/_/leaderboard`);
    await page.getByRole('heading', { name: title }).waitFor();
    await expectLogo(page.locator('.board-head'));
    await page.getByText('Put this board on your own page').click();
    await expectLogo(page.frameLocator('iframe[title="Preview"]').locator('body'));
    await page.getByText(`title="${title.replace('&', '&amp;')}"`).waitFor();
    await expectAccessible(page);
    await page.goto(`${stage.server.url}/_/embed/leaderboard`);
    await page.getByRole('heading', { name: title }).waitFor();
    await expectLogo(page.locator('body'));
    await expectAccessible(page);
    expect((await stage.server.call('DELETE', `${path}/logo`)).status).toBe(204);
    expect((await stage.server.call('PUT', path, { title: 'Leaderboard' })).status).toBe(200);
    await page.reload();
    await page.locator('.standings').waitFor();
    expect(await page.locator('.board-logo').count()).toBe(0);
    expect(troubles).toEqual([]);
    await page.context().close();
  });

  it('finds players by name: everyone on a board that allows it, operators on every board', async () => {
    const id = `names-${crypto.randomUUID().slice(0, 8)}`;
    const rules = { title: `Names ${id}`, sort: 'desc', operator: 'best', period: 'none', public: true };
    expect((await stage.server.call('PUT', `/v1/boards/${id}`, { ...rules, find_by_name: true })).status).toBe(200);
    const updates = [
      { user_id: 'u1', user_name: 'Grace Hopper', points: 7 },
      { user_id: 'u2', user_name: 'Gracia', points: 9 },
      { user_id: 'u3', user_name: 'Linus', points: 8 },
    ];
    await stage.server.call('POST', `/v1/boards/${id}/scores/batch`, { updates }, gameToken);
    expect((await stage.server.call('PUT', '/v1/boards/a-first', { ...rules, title: 'First' })).status).toBe(200);
    const { page, troubles } = await openTab(stage.browser);
    // With more boards than a page of the list has, the list lacks this one.
    await page.route('**/v1/boards?limit=200', (route) =>
      route.continue({ url: `${stage.server.url}/v1/boards?limit=1` }),
    );
    await page.goto(`${stage.server.url}/_/leaderboard#/?board=${id}`);
    await page.getByRole('heading', { name: rules.title }).waitFor();
    const field = page.getByLabel('Find a player by name or id');
    await field.fill('grac');
    await page.keyboard.press('Enter');
    const list = page.getByRole('table', { name: 'Players found' });
    await eventually(() => list.locator('.name').allInnerTexts()).toEqual(['Grace Hopper', 'Gracia']);
    await expectAccessible(page);
    await list.getByRole('button', { name: 'Grace Hopper' }).click();
    await page.getByRole('region', { name: 'Player', exact: true }).getByText('#3').waitFor();
    await field.fill('no body');
    await page.keyboard.press('Enter');
    await page.getByText('No name in this season begins with “no body”.').waitFor();
    await field.fill('u3');
    await page.keyboard.press('Enter');
    await page.getByRole('region', { name: 'Player', exact: true }).getByRole('heading', { name: 'Linus' }).waitFor();
    expect((await stage.server.call('PUT', `/v1/boards/${id}`, rules)).status).toBe(200);
    await page.reload();
    await page.getByLabel('Find a player by id').waitFor();
    await page.evaluate((token) => sessionStorage.setItem('tessera.operator.token', token), stage.server.rootToken);
    await page.unrouteAll();
    await page.goto(`${stage.server.url}/_/operator#/boards`);
    const corrections = page.getByRole('region', { name: 'Correct a score' });
    await corrections.getByLabel('Board').selectOption(rules.title);
    await corrections.getByLabel('Player id or beginning of a name').fill('GRACI');
    await corrections.getByRole('button', { name: 'Search names' }).click();
    await corrections.getByRole('button', { name: 'Choose Gracia' }).click();
    await corrections.getByText('Gracia has 9 points, rank 1.').waitFor();
    await expectAccessible(page);
    expect(troubles).toEqual([]);
    await page.context().close();
  });

  it('builds the code of an embedded board with a preview, and copies it', async () => {
    const { page, troubles } = await openTab(stage.browser, { colorScheme: 'light' });
    await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
    await page.goto(`${stage.server.url}/_/leaderboard`);
    await page.getByText('Put this board on your own page').click();
    await page.getByRole('combobox', { name: /^Rows/ }).selectOption('3');
    await page.getByRole('combobox', { name: /^Colours/ }).selectOption('Dark');
    await page.getByRole('spinbutton', { name: 'Width' }).fill('400');
    const preview = page.frameLocator('iframe[title="Preview"]');
    await eventually(() => preview.locator('.standings tbody tr').count()).toBe(3);
    await eventually(() => preview.locator('html').getAttribute('data-scheme')).toBe('dark');
    await expectAccessible(page);
    await page.getByRole('button', { name: 'Copy' }).click();
    await page.getByText('Copied.').waitFor();
    const code = await page.evaluate(() => navigator.clipboard.readText());
    expect(code).toBe(
      `<iframe src="${stage.server.url}/_/embed/leaderboard?rows=3&amp;theme=dark" width="400" height="280" title="Leaderboard"></iframe>`,
    );
    expect(troubles).toEqual([]);
    await page.context().close();
  });
});
