/** Tests the storage console: one test per feature that it offers. */
import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { beforeAll, describe, expect, it } from 'vitest';
import { registerUser } from '../../support/mail/mail.ts';
import { hasClient } from '../../support/real-client.ts';
import { eventually, expectAccessible, hasChromium, openTab } from '../../web/browser/chromium.ts';
import { useStage } from '../../web/browser/stage.ts';
import { openConsole, openStore, type StorageKey, type Store } from './storage-page.ts';

const run = promisify(execFile);
/** A red pixel. */
const PNG = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg==',
  'base64',
);

describe.skipIf(!hasChromium)('the storage console', () => {
  const stage = useStage({ vars: { REGISTRATION: 'open', OWN_ACCESS_KEYS: 'true' } });
  let key: StorageKey;
  let store: Store;

  beforeAll(async () => {
    key = await stage.server.createAccessKey(`console-${crypto.randomUUID().slice(0, 8)}`);
    store = openStore(stage.server, key);
  });
  const open = (hash: string) => openConsole(stage.browser, stage.server, key, hash);

  it('shows size, objects and versions on the card of a bucket, and whether it is public', async () => {
    const bucket = await store.createBucket(true);
    await store.put(bucket, 'a.txt', 'x'.repeat(1000));
    await store.put(bucket, 'a.txt', 'x'.repeat(2000));
    await store.put(bucket, 'gone.txt', 'x');
    await store.delete(bucket, 'gone.txt');
    const { page, troubles } = await open('#/');
    const card = page.getByRole('listitem').filter({ has: page.getByRole('link', { name: bucket }) });
    await card.getByText('3.0 KB').waitFor();
    await eventually(() => card.getByRole('definition').allInnerTexts()).toEqual(['3.0 KB', '1', '3']);
    expect(await card.getByText('Public').count()).toBe(0);
    await page.goto(`${stage.server.url}/_/storage#/b/${bucket}/settings`);
    await page.getByRole('button', { name: 'Anyone may read' }).click();
    await page.getByRole('button', { name: 'Save policy' }).click();
    await page.getByText('Saved.').waitFor();
    await page.goto(`${stage.server.url}/_/storage#/`);
    await card.getByText('Public').waitFor();
    await expectAccessible(page);
    expect(troubles).toEqual([]);
    await page.context().close();
  });

  it('finds objects and folders by the beginning of their names', async () => {
    const bucket = await store.createBucket();
    for (const name of ['apple.txt', 'apricot.txt', 'banana.txt', 'april/one.txt']) await store.put(bucket, name, name);
    const { page } = await open(`#/b/${bucket}`);
    const names = () => page.locator('.objects tbody .name-cell bdi').allInnerTexts();
    await eventually(names).toEqual(['april/', 'apple.txt', 'apricot.txt', 'banana.txt']);
    await page.getByLabel('Find names that begin with…').fill('apr');
    await eventually(names).toEqual(['april/', 'apricot.txt']);
    await page.getByLabel('Find names that begin with…').fill('apple.txt');
    await eventually(names).toEqual(['apple.txt']);
    await page.getByLabel('Find names that begin with…').fill('zebra');
    await page.getByText('No name here begins with “zebra”.').waitFor();
    await page.context().close();
  });

  it('sorts by name, size and time, and selects all', async () => {
    const bucket = await store.createBucket();
    await store.put(bucket, 'middle.txt', 'x'.repeat(20));
    await store.put(bucket, 'large.txt', 'x'.repeat(300));
    await store.put(bucket, 'small.txt', 'x');
    const { page } = await open(`#/b/${bucket}`);
    const names = () => page.locator('.objects tbody .name-cell bdi').allInnerTexts();
    await eventually(names).toEqual(['large.txt', 'middle.txt', 'small.txt']);
    const head = page.locator('.objects thead');
    await head.getByRole('button', { name: 'Size' }).click();
    expect(await names()).toEqual(['large.txt', 'middle.txt', 'small.txt']);
    await head.getByRole('button', { name: 'Size' }).click();
    expect(await names()).toEqual(['small.txt', 'middle.txt', 'large.txt']);
    expect(await page.getByRole('columnheader', { name: 'Size' }).getAttribute('aria-sort')).toBe('ascending');
    await head.getByRole('button', { name: 'Name' }).click();
    await head.getByRole('button', { name: 'Name' }).click();
    expect(await names()).toEqual(['small.txt', 'middle.txt', 'large.txt']);
    await page.getByRole('checkbox', { name: 'Select all that are loaded' }).click();
    await page.getByText('3 objects selected').waitFor();
    await expectAccessible(page);
    await page.context().close();
  });

  it('shows small pictures of stored images', async () => {
    const bucket = await store.createBucket();
    await store.put(bucket, 'pixel.png', PNG, 'image/png');
    await store.put(bucket, 'fake.png', '<script>alert(1)</script>', 'text/html');
    const { page, troubles } = await open(`#/b/${bucket}`);
    const picture = page.locator('tr', { hasText: 'pixel.png' }).locator('.thumbnail img');
    await eventually(() => picture.evaluate((image: HTMLImageElement) => image.naturalWidth)).toBe(1);
    // A file that is not a picture must keep its icon.
    await page.locator('tr', { hasText: 'fake.png' }).locator('.thumbnail svg').waitFor();
    expect(troubles).toEqual([]);
    await page.context().close();
  });

  it('finds deleted objects without knowing their names, and restores them', async () => {
    const bucket = await store.createBucket(true);
    for (const name of ['kept.txt', 'lost/one.txt', 'lost/two.txt']) await store.put(bucket, name, name);
    for (const name of ['lost/one.txt', 'lost/two.txt']) await store.delete(bucket, name);
    const { page, troubles } = await open(`#/b/${bucket}/versions`);
    const rows = page.getByRole('table', { name: 'Deleted objects' }).getByRole('rowheader');
    await eventually(async () => (await rows.allInnerTexts()).map((text) => text.split(/\s/)[0])).toEqual([
      'lost/one.txt',
      'lost/two.txt',
    ]);
    await expectAccessible(page);
    await page.getByRole('button', { name: 'Restore lost/one.txt' }).click();
    await eventually(() => rows.count()).toBe(1);
    await page.getByRole('link', { name: 'Objects', exact: true }).click();
    await page.getByRole('link', { name: 'lost/' }).click();
    await page.getByRole('link', { name: 'one.txt' }).waitFor();
    expect(await page.getByRole('link', { name: 'two.txt' }).count()).toBe(0);
    expect(troubles).toEqual([]);
    await page.context().close();
  });

  it('shows a prefix as it was, and restores it with a slider', async () => {
    const bucket = await store.createBucket(true);
    await store.put(bucket, 'site/index.html', 'good');
    await store.put(bucket, 'site/style.css', 'good');
    await store.put(bucket, 'other.txt', 'untouched');
    // Wait some milliseconds, so that the damage is later than the stored versions: version times are in milliseconds.
    const stored = Date.now();
    await eventually(() => Date.now() - stored).toBeGreaterThan(5);
    await store.put(bucket, 'site/index.html', 'broken');
    await store.delete(bucket, 'site/style.css');
    await store.put(bucket, 'site/malware.js', 'bad');
    const { page, troubles } = await open(`#/b/${bucket}/versions?prefix=site%2F`);
    const slider = page.getByRole('slider', { name: 'Moment' });
    await slider.waitFor();
    await slider.focus();
    const total = Number(await slider.getAttribute('max'));
    // Move the slider to the last moment before the three damaging changes, when all three differences are shown.
    for (let step = 0; step < total; step++) {
      await page.keyboard.press('ArrowLeft');
      if ((await page.getByText('added since').count()) > 0 && (await page.getByText('deleted since').count()) > 0) {
        if ((await page.getByText('changed since').count()) > 0) break;
      }
    }
    const kinds = page.getByRole('table', { name: 'Differences from now' }).locator('tr');
    await eventually(() => kinds.evaluateAll((all) => all.map((row) => (row as HTMLElement).dataset.kind))).toEqual([
      'changed',
      'added',
      'deleted',
    ]);
    await page.getByText('2 objects existed').waitFor();
    await expectAccessible(page);
    await page.getByRole('button', { name: 'Restore…' }).click();
    const dialog = page.getByRole('dialog', { name: `Restore ${bucket}/site/?` });
    await dialog.getByText('2 objects come back').waitFor();
    await dialog.getByText('1 object that did not exist at that time').waitFor();
    await expectAccessible(page);
    await dialog.getByRole('button', { name: 'Restore', exact: true }).click();
    await page.getByText('3 restored', { exact: true }).waitFor();
    await page.goto(`${stage.server.url}/_/storage#/b/${bucket}?prefix=site%2F`);
    const names = () => page.locator('.objects tbody .name-cell bdi').allInnerTexts();
    await eventually(names).toEqual(['index.html', 'style.css']);
    await page.getByRole('link', { name: 'index.html' }).click();
    await page.getByText('good', { exact: true }).waitFor();
    expect(troubles).toEqual([]);
    await page.context().close();
  });

  it('checks a policy while it is written, tries it on an example, and stores it', async () => {
    const bucket = await store.createBucket();
    await store.put(bucket, 'open.txt', 'for everyone');
    const { page } = await open(`#/b/${bucket}/settings`);
    const policy = page.getByRole('region', { name: 'Bucket policy' });
    const text = policy.getByLabel('Policy as JSON');
    await text.fill('{"Statement": ');
    await policy.getByText('This is not valid JSON').waitFor();
    await text.fill('{"Statement": [{"Effect": "Allow", "Action": "s3:GetObject", "Resource": "arn:aws:s3:::x/*"}]}');
    await policy.getByText('Missing required field Principal').waitFor();
    expect(await policy.getByRole('button', { name: 'Save policy' }).isDisabled()).toBe(true);
    // What is not saved survives a reload.
    await page.reload();
    await eventually(() => text.inputValue()).toContain('arn:aws:s3:::x');
    await policy.getByText('Not saved yet.').waitFor();
    await policy.getByRole('button', { name: 'Anyone may read' }).click();
    await policy.getByText('The policy is valid.').waitFor();
    await policy.getByText('It makes the bucket public.').waitFor();
    await policy.getByText('Allowed by the policy.').waitFor();
    await policy.getByLabel('Action').selectOption('s3:DeleteObject');
    await policy.getByText('Not mentioned by the policy').waitFor();
    await expectAccessible(page);
    expect((await fetch(`${stage.server.url}/${bucket}/open.txt`)).status).toBe(403);
    await policy.getByRole('button', { name: 'Save policy' }).click();
    await page.getByText('Saved.').waitFor();
    await eventually(async () => (await fetch(`${stage.server.url}/${bucket}/open.txt`)).status).toBe(200);
    await policy.getByRole('button', { name: 'Delete policy' }).click();
    await eventually(async () => (await fetch(`${stage.server.url}/${bucket}/open.txt`)).status).toBe(403);
    await page.context().close();
  });

  it('sets versioning and Object Lock', async () => {
    const bucket = await store.createBucket();
    const { page } = await open(`#/b/${bucket}/settings`);
    const lock = page.getByRole('region', { name: 'Object Lock' });
    await lock.getByText('Turn on versioning first.').waitFor();
    await page.getByLabel('Keep every version').check();
    await page.getByText('On: overwritten').waitFor();
    await lock.getByRole('button', { name: 'Turn on Object Lock' }).click();
    await lock.getByLabel('Mode of new versions').selectOption('GOVERNANCE');
    await lock.getByLabel('Period').fill('7');
    await lock.getByRole('button', { name: 'Save' }).click();
    await page.getByText('Saved.').waitFor();
    await page.reload();
    await eventually(() => lock.getByLabel('Mode of new versions').inputValue()).toBe('GOVERNANCE');
    expect(await lock.getByLabel('Period').inputValue()).toBe('7');
    await expectAccessible(page);
    await page.context().close();
  });

  it('sets the CORS rules of a bucket', async () => {
    const bucket = await store.createBucket();
    const { page } = await open(`#/b/${bucket}/settings`);
    const cors = page.getByRole('region', { name: 'Access from web pages (CORS)' });
    await cors.getByText('No rules').waitFor();
    await cors.getByRole('button', { name: 'Add a rule' }).click();
    await cors.getByLabel('Origins, separated by spaces').fill('https://app.example.com');
    await cors.getByLabel('PUT').check();
    await cors.getByRole('button', { name: 'Save' }).click();
    await page.getByText('Saved.').waitFor();
    const preflight = (origin: string) =>
      fetch(`${stage.server.url}/${bucket}/x`, {
        method: 'OPTIONS',
        headers: { origin, 'access-control-request-method': 'PUT' },
      });
    expect((await preflight('https://app.example.com')).status).toBe(200);
    expect((await preflight('https://evil.example.com')).status).toBe(403);
    await page.reload();
    await eventually(() => cors.getByLabel('Origins, separated by spaces').inputValue()).toBe(
      'https://app.example.com',
    );
    await cors.getByRole('button', { name: 'Remove rule 1' }).click();
    await cors.getByRole('button', { name: 'Save' }).click();
    await eventually(async () => (await preflight('https://app.example.com')).status).toBe(403);
    await page.context().close();
  });

  it('signs in with the session of a mailbox, and creates and revokes own keys', async () => {
    const user = await registerUser(stage.server, `keys-${crypto.randomUUID().slice(0, 8)}`);
    const { page, troubles } = await openTab(stage.browser);
    page.on('dialog', (dialog) => void dialog.accept());
    await page.goto(`${stage.server.url}/_/mail`);
    await page.getByLabel('Address').fill(user.email);
    await page.getByLabel('Password').fill('correct horse battery');
    await page.keyboard.press('Enter');
    await page.getByRole('navigation', { name: 'Folders' }).waitFor();
    await page.goto(`${stage.server.url}/_/storage`);
    await page.getByRole('button', { name: `Continue as ${user.email}` }).click();
    await page.getByRole('heading', { name: 'Buckets' }).waitFor();
    await page.getByText('No buckets yet.').waitFor();
    await page.getByRole('link', { name: 'Access keys' }).click();
    await page.getByText('this browser').waitFor();
    await page.getByRole('button', { name: 'Create access key' }).click();
    // The key for a working day came from the log-in; one without an end asks for the password.
    await page.getByRole('dialog').getByLabel('Password').fill('correct horse battery');
    await page.keyboard.press('Enter');
    await page.getByText('Copy the secret now.').waitFor();
    const keys = page.locator('.key-list li');
    await eventually(() => keys.count()).toBe(2);
    await expectAccessible(page);
    const other = keys.filter({ hasNotText: 'this browser' });
    await other.getByRole('button', { name: /^Revoke/ }).click();
    await eventually(() => keys.count()).toBe(1);
    expect(troubles).toEqual([]);
    await page.context().close();
  });

  describe.skipIf(!hasClient('aws', 'rclone', 'python3'))('the examples of the tab Connect', () => {
    const COMMANDS = [
      ['AWS CLI', 'hello.sh', 'bash'],
      ['rclone', 'hello.sh', 'bash'],
      ['Python (boto3)', 'hello.py', 'python3'],
      ['JavaScript', 'hello.mjs', process.execPath],
    ] as const;
    it.each(COMMANDS)('stores and lists an object when the example for %s is pasted', async (tool, file, command) => {
      const bucket = await store.createBucket();
      const { page } = await open(`#/b/${bucket}/connect`);
      await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
      const example = page.getByRole('region', { name: tool });
      expect(await example.innerText()).not.toContain(key.secretAccessKey);
      await example.getByRole('button', { name: `Copy the ${tool} example` }).click();
      await page.getByText('Copied.').waitFor();
      const text = await page.evaluate(() => navigator.clipboard.readText());
      const folder = mkdtempSync(join(tmpdir(), 'tessera-connect-'));
      try {
        writeFileSync(join(folder, file), text);
        symlinkSync(join(import.meta.dirname, '../../../node_modules'), join(folder, 'node_modules'));
        const env = {
          PATH: process.env.PATH,
          HOME: folder,
          XDG_CONFIG_HOME: folder,
          AWS_EC2_METADATA_DISABLED: 'true',
        };
        const { stdout } = await run(command, [file], { cwd: folder, env });
        expect(stdout).toMatch(/6 +hello\.txt/);
      } finally {
        rmSync(folder, { recursive: true, force: true });
      }
      await expectAccessible(page);
      await page.context().close();
    });
  });

  it('uploads a folder, pauses and resumes it, and lists what failed', async () => {
    const bucket = await store.createBucket();
    const folder = mkdtempSync(join(tmpdir(), 'tessera-folder-'));
    for (const name of ['one.txt', 'two.txt', 'three.txt', 'four.txt']) writeFileSync(join(folder, name), name);
    const { page, troubles } = await open(`#/b/${bucket}`);
    await page.getByText('No objects here yet.').waitFor();
    // Hold back all uploads, so that none is answered before the pause.
    await page.route(`**/${bucket}/**`, () => undefined);
    await page.getByLabel('Upload a folder').setInputFiles(folder);
    await page.getByText('0 of 4 uploaded').waitFor();
    await page.getByRole('button', { name: 'Pause all' }).click();
    await page.getByText('Paused: 0 of 4 uploaded').waitFor();
    await expectAccessible(page);
    await page.unroute(`**/${bucket}/**`);
    let isRefused = true;
    await page.route(/two\.txt/, (route) =>
      isRefused
        ? route.fulfill({ status: 403, body: '<Error><Code>AccessDenied</Code><Message>No</Message></Error>' })
        : route.fallback(),
    );
    await page.getByRole('button', { name: 'Resume all' }).click();
    await page.getByRole('heading', { name: '1 of 4 failed' }).waitFor();
    await page.getByText('Failed uploads').click();
    await page.getByRole('group').getByText('two.txt').waitFor();
    isRefused = false;
    await page.getByRole('button', { name: 'Retry all' }).click();
    await page.getByRole('heading', { name: 'Uploads complete' }).waitFor();
    await page.locator('.objects').getByRole('link').first().click();
    const names = () => page.locator('.objects tbody .name-cell bdi').allInnerTexts();
    await eventually(names).toEqual(['four.txt', 'one.txt', 'three.txt', 'two.txt']);
    rmSync(folder, { recursive: true, force: true });
    expect(troubles).toEqual([]);
    await page.context().close();
  });
});
