/** The top list of the leaderboard page, and players for it. */
import type { Page } from 'playwright-core';
import type { TestServer } from '../support/server.ts';

/** Lines of the top list, best first: `rank name score`. */
export const readTopList = (page: Page): Promise<string[]> =>
  page.getByRole('table', { name: 'Top list' }).evaluate((table) =>
    [...table.querySelectorAll('tbody tr')].map((row) => {
      const text = (selector: string) => row.querySelector(selector)?.textContent?.trim();
      return `${text('.rank')} ${text('.name')} ${text('.score')}`;
    }),
  );

/** Posts scores of 40 players, 10 to 49 points. @returns a token that may write scores. */
export async function postPlayers(server: TestServer): Promise<string> {
  const { body } = await server.call('POST', '/v1/iam/tokens', { name: 'game', scopes: ['scores:write'] });
  const updates = Array.from({ length: 40 }, (_, index) => ({
    user_id: `player-${index}`,
    user_name: `Player ${index}`,
    points: 10 + index,
  }));
  await server.call('POST', '/v1/scores/batch', { updates }, body.token);
  return body.token;
}
