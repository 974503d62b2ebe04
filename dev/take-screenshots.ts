/**
 * `npm run screenshots`: starts a server with demo data and writes the pictures of README.md and docs/ to `docs/images/`.
 * The pages and the data are real. Look at each picture before you commit it.
 */
import { join } from 'node:path';
import type { BrowserContextOptions, Page } from 'playwright-core';
import { launchChromium, openTab } from '../test/browser/chromium.ts';
import { type MailUser, registerUser } from '../test/support/mail.ts';
import { startServer } from '../test/support/server.ts';
import { buildAll } from './build.ts';

const folder = join(import.meta.dirname, '../docs/images');
const PHONE: BrowserContextOptions = { viewport: { width: 390, height: 760 }, hasTouch: true, isMobile: true };

buildAll();
await using server = await startServer({
  vars: { REGISTRATION: 'open', MAIL_HOLD_SECONDS: '1' },
  withoutRules: true,
});
const browser = await launchChromium();

/** PNG, which every viewer opens; with few colours it is small enough. */
async function shoot(page: Page, name: string): Promise<void> {
  await page.waitForTimeout(900);
  await page.screenshot({ path: join(folder, `${name}.png`) });
}

async function open(path: string, options: BrowserContextOptions = {}): Promise<Page> {
  const { page } = await openTab(browser, options);
  page.on('dialog', (dialog) => void dialog.accept());
  await page.goto(server.url + path);
  return page;
}

const NAMES =
  'Ada Grace Linus Margaret Edsger Barbara Donald Radia Ken Frances Alan Katherine Dennis Hedy Tim Joan'.split(' ');

async function showLeaderboard(): Promise<void> {
  const { token } = (await server.call('POST', '/v1/iam/tokens', { name: 'game', scopes: ['scores:write'] })).body;
  const updates = Array.from({ length: 480 }, (_, index) => ({
    user_id: `player-${index}`,
    user_name: `${NAMES[index % NAMES.length]} ${String.fromCharCode(65 + (index % 26))}`,
    points: Math.max(
      1,
      Math.round(60 + 22 * Math.sin(index) + 18 * Math.sin(index * 2.7) + 12 * Math.sin(index * 7.1)),
    ),
  }));
  await server.call('POST', '/v1/scores/batch', { updates }, token);
  const page = await open('/_/leaderboard#/?player=player-77', { viewport: { width: 1280, height: 900 } });
  await page.getByText('Live', { exact: true }).waitFor();
  await shoot(page, 'leaderboard');
  const phone = await open('/_/embed/leaderboard', { ...PHONE, colorScheme: 'dark' });
  await phone.getByText('Live', { exact: true }).waitFor();
  await shoot(phone, 'leaderboard-embed-dark');
}

const HTML = `<div style="font-family:Georgia,serif;max-width:520px"><h2 style="color:#14695f">The lake house, 12 to 14 June</h2>
  <p>Hello Ann,</p><p>the house is ours from Friday noon. There are <b>five beds</b>, a rowing boat and a stove that needs patience.</p>
  <table style="border-collapse:collapse" cellpadding="6"><tr style="background-color:#e4f0ee"><td>Friday</td><td>Train at 13:04, the boat waits</td></tr>
  <tr><td>Saturday</td><td>Round the lake, 14 km</td></tr><tr style="background-color:#e4f0ee"><td>Sunday</td><td>Breakfast, long</td></tr></table>
  <p>Bring a pullover.<br>Grace</p><img width="300" height="90" alt="The lake" src="https://pictures.example.test/lake.jpg"></div>`;

