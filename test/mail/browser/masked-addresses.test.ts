/** Addresses to give away, in the settings and in a conversation. */
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { awaitSunk, postInbound, registerUser } from '../../support/mail/mail.ts';
import { startServer, type TestServer } from '../../support/server.ts';
import { closeTabs, expectAccessible, hasChromium, openChromium } from '../../web/browser/chromium.ts';
import { openRow, signIn } from './mail-page.ts';

describe.skipIf(!hasChromium)('an address to give away', () => {
  let server: TestServer;
  let browser: Browser;
  beforeAll(async () => {
    [server, browser] = await Promise.all([startServer({ vars: { MAIL_HOLD_SECONDS: '0' } }), openChromium()]);
  });
  afterAll(async () => {
    await closeTabs(browser);
    await server?.[Symbol.asyncDispose]();
  });

  const raw = (to: string, subject: string) =>
    `From: Shop <shop@far.test>\r\nTo: ${to}\r\nSubject: ${subject}\r\nDate: ${new Date().toUTCString()}\r\nMessage-ID: <${crypto.randomUUID()}@far.test>\r\n\r\nThank you.\r\n`;
  const send = async (to: string, subject = 'Your order') =>
    (await postInbound(server, raw(to, subject), { from: 'shop@far.test', to })).status;

  it('is made with one click, shows its note, is the sender of the reply, and is ended and opened with one click', async () => {
    const user = await registerUser(server, `giver-${crypto.randomUUID()}`);
    const { page } = await signIn(server, browser, user, {});
    await page.goto(`${server.url}/_/mail#/settings/profile`);
    const card = page.getByRole('region', { name: 'Addresses to give away' });
    await card.getByLabel('Where you give it').fill('Running shoes');
    await card.getByRole('button', { name: 'Make one' }).click();
    const item = card.getByRole('listitem').filter({ hasText: 'Running shoes' });
    await item.waitFor();
    await expectAccessible(page);
    const [email = ''] = /[a-z]+\.[a-z]+\.\d{4}@example\.test/.exec((await item.textContent()) ?? '') ?? [];
    expect(await send(email)).toBe(202);
    expect(await send(email, 'Still unanswered')).toBe(202);

    await page.goto(`${server.url}/_/mail`);
    await openRow(page, 'Your order');
    await page.getByText(`To your address ${email}, given to: Running shoes`).waitFor();
    await page.getByRole('button', { name: 'Reply to Shop' }).click();
    expect(await page.getByRole('combobox', { name: 'From' }).inputValue()).toBe(email);
    await page.getByRole('button', { name: 'Send', exact: true }).click();
    const sunk = await awaitSunk(server, 'the reply', ({ raw: sent }) => String(sent).includes('Re: Your order'));
    expect(String(sunk.raw)).toMatch(new RegExp(`^From: <?${email}>?\r?$`, 'm'));
    expect(String(sunk.raw)).not.toContain(user.email);

    await page.goto(`${server.url}/_/mail#/settings/profile`);
    await item.getByRole('button', { name: 'End' }).click();
    await page.getByText(`Mail to ${email} is refused from now on.`).waitFor();
    expect(await send(email)).toBe(422);
    await item.getByRole('button', { name: 'Open again' }).click();
    await page.getByText(`${email} receives mail again.`).waitFor();
    expect(await send(email)).toBe(202);

    // A reply to mail that came before the end keeps the ended address, and offers to open it again.
    await item.getByRole('button', { name: 'End' }).click();
    await item.getByRole('button', { name: 'Open again' }).waitFor();
    await page.goto(`${server.url}/_/mail`);
    await openRow(page, 'Still unanswered');
    await page.getByRole('button', { name: 'Reply to Shop' }).click();
    await page.getByText(`This came to ${email}, which you ended.`).waitFor();
    expect(await page.getByRole('combobox', { name: 'From' }).inputValue()).toBe(email);
    await page.getByRole('button', { name: 'Open again' }).click();
    await page.getByText(`${email} receives mail again.`).waitFor();
    await page.getByRole('button', { name: 'Send', exact: true }).click();
    const late = await awaitSunk(server, 'the late reply', ({ raw: sent }) => String(sent).includes('Re: Still'));
    expect(String(late.raw)).not.toContain(user.email);
  });
});
