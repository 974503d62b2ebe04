import { createHash, randomFillSync } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { beforeAll, describe, expect, it } from 'vitest';
import { signLink } from '../../support/storage/sigv4-signer.ts';
import {
  eventually,
  expectAccessible,
  hasChromium,
  openTab,
  type Tab,
  TIMEOUT_MS,
} from '../../web/browser/chromium.ts';
import { useStage } from '../../web/browser/stage.ts';

const MIB = 1024 * 1024;
const sha256 = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest('hex');

describe.skipIf(!hasChromium)('the storage page', () => {
  const stage = useStage();
  let key: { accessKeyId: string; secretAccessKey: string };

  beforeAll(async () => {
    key = await stage.server.createAccessKey('somebody');
  });

  async function signIn(secret = key.secretAccessKey): Promise<Tab> {
    const tab = await openTab(stage.browser);
    tab.page.on('dialog', (dialog) => void dialog.accept());
    await tab.page.goto(`${stage.server.url}/_/storage`);
    await tab.page.getByLabel('Access key', { exact: true }).fill(key.accessKeyId);
    await tab.page.getByLabel('Secret access key').fill(secret);
    await tab.page.getByRole('button', { name: 'Sign in' }).click();
    return tab;
  }
  async function openBucket(page: Page, name: string): Promise<void> {
    await page.getByLabel('Name of the new bucket').fill(name);
    await page.keyboard.press('Enter');
    await page.getByRole('link', { name, exact: true }).click();
    await page.getByRole('region', { name: `Bucket ${name}` }).waitFor();
  }
  async function keepVersions(page: Page): Promise<void> {
    await page.getByRole('link', { name: 'Settings' }).click();
    // The page shows the choice before the server has it.
    const set = page.waitForResponse((response) => response.url().includes('?versioning') && response.ok());
    await page.getByLabel('Keep every version').check();
    await set;
    await page.getByText('On: overwritten').waitFor();
    await page.getByRole('link', { name: 'Objects' }).click();
  }
  /** Uploads a file and waits until it is stored. */
  async function upload(page: Page, name: string, text: string, mimeType = 'text/plain'): Promise<void> {
    const stored = page.waitForResponse((response) => response.request().method() === 'PUT' && response.ok());
    await page.getByLabel('Upload files').setInputFiles([{ name, mimeType, buffer: Buffer.from(text) }]);
    await stored;
  }
  /** Copies a link to the open object, as a user does it. */
  async function link(page: Page): Promise<string> {
    await page.getByRole('button', { name: 'Copy a link' }).click();
    return page.getByLabel('Link', { exact: true }).inputValue();
  }

  const presigned = (path: string) =>
    stage.server.url + signLink({ url: stage.server.url, credentials: key, method: 'GET', path });

  it('explains a wrong secret, and forgets the key when the last tab closes', async () => {
    const wrong = await signIn('not-the-secret-at-all');
    await wrong.page.getByRole('alert').waitFor();
    expect(await wrong.page.getByRole('alert').innerText()).toBe('The secret access key is wrong.');
    await wrong.page.context().close();
    const { page } = await signIn();
    await page.getByRole('heading', { name: 'Buckets' }).waitFor();
    expect(await page.evaluate(() => JSON.stringify(localStorage))).not.toContain(key.accessKeyId);
    // A new tab must get the key from this one, so that links to objects open directly.
    const other = await page.context().newPage();
    await other.goto(`${stage.server.url}/_/storage`);
    await other.getByRole('heading', { name: 'Buckets' }).waitFor();
    await page.close();
    await other.reload();
    await other.getByRole('heading', { name: 'Buckets' }).waitFor();
    const context = other.context();
    await other.close();
    const last = await context.newPage();
    await last.goto(`${stage.server.url}/_/storage`);
    await last.getByRole('heading', { name: 'Sign in to storage' }).waitFor();
    await context.close();
  });

  it('shows versions, explains a delete marker, undoes the deletion and restores an older version', async () => {
    const { page, troubles } = await signIn();
    await openBucket(page, 'album-of-versions');
    await keepVersions(page);
    for (const text of ['the first text', 'the second text']) {
      await upload(page, 'notes ö.txt', text);
    }
    await page.getByRole('link', { name: 'notes ö.txt' }).click();
    await page.getByText('the second text').waitFor();
    const timeline = page.getByRole('list', { name: 'Versions, newest first' });
    await eventually(() => timeline.getByRole('listitem').count()).toBe(2);
    await expectAccessible(page);

    await page.getByRole('button', { name: 'Delete', exact: true }).click();
    await page.getByText('A delete marker').waitFor();
    await page.getByText('No object has this name now.').waitFor();
    await timeline.getByRole('button', { name: 'Undo the deletion' }).click();
    await page.getByText('the second text').waitFor();
    await timeline.getByRole('listitem').last().getByRole('button', { name: 'View' }).click();
    await page.getByText('the first text').waitFor();
    await timeline.getByRole('button', { name: 'Restore' }).click();
    await eventually(() => timeline.getByRole('listitem').count()).toBe(3);
    expect(await (await fetch(await link(page))).text()).toBe('the first text');

    await page.getByLabel('Name of a tag').fill('colour');
    await page.getByLabel('Value of the tag').fill('green');
    await page.keyboard.press('Enter');
    await page.getByText('colour: green').waitFor();
    // Metadata is changed by a copy of the object onto itself: text, type and tags must stay, and one version is added.
    await page.getByLabel('Name of the metadata').fill('Author');
    await page.getByLabel('Value of the metadata').fill('Ann');
    await page.keyboard.press('Enter');
    const metadata = page.getByRole('region', { name: 'Metadata' });
    await metadata.getByText('author').waitFor();
    await page.getByLabel('Type of the content').fill('text/markdown');
    await page.keyboard.press('Enter');
    await eventually(() => timeline.getByRole('listitem').count()).toBe(5);
    const changed = await fetch(presigned('/album-of-versions/notes%20%C3%B6.txt'));
    expect([changed.headers.get('x-amz-meta-author'), changed.headers.get('content-type')]).toEqual([
      'Ann',
      'text/markdown',
    ]);
    expect(await changed.text()).toBe('the first text');
    await page.getByText('colour: green').waitFor();
    await metadata.getByRole('button', { name: 'Remove author' }).click();
    await metadata.getByText('None').waitFor();
    await expectAccessible(page);
    expect(troubles).toEqual([]);
    await page.context().close();
  });

  it('uploads two files of one name one after the other, so that the one chosen last is the newest', async () => {
    const { page } = await signIn();
    await openBucket(page, 'album-of-one-name');
    await keepVersions(page);
    // The first request is held, so that a second one has time to overtake it.
    const puts: string[] = [];
    /** Requests that had begun when each was sent on. */
    const ended: number[] = [];
    let overtook = () => {};
    const overtaken = new Promise<void>((resolve) => {
      overtook = resolve;
    });
    await page.route('**/album-of-one-name/one.txt*', async (route) => {
      if (route.request().method() !== 'PUT') return route.continue();
      puts.push(route.request().postData() ?? '');
      if (puts.length === 1) await Promise.race([overtaken, new Promise((resolve) => setTimeout(resolve, 1_500))]);
      else overtook();
      ended.push(puts.length);
      return route.continue();
    });
    for (const text of ['older', 'newer']) {
      const file = { name: 'one.txt', mimeType: 'text/plain', buffer: Buffer.from(text) };
      await page.getByLabel('Upload files').setInputFiles([file]);
    }
    await page.getByRole('heading', { name: 'Uploads complete' }).waitFor();
    const newest = await fetch(presigned('/album-of-one-name/one.txt'));
    expect([puts, ended, await newest.text()]).toEqual([['older', 'newer'], [1, 2], 'newer']);
    await page.context().close();
  });

  it('tidies the name of a new bucket, keeps versions if asked, opens it, and says until when a link opens', async () => {
    const { page, troubles } = await signIn();
    await page.getByLabel('Name of the new bucket').pressSequentially('Tidy Names 7');
    await page.getByLabel('Keep old versions').check();
    await page.getByRole('button', { name: 'Create bucket' }).click();
    await page.getByRole('region', { name: 'Bucket tidy-names-7' }).waitFor();
    // Wait for the option to show deleted objects, which buckets with versions have.
    await page.getByLabel('Show deleted').waitFor();
    await upload(page, 'a.txt', 'first');
    await page.getByRole('link', { name: 'a.txt' }).click();
    await page.getByText('first', { exact: true }).waitFor();
    await page.getByRole('button', { name: 'Copy a link' }).click();
    await page.getByText(/^Anyone with this link can open the file until/).waitFor();
    await expectAccessible(page);
    expect(troubles).toEqual([]);
    await page.context().close();
  });

  it('opens folders by name and uploads files into them', async () => {
    const { page } = await signIn();
    await openBucket(page, 'album-of-folders');
    await page.goto(`${stage.server.url}/_/storage#/b/album-of-folders?prefix=2026%2Fmay%2F`);
    // Wait for the heading: the page changes the folder after the address, and until then an upload goes to the old folder.
    await page.getByRole('heading', { name: 'album-of-folders/2026/may/' }).waitFor();
    await upload(page, 'a.json', '{"a":1}', 'application/json');
    await page.getByRole('link', { name: 'a.json' }).waitFor();
    await page.getByRole('link', { name: 'album-of-folders' }).click();
    await page.getByRole('link', { name: '2026/' }).click();
    await page.getByRole('link', { name: 'may/' }).click();
    await page.getByRole('link', { name: 'a.json' }).click();
    await page.getByText('{"a":1}').waitFor();
    await page.context().close();
  });

  it('resumes an upload of 20 MiB after a killed server and a reload, and sends only missing parts', async () => {
    const bytes = randomFillSync(new Uint8Array(20 * MIB));
    const path = join(stage.server.directory, 'film.bin');
    writeFileSync(path, bytes);
    const { page } = await signIn();
    await openBucket(page, 'album-of-films');
    let stored: number[] = [];
    // Hold back the last of three parts until the tab is closed. Otherwise a fast machine could finish the upload.
    await page.route(/partNumber=3&/, () => undefined);
    page.on('response', (response) => {
      const part = new URL(response.url()).searchParams.get('partNumber');
      if (part && response.status() === 200) stored.push(Number(part));
    });
    await page.getByLabel('Upload files').setInputFiles(path);
    await expect.poll(() => stored.length, { timeout: TIMEOUT_MS, interval: 5 }).toBeGreaterThan(0);
    await stage.server.kill9();
    await stage.server.start();
    await eventually(() => new Set(stored).size).toBe(2);
    await page.reload();
    await page.unroute(/partNumber=3&/);
    await page.getByText('Unfinished: choose the same file again to continue').waitFor();
    const before = new Set(stored);
    stored = [];
    await page.getByLabel('Upload files').setInputFiles(path);
    await page.getByRole('heading', { name: 'Uploads complete' }).waitFor();
    // Parts that had arrived must not be sent again.
    expect([...before].sort()).toEqual([1, 2]);
    expect(stored.toSorted()).toEqual([3]);
    await page.getByRole('link', { name: 'film.bin' }).click();
    const answer = await fetch(await link(page));
    expect(sha256(new Uint8Array(await answer.arrayBuffer()))).toBe(sha256(bytes));
    await page.context().close();
  });

  it('pauses an upload and resumes it', async () => {
    const path = join(stage.server.directory, 'pause.bin');
    writeFileSync(path, randomFillSync(new Uint8Array(17 * MIB)));
    const { page } = await signIn();
    await openBucket(page, 'album-of-pauses');
    // Answer no part before the pause. Otherwise a fast machine could finish the upload.
    await page.route(/partNumber=/, () => undefined);
    await page.getByLabel('Upload files').setInputFiles(path);
    await page.getByRole('button', { name: 'Pause' }).click();
    await page.getByText('Paused', { exact: true }).waitFor();
    await page.unroute(/partNumber=/);
    await page.getByRole('button', { name: 'Resume' }).click();
    await page.getByRole('heading', { name: 'Uploads complete' }).waitFor();
    await page.getByRole('cell', { name: '18 MB' }).waitFor();
    await page.context().close();
  });

  it('shows a stored hostile page without effect, in the app and by its link', async () => {
    const { page } = await signIn();
    await openBucket(page, 'album-of-strangers');
    const hostile = `<!doctype html><title>stored</title><body onload="document.title='pwned'">
      <script>document.title = 'pwned'; try { document.body.dataset.kept = sessionStorage.length } catch {}
        fetch('/v1/health').then(() => { document.title = 'pwned' }); navigator.serviceWorker?.register('/album-of-strangers/evil.html');
      </script><img src="x" onerror="document.title='pwned'"><svg onload="document.title='pwned'"></svg>
      <a id="link" href="javascript:document.title='pwned'">click</a></body>`;
    await upload(page, 'evil.html', hostile, 'text/html');
    await page.getByRole('link', { name: 'evil.html' }).click();
    // The app must show the HTML object as text.
    await page.getByText("document.title = 'pwned'").first().waitFor();
    expect(await page.title()).toBe('Storage · Tessera');
    // By a presigned link, the object opens as a page, in the same browser and on the same origin. It must not be able to do
    // harm.
    const opened = await page.context().newPage();
    const asked: string[] = [];
    opened.on('request', (request) => asked.push(new URL(request.url()).pathname));
    await opened.goto(presigned('/album-of-strangers/evil.html'));
    await opened.locator('#link').click();
    await opened.waitForTimeout(500);
    expect(await opened.title()).toBe('stored');
    expect(asked).not.toContain('/v1/health');
    await page.context().close();
  });
});
