/** Tests that text in settings is kept until it is saved or discarded: a signature, a vacation reply and a filter. */
import type { Page } from 'playwright-core';
import { afterEach, describe, expect, it } from 'vitest';
import { registerUser } from '../../support/mail/mail.ts';
import { eventually, expectAccessible, hasChromium, takePictures } from '../../web/browser/chromium.ts';
import { useStage } from '../../web/browser/stage.ts';
import { signIn, signOut } from './mail-page.ts';

describe.skipIf(!hasChromium)('text that was not saved', () => {
  const stage = useStage({ vars: { REGISTRATION: 'open' } });
  const NOTE = 'Not saved yet.';

  const open = async (name: string, tab: string) => {
    const user = await registerUser(stage.server, `${name}-${crypto.randomUUID().slice(0, 8)}`);
    const { page, troubles } = await signIn(stage.server, stage.browser, user);
    await page.goto(`${stage.server.url}/_/mail#/settings/${tab}`);
    return { user, page, troubles };
  };
  const leaveAndReturn = async (page: Page, tab: string) => {
    await page.getByRole('link', { name: 'Contacts' }).click();
    await page.getByRole('link', { name: tab, exact: true }).click();
  };

  afterEach(async () => {
    for (const context of stage.browser.contexts()) await context.close();
  });

  it('in a signature survives a change of the tab, a failed save and a reload, and ends when it is saved', async () => {
    const { page, troubles } = await open('signer', 'profile');
    const field = page.getByLabel('Signature');
    await field.click();
    await page.keyboard.type('Ada, Lovelace & Co.');
    await page.getByText(NOTE).waitFor();
    await leaveAndReturn(page, 'You');
    await eventually(() => field.inputValue()).toBe('Ada, Lovelace & Co.');
    await page.route('**/v1/me', (route) => (route.request().method() === 'PATCH' ? route.abort() : route.continue()));
    await page.getByRole('button', { name: 'Save', exact: true }).first().click();
    await page.getByRole('alert').waitFor();
    await page.unroute('**/v1/me');
    await page.reload();
    await eventually(() => field.inputValue()).toBe('Ada, Lovelace & Co.');
    await expectAccessible(page);
    await takePictures(page, 'unsaved-signature');
    await page.getByRole('button', { name: 'Save', exact: true }).first().click();
    await page.getByText(NOTE).waitFor({ state: 'detached' });
    await field.click();
    await page.keyboard.press('End');
    await page.keyboard.type('!');
    await page.getByRole('button', { name: 'Discard the changes' }).click();
    await eventually(() => field.inputValue()).toBe('Ada, Lovelace & Co.');
    await page.reload();
    await eventually(() => field.inputValue()).toBe('Ada, Lovelace & Co.');
    expect(await page.getByText(NOTE).count()).toBe(0);
    expect(troubles).toEqual([]);
  });

  it('in a filter is there when the user returns, and is forgotten at Cancel', async () => {
    const { page, troubles } = await open('filterer', 'filters');
    await page.getByRole('button', { name: 'New filter' }).click();
    await page.getByLabel('Name').click();
    await page.keyboard.type('Half a filter');
    await leaveAndReturn(page, 'Filters');
    await eventually(() => page.getByLabel('Name').inputValue()).toBe('Half a filter');
    await page.getByText(NOTE).waitFor();
    await page.getByRole('button', { name: 'Cancel' }).click();
    await leaveAndReturn(page, 'Filters');
    await page.getByRole('button', { name: 'New filter' }).click();
    expect(await page.getByLabel('Name').inputValue()).toBe('');
    expect(troubles).toEqual([]);
  });

  it('in a vacation reply is forgotten when the user signs out', async () => {
    const { page, troubles } = await open('away', 'vacation');
    await page.getByLabel('Reply', { exact: true }).click();
    await page.keyboard.type('I am at the lake.');
    await leaveAndReturn(page, 'Away');
    await eventually(() => page.getByLabel('Reply', { exact: true }).inputValue()).toBe('I am at the lake.');
    await signOut(page);
    await page.getByLabel('Password').waitFor();
    expect(await page.evaluate(() => Object.keys(localStorage).filter((name) => name.includes('unsaved')))).toEqual([]);
    expect(troubles).toEqual([]);
  });
});
