/** Dialogs, menus, errors and empty states of mail, opened one after another in a page with Greek letters. */
import type { Page } from 'playwright-core';
import { enMail } from '../../../web/shared/texts/en-mail.ts';
import { enMailCompose } from '../../../web/shared/texts/en-mail-compose.ts';
import { enMailSettings } from '../../../web/shared/texts/en-mail-settings.ts';
import { toGreek } from '../../support/mail/greek.ts';
import type { States } from './language-states.ts';

const word = toGreek;
const button = (page: Page, english: string) => page.getByRole('button', { name: word(english), exact: true });
const { reader, list, snooze } = enMail;
const { window: writing } = enMailCompose;

/** Of a new mailbox. */
export function listEmptyFolders(page: Page, url: string): States {
  const roles = Object.keys(list.emptyFolders) as (keyof typeof list.emptyFolders)[];
  const open = async (role: keyof typeof list.emptyFolders) => {
    await page.goto(`${url}/_/mail#/${role}`);
    await page.getByText(word(list.emptyFolders[role])).waitFor();
  };
  return Object.fromEntries(roles.map((role) => [role, () => open(role)]));
}

/** Of a mailbox with one message of a mailing list from Carol: subject 27, text 28. */
export function listMailStates(page: Page, url: string): States {
  const at = (hash: string) => page.goto(`${url}/_/mail#/${hash}`);
  const dialog = page.getByRole('dialog');
  const close = async () => {
    await page.keyboard.press('Escape');
    await dialog.waitFor({ state: 'detached' });
  };
  return {
    'nothing found': async () => {
      await at('search?q=0000');
      await page.getByText(word(list.nothingFound)).waitFor();
    },
    'wrong search': async () => {
      await at('search?q=is:0');
      await page.getByText(word('The search is not valid.')).first().waitFor();
    },
    'no such folder': async () => {
      await at('0');
      await page.getByText(word(enMail.main.noSuchFolderText)).waitFor();
    },
    'message with details': async () => {
      await at('inbox');
      await page.getByText('27', { exact: true }).first().click();
      await page.getByText('28', { exact: true }).first().waitFor();
      await button(page, reader.details).click();
      await page.getByRole('region', { name: word(reader.checks) }).waitFor();
    },
    'menu of the sender': async () => {
      await button(page, reader.more.replace('{name}', 'Carol'))
        .or(page.getByRole('button', { name: /Carol$/ }))
        .last()
        .click();
      await page.getByRole('menuitem').first().waitFor();
    },
    original: async () => {
      await page.getByRole('menuitem', { name: word(reader.original) }).click();
      await dialog.getByRole('link', { name: word(reader.download) }).waitFor();
    },
    unsubscribe: async () => {
      await close();
      await button(page, reader.unsubscribe).click();
      await dialog.waitFor();
    },
    'more actions': async () => {
      await close();
      await button(page, reader.moreActions).click();
      await page.getByRole('menuitem').first().waitFor();
    },
    keys: async () => {
      await page.keyboard.press('Escape');
      await page.keyboard.press('?');
      await dialog.waitFor();
    },
    move: async () => {
      await close();
      await page.keyboard.press('v');
      await dialog.waitFor();
    },
    labels: async () => {
      await close();
      await page.keyboard.press('l');
      await dialog.waitFor();
    },
    snooze: async () => {
      await close();
      await page.keyboard.press('b');
      await dialog.getByText(word(snooze.custom)).waitFor();
    },
    'compose window': async () => {
      await close();
      await page.keyboard.press('c');
      await page.getByLabel(word(writing.to), { exact: true }).fill('0,');
      await page.getByText(word(writing.ccBcc)).click();
      await button(page, writing.later).click();
      await button(page, writing.tools.link).click();
      await button(page, writing.options).click();
      await page.getByRole('menuitem').first().waitFor();
    },
    'refused message': async () => {
      // In the menu, so that Escape closes only the menu and not the message.
      await page.getByRole('menuitem').first().press('Escape');
      await page.getByRole('menuitem').first().waitFor({ state: 'hidden' });
      await page.getByLabel(word(writing.to), { exact: true }).press('Control+Enter');
      await page.locator('.compose').getByRole('alert').first().waitFor();
    },
    'new filter': async () => {
      await page
        .locator('.compose')
        .getByRole('button', { name: word(writing.discard) })
        .click();
      await at('settings/filters');
      await button(page, enMailSettings.filters.newFilter).click();
      for (const add of [enMailSettings.filters.addCondition, enMailSettings.filters.addAction])
        await button(page, add).click();
    },
    'wrong sender': async () => {
      await at('settings/senders');
      await page.getByLabel(word(enMail.senders.field)).fill('0');
      await button(page, enMail.senders.add).click();
      await page.getByRole('alert').waitFor();
    },
    'new contact': async () => {
      await at('settings/contacts');
      await button(page, enMailSettings.contacts.newContact).click();
      await page.getByLabel(word(enMailSettings.contacts.note)).waitFor();
    },
    'confirmation with the password': async () => {
      await at('settings/security');
      await button(page, enMailSettings.security.changePassword).first().click();
      await page.getByLabel(word(enMailSettings.security.newPassword)).fill('0');
      await page.keyboard.press('Enter');
      await dialog.or(page.getByRole('alert')).first().waitFor();
    },
    offline: async () => {
      await page.keyboard.press('Escape');
      await at('inbox');
      await page.getByText('27', { exact: true }).first().waitFor();
      await page.context().setOffline(true);
      await page.getByText(word(enMail.main.youAreOffline)).waitFor();
      await page.locator('.message-row').first().hover();
      await button(page, list.archive).first().click();
      await page.getByText(word(enMail.offline.kept)).waitFor();
    },
  };
}