async function showMail(): Promise<void> {
  const ann = await registerUser(server, 'ann');
  const people = [];
  for (const name of ['Grace', 'Linus', 'Margaret', 'Radia']) {
    const user = await registerUser(server, name.toLowerCase());
    await server.call('PATCH', '/v1/me', { name }, user.token);
    people.push(user);
  }
  const [grace, linus, margaret, radia] = people as [MailUser, MailUser, MailUser, MailUser];
  const to = [{ name: 'Ann', email: ann.email }];
  const send = (user: MailUser, message: Record<string, unknown>) =>
    server.call('POST', '/v1/messages', { to, ...message }, user.token);
  await send(linus, {
    subject: 'Kernel of the matter',
    body: 'I have read your draft twice. The third part is the best one; may I cut the second?',
  });
  await send(margaret, {
    subject: 'Tickets for Thursday',
    body: 'Row 7, in the middle. Your ticket is attached.',
    attachments: [
      {
        file_name: 'ticket.pdf',
        content_type: 'application/pdf',
        content: Buffer.from('%PDF-1.4 ticket').toString('base64'),
      },
    ],
  });
  await send(radia, {
    subject: 'A tree of bridges',
    body: 'I think that I shall never see a graph more lovely than a tree.',
  });
  await send(linus, { subject: 'Re: Kernel of the matter', body: 'On second thoughts: keep it all.' });
  const page = await open('/_/mail');
  await page.getByLabel('Address').fill('ann');
  await page.getByLabel('Password').fill('correct horse battery');
  await page.keyboard.press('Enter');
  await page.locator('.message-row').nth(2).waitFor({ timeout: 60_000 });
  await send(grace, { subject: 'The lake house, 12 to 14 June', body: 'See the HTML.', html: HTML });
  const row = page.locator('.message-row', { hasText: 'The lake house' });
  await row.waitFor({ timeout: 60_000 });
  await row.getByRole('button', { name: /lake house/ }).click();
  await page.locator('iframe.message-frame').waitFor();
  await row.getByRole('button', { name: 'Flag' }).click();
  await shoot(page, 'mail');
  await page.keyboard.press('r');
  await page.getByRole('textbox', { name: 'Message' }).waitFor();
  await page.keyboard.type('I am in. I bring the pullover, and patience for the stove.');
  await page.getByText('Saved in Drafts').waitFor();
  await shoot(page, 'mail-compose');
  const kept = await page.context().storageState();
  const phone = await open('/_/mail', { ...PHONE, colorScheme: 'dark', storageState: { ...kept, origins: [] } });
  await phone.locator('.message-row').first().waitFor();
  await shoot(phone, 'mail-phone-dark');
}

async function showStorage(): Promise<void> {
  const key = await server.createAccessKey('album');
  const page = await open('/_/storage');
  await page.getByLabel('Access key', { exact: true }).fill(key.accessKeyId);
  await page.getByLabel('Secret access key').fill(key.secretAccessKey);
  await page.keyboard.press('Enter');
  await page.getByLabel('Name of the new bucket').fill('field-notes');
  await page.keyboard.press('Enter');
  await page.getByRole('link', { name: 'field-notes' }).click();
  await page.getByRole('link', { name: 'Settings' }).click();
  await page.getByLabel('Keep every version').check();
  await page.getByText('On: overwritten').waitFor();
  await page.getByRole('link', { name: 'Objects' }).click();
  const upload = async (files: [string, string][]) => {
    const list = files.map(([name, text]) => ({ name, mimeType: 'text/plain', buffer: Buffer.from(text) }));
    await page.getByLabel('Upload files').setInputFiles(list);
    await page.getByRole('heading', { name: 'Uploads complete' }).waitFor();
    await page.getByRole('button', { name: 'Clear' }).click();
  };
  const notes = 'Day 1  Two herons, one boat.\nDay 2  Rain. Read by the stove.\n';
  await upload([
    ['notes.txt', notes],
    ['birds.csv', 'heron,2\nkingfisher,1\n'],
    ['readme.md', '# Field notes\n'],
  ]);
  await upload([['notes.txt', `${notes}Day 3  A kingfisher, at last.\n`]]);
  await page.goto(`${server.url}/_/storage#/b/field-notes?prefix=june%2F`);
  await page.getByText('Drop files or folders').waitFor();
  await upload([['plan.txt', 'Round the lake.']]);
  await page.goto(`${server.url}/_/storage#/b/field-notes?key=notes.txt`);
  await page.getByText('A kingfisher, at last.').waitFor();
  await page.waitForTimeout(5000);
  await shoot(page, 'storage');
}

async function showOperator(): Promise<void> {
  const operator = await open('/_/operator', { viewport: { width: 1280, height: 900 } });
  await operator.getByLabel('Token').fill(server.rootToken);
  await operator.keyboard.press('Enter');
  await operator.getByRole('region', { name: 'Last 24 hours' }).waitFor();
  await shoot(operator, 'operator');
}

await showLeaderboard();
await showMail();
await showStorage();
await showOperator();
await browser.close();
