/**
 * Tests the webmail of root-fr (MIT) in Chromium, from a checkout that `JMAP_WEBMAIL` names. It is built and served on an origin of
 * its own, and reaches the mailbox by JMAP alone: log in, read, search, flag, mark as unread, move, tag, write with an attachment,
 * send, see mail arrive.
 */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Browser, Locator, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  awaitMessage,
  confirmSession,
  listFolder,
  type MailUser,
  registerUser,
  until,
} from '../../support/mail/mail.ts';
import { freePort, startServer, type TestServer } from '../../support/server.ts';
import { closeTabs, eventually, hasChromium, openChromium, openTab } from '../../web/browser/chromium.ts';
import { deliver, importLetters, letter } from './mail-page.ts';

const checkout = process.env.JMAP_WEBMAIL ?? '';

function run(...command: string[]): void {
  const [program = '', ...rest] = command;
  const { status, stdout, stderr } = spawnSync(program, rest, {
    cwd: checkout,
    encoding: 'utf8',
    env: { ...process.env, NEXT_TELEMETRY_DISABLED: '1' },
  });
  if (status !== 0) throw new Error(`${command.join(' ')}: ${stdout.slice(-2_000)}${stderr.slice(-2_000)}`);
}

/** Builds the checkout once. Its layout would load two fonts from the network during the build, so the fonts are removed. */
function buildWebmail(): void {
  if (existsSync(join(checkout, '.next/BUILD_ID'))) return;
  const layout = join(checkout, 'app/[locale]/layout.tsx');
  const source = readFileSync(layout, 'utf8')
    .replace(/^import .* from "next\/font\/google";\n/m, '')
    .replace(/= Geist(?:_Mono)?\(\{[^}]*\}\);/g, "= { variable: '' };");
  writeFileSync(layout, source);
  run('npm', 'ci', '--ignore-scripts');
  run('npm', 'run', 'build');
}

async function serveWebmail(jmapUrl: string): Promise<{ url: string; process: ChildProcess }> {
  const port = await freePort();
  const env = { ...process.env, JMAP_SERVER_URL: jmapUrl, NEXT_TELEMETRY_DISABLED: '1' };
  const command = ['node_modules/next/dist/bin/next', 'start', '-H', 'localhost', '-p', String(port)];
  const server = spawn(process.execPath, command, { cwd: checkout, env, stdio: 'ignore' });
  const url = `http://localhost:${port}`;
  await until('the webmail', async () => {
    const answer = await fetch(`${url}/api/config`).catch(() => undefined);
    return answer?.ok || undefined;
  });
  return { url, process: server };
}

