/** What was changed or written survives a session that ends, a change of user, a save that fails and two saves at once. */
import type { Page, Route } from 'playwright-core';
import { describe, expect, it } from 'vitest';
import { listFolder, type MailUser, registerUser } from '../../support/mail/mail.ts';
import { eventually, hasChromium } from '../../web/browser/chromium.ts';
import { useStage } from '../../web/browser/stage.ts';
import { enter, folder, importLetters, letter, openRow, readText, row, signIn, subjects } from './mail-page.ts';

describe.skipIf(!hasChromium)('what is not saved yet', () => {
  const stage = useStage({ vars: { MAIL_HOLD_SECONDS: '0', REGISTRATION: 'open' } });

  const CHANGES = '**/v1/messages/batch';
  const DRAFTS = '**/v1/drafts';
  const text = (page: Page) => page.getByRole('textbox', { name: 'Message' });
  const archived = async (user: MailUser) =>
    (await listFolder(stage.server, user, 'archive')).map(({ subject }) => subject).sort();
  const drafts = async (user: MailUser): Promise<string[]> => {
    const list = await listFolder(stage.server, user, 'drafts');
    const read = list.map((one) => stage.server.call('GET', `/v1/drafts/${one.id}`, undefined, user.token));
    return (await Promise.all(read)).map((draft) => draft.body.body).sort();
  };
  const refuse = (route: Route) =>
    route.fulfill({ status: 401, json: { code: 'invalid_credential', title: 'The session has ended.', status: 401 } });

  async function archive(page: Page, subject: string): Promise<void> {
    await row(page, subject).getByRole('checkbox').click();
    await page.keyboard.press('e');
    await row(page, subject).waitFor({ state: 'detached' });
  }

  /** Lets the server refuse the session of a tab, whose next read then shows the form of the sign-in. */
  async function endSession(page: Page): Promise<void> {
    await page.route('**/v1/**', (route) => (route.request().method() === 'GET' ? refuse(route) : route.fallback()));
    // The next list is refused.
    await page.evaluate("location.hash = '#/sent'");
    await page.getByLabel('Password').waitFor();
    await page.unroute('**/v1/**');
  }

  it('a change that meets the end of the session is sent after the next sign-in', async () => {
    const user = await registerUser(stage.server, `late-${crypto.randomUUID().slice(0, 8)}`);
    await importLetters(stage.server, user, [letter(user, 'Change', 'x'), letter(user, 'Other', 'x')]);
    const { page } = await signIn(stage.server, stage.browser, user);
    await row(page, 'Change').waitFor();
    let refused = 0;
    await page.route(CHANGES, (route) => {
      refused++;
      return refuse(route);
    });
    await row(page, 'Change').getByRole('checkbox').click();
    await page.keyboard.press('e');
    await eventually(() => refused).toBeGreaterThan(0);
    await page.unroute(CHANGES);
    await page.goto(`${stage.server.url}/_/mail`);
    await eventually(() => archived(user)).toEqual(['Change']);
    await page.context().close();
  });

  it('changes of a user are not sent as another, and are sent when the user is back', async () => {
    const user = await registerUser(stage.server, `first-${crypto.randomUUID().slice(0, 8)}`);
    const other = await registerUser(stage.server, `other-${crypto.randomUUID().slice(0, 8)}`);
    await importLetters(stage.server, user, [letter(user, 'One', 'x'), letter(user, 'Two', 'x')]);
    await importLetters(stage.server, other, [letter(other, 'Of the other', 'x')]);
    const { page } = await signIn(stage.server, stage.browser, user);
    await row(page, 'Two').waitFor();
    let release = () => {};
    const released = new Promise<void>((resolve) => {
      release = resolve;
    });
    let changes = 0;
    await page.route(CHANGES, async (route) => {
      changes++;
      // The server has the change, and its answer is late.
      const response = await route.fetch();
      await released;
      await route.fulfill({ response });
    });
    await archive(page, 'One');
    await archive(page, 'Two');
    await eventually(() => changes).toBe(1);
    await endSession(page);
    await enter(page, other.email);
    await folder(page, 'Inbox').click();
    await row(page, 'Of the other').waitFor();
    expect(await subjects(page)).toEqual(['Of the other']);
    release();
    // A change of this user shows that the queue is free again. Only then the others would have been sent.
    await archive(page, 'Of the other');
    await eventually(() => archived(other)).toEqual(['Of the other']);
    expect(changes).toBe(2);
    await endSession(page);
    await enter(page, user.email);
    await eventually(() => archived(user)).toEqual(['One', 'Two']);
    await page.context().close();
  });

  it('a message that is saved again while its first save is under way becomes one draft with the last text', async () => {
    const user = await registerUser(stage.server, `twice-${crypto.randomUUID().slice(0, 8)}`);
    const { page } = await signIn(stage.server, stage.browser, user);
    let release = () => {};
    const released = new Promise<void>((resolve) => {
      release = resolve;
    });
    let saves = 0;
    await page.route(DRAFTS, async (route) => {
      if (route.request().method() === 'POST' && saves++ === 0) await released;
      await route.fallback();
    });
    await page.clock.install();
    await page.keyboard.press('c');
    await page.getByLabel('Subject').fill('Twice');
    await text(page).fill('The first text');
    await page.clock.runFor(2_000);
    await eventually(() => saves).toBe(1);
    await text(page).fill('The last text');
    // The pause after which the text is saved again.
    await page.clock.runFor(2_000);
    release();
    await page.getByText('Saved in Drafts', { exact: true }).waitFor();
    await eventually(() => drafts(user)).toEqual(['The last text']);
    expect(saves).toBe(1);
    await page.context().close();
  });

  it('a message that was left for another one and could not be saved is in Drafts after the next start', async () => {
    const user = await registerUser(stage.server, `left-${crypto.randomUUID().slice(0, 8)}`);
    await importLetters(stage.server, user, [letter(user, 'Question', 'Why?')]);
    // The window is wide, so that the buttons of the reader are beside the new message.
    const viewport = { width: 1900, height: 1000 };
    const { page } = await signIn(stage.server, stage.browser, user, { viewport });
    await openRow(page, 'Question');
    let failed = 0;
    await page.route(`${DRAFTS}**`, (route) => {
      failed++;
      return route.fulfill({ status: 503, json: { code: 'unavailable', title: 'Unavailable', status: 503 } });
    });
    await page.keyboard.press('c');
    await page.getByLabel('Subject').fill('Left');
    await text(page).fill('The text that was left');
    await page.getByRole('button', { name: 'Reply', exact: true }).first().click();
    await eventually(() => readText(text(page))).not.toContain('The text that was left');
    await eventually(() => failed).toBeGreaterThan(0);
    await text(page).fill('The answer');
    await page.unroute(`${DRAFTS}**`);
    await page.reload();
    await eventually(async () => (await drafts(user)).join('\n')).toContain('The text that was left');
    await page.context().close();
  });
});
