/** Tests the operator page of results in quarantine: a board is made with rules, and an operator decides about what broke them. */
import { describe, expect, it } from 'vitest';
import { eventually, expectAccessible, hasChromium, openTab } from '../../web/browser/chromium.ts';
import { useStage } from '../../web/browser/stage.ts';

describe.skipIf(!hasChromium)('the quarantine', () => {
  const stage = useStage();

  it('is set up, shown and emptied by an operator', async () => {
    const { call } = stage.server;
    const rules = { title: 'Arcade', sort: 'desc', operator: 'best', period: 'none', public: true };
    await call('PUT', '/v1/boards/arcade', { ...rules, max_data_bytes: 100 });
    const { page, troubles } = await openTab(stage.browser);
    page.on('dialog', (dialog) => void dialog.accept('I saw the replay'));
    await page.addInitScript(
      (token) => sessionStorage.setItem('tessera.operator.token', token),
      stage.server.rootToken,
    );
    await page.goto(`${stage.server.url}/_/operator#/boards`);
    await page.getByRole('button', { name: 'Edit Arcade' }).click();
    await page.getByText('Results from pages').click();
    await page.getByLabel('Pages may send results').check();
    await page.getByLabel(/^Origins of these pages/).fill('https://game.example.com');
    await page.getByLabel('Most points of a result').fill('100');
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByText('No result waits.').waitFor();
    const { body: board } = await call('GET', '/v1/boards/arcade', undefined, null);
    expect(board).toMatchObject({ sessions: 'required', max_data_bytes: 100, session_rules: { most_points: 100 } });
    expect(board.session_rules.origins).toEqual(['https://game.example.com']);

    const ids: string[] = [];
    for (const name of ['Ada', 'Bob', 'Eve']) {
      const player_secret = name.repeat(20);
      const { body } = await call('POST', '/v1/boards/arcade/plays', { player_secret }, null);
      const result = { play: body.play, player_secret, points: 999, user_name: name };
      const sent = await call('POST', `/v1/boards/arcade/plays/${body.play_id}/result`, result, null);
      expect([sent.status, sent.body.status]).toEqual([202, 'waiting']);
      ids.push(body.user_id);
    }
    await page.reload();
    const waiting = page.getByRole('region', { name: 'Results in quarantine' });
    await eventually(() => waiting.getByRole('listitem').count()).toBe(3);
    await expectAccessible(page);
    for (const [action, left] of [
      ['Accept Ada', 2],
      ['Refuse Bob', 1],
      ['Ban Eve', 0],
    ] as const) {
      await waiting.getByRole('button', { name: action }).click();
      await eventually(() => waiting.getByRole('button').count()).toBe(left * 3);
    }
    const { body: list } = await call('GET', '/v1/boards/arcade/scores?exact=1', undefined, null);
    expect(list.data).toMatchObject([{ user_name: 'Ada', score: 999 }]);
    const { body: bans } = await call('GET', '/v1/boards/arcade/bans');
    expect(bans.data).toMatchObject([{ user_id: ids[2] }]);
    expect(troubles).toEqual([]);
    await page.context().close();
  });
});