describe.skipIf(!hasChromium || checkout === '')('the webmail of root-fr', () => {
  let server: TestServer;
  let webmail: { url: string; process: ChildProcess };
  let browser: Browser;
  let ann: MailUser;
  let bob: MailUser;
  let page: Page;
  const troubles: string[] = [];

  /** Finds a row of the webmail's list by the text of its subject, independently of its other styles. */
  const row = (subject: string): Locator => page.locator('.line-clamp-1', { hasText: subject });
  const read = async (id: string) => (await server.call('GET', `/v1/messages/${id}`, undefined, ann.token)).body;
  const find = async (role: string, subject: string) =>
    (await listFolder(server, ann, role)).find((message) => message.subject === subject);

  beforeAll(async () => {
    buildWebmail();
    [server, browser] = await Promise.all([
      startServer({ vars: { MAIL_HOLD_SECONDS: '0', REGISTRATION: 'open' } }),
      openChromium(),
    ]);
    [ann, bob] = [await registerUser(server, 'ann'), await registerUser(server, 'bob')];
    await importLetters(server, ann, [
      letter(ann, 'A walk', 'Shall we meet at the **lighthouse**?'),
      letter(ann, 'Old bills', 'To the archive with these.'),
    ]);
    await confirmSession(server, ann.token);
    const { body } = await server.call('POST', '/v1/me/tokens', { name: 'webmail' }, ann.token);
    webmail = await serveWebmail(server.url);

    ({ page } = await openTab(browser));
    // Collect errors of the console: refused requests and blocked origins appear only there, because the webmail ignores them
    // silently.
    page.on('console', (message) => {
      if (message.type() === 'error') troubles.push(message.text());
    });
    page.on('response', async (response) => {
      if (!response.url().startsWith(server.url)) return;
      if (response.status() >= 400) troubles.push(`${response.status()} ${response.url()}`);
      if (!response.url().endsWith('/v1/jmap/api')) return;
      const { methodResponses } = await response.json().catch(() => ({ methodResponses: [] }));
      for (const [name, args] of methodResponses)
        if (name === 'error' || args.notCreated || args.notUpdated || args.notDestroyed)
          troubles.push(JSON.stringify([response.request().postData()?.slice(0, 500), args]));
    });
    await page.goto(`${webmail.url}/login`);
    await page.locator('#username').fill(ann.email);
    await page.locator('#password').fill(body.token);
    await page.getByRole('button', { name: 'Sign in' }).click();
    await row('A walk').waitFor();
  });
  afterAll(async () => {
    await closeTabs(browser);
    webmail?.process.kill();
    await server?.[Symbol.asyncDispose]();
  });

  it('reads a message, and marks it as read and as unread', async () => {
    const { id } = await find('inbox', 'A walk');
    expect((await read(id)).is_read).toBe(false);
    await row('A walk').click();
    await page.getByText('Shall we meet at the').last().waitFor();
    await eventually(async () => (await read(id)).is_read).toBe(true);
    // Wait until the page shows the message as read. Before that, `u` (mark as unread) would do nothing.
    await eventually(() => row('A walk').getAttribute('class')).not.toContain('font-semibold');
    await page.keyboard.press('u');
    await eventually(async () => (await read(id)).is_read).toBe(false);
  });

  it('flags a message, takes the flag away, and tags it with a colour and another', async () => {
    const { id } = await find('inbox', 'A walk');
    for (const isFlagged of [true, false]) {
      await page.getByTitle(isFlagged ? 'Star' : 'Unstar', { exact: true }).click();
      await eventually(async () => (await read(id)).is_flagged).toBe(isFlagged);
    }
    for (const colour of ['Red', 'Blue']) {
      await row('A walk').click({ button: 'right' });
      await page.getByRole('menuitem', { name: 'Color Tag' }).hover();
      await page.getByTitle(colour, { exact: true }).last().click();
      await eventually(async () => (await read(id)).labels).toEqual([`$color:${colour.toLowerCase()}`]);
    }
  });

  it('searches in the text', async () => {
    const search = page.locator('[data-search-input]');
    await search.fill('lighthouse');
    await search.press('Enter');
    await row('Old bills').waitFor({ state: 'detached' });
    await row('A walk').waitFor();
    expect(await row('Old bills').count()).toBe(0);
    await page.getByRole('button', { name: 'Clear search' }).click();
    await row('Old bills').waitFor();
  });

  it('moves a message to a folder', async () => {
    await row('Old bills').click({ button: 'right' });
    await page.getByRole('menuitem', { name: 'Move to...' }).first().hover();
    await page.getByRole('menuitem', { name: 'Archive', exact: true }).first().click();
    await awaitMessage(server, ann, 'archive', 'Old bills');
    // The webmail keeps the row until it polls and finds a new state.
    await row('Old bills').waitFor({ state: 'detached' });
    expect(await row('A walk').count()).toBe(1);
  });

  it('writes with an attachment and sends', async () => {
    await page.getByRole('button', { name: 'Compose' }).click();
    await page.locator('input[type=file]').setInputFiles({
      name: 'numbers.csv',
      mimeType: 'text/csv',
      buffer: Buffer.from('zebra,1\n'),
    });
    await page.getByPlaceholder('Recipient email addresses').fill(bob.email);
    await page.getByPlaceholder('Subject').fill('Numbers for the giraffe');
    await page.getByPlaceholder('Write your message').fill('They are attached.');
    // Wait for the saved draft: the webmail sends the draft that it saved last, and only a saved draft has the attachment.
    await until('the draft with its file', async () =>
      (await find('drafts', 'Numbers for the giraffe'))?.has_attachments ? true : undefined,
    );
    await page.getByRole('button', { name: 'Send' }).click();
    const arrived = await awaitMessage(server, bob, 'inbox', 'Numbers for the giraffe');
    expect(arrived.attachments).toMatchObject([{ file_name: 'numbers.csv' }]);
    expect(arrived.body).toContain('They are attached.');
    await awaitMessage(server, ann, 'sent', 'Numbers for the giraffe');
    expect(await listFolder(server, ann, 'drafts')).toEqual([]);
  });

  it('shows mail that arrives', async () => {
    await deliver(server, ann, letter(ann, 'News of today', 'It came by itself.'));
    await row('News of today').waitFor();
    await row('News of today').click();
    await page.getByText('It came by itself.').last().waitFor();
  });

  it('got no refusal and no error of a method', () => {
    expect(troubles).toEqual([]);
  });
});
