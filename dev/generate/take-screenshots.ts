/**
 * `npm run screenshots`: starts a server with demo data and writes the pictures of README.md and docs/ to `docs/images/`. The pages
 * and the data are real. Check each picture before committing it.
 */
import { join } from 'node:path';
import type { BrowserContextOptions, Page } from 'playwright-core';
import { type MailUser, registerUser } from '../../test/support/mail/mail.ts';
import { startServer } from '../../test/support/server.ts';
import { openChromium, openTab } from '../../test/web/browser/chromium.ts';
import { buildAll } from '../local/build.ts';

const folder = join(import.meta.dirname, '../../docs/images');
const PHONE: BrowserContextOptions = { viewport: { width: 390, height: 760 }, hasTouch: true, isMobile: true };

buildAll();
await using server = await startServer({
  vars: { REGISTRATION: 'open', MAIL_HOLD_SECONDS: '1' },
  withoutRules: true,
});
const browser = await openChromium();

/** Takes a picture as PNG, because every viewer opens it, and PNG files with few colours are small. */
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
    points: Math.round(9_000 * Math.exp(-((index * 7) % 480) / 140) + 700 * (1 + Math.sin(index * 2.7))),
  }));
  await server.call('POST', '/v1/scores/batch', { updates }, token);
  const page = await open('/_/leaderboard#/?player=player-77', { viewport: { width: 1280, height: 900 } });
  await page.getByText('Live', { exact: true }).waitFor();
  await page.getByRole('region', { name: 'Player' }).waitFor();
  await shoot(page, 'leaderboard');
  const phone = await open('/_/embed/leaderboard', { ...PHONE, colorScheme: 'dark' });
  await phone.getByText('Live', { exact: true }).waitFor();
  await shoot(phone, 'leaderboard-embed-dark');
}

/** Draws a landscape with hills and a sky of the given hues. */
async function draw(hill: number, sky: number): Promise<Buffer> {
  const { page } = await openTab(browser, { viewport: { width: 520, height: 200 } });
  await page.setContent(`<body style="margin:0"><svg width="520" height="200">
    <rect width="520" height="200" fill="hsl(${sky} 72% 84%)"/><circle cx="410" cy="62" r="24" fill="hsl(${sky + 150} 90% 88%)"/>
    <path d="M0 128 Q120 58 240 118 T520 92 V200 H0Z" fill="hsl(${hill} 30% 52%)"/><path d="M0 150 Q160 108 300 148 T520 138 V200 H0Z" fill="hsl(${hill} 34% 38%)"/>
    <rect y="164" width="520" height="36" fill="hsl(${sky} 46% 58%)"/><path d="M206 168 h66 l-12 13 h-42Z" fill="#6b3f22"/><path d="M238 168 v-44 l26 36Z" fill="#fdf6e7"/></svg>`);
  const picture = await page.screenshot();
  await page.context().close();
  return picture;
}

const LETTER = `<div style="font-family:Georgia,serif;max-width:520px"><p>Hello Ann,</p><p>the house is ours from Friday noon. There are <b>five beds</b>, a rowing boat and a stove that needs patience.</p>
  <p><img src="cid:lake" width="520" height="200" alt="The lake with a boat"></p>
  <table style="border-collapse:collapse" cellpadding="6"><tr style="background-color:#e4f0ee"><td>Friday</td><td>Train at 13:04, the boat waits</td></tr>
  <tr><td>Saturday</td><td>Round the lake, 14 km</td></tr><tr style="background-color:#e4f0ee"><td>Sunday</td><td>A long breakfast</td></tr></table>
  <p>Bring a pullover.<br>Grace</p></div>`;

/** Demo messages: sender, age in hours, whether the message is read, subject, and text. The newest is the last. */
const LETTERS: readonly (readonly [string, number, boolean, string, string])[] = [
  ['Katherine Noor', 172, true, 'Minutes of the meeting', 'Everything that we agreed on is in the second paragraph.'],
  [
    'City Library',
    148,
    true,
    'Two loans end next week',
    'You can extend both of them once more, until the end of the month.',
  ],
  ['Joan Feld', 77, true, 'Recipe for the plum cake', 'Less sugar than you think, and leave it in for an hour.'],
  ['Tim Okafor', 54, true, 'Re: The garden plan', 'The bench fits if the apple tree stays where it is.'],
  ['Weekend Walks', 51, false, 'Three short walks for Sunday', 'Each is under ten kilometres and ends at a bakery.'],
  ['Margaret Lund', 29, true, 'Tickets for Thursday', 'Row 7, in the middle. I bring the programme.'],
  ['Radia Moss', 27, false, 'Drawings of the bridge', 'The third one shows the arch from below.'],
  [
    'Linus Berg',
    3,
    false,
    'Your draft',
    'I have read it twice. The third part is the best one; may I shorten the second?',
  ],
];

