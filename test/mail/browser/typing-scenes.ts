/** The windows, dialogs, menus and panels of the mail page, as a user opens them from an open conversation. */
import type { BrowserContextOptions, Locator, Page } from 'playwright-core';

export interface Scene {
  readonly name: string;
  open(page: Page): Promise<unknown>;
  root(page: Page): Locator;
  close(page: Page): Promise<unknown>;
  /** Presses a part of the window that cannot have the focus. */
  bare?(page: Page): Promise<unknown>;
  /** Keys to type in each element, if some commands act there. */
  readonly commands?: string;
  /** Options of the tab, for a window that only a phone has. */
  readonly options?: BrowserContextOptions;
}

const pressEscape = (page: Page) => page.keyboard.press('Escape');
const dialog = (name: string, key: string, title: string): Scene => ({
  name,
  open: (page) => page.keyboard.press(key),
  root: (page) => page.getByRole('dialog', { name: title }),
  close: pressEscape,
  bare: (page) => page.getByRole('dialog', { name: title }).getByRole('heading').first().click(),
});

export const DIALOGS: readonly Scene[] = [
  dialog('keys', '?', 'Keyboard shortcuts'),
  dialog('move', 'v', 'Move to'),
  dialog('label', 'l', 'Labels'),
  dialog('snooze', 'b', 'Snooze'),
  {
    name: 'palette',
    open: (page) => page.keyboard.press('Control+k'),
    root: (page) => page.locator('dialog.palette'),
    close: pressEscape,
  },
  {
    name: 'account menu',
    open: (page) =>
      page
        .getByRole('button', { name: /^Account of/ })
        .first()
        .click(),
    root: (page) => page.getByRole('dialog', { name: 'Account and appearance' }),
    close: pressEscape,
    // The button keeps the focus while its menu is open.
    bare: async (page) => page.keyboard.type('e'),
  },
  {
    name: 'menu of the conversation',
    open: (page) => page.locator('.reader-toolbar').getByRole('button', { name: 'More' }).click(),
    root: (page) => page.locator('.menu:popover-open'),
    close: pressEscape,
  },
];

const endWriting = async (page: Page) => {
  await page.getByRole('button', { name: 'Discard' }).click();
};
const bareTitle = (page: Page) => page.locator('.compose-title h2').click();

export const WRITING: readonly Scene[] = [
  {
    name: 'new message',
    open: (page) => page.keyboard.press('c'),
    root: (page) => page.locator('.compose'),
    close: endWriting,
    bare: bareTitle,
  },
  {
    name: 'formatted message with Cc and a schedule',
    open: async (page) => {
      await page.keyboard.press('c');
      await page.getByRole('button', { name: 'Cc, Bcc' }).click();
      await page.getByRole('button', { name: 'Link', exact: true }).click();
      await page.getByRole('button', { name: 'Later' }).click();
    },
    root: (page) => page.locator('.compose'),
    close: endWriting,
    bare: bareTitle,
  },
  {
    name: 'reply',
    open: (page) => page.keyboard.press('r'),
    root: (page) => page.locator('.compose.inline'),
    close: endWriting,
    bare: bareTitle,
  },
];

/** The commands for conversations. */
const LIST_COMMANDS = 'jkunpe#!vlbmsx*aUraf';

const settings = (tab: string): Scene => ({
  name: `settings, ${tab}`,
  open: (page) => page.evaluate((hash) => location.assign(hash), `#/settings/${tab}`),
  root: (page) => page.locator('main.settings'),
  // A page, not a window: the commands that need no list act.
  commands: LIST_COMMANDS,
  close: (page) => page.keyboard.press('Escape'),
});

export const PANELS: readonly Scene[] = [
  ...['profile', 'contacts', 'filters', 'senders', 'vacation', 'security', 'transfer'].map(settings),
  {
    name: 'folders on a phone',
    options: { viewport: { width: 390, height: 760 } },
    open: async (page) => {
      await page.keyboard.press('u');
      await page.getByRole('button', { name: 'Folders' }).click();
    },
    root: (page) => page.getByRole('navigation', { name: 'Folders' }),
    close: (page) => page.goBack(),
  },
];
