/** Tests the operator's page about sending: domains that cannot send, the month's mail, complaints, held accounts, suppressions. */
import type { Page } from 'playwright-core';
import { describe, expect, it } from 'vitest';
import { expectAccessible, hasChromium, openTab } from '../../web/browser/chromium.ts';
import { useStage } from '../../web/browser/stage.ts';

const STATE = {
  problems: [
    {
      ...{ domain: 'example.com', code: 'not_allowed', message: 'Not enabled.', at: '2026-11-28T07:00:00Z' },
      command: 'npx wrangler email sending enable example.com',
      reply: 'E_SENDER_NOT_VERIFIED Sender domain is not verified',
    },
    {
      ...{ domain: 'mail.example.org', code: 'no_events', message: 'No events.', at: '2026-11-28T05:00:00Z' },
      command:
        'npx wrangler queues subscription create tessera-mail-events --source email.sending --zone-id <zone id> --domain mail.example.org',
      reply: null,
    },
  ],
  month: { recipients: 84_000, limit: 100_000, dollars: 28.35, limit_dollars: 33.95 },
};
const COMPLAINTS = [
  {
    ...{ user_id: '6f1c', email: 'ann@example.com', domain: 'example.com', complaints: 7 },
    ...{ last_at: '2026-11-28T06:00:00Z', held: true },
  },
  {
    ...{ user_id: '7a2d', email: null, domain: 'mail.example.org', complaints: 1 },
    ...{ last_at: '2026-11-20T06:00:00Z', held: false },
  },
];
const entry = (id: string, reason: string, until: string | null, more: object = {}) => ({
  ...{ id, email: `${id}@far.example`, reason, until, domain: 'example.com', created_at: '2026-11-27T00:00:00Z' },
  ...{ read_only: false, ...more },
});
const SUPPRESSIONS = [
  entry('full', 'soft_bounce', '2026-11-29T00:00:00Z'),
  entry('gone', 'hard_bounce', '2026-12-04T00:00:00Z', { domain: null }),
  entry('angry', 'complaint', null),
  entry('blocked', 'policy', null, { read_only: true }),
];

describe.skipIf(!hasChromium)('the page about sending', () => {
  const stage = useStage();

  async function open() {
    const opened = await openTab(stage.browser);
    opened.page.on('dialog', (dialog) => void dialog.accept());
    await opened.page.addInitScript(
      (token) => sessionStorage.setItem('tessera.operator.token', token),
      stage.server.rootToken,
    );
    return opened;
  }
  const show = (page: Page) => page.goto(`${stage.server.url}/_/operator#/sending`);

  it('shows an installation without problems, and how to see the suppressions', async () => {
    const { page } = await open();
    await show(page);
    await page.getByText('No domain is refused').waitFor();
    await page.getByText('recipients this month, of 100,000').waitFor();
    await page.getByText('$33.95').waitFor();
    await page.getByText('No complaints.').waitFor();
    await page.getByText('Set the secret CLOUDFLARE_MAIL_TOKEN').waitFor();
    await expectAccessible(page);
    await page.context().close();
  });

  it('shows what is missing with its command, releases a held account, and lifts entries', async () => {
    const { page } = await open();
    // Answers of Cloudflare's account, which a test server does not have.
    await page.route('**/v1/outbound/sending', (route) => route.fulfill({ json: STATE }));
    await page.route('**/v1/outbound/complaints', (route) => route.fulfill({ json: { data: COMPLAINTS } }));
    let listed = [...SUPPRESSIONS];
    await page.route('**/v1/outbound/suppressions*', (route) => {
      const email = new URL(route.request().url()).searchParams.get('email');
      const data = listed.filter((one) => email === null || one.email === email);
      return route.fulfill({ json: { data, next_cursor: null } });
    });
    const lifted: unknown[] = [];
    await page.route('**/v1/outbound/suppressions/*/lift', (route) => {
      const id = route.request().url().split('/').at(-2);
      lifted.push([id, route.request().postDataJSON()]);
      listed = listed.filter((one) => one.id !== id);
      return route.fulfill({ json: SUPPRESSIONS.find((one) => one.id === id) });
    });
    let released = '';
    await page.route('**/v1/outbound/complaints/*/release', (route) => {
      released = route.request().url();
      return route.fulfill({ status: 204 });
    });
    await show(page);
    await page.getByText('npx wrangler email sending enable example.com').waitFor();
    await page.getByText('84,000').waitFor();
    await page.getByText('E_SENDER_NOT_VERIFIED').waitFor();
    const list = page.getByRole('list', { name: 'Suppressed addresses' });
    expect(await list.getByRole('listitem').count()).toBe(4);
    expect(await list.getByRole('listitem').filter({ hasText: 'blocked@' }).getByRole('button').count()).toBe(0);
    await expectAccessible(page);

    await page.getByRole('button', { name: 'Release ann@example.com' }).click();
    await page.getByText('The mail of the account is sent again.').waitFor();
    expect(released).toMatch(/\/complaints\/6f1c\/release$/);

    await list.getByRole('button', { name: 'Lift full@far.example' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Lift' }).click();
    await page.getByText('Mail to full@far.example is sent again.').waitFor();
    await list.getByRole('button', { name: 'Lift angry@far.example' }).click();
    const dialog = page.getByRole('dialog', { name: 'Send to angry@far.example again?' });
    await dialog.getByRole('button', { name: 'Lift' }).click();
    expect(lifted).toEqual([['full', {}]]);
    await dialog.getByLabel('Why mail is wanted again').fill('Subscribed again by phone');
    await expectAccessible(page);
    await dialog.getByRole('button', { name: 'Lift' }).click();
    await page.getByText('Mail to angry@far.example is sent again.').waitFor();
    expect(lifted.at(-1)).toEqual(['angry', { reason: 'Subscribed again by phone' }]);

    await page.getByRole('searchbox', { name: 'Address' }).fill('gone@far.example');
    await page.keyboard.press('Enter');
    await list.getByRole('button', { name: 'Lift gone@far.example' }).waitFor();
    expect(await list.getByRole('listitem').count()).toBe(1);
    await page.context().close();
  });

  it('names held sending among the problems', async () => {
    const { page } = await open();
    await page.route('**/v1/outbound/complaints', (route) => route.fulfill({ json: { data: COMPLAINTS } }));
    await page.goto(`${stage.server.url}/_/operator`);
    await page.getByRole('region', { name: 'Problems' }).getByText('Mail of 1 account is held').waitFor();
    await page.getByRole('link', { name: 'Open Sending' }).click();
    await page.getByRole('heading', { name: 'Complaints' }).waitFor();
    await page.context().close();
  });
});