const addressOf = (name: string) => `${name.toLowerCase().replaceAll(/[^a-z]+/g, '.')}@letters.example`;

function toMbox(hoursAgo: number, isRead: boolean, head: readonly string[], body: string): string {
  const date = new Date(Date.now() - hoursAgo * 3_600_000);
  const [day, dayOfMonth, month, year, time] = date.toUTCString().replace(',', '').split(' ');
  return [
    `From letters@letters.example ${day} ${month} ${dayOfMonth} ${time} ${year}`,
    ...head,
    `Date: ${date.toUTCString().replace('GMT', '+0000')}`,
    `Message-ID: <${crypto.randomUUID()}@letters.example>`,
    `Status: ${isRead ? 'RO' : 'O'}`,
    'MIME-Version: 1.0',
    body,
    '',
    '',
  ].join('\n');
}

async function importMail(user: MailUser, mbox: string): Promise<void> {
  const headers = { authorization: `Bearer ${user.token}`, 'content-type': 'application/mbox' };
  await fetch(`${server.url}/v1/import`, { method: 'POST', headers, body: mbox });
}

async function showMail(): Promise<void> {
  const ann = await registerUser(server, 'ann');
  await server.call('PATCH', '/v1/me', { name: 'Ann Winter' }, ann.token);
  const head = (name: string, subject: string) => [
    `From: ${name} <${addressOf(name)}>`,
    `To: Ann Winter <${ann.email}>`,
    `Subject: ${subject}`,
  ];
  const mbox = LETTERS.map(([name, hoursAgo, isRead, subject, text]) =>
    toMbox(hoursAgo, isRead, head(name, subject), `Content-Type: text/plain; charset=utf-8\n\n${text}`),
  );
  const lake = (await draw(150, 200)).toString('base64').replaceAll(/(.{76})/g, '$1\n');
  mbox.push(
    toMbox(
      1,
      false,
      head('Grace Alder', 'The lake house, 12 to 14 June'),
      `Content-Type: multipart/related; boundary=part\n\n--part\nContent-Type: text/html; charset=utf-8\n\n${LETTER}\n--part\nContent-Type: image/png\nContent-ID: <lake>\nContent-Disposition: inline; filename=lake.png\nContent-Transfer-Encoding: base64\n\n${lake}\n--part--`,
    ),
  );
  await importMail(ann, mbox.join(''));
  const page = await open('/_/mail', { viewport: { width: 1200, height: 740 } });
  await page.getByLabel('Address').fill('ann');
  await page.getByLabel('Password').fill('correct horse battery');
  await page.keyboard.press('Enter');
  const row = page.locator('.message-row', { hasText: 'The lake house' });
  await row.waitFor({ timeout: 60_000 });
  await page.locator('.message-row', { hasText: 'Tickets' }).getByRole('button', { name: 'Flag' }).click();
  await row.getByRole('link', { name: /lake house/ }).click();
  await page.frameLocator('iframe.message-frame').getByText('A long breakfast').waitFor();
  // Moves the pointer off the rows, so that no buttons and tooltips cover them.
  await page.mouse.move(1000, 780);
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
  await page.getByLabel('Keep old versions').check();
  await page.getByRole('button', { name: 'Create bucket' }).click();
  await page.getByText('Drop files or folders').waitFor();
  const upload = async (files: [string, string | Buffer][]) => {
    const list = files.map(([name, content]) => ({
      name,
      mimeType: name.endsWith('.png') ? 'image/png' : 'text/plain',
      buffer: Buffer.from(content),
    }));
    await page.getByLabel('Upload files').setInputFiles(list);
    await page.getByRole('heading', { name: 'Uploads complete' }).waitFor();
    await page.getByRole('button', { name: 'Clear' }).click();
  };
  const notes = 'Day 1  Two herons, one boat.\nDay 2  Rain. Read by the stove.\n';
  await upload([
    ['notes.txt', notes],
    ['birds.csv', 'heron,2\nkingfisher,1\n'],
    ['readme.md', '# Field notes\n'],
    ['lake-morning.png', await draw(150, 200)],
    ['lake-evening.png', await draw(120, 20)],
    ['moor.png', await draw(60, 220)],
  ]);
  await upload([['notes.txt', `${notes}Day 3  A kingfisher, at last.\n`]]);
  await page.goto(`${server.url}/_/storage#/b/field-notes?prefix=june%2F`);
  await page.getByText('Drop files or folders').waitFor();
  await upload([['plan.txt', 'Round the lake.']]);
  await page.goto(`${server.url}/_/storage#/b/field-notes?key=notes.txt`);
  await page.getByText('A kingfisher, at last.').waitFor();
  await page.locator('.thumbnail img').nth(2).waitFor();
  // Waits until the toasts have disappeared.
  await page.waitForTimeout(6000);
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
