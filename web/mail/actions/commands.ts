/** Commands of the mail page for the command palette. */
import type { Command } from '../../shared/commands.ts';
import { go, toHash } from '../../shared/hash-route.ts';
import { fill } from '../../shared/texts/index.ts';
import { mailTexts } from '../../shared/texts/mail.ts';
import { mailbox } from '../model/mailbox.ts';
import { shortcuts } from './keys.ts';

const SETTINGS_TABS = Object.keys(mailTexts.settings) as (keyof typeof mailTexts.settings)[];

/** Lists the commands of the keyboard shortcuts, of opening the user's own folders, and of opening the settings. */
export function listMailCommands(): Command[] {
  const own = mailbox.get().folders.filter((folder) => folder.role === null);
  return [
    ...shortcuts(),
    ...own.map(({ id, name }) => ({
      title: fill(mailTexts.folders.named, { name }),
      icon: 'folder' as const,
      run: () => go(toHash([id])),
    })),
    ...SETTINGS_TABS.map((tab) => ({
      title: mailTexts.settings[tab],
      icon: 'settings' as const,
      run: () => go(toHash(['settings', tab])),
    })),
  ];
}
