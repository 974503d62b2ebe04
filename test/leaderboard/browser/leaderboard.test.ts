import { beforeAll, describe, expect, it } from 'vitest';
import { eventually, expectAccessible, hasChromium, openTab } from '../../web/browser/chromium.ts';
import { useStage } from '../../web/browser/stage.ts';
import { postPlayers, readTopList } from './leaderboard-page.ts';

describe.skipIf(!hasChromium)('the leaderboard page', () => {
  const stage = useStage();
  let gameToken: string;

  const score = (userId: string, points: number, userName?: string) =>
    stage.server.call(
      'POST',
      '/v1/scores',
      { user_id: userId, points, ...(userName ? { user_name: userName } : {}) },
      gameToken,
    );
  beforeAll(async () => {
    gameToken = await postPlayers(stage.server);
  });

  it('does not ask again for a player whose id the server refuses', async () => {
    const { page } = await openTab(stage.browser);
    const asked: string[] = [];
    page.on('request', (request) => {
      if (request.url().includes('Lovelace')) asked.push(request.url());
    });
    await page.goto(`${stage.server.url}/_/leaderboard#/?player=Ada%20Lovelace`);
    await page.getByText('A player id has 1 to 64 letters').waitFor();
    // The board reads the chosen player again every few seconds. After two such rounds, the refused id must not have been requested
    // again.
    const before = asked.length;
    let rounds = 0;
    page.on('request', (request) => {
      if (request.url().includes('/distribution')) rounds += 1;
    });
    await eventually(() => rounds).toBeGreaterThan(1);
    expect(asked).toHaveLength(before);
    expect(asked.filter((url) => url.includes('/neighbors'))).toEqual([]);
    await page.context().close();
  });

  it('moves rows in two browsers and in the embedded board as scores arrive', async () => {
    const tabs = await Promise.all([openTab(stage.browser), openTab(stage.browser), openTab(stage.browser)]);
    const paths = ['/_/leaderboard', '/_/leaderboard', '/_/embed/leaderboard'];
    await Promise.all(tabs.map(({ page }, index) => page.goto(stage.server.url + paths[index])));
    for (const { page } of tabs) {
      await page.getByText('Live', { exact: true }).waitFor();
      await eventually(() => readTopList(page)).toHaveLength(10);
      await eventually(async () => (await readTopList(page))[0]).toBe('1 Player 39 49');
    }
    await score('player-3', 40);
    await score('newcomer', 49, 'Newcomer');
    for (const { page, troubles } of tabs) {
      await eventually(async () => (await readTopList(page)).slice(0, 4)).toEqual([
        '1 Player 3 53',
        '2 Player 39 49',
        '2 Newcomer 49',
        '4 Player 38 48',
      ]);
      expect(troubles).toEqual([]);
    }
    await Promise.all(tabs.map(({ page }) => page.context().close()));
  });

  it('finds a player, shows neighbours and place in the distribution, and follows a rise in rank', async () => {
    const { page, troubles } = await openTab(stage.browser);
    await page.goto(`${stage.server.url}/_/leaderboard`);
    await page.getByLabel('Find a player by id').fill('player-10');
    await page.keyboard.press('Enter');
    const card = page.getByRole('region', { name: 'Player' });
    await card.getByRole('heading', { name: 'Player 10' }).waitFor();
    await eventually(() => card.getByRole('table').getByRole('row').count()).toBe(10);
    await card.getByRole('row', { name: /Player 10 selected/ }).waitFor();
    await page.getByRole('img', { name: /Player 10 has 20/ }).waitFor();
    await expectAccessible(page);
    await score('player-10', 15);
    await card.locator('.figures', { hasText: '35 points' }).waitFor();
    // The address contains the player, so a reload opens the same player again.
    await page.reload();
    await card.getByRole('heading', { name: 'Player 10' }).waitFor();
    await page.getByLabel('Find a player by id').fill('nobody');
    await page.keyboard.press('Enter');
    await page.getByText('No player “nobody” has a score in this season.').waitFor();
    expect(troubles).toEqual([]);
    await page.context().close();
  });

  it('shows that it is disconnected while the server is down, and then catches up', async () => {
    const { page } = await openTab(stage.browser);
    await page.goto(`${stage.server.url}/_/leaderboard`);
    await page.getByText('Live', { exact: true }).waitFor();
    await stage.server.stop();
    await page.getByText('Reconnecting…').waitFor();
    await stage.server.start();
    await score('late', 90, 'Late');
    await eventually(async () => (await readTopList(page))[0]).toBe('1 Late 90');
    await page.context().close();
  });

  it('uses server-sent events if sockets are blocked', async () => {
    const { page } = await openTab(stage.browser);
    await page.routeWebSocket(/.*/, (socket) => socket.close());
    const events = page.waitForRequest((request) => request.resourceType() === 'eventsource');
    await page.goto(`${stage.server.url}/_/leaderboard`);
    await events;
    await page.getByText('Live', { exact: true }).waitFor();
    await score('by-events', 150, 'By events');
    await eventually(async () => (await readTopList(page))[0]).toBe('1 By events 150');
    await page.context().close();
  });

  it('shows the first three on a podium, the time that is left, moves, and the places down to 100', async () => {
    const { page, troubles } = await openTab(stage.browser);
    await page.goto(`${stage.server.url}/_/leaderboard`);
    await page.getByText('Live', { exact: true }).waitFor();
    await eventually(() => readTopList(page)).toHaveLength(10);
    const first = (await readTopList(page))[0] ?? '';
    expect(first).toContain(await page.locator('.podium .stand-1 strong').innerText());
    await page.locator('time.countdown', { hasText: 'Ends in' }).waitFor();
    const fifth = page.getByRole('table', { name: 'Top list' }).locator('tbody tr').nth(4);
    const id = (await fifth.getAttribute('data-id')) ?? '';
    // Number of places that this player can gain. Less than 5 if others have the same score.
    const places = Number(await fifth.locator('.rank').innerText()) - 1;
    await score(id, 100_000);
    await eventually(async () => (await readTopList(page))[0]).toContain('100');
    await page.getByText(`Up ${places} since you opened this page`).waitFor();
    await expectAccessible(page);
    await page.getByRole('button', { name: 'Show the first 100' }).click();
    await eventually(async () => (await readTopList(page)).length).toBeGreaterThan(30);
    expect(troubles).toEqual([]);
    await page.context().close();
  });

  it('remembers which player the visitor is, and jumps to their rank', async () => {
    const { page, troubles } = await openTab(stage.browser);
    await page.goto(`${stage.server.url}/_/leaderboard#/?player=player-12`);
    const card = page.getByRole('region', { name: 'Player' });
    await card.getByRole('button', { name: 'This is me' }).click();
    await card.getByText('you', { exact: true }).waitFor();
    await page.getByRole('button', { name: 'Close player' }).click();
    await card.waitFor({ state: 'detached' });
    await page.reload();
    await page.getByRole('button', { name: 'My rank' }).click();
    await card.getByRole('heading', { name: 'Player 12' }).waitFor();
    await card.getByRole('button', { name: 'This is me', pressed: true }).click();
    await page.getByRole('button', { name: 'My rank' }).waitFor({ state: 'detached' });
    expect(troubles).toEqual([]);
    await page.context().close();
  });

  it('shows a past season with players, distribution and the place of the player', async () => {
    // Move the clock to the first day of a month well after today, so that the scores so far belong to a past season.
    const later = new Date(Date.UTC(new Date().getUTCFullYear(), new Date().getUTCMonth() + 2, 1));
    const season = new Date().toISOString().slice(0, 7);
    await stage.server.stop();
    await stage.server.start({ CLOCK_OFFSET_SECONDS: String(Math.round((later.getTime() - Date.now()) / 1000)) });
    await stage.server.call('POST', `/v1/seasons/${season}/close`);
    await eventually(async () => {
      const { body } = await stage.server.call('GET', '/v1/seasons');
      return body.data.find((one: { season: string }) => one.season === season)?.state;
    }).toBe('historical');
    const { page, troubles } = await openTab(stage.browser);
    await page.goto(`${stage.server.url}/_/leaderboard`);
    await page.getByText('No scores yet.').waitFor();
    await page.getByLabel('Season').selectOption(season);
    await page.getByText('final standings').waitFor();
    await eventually(async () => (await readTopList(page)).length).toBeGreaterThan(10);
    await page.getByLabel('Find a player by id').fill('player-20');
    await page.keyboard.press('Enter');
    const card = page.getByRole('region', { name: 'Player' });
    await card.getByRole('row', { name: /Player 20 selected/ }).waitFor();
    await page.getByRole('img', { name: /Player 20 has 30/ }).waitFor();
    await page.locator('.here-text', { hasText: 'Player 20' }).waitFor();
    await expectAccessible(page);
    // The address contains season and player, so a reload opens the same player again.
    await page.reload();
    await card.getByRole('heading', { name: 'Player 20' }).waitFor();
    await page.getByLabel('Season').selectOption('');
    await page.getByText('No scores yet.').waitFor();
    expect(troubles).toEqual([]);
    await page.context().close();
  });
});
