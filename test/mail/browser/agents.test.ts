/** What an agent wrote waits for the person, who reads and sends it on a phone. */
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { connectAgent } from '../../support/mail/agent-client.ts';
import { awaitSunk, registerUser } from '../../support/mail/mail.ts';
import { startServer, type TestServer } from '../../support/server.ts';
import { closeTabs, expectAccessible, hasChromium, openChromium } from '../../web/browser/chromium.ts';
import { confirmWithPassword, signIn } from './mail-page.ts';

describe.skipIf(!hasChromium)('the page of agents', () => {
  let server: TestServer;
  let browser: Browser;
  beforeAll(async () => {
    [server, browser] = await Promise.all([startServer({ vars: { MAIL_HOLD_SECONDS: '0' } }), openChromium()]);
  });
  afterAll(async () => {
    await closeTabs(browser);
    await server?.[Symbol.asyncDispose]();
  });

  it('connects an agent, shows what it wants to send, and sends it with one tap', async () => {
    const user = await registerUser(server, `agented-${crypto.randomUUID()}`);
    const { page } = await signIn(server, browser, user, { viewport: { width: 390, height: 800 }, hasTouch: true });
    await page.goto(`${server.url}/_/mail#/settings/agents`);
    await page.getByText('Nothing waits.').waitFor();
    await page.getByLabel('Name of the program').fill('My assistant');
    await page.getByRole('button', { name: 'Connect' }).click();
    await confirmWithPassword(page);
    const token = (await page.locator('code.break').textContent()) ?? '';
    expect(token).toMatch(/^tok_/);
    await page.getByText('reads · writes drafts, sorts').waitFor();
    await using agent = await connectAgent(server, token);
    const draft = await agent.call('draft', { to: ['carl@far.test'], subject: 'Friday', body: 'See you on Friday.' });
    const [, id] = /^draft (\S+)/.exec(draft) ?? [];
    expect(await agent.call('send_draft', { draft_id: id })).toContain('waits');

    await page.reload();
    const card = page.getByRole('article', { name: 'Friday' });
    await card.getByText('See you on Friday.').waitFor();
    await card.getByText('carl@far.test').waitFor();
    await card.getByText('My assistant asked on').waitFor();
    await expectAccessible(page);
    await card.getByRole('button', { name: 'Send it' }).click();
    const sunk = await awaitSunk(server, 'the message', ({ envelope }) => envelope.to[0] === 'carl@far.test');
    expect(String(sunk.raw)).toContain('See you on Friday.');
    await page.getByText('Nothing waits.').waitFor();
  });
});
