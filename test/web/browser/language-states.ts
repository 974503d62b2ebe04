/** Dialogs, menus, errors and empty states, opened one after another in a page with Greek letters. */
import type { Page } from 'playwright-core';
import { en } from '../../../web/shared/texts/en.ts';
import { enBoard } from '../../../web/shared/texts/en-board.ts';
import { enMail } from '../../../web/shared/texts/en-mail.ts';
import { enOperator } from '../../../web/shared/texts/en-operator.ts';
import { enStorage } from '../../../web/shared/texts/en-storage.ts';
import { toGreek } from '../../support/mail/greek.ts';

/** States of a page by their names. Each function opens one, and waits for a part of it. */
export type States = Record<string, () => Promise<unknown>>;

const word = toGreek;
const button = (page: Page, english: string) => page.getByRole('button', { name: word(english), exact: true });

/** @param url of the server. @param board has no scores. */
export function listPublicStates(page: Page, url: string, board: string): States {
  const at = (path: string) => page.goto(`${url}/_/${path}`);
  const { app } = en;
  return {
    'account menu': async () => {
      await button(page, app.menu.title).first().click();
      await page.getByRole('dialog', { name: word(app.menu.title) }).waitFor();
    },
    'command palette': async () => {
      await page.keyboard.press('Escape');
      await page.keyboard.press('Control+k');
      await page.getByRole('option').first().waitFor();
    },
    'no command': async () => {
      await page.keyboard.type('0000');
      await page.getByText(word(app.palette.none)).waitFor();
    },
    'empty board': async () => {
      await at(`leaderboard#/?board=${board}`);
      await page.getByText(word('No scores yet.')).first().waitFor();
    },
    'unknown player': async () => {
      await page.getByLabel(word(enBoard.page.findPlayer)).fill('0');
      await page.keyboard.press('Enter');
      await page.getByRole('alert').waitFor();
    },
    'wrong login': async () => {
      await at('mail');
      await page.getByLabel(word(enMail.signIn.address)).fill('0');
      await page.getByLabel(word(enMail.signIn.password)).fill('00000000');
      await page.keyboard.press('Enter');
      await page.getByRole('alert').waitFor();
    },
    'new mailbox': async () => {
      await button(page, enMail.signIn.wantMailbox).click();
      await page.getByLabel(word(enMail.signIn.yourName)).waitFor();
    },
    'refused registration': async () => {
      await page.getByLabel(word(enMail.signIn.yourName)).fill('0');
      await page.getByLabel(word(enMail.signIn.address)).fill('postmaster');
      await page.getByLabel(word(enMail.signIn.password)).fill(crypto.randomUUID());
      await page.keyboard.press('Enter');
      await page.getByRole('alert').waitFor();
    },
    'forgotten password': async () => {
      await button(page, enMail.signIn.haveMailbox).click();
      await button(page, enMail.signIn.forgotYourPassword).click();
      await button(page, enMail.accountRecovery.sendLink).waitFor();
    },
    'wrong access key': async () => {
      await at('storage');
      await page.getByLabel(word(enStorage.signIn.accessKey), { exact: true }).fill('0');
      await page.getByLabel(word(enStorage.signIn.secret)).fill('0');
      await page.keyboard.press('Enter');
      await page.getByRole('alert').waitFor();
    },
    'wrong token of an operator': async () => {
      await at('operator');
      await page.getByLabel(word(enOperator.page.token)).fill('0');
      await page.keyboard.press('Enter');
      await page.getByRole('alert').waitFor();
    },
  };
}

/** @param name of an account with a mailbox. */
export function listOperatorStates(page: Page, url: string, name: string): States {
  const at = (tab: string) => page.goto(`${url}/_/operator#/${tab}`);
  return {
    'new board': async () => {
      await at('boards');
      await button(page, enOperator.boards.create).click();
      await page.getByRole('dialog').getByLabel(word(enOperator.boards.id)).fill('0');
    },
    'dialog of the main board': async () => {
      await page.keyboard.press('Escape');
      await page
        .getByRole('button', { name: new RegExp(`^${word(enOperator.boards.edit)}`) })
        .first()
        .click();
      await page.getByRole('dialog').getByText(word(enOperator.boards.fixedDefault)).waitFor();
    },
    'unknown player': async () => {
      await page.keyboard.press('Escape');
      await page.getByLabel(word(enOperator.boards.player)).fill('0');
      await page.keyboard.press('Enter');
      await page.locator('.toast.bad').first().waitFor();
    },
    account: async () => {
      await at('users');
      await page.getByRole('button', { name, exact: true }).click();
      await page.getByText(word(enOperator.accounts.active)).waitFor();
      await page.getByText(word(enOperator.accounts.noAccessKey)).waitFor();
    },
    suspension: async () => {
      await button(page, enOperator.accounts.suspend).click();
      await page.getByRole('dialog').waitFor();
    },
    'link for a password': async () => {
      await page.keyboard.press('Escape');
      await button(page, enOperator.accounts.reset).click();
      await page
        .getByRole('button', { name: word(enOperator.accounts.copy) })
        .first()
        .waitFor();
    },
    'new access key': async () => {
      await button(page, enOperator.accounts.newAccessKey).click();
      await page.getByText(word(enOperator.accounts.secretOnce)).waitFor();
    },
    invitation: async () => {
      await button(page, enOperator.accounts.invite).click();
      await page.getByText(word('Send this code to one person.')).waitFor();
    },
    'user that exists': async () => {
      for (const _ of [1, 2]) {
        await page.getByLabel(word(enOperator.accounts.nameNewUser)).fill('0');
        await page.getByLabel(word(enOperator.accounts.policyName)).fill('0');
        await button(page, enOperator.accounts.makeUser).click();
      }
      await page.locator('.toast.bad').first().waitFor();
    },
    'new token': async () => {
      await at('tokens');
      await page.getByLabel(word(enOperator.tokens.name), { exact: true }).fill('0');
      await page.getByRole('checkbox').first().check();
      await button(page, enOperator.tokens.makeToken).click();
      await page.getByText(word(enOperator.tokens.once)).waitFor();
    },
    'quota of no bucket': async () => {
      await at('quotas');
      await page.getByLabel(word(enOperator.quotas.bucket)).fill('000');
      await button(page, enOperator.quotas.show).click();
      await page
        .getByRole('alert')
        .or(page.locator('.toast.bad, .error-box'))
        .or(page.getByText(word(enOperator.quotas.none)))
        .first()
        .waitFor();
    },
    'no entries': async () => {
      await at('audit');
      await page.getByLabel(word(enOperator.audit.actor)).fill('0');
      await button(page, enOperator.audit.filter).click();
      await page.getByText(word(enOperator.audit.none)).waitFor();
    },
    domain: async () => {
      await at('domains');
      await button(page, 'example.test')
        .or(page.getByRole('button', { name: 'example.test' }))
        .first()
        .click();
      await button(page, enOperator.domains.check).waitFor();
    },
    'wrong domain': async () => {
      await page.getByLabel(word(enOperator.domains.newDomain)).fill('0');
      await page.keyboard.press('Enter');
      await page.locator('.toast.bad').or(page.getByRole('alert')).first().waitFor();
    },
    'report of maintenance': async () => {
      await at('storage');
      await button(page, enOperator.storage.check).click();
      await page.getByText(word('Check: report')).waitFor();
    },
  };
}

