/** The exhaustive variant of test/mail/browser/typing.test.ts: every command key in every element of every window, dialog, menu and panel. */
import { describe, expect, it } from 'vitest';
import { type MailUser, registerUser } from '../../support/mail/mail.ts';
import { eventually, hasChromium } from '../../web/browser/chromium.ts';
import { useStage } from '../../web/browser/stage.ts';
import { importLetters, letter, messageText, openRow, signIn } from './mail-page.ts';
import { collectChanges, focusableIn, readMailbox } from './typing.ts';
import { DIALOGS, PANELS, type Scene, WRITING } from './typing-scenes.ts';

/** Each key that is a command in the list, and both keys of each pair. */
const COMMANDS = 'jkunpe#!vlbmsx*aUzrafc/gigsgdgtgegagjgk?';

describe.skipIf(!hasChromium)('typing, in every element', () => {
  const stage = useStage({ vars: { MAIL_HOLD_SECONDS: '0', REGISTRATION: 'open' } });
  const read = (user: MailUser) => readMailbox(stage.server, user, new Set());

  it.each([...DIALOGS, ...WRITING, ...PANELS].map((scene): [string, Scene] => [scene.name, scene]))(
    '%s',
    async (name, scene) => {
      const user = await registerUser(stage.server, `every-${crypto.randomUUID().slice(0, 8)}`);
      const letters = ['Alpha', 'Beta', 'Gamma'].map((subject) => letter(user, subject, `About ${subject}.`));
      await importLetters(stage.server, user, letters);
      const { page, troubles } = await signIn(stage.server, stage.browser, user, scene.options ?? {});
      await openRow(page, 'Beta');
      await messageText(page, 'About Beta.').waitFor();
      await eventually(async () => (await read(user)).filter((line) => line.includes('"is_read":true'))).toHaveLength(
        1,
      );
      const before = await read(user);
      const changes = collectChanges(page);
      await scene.open(page);
      await scene.root(page).waitFor();
      // What is typed into an address field becomes elements of its own, so the elements are listed before.
      for (const [at, element] of (await focusableIn(scene.root(page)).elementHandles()).entries()) {
        if (!(await element.isVisible())) continue;
        await element.focus();
        await page.keyboard.type(scene.commands ?? COMMANDS);
        expect([name, at, changes]).toEqual([name, at, []]);
      }
      expect(await scene.root(page).isVisible()).toBe(true);
      await scene.close(page);
      expect(await read(user)).toEqual(before);
      expect(troubles).toEqual([]);
      await page.context().close();
    },
  );
});
