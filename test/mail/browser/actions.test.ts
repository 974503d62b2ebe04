/** Tests actions on a message and its sender: leave a list, block, filter, snooze, mute, answer an invitation. */
import type { Locator, Page } from 'playwright-core';
import { describe, expect, it } from 'vitest';
import { awaitMessage, listFolder, type MailUser, registerUser } from '../../support/mail/mail.ts';
import { eventually, expectAccessible, hasChromium, type Tab, takePictures } from '../../web/browser/chromium.ts';
import { useStage } from '../../web/browser/stage.ts';
import {
  deliver,
  enter,
  folder,
  importLetters,
  invitation,
  letter,
  messageText,
  openRow,
  row,
  signIn,
  signOut,
  subjects,
} from './mail-page.ts';

const LIST = 'Content-Type: text/plain\nList-Unsubscribe: <mailto:leave@lists.test?subject=leave%20digest>\n';

describe.skipIf(!hasChromium)('a reader of mail', () => {
  const stage = useStage({ vars: { MAIL_HOLD_SECONDS: '0', REGISTRATION: 'open' } });

  let users = 0;
  async function open(letters: (user: MailUser) => string[]): Promise<Tab & { user: MailUser }> {
    users += 1;
    const user = await registerUser(stage.server, `actor${users}`);
    await importLetters(stage.server, user, letters(user));
    return { ...(await signIn(stage.server, stage.browser, user)), user };
  }
  const menuItem = async (page: Page, menu: RegExp | string, item: string): Promise<Locator> => {
    await page.getByRole('button', { name: menu }).last().click();
    return page.getByRole('menuitem', { name: item });
  };

  it('leaves a mailing list with the button beside its sender, which then says so', async () => {
    const { page, user, troubles } = await open((to) => [letter(to, 'Digest', 'News.', LIST)]);
    await openRow(page, 'Digest');
    await page.getByRole('button', { name: 'Unsubscribe' }).waitFor();
    await takePictures(page, 'list-message');
    await page.getByRole('button', { name: 'Unsubscribe' }).click();
    const dialog = page.getByRole('dialog', { name: 'Unsubscribe from Carol?' });
    await dialog.getByText('leave@lists.test').waitFor();
    await expectAccessible(page);
    await takePictures(page, 'unsubscribe');
    await dialog.getByRole('button', { name: 'Unsubscribe' }).click();
    await page.getByText('You unsubscribed from Carol.').waitFor();
    await awaitMessage(stage.server, user, 'sent', 'leave digest');
    const offer = page.getByRole('button', { name: 'Unsubscribe' });
    const showsMark = async () => {
      await page.locator('.message-head').getByText('Unsubscribed', { exact: true }).waitFor();
      expect(await offer.count()).toBe(0);
    };
    await showsMark();
    // On a phone, the mark is below the sender and the date, not before the name.
    await page.setViewportSize({ width: 390, height: 760 });
    const isBelow = () =>
      page.locator('.message.open').evaluate((message) => {
        const date = message.querySelector('.when-open')?.getBoundingClientRect();
        const mark = message.querySelector('.unsubscribe')?.getBoundingClientRect();
        return date !== undefined && mark !== undefined && mark.top >= date.bottom && mark.left >= date.left;
      });
    await eventually(isBelow).toBe(true);
    await page.setViewportSize({ width: 1280, height: 800 });
    await takePictures(page, 'unsubscribed');
    // The server stores the mark as a label that the page does not list, so it is shown again after a reload.
    await page.reload();
    await openRow(page, 'Digest');
    await showsMark();
    await page.getByRole('button', { name: 'More about Carol' }).click();
    await page.getByRole('menuitem', { name: 'Show original' }).waitFor();
    expect(await page.getByRole('menuitem', { name: 'Unsubscribe' }).count()).toBe(0);
    expect(await page.getByText('$unsubscribed').count()).toBe(0);
    expect(troubles).toEqual([]);
    await page.context().close();
  });

  it('knows that a list was left in its other mail, and offers to block the sender if the list goes on', async () => {
    const digest = `List-ID: Digest <digest-${crypto.randomUUID()}.lists.test>\n${LIST}`;
    const { page, user, troubles } = await open((to) => [letter(to, 'Other list', 'Else.', LIST)]);
    const importAt = (subject: string, day: string) =>
      importLetters(stage.server, user, [letter(user, subject, `About ${subject}.`, digest)], day);
    await importAt('First', 'Sat Jan 10 10:00:00 2026');
    await importAt('Second', 'Sun Jan 11 10:00:00 2026');
    const offer = page.getByRole('button', { name: 'Unsubscribe' });
    const read = async (subject: string) => {
      await openRow(page, subject);
      await messageText(page, `About ${subject}.`).waitFor();
    };
    await read('First');
    await offer.click();
    await page.getByRole('dialog').getByRole('button', { name: 'Unsubscribe' }).click();
    await page.getByText('You unsubscribed from Carol.').waitFor();
    await importAt('Third', 'Mon Jan 12 10:00:00 2026');
    await importAt('Fourth', 'Tue Jan 20 10:00:00 2026');
    const mark = page.locator('.message-head').getByText('Unsubscribed', { exact: true });
    for (const subject of ['Second', 'Third']) {
      await read(subject);
      await mark.waitFor();
      expect(await offer.count(), subject).toBe(0);
    }
    await read('Fourth');
    await page.getByText('Unsubscribed, but still arriving.').waitFor();
    await expectAccessible(page);
    await takePictures(page, 'still-arriving');
    await openRow(page, 'Other list');
    await messageText(page, 'Else.').waitFor();
    await offer.waitFor();
    await read('Fourth');
    await page.getByRole('button', { name: 'Block the sender' }).click();
    await page.getByText('carol@outside.test is blocked.').waitFor();
    expect(troubles).toEqual([]);
    await page.context().close();
  });

  it('blocks a sender, finds the block in the settings and removes it', async () => {
    const { page, user, troubles } = await open((to) => [letter(to, 'Offer', 'Buy now.')]);
    await openRow(page, 'Offer');
    await messageText(page, 'Buy now.').waitFor();
    const block = await menuItem(page, 'More about Carol', 'Block carol@outside.test');
    await block.waitFor();
    await expectAccessible(page);
    await takePictures(page, 'sender-menu');
    await block.click();
    await page.getByText('carol@outside.test is blocked.').waitFor();
    await deliver(stage.server, user, letter(user, 'Again', 'Buy at last.'));
    await awaitMessage(stage.server, user, 'junk', 'Again');
    await page.goto(`${stage.server.url}/_/mail#/settings/senders`);
    const blocked = page.getByRole('region', { name: 'Blocked' });
    await blocked.getByText('carol@outside.test').first().waitFor();
    await expectAccessible(page);
    await takePictures(page, 'senders');
    await blocked.getByRole('button', { name: 'Remove carol@outside.test' }).click();
    await blocked.getByText('No blocked senders.').waitFor();
    await page.getByLabel('Address, domain or mailing list').fill('not a sender');
    await page.getByRole('button', { name: 'Add' }).click();
    await page.getByText('“not a sender” is not an address').waitFor();
    await page.getByLabel('Address, domain or mailing list').fill('@friends.test');
    await page.getByLabel('Decision').selectOption('Trust');
    await page.getByRole('button', { name: 'Add' }).click();
    await page.getByRole('region', { name: 'Trusted' }).getByText('@friends.test').first().waitFor();
    expect(troubles).toEqual([]);
    await page.context().close();
  });

  it('makes a filter from a message', async () => {
    const { page, user, troubles } = await open((to) => [letter(to, 'Report', 'All well.')]);
    await openRow(page, 'Report');
    await messageText(page, 'All well.').waitFor();
    await (await menuItem(page, 'More about Carol', 'Filter messages like this')).click();
    await page.getByRole('region', { name: 'Matching messages' }).getByText('Report').waitFor();
    await expectAccessible(page);
    await page.getByRole('button', { name: 'Save and apply to existing mail' }).click();
    await page.getByText('Saved, and applied to 1 message.').waitFor();
    await awaitMessage(stage.server, user, 'archive', 'Report');
    expect(troubles).toEqual([]);
    await page.context().close();
  });

  it('snoozes a conversation with a key, finds it under Snoozed and brings it back', async () => {
    const { page, user, troubles } = await open((to) => [
      letter(to, 'Tax', 'Due soon.'),
      letter(to, 'Other', 'Later.'),
    ]);
    await openRow(page, 'Tax');
    await messageText(page, 'Due soon.').waitFor();
    await page.keyboard.press('b');
    const dialog = page.getByRole('dialog', { name: 'Snooze until' });
    await dialog.getByRole('button', { name: /^Tomorrow/ }).waitFor();
    await expectAccessible(page);
    await takePictures(page, 'snooze');
    await dialog.getByRole('button', { name: /^Tomorrow/ }).click();
    await eventually(() => subjects(page)).toEqual(['Other']);
    await awaitMessage(stage.server, user, 'archive', 'Tax');
    await folder(page, 'Snoozed').click();
    await row(page, 'Tax').locator('.snoozed').waitFor();
    await openRow(page, 'Tax');
    await messageText(page, 'Due soon.').waitFor();
    await page.getByText(/^Snoozed until .*\d\.$/).waitFor();
    await expectAccessible(page);
    await takePictures(page, 'snoozed');
    await page.getByRole('button', { name: 'Move to the Inbox' }).click();
    await awaitMessage(stage.server, user, 'inbox', 'Tax');
    await folder(page, 'Inbox').click();
    await row(page, 'Tax').waitFor();
    // The undo of a snooze must put the row back.
    await row(page, 'Tax').hover();
    await row(page, 'Tax').getByRole('button', { name: 'Snooze' }).click();
    const inAMonth = new Date(Date.now() + 30 * 86_400_000).toISOString().slice(0, 16);
    await dialog.getByLabel('Another time').fill(inAMonth);
    await dialog.getByRole('button', { name: 'Snooze', exact: true }).click();
    await eventually(() => subjects(page)).toEqual(['Other']);
    await page.keyboard.press('z');
    await row(page, 'Tax').waitFor();
    await awaitMessage(stage.server, user, 'inbox', 'Tax');
    expect(troubles).toEqual([]);
    await page.context().close();
  });

  it('mutes a conversation, so that its later mail skips the Inbox, and ends that', async () => {
    const first = (to: MailUser) =>
      letter(to, 'Noise', 'One.', 'Content-Type: text/plain\n').replace(/Message-ID: .*/, 'Message-ID: <n1@o.test>');
    const { page, user, troubles } = await open((to) => [first(to), letter(to, 'Other', 'Quiet.')]);
    await openRow(page, 'Noise');
    await messageText(page, 'One.').waitFor();
    await (await menuItem(page, 'More actions', 'Mute')).click();
    await eventually(() => subjects(page)).toEqual(['Other']);
    await page.getByText('Muted. New messages of this conversation skip the Inbox.').waitFor();
    await deliver(
      stage.server,
      user,
      letter(user, 'Re: Noise', 'Two.', 'In-Reply-To: <n1@o.test>\nContent-Type: text/plain\n'),
    );
    await awaitMessage(stage.server, user, 'archive', 'Re: Noise');
    await folder(page, 'Archive').click();
    await openRow(page, 'Noise');
    await messageText(page, 'Two.').waitFor();
    await page.getByText('Muted: new messages').waitFor();
    await expectAccessible(page);
    await takePictures(page, 'muted');
    await page.getByRole('button', { name: 'Unmute' }).click();
    await page.getByText('New messages of this conversation come to the Inbox again.').waitFor();
    await page.getByText('Muted: new messages').waitFor({ state: 'detached' });
    await messageText(page, 'Two.').waitFor();
    await deliver(
      stage.server,
      user,
      letter(user, 'Re: Noise', 'Three.', 'In-Reply-To: <n1@o.test>\nContent-Type: text/plain\n'),
    );
    await eventually(async () => (await listFolder(stage.server, user, 'inbox')).length).toBe(2);
    expect(troubles).toEqual([]);
    await page.context().close();
  });

  it('sees an invitation as a card and answers it for the calendar of its organizer', async () => {
    const { page, user, troubles } = await open((to) => [invitation(to)]);
    await openRow(page, 'Team lunch');
    const card = page.getByRole('region', { name: 'Invitation' });
    await card.getByText('Café by the river').waitFor();
    await card.getByText(/5 November 2030.*12:30.*13:30/).waitFor();
    await expectAccessible(page);
    await takePictures(page, 'invitation');
    await card.getByRole('button', { name: 'Yes' }).click();
    await card.getByText('You accepted.').waitFor();
    const sent = await awaitMessage(stage.server, user, 'sent', 'Accepted: Team lunch');
    const get = async (path: string) => {
      const headers = { authorization: `Bearer ${user.token}` };
      return (await fetch(`${stage.server.url}/v1/messages/${sent.id}/${path}`, { headers })).text();
    };
    expect(await get('raw')).toContain('Content-Type: text/calendar; method=reply');
    expect((await get('attachments/accepted.ics')).split('\r\n')).toEqual(
      expect.arrayContaining([
        'METHOD:REPLY',
        'UID:lunch-1@outside.test',
        'SEQUENCE:2',
        'ORGANIZER;CN=Carol:mailto:carol@outside.test',
        `ATTENDEE;PARTSTAT=ACCEPTED:mailto:${user.email}`,
      ]),
    );
    // The answer is stored in the conversation: after a reload, the page reads it from there as another device would.
    await page.reload();
    await openRow(page, 'Team lunch');
    await page
      .getByRole('article', { name: 'Message from Carol' })
      .getByRole('button', { expanded: false })
      .first()
      .click();
    await card.getByText('You accepted.').waitFor();
    await takePictures(page, 'invitation-answered');
    expect(troubles).toEqual([]);
    await page.context().close();
  });

  it('finds newsletters and other labels beside the folders', async () => {
    const { page, user, troubles } = await open((to) => [letter(to, 'Weekly', 'News.'), letter(to, 'Ann', 'Hi.')]);
    const weekly = await awaitMessage(stage.server, user, 'inbox', 'Weekly');
    await stage.server.call('PATCH', `/v1/messages/${weekly.id}`, { labels: ['Newsletters'] }, user.token);
    await folder(page, 'Newsletters').click();
    await page.getByRole('heading', { name: 'Newsletters', level: 1 }).waitFor();
    await eventually(() => subjects(page)).toEqual(['Weekly']);
    await expectAccessible(page);
    await takePictures(page, 'labels');
    await signOut(page);
    const other = await registerUser(stage.server, 'successor');
    await enter(page, other.email);
    await folder(page, 'Inbox').waitFor();
    expect(await folder(page, 'Newsletters').count()).toBe(0);
    expect(troubles).toEqual([]);
    await page.context().close();
  });

  it('drags a row to a folder, and selected rows to a label', async () => {
    const { page, user, troubles } = await open((to) => [
      letter(to, 'Apples', 'a'),
      letter(to, 'Berries', 'b'),
      letter(to, 'Cherries', 'c'),
    ]);
    const first = await awaitMessage(stage.server, user, 'inbox', 'Apples');
    await stage.server.call('PATCH', `/v1/messages/${first.id}`, { labels: ['Plans'] }, user.token);
    await folder(page, 'Plans').waitFor();
    await row(page, 'Cherries').hover();
    await page.mouse.down();
    await folder(page, 'Sent').hover();
    expect(await folder(page, 'Sent').getAttribute('class')).toBe('folder');
    await folder(page, 'Archive').hover();
    await folder(page, 'Archive').hover();
    await eventually(() => folder(page, 'Archive').getAttribute('class')).toBe('folder drop');
    await expectAccessible(page);
    await page.mouse.up();
    await eventually(() => subjects(page)).toEqual(['Berries', 'Apples']);
    await awaitMessage(stage.server, user, 'archive', 'Cherries');
    await page.getByRole('checkbox', { name: 'Select all that are loaded' }).click();
    await row(page, 'Berries').dragTo(folder(page, 'Plans'));
    await eventually(async () => {
      const list = await listFolder(stage.server, user, 'inbox');
      return list.map((message: { labels: string[] }) => message.labels);
    }).toEqual([['Plans'], ['Plans']]);
    await row(page, 'Berries').locator('.badge').getByText('Plans').waitFor();
    expect(troubles).toEqual([]);
    await page.context().close();
  });
});
