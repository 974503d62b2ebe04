/** Commands of the mail page for the command palette. */
import type { Command } from '../../shared/commands.ts';
import { go, toHash } from '../../shared/hash-route.ts';
import { fill, texts } from '../../shared/texts/index.ts';
import { mailbox } from '../model/mailbox.ts';
import { KEYS } from './keys.ts';

const SETTINGS_TABS = Object.keys(texts.app.settings) as (keyof typeof texts.app.settings)[];

/** The keys, the user's own folders, and the settings. */
export function listMailCommands(): Command[] {
  const own = mailbox.get().folders.filter((folder) => folder.role === null);
  return [
    ...KEYS,
    ...own.map(({ id, name }) => ({
      title: fill(texts.app.folders.named, { name }),
      icon: 'folder' as const,
      run: () => go(toHash([id])),
    })),
    ...SETTINGS_TABS.map((tab) => ({
      title: texts.app.settings[tab],
      icon: 'settings' as const,
      run: () => go(toHash(['settings', tab])),
    })),
  ];
}