/** @param bucket has versions, and the objects `1/2` and `4`. @param empty has neither. */
export function listStorageStates(page: Page, url: string, bucket: string, empty: string): States {
  const at = (hash: string) => page.goto(`${url}/_/storage#/${hash}`);
  const { objects, settings, lifecycle, buckets, history, serverJobs } = enStorage;
  const dialog = page.getByRole('dialog');
  const card = (title: string) => page.getByRole('region', { name: word(title), exact: true });
  return {
    'new bucket': async () => {
      await at('');
      await page.getByLabel(word(buckets.nameLabel)).fill(`b-${crypto.randomUUID()}`);
      await page.keyboard.press('Enter');
      await page.locator('.toast').waitFor();
    },
    'bucket that is not empty': async () => {
      await at('');
      const own = page.getByRole('listitem').filter({ has: page.getByRole('link', { name: bucket }) });
      await own.getByRole('button', { name: new RegExp(`^${word(buckets.empty)}`) }).click();
      await dialog.waitFor();
    },
    'no such bucket': async () => {
      await page.keyboard.press('Escape');
      await at('b/000');
      await page.getByRole('alert').first().waitFor();
    },
    'empty bucket': async () => {
      await at(`b/${empty}`);
      await page.getByText(word('No objects here yet.')).waitFor();
    },
    'no name found': async () => {
      await page.getByLabel(word(objects.search)).fill('0');
      await page.getByText(word('No name here begins with')).waitFor();
    },
    'selection to delete': async () => {
      await at(`b/${bucket}`);
      await page.getByRole('checkbox', { name: word(objects.selectAll) }).check();
      await button(page, objects.delete).click();
      await dialog.waitFor();
    },
    object: async () => {
      await page.keyboard.press('Escape');
      await page.getByRole('link', { name: '4', exact: true }).click();
      await page.getByText(word('Versions')).last().waitFor();
      await button(page, enStorage.object.copyLink).click();
      await page.getByText(word('Anyone with this link')).waitFor();
    },
    'as it was': async () => {
      await at(`b/${bucket}/versions`);
      await page.getByText(word(history.noneDeleted)).first().waitFor();
    },
    'without versions': async () => {
      await at(`b/${empty}/versions`);
      await page.getByText(word(history.notKept)).waitFor();
    },
    rules: async () => {
      await at(`b/${bucket}/settings`);
      for (const title of [lifecycle.title, settings.cors, enStorage.events.title])
        await card(title)
          .getByRole('button', { name: word(settings.addRule) })
          .click();
      await page.getByText(word(lifecycle.moreConditions)).click();
    },
    'rule that is refused': async () => {
      await card(settings.cors)
        .getByRole('button', { name: new RegExp(`^${word(enStorage.save)}`) })
        .click();
      await page.locator('.toast.bad').first().waitFor();
    },
    'wrong policy': async () => {
      await page.getByLabel(word(settings.policyText)).fill('[');
      await page.getByText(word('This is not valid JSON')).waitFor();
    },
    'every kind of job': async () => {
      await at(`b/${bucket}/jobs`);
      for (const kind of Object.keys(serverJobs.kinds)) {
        await page.getByLabel(word(serverJobs.kind)).selectOption(kind);
        await page.getByText(word(serverJobs.means[kind as keyof typeof serverJobs.means])).waitFor();
      }
    },
    'job that ended': async () => {
      await page.getByLabel(word(serverJobs.kind)).selectOption('count');
      await button(page, serverJobs.start).click();
      await page.getByText(word(serverJobs.states.done), { exact: true }).first().waitFor();
    },
    'new key': async () => {
      await at('keys');
      await page.getByText(word(enStorage.keys.signInFirst)).waitFor();
    },
  };
}
