/** Tests the operator page: overview, accounts, quotas, boards, corrections and the audit log. */
import type { Page } from 'playwright-core';
import { describe, expect, it } from 'vitest';
import { expectLogo, LOGO, setLogo } from '../../leaderboard/browser/leaderboard-page.ts';
import { deliver, letter } from '../../mail/browser/mail-page.ts';
import type { MailUser } from '../../support/mail/mail.ts';
import { eventually, expectAccessible, hasChromium, openTab, type Tab } from '../../web/browser/chromium.ts';
import { useStage } from '../../web/browser/stage.ts';

const unique = (name: string): string => `${name}-${crypto.randomUUID().slice(0, 8)}`;

describe.skipIf(!hasChromium)('the pages of an operator', () => {
  const stage = useStage({ vars: { REGISTRATION: 'invite' } });

  async function open(hash: string): Promise<Tab> {
    const opened = await openTab(stage.browser);
    opened.page.on('dialog', (dialog) => void dialog.accept());
    await opened.page.addInitScript(
      (token) => sessionStorage.setItem('tessera.operator.token', token),
      stage.server.rootToken,
    );
    await opened.page.goto(`${stage.server.url}/_/operator${hash}`);
    return opened;
  }
  async function join(name: string): Promise<MailUser> {
    const { invite } = (await stage.server.call('POST', '/v1/invites')).body;
    const registration = { email: `${name}@example.test`, password: 'correct horse battery', name, invite };
    const { status, body } = await stage.server.call('POST', '/v1/auth/register', registration, null);
    expect(status).toBe(201);
    return { email: registration.email, token: body.token, userId: body.user.user_id };
  }
  const account = async (page: Page, name: string) => {
    await page.getByRole('button', { name, exact: true }).click();
    return page.getByRole('listitem').filter({ has: page.getByRole('button', { name, exact: true }) });
  };

  it('shows requests, errors, mail, the queue and the databases of 24 hours, and the cost of this month', async () => {
    const user = await join(unique('counted'));
    await deliver(stage.server, user, letter(user, 'Counted', 'One.'));
    for (let n = 0; n < 3; n++) await stage.server.call('GET', '/v1/scores', undefined, null);
    const { page, troubles } = await open('#/');
    const charts = page.getByRole('region', { name: 'Last 24 hours' });
    await charts.getByRole('img', { name: /^Requests, by hour: \d+\. Highest: \d+ at / }).waitFor();
    await charts.getByRole('img', { name: /^Mail in, by hour: \d+\./ }).waitFor();
    for (const title of ['Failed requests', 'Mail out', 'Oldest waiting mail', 'Size of the databases'])
      await charts.getByText(title, { exact: true }).waitFor();
    const { body } = await stage.server.call('GET', '/v1/metrics/history');
    expect(body.hours).toHaveLength(24);
    expect(body.hours.at(-1).mail_in).toBeGreaterThanOrEqual(1);
    expect(body.hours.at(-1).requests).toBeGreaterThanOrEqual(3);
    const cost = page.getByRole('region', { name: 'This month' });
    await cost
      .getByText(/^\$\d+\.\d\d$/)
      .first()
      .waitFor();
    expect(body.month.operations).toBeGreaterThanOrEqual(body.hours.at(-1).requests);
    await expectAccessible(page);
    expect(troubles).toEqual([]);
    await page.context().close();
  });

  it('lists problems with what to do about them', async () => {
    const { page } = await openTab(stage.browser);
    await page.addInitScript(
      (token) => sessionStorage.setItem('tessera.operator.token', token),
      stage.server.rootToken,
    );
    // Replace answers with those of a deployment in trouble, which a test server cannot be in.
    await page.route('**/v1/health', (route) =>
      route.fulfill({
        status: 503,
        json: {
          status: 'unavailable',
          version: '0.2.0',
          unavailable: ['BLOBS_2'],
          misconfigured: [{ name: 'MAIL_TRANSPORT', message: 'must be a URL' }],
          warnings: [],
        },
      }),
    );
    const alarm = { reason: 'Too much would be deleted.', since: '2026-11-01T00:00:00Z', scanned: 1200, found: 900 };
    await page.route('**/v1/collectors', (route) => route.fulfill({ json: { data: [{ collector: 'mail', alarm }] } }));
    let acknowledged = '';
    await page.route('**/v1/collectors/*/acknowledge', (route) => {
      acknowledged = route.request().url();
      return route.fulfill({ status: 204 });
    });
    await page.goto(`${stage.server.url}/_/operator`);
    const problems = page.getByRole('region', { name: 'Problems' });
    await problems.getByText('BLOBS_2 is not responding').waitFor();
    await problems.getByText('It must be a URL. Set it, then deploy again.').waitFor();
    await problems.getByText('It scanned 1,200 and found 900.').waitFor();
    await expectAccessible(page);
    await problems.getByRole('button', { name: 'Resume' }).click();
    await page.getByText('The collector resumes with its next round.').waitFor();
    expect(acknowledged).toMatch(/\/v1\/collectors\/mail\/acknowledge$/);
    await page.context().close();
  });

  it('creates an invitation, a new account and a link for a new password', async () => {
    const name = unique('resetter');
    await join(name);
    const { page, troubles } = await open('#/users');
    await page.getByRole('button', { name: 'Create invitation' }).click();
    const invite = await page.getByRole('status').locator('code').innerText();
    const email = `${unique('invited')}@example.test`;
    const registration = { email, password: 'correct horse battery', name: 'Invited', invite };
    expect((await stage.server.call('POST', '/v1/auth/register', registration, null)).status).toBe(201);
    const used = { ...registration, email: `${unique('late')}@example.test` };
    expect((await stage.server.call('POST', '/v1/auth/register', used, null)).body.code).toBe('invite_required');
    const row = await account(page, name);
    await row.getByRole('button', { name: 'Create a link for a new password' }).click();
    expect(await row.getByRole('status').locator('code').innerText()).toContain(`${stage.server.url}/_/`);
    await expectAccessible(page);
    expect(troubles).toEqual([]);
    await page.context().close();
  });

  it('suspends an account and lifts the suspension', async () => {
    const name = unique('suspended');
    const user = await join(name);
    const { page } = await open('#/users');
    const row = await account(page, name);
    await row.getByText('May sign in.').waitFor();
    await row.getByRole('button', { name: 'Suspend', exact: true }).click();
    const dialog = page.getByRole('dialog', { name: `Suspend ${name}?` });
    await dialog.getByLabel('Reason').fill('Sends junk');
    await expectAccessible(page);
    await dialog.getByRole('button', { name: 'Suspend' }).click();
    await row.getByText(/^Suspended since /).waitFor();
    const login = { email: user.email, password: 'correct horse battery' };
    await eventually(async () => (await stage.server.call('POST', '/v1/auth/login', login, null)).status).not.toBe(200);
    await row.getByText('Changes to this account').click();
    await row.getByText('account.suspend').waitFor();
    await row.getByRole('button', { name: 'Lift the suspension' }).click();
    await row.getByText('May sign in.').waitFor();
    await page.context().close();
  });

  it('sets, shows and removes the quota of a bucket and of a user', async () => {
    const { userId } = await stage.server.createAccessKey(unique('quota'));
    const { page } = await open('#/quotas');
    await page.getByRole('combobox', { name: 'Quota of' }).selectOption('User');
    await page.getByLabel('User id').fill(userId);
    await page.getByRole('button', { name: 'Show', exact: true }).click();
    const quota = page.getByRole('form', { name: `Quota of ${userId}` });
    await quota.getByText('No quota').waitFor();
    await quota.getByLabel('Gigabytes').fill('2.5');
    await quota.getByLabel('Objects').fill('1000');
    await quota.getByRole('button', { name: /^Save/ }).click();
    await quota.getByText('Used: 0 bytes, 0 objects.').waitFor();
    await expectAccessible(page);
    const path = `/v1/storage/quotas/users/${userId}`;
    expect((await stage.server.call('GET', path)).body).toMatchObject({ bytes: 2_500_000_000, objects: 1000 });
    await quota.getByRole('button', { name: 'Remove the quota' }).click();
    await quota.getByText('No quota').waitFor();
    expect((await stage.server.call('GET', path)).status).toBe(404);
    await page.context().close();
  });

  it('creates a board, changes its title, corrects a score on it, and deletes it', async () => {
    const id = unique('races');
    const { page, troubles } = await open('#/boards');
    await page.getByRole('button', { name: 'New board' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Id, as in addresses').fill(id);
    await dialog.getByLabel('Title').fill(`Laps ${id}`);
    await dialog.getByLabel('Best score').selectOption('The lowest');
    await dialog.getByLabel('Several scores of a player').selectOption('the best counts');
    await dialog.getByLabel('A season lasts').selectOption('forever');
    await expectAccessible(page);
    await dialog.getByRole('button', { name: 'Save' }).click();
    await page.getByText('The lowest, the best counts, season: forever').waitFor();
    await page.getByRole('button', { name: `Edit Laps ${id}` }).click();
    await dialog.getByLabel('Title').fill(`Fast ${id}`);
    await dialog.getByRole('button', { name: 'Save' }).click();
    await page.getByText(`Fast ${id}`, { exact: true }).first().waitFor();

    const scores = `/v1/boards/${id}/scores`;
    const post = { user_id: 'ada', user_name: 'Ada', points: 90 };
    const game = await stage.server.call('POST', '/v1/iam/tokens', { name: id, scopes: ['scores:write'] });
    expect((await stage.server.call('POST', scores, post, game.body.token)).status).toBe(200);
    const corrections = page.getByRole('region', { name: 'Correct a score' });
    await corrections.getByLabel('Board').selectOption(`Fast ${id}`);
    await corrections.getByLabel('Player id').fill('ada');
    await corrections.getByRole('button', { name: 'Find' }).click();
    await corrections.getByText('Ada has 90 points, rank 1.').waitFor();
    await corrections.getByLabel('New score').fill('95');
    await corrections.getByLabel('Reason').fill('The clock was wrong');
    await expectAccessible(page);
    await corrections.getByRole('button', { name: 'Correct', exact: true }).click();
    await corrections.getByText('Ada has 95 points').waitFor();
    expect((await stage.server.call('GET', `${scores}/ada`, undefined, null)).body.user_info.score).toBe(95);

    await page.getByRole('button', { name: `Delete Fast ${id}` }).click();
    await page.getByText('Board deleted.').waitFor();
    expect((await stage.server.call('GET', `/v1/boards/${id}`)).status).toBe(404);
    expect(troubles).toEqual([]);
    await page.context().close();
  });

  it('sets the most points of a player per day, and takes the limit away', async () => {
    const id = unique('coins');
    const rules = { title: `Coins ${id}`, sort: 'desc', operator: 'sum', period: 'month', public: true };
    await stage.server.call('PUT', `/v1/boards/${id}`, rules);
    const { page, troubles } = await open('#/boards');
    const dialog = page.getByRole('dialog');
    const save = async (limit: string) => {
      await page.getByRole('button', { name: `Edit Coins ${id}` }).click();
      await dialog.getByLabel('Most points of a player per day').fill(limit);
      await dialog.getByRole('button', { name: 'Save' }).click();
      await dialog.waitFor({ state: 'detached' });
      return (await stage.server.call('GET', `/v1/boards/${id}`)).body.max_points_per_day;
    };
    expect([await save('250'), await save('')]).toEqual([250, null]);
    expect(troubles).toEqual([]);
    await page.context().close();
  });

  it('gives the main board a title, and shows the logo of a private board', async () => {
    const { page, troubles } = await open('#/boards');
    const title = unique('Main');
    await page.getByRole('button', { name: 'Edit Leaderboard', exact: true }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Title').fill(title);
    await dialog.getByLabel('Logo').setInputFiles({ name: 'logo.png', mimeType: 'image/png', buffer: LOGO });
    await expectLogo(dialog);
    await expectAccessible(page);
    await dialog.getByRole('button', { name: 'Save' }).click();
    const row = page.getByRole('listitem').filter({ hasText: title });
    await expectLogo(row);
    expect(await row.getByRole('button', { name: /^Delete/ }).count()).toBe(0);
    expect((await stage.server.call('GET', '/v1/boards/default', undefined, null)).body.title).toBe(title);

    const id = unique('hidden');
    const rules = { title: `Hidden ${id}`, sort: 'desc', operator: 'sum', period: 'day', public: false };
    expect((await stage.server.call('PUT', `/v1/boards/${id}`, rules)).status).toBe(200);
    await setLogo(stage.server, id);
    await page.reload();
    await expectLogo(page.getByRole('listitem').filter({ hasText: rules.title }));
    await page.getByRole('button', { name: `Edit ${rules.title}` }).click();
    await expectLogo(dialog);
    await expectAccessible(page);
    await stage.server.call('DELETE', '/v1/boards/default/logo');
    await stage.server.call('PUT', '/v1/boards/default', { title: 'Leaderboard' });
    expect(troubles).toEqual([]);
    await page.context().close();
  });

  it('shows and filters the audit log', async () => {
    const name = unique('audited');
    await stage.server.call('POST', '/v1/iam/tokens', { name, scopes: ['scores:write'] });
    const { page } = await open('#/audit');
    const table = page.getByRole('region', { name: 'Entries' });
    await table.getByRole('row').nth(1).waitFor();
    await page.getByLabel('Action').fill('token.create');
    await page.getByRole('button', { name: 'Filter' }).click();
    await eventually(async () => new Set(await table.locator('tbody tr td:nth-child(2)').allInnerTexts())).toEqual(
      new Set(['token.create']),
    );
    await expectAccessible(page);
    await page.context().close();
  });

  it('says how many of the DNS records of a domain are published', async () => {
    const { page } = await open('#/domains');
    await page.getByRole('button', { name: 'example.test' }).click();
    await page.getByRole('button', { name: 'Check DNS again' }).waitFor();
    await expectAccessible(page);
    await page.context().close();
  });
});
