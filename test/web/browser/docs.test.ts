/** Tests `/_/docs`: the guides beside the API reference. */
import { describe, expect, it } from 'vitest';
import { eventually, expectAccessible, hasChromium, openTab } from './chromium.ts';
import { useStage } from './stage.ts';

describe.skipIf(!hasChromium)('the documentation', () => {
  const stage = useStage();

  it('shows each guide, and follows links between guides to their sections', async () => {
    const { page, troubles } = await openTab(stage.browser);
    await page.goto(`${stage.server.url}/_/docs`);
    const nav = page.getByRole('navigation', { name: 'Guides and operations' });
    const guides = nav.locator('.guides a');
    await guides.first().waitFor();
    for (const [n, guide] of (await guides.all()).entries()) {
      const name = await guide.innerText();
      await guide.click();
      const article = page.getByRole('article', { name, exact: true });
      await article.getByRole('heading', { level: 1 }).first().waitFor();
      // The guides have one shape.
      if (n % 4 === 0) await expectAccessible(page);
    }
    await nav.getByRole('link', { name: 'Leaderboard', exact: true }).click();
    const leaderboard = page.getByRole('article', { name: 'Leaderboard', exact: true });
    await leaderboard.getByRole('link', { name: 'further boards' }).click();
    const heading = leaderboard.getByRole('heading', { name: 'Boards', exact: true });
    await eventually(async () => (await heading.boundingBox())?.y ?? -1).toBeLessThan(400);
    expect(new URL(page.url()).hash).toBe('#guide/leaderboard/boards');
    await page.goBack();
    await eventually(() => new URL(page.url()).hash).toBe('#guide/leaderboard');
    expect(troubles).toEqual([]);
    await page.context().close();
  });

  it('shows examples of an operation in curl and TypeScript that work when pasted', async () => {
    const { page } = await openTab(stage.browser);
    await page.goto(`${stage.server.url}/_/docs#get-v1-scores`);
    const operation = page.locator('article#get-v1-scores');
    await operation.getByText('Examples in curl and TypeScript').click();
    const [curl = '', typescript = ''] = await operation.locator('pre').allInnerTexts();
    expect(curl).toBe(`curl '${stage.server.url}/v1/scores'`);
    const run = new Function(
      `return (async () => { ${typescript} return response.status; })()`,
    ) as () => Promise<number>;
    expect(await run()).toBe(200);
    const post = page.locator('article#post-v1-scores');
    await post.getByText('Examples in curl and TypeScript').click();
    await post.getByText('Authorization: Bearer $TOKEN').waitFor();
    await expectAccessible(page);
    await page.context().close();
  });
});
