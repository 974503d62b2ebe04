import { beforeAll, describe, expect, it } from 'vitest';
import { eventually, expectAccessible, hasChromium, openTab } from '../../web/browser/chromium.ts';
import { useStage } from '../../web/browser/stage.ts';

/**
 * Two hosts as in production: the app on one, storage on the other. Chromium resolves every name under `localhost` to this machine.
 */
describe.skipIf(!hasChromium)('the storage page, with storage on its own host', () => {
  const stage = useStage();
  let key: { accessKeyId: string; secretAccessKey: string };
  const at = (host: string, path: string) => `http://${host}:${new URL(stage.server.url).port}${path}`;

  beforeAll(async () => {
    key = await stage.server.createAccessKey('somebody');
    await stage.server.stop();
    await stage.server.start({ APP_HOST: 'app.localhost', S3_HOST: 's3.localhost' });
  });

  it('creates a bucket, uploads whole and in parts, shows, tags, links and deletes across the hosts', async () => {
    const { page, troubles } = await openTab(stage.browser);
    page.on('dialog', (dialog) => void dialog.accept());
    const hosts = new Set<string>();
    page.on('request', (request) => {
      if (request.method() === 'PUT') hosts.add(new URL(request.url()).hostname);
    });
    await page.goto(at('app.localhost', '/_/storage'));
    await page.getByLabel('Access key', { exact: true }).fill(key.accessKeyId);
    await page.getByLabel('Secret access key').fill('wrong');
    await page.getByRole('button', { name: 'Sign in' }).click();
    // The page must be able to read the reason of a rejection from the other host (CORS).
    await page.getByRole('alert').getByText('The secret access key is wrong.').waitFor();
    await page.getByLabel('Secret access key').fill(key.secretAccessKey);
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByLabel('Name of the new bucket').fill('far-away');
    await page.keyboard.press('Enter');
    await page.getByRole('link', { name: 'far-away' }).click();
    await page.getByRole('link', { name: 'Settings' }).click();
    await page.getByLabel('Keep every version').check();
    await page.getByText('On: overwritten').waitFor();
    await page.getByRole('link', { name: 'Objects' }).click();
    const files = [
      { name: 'small.txt', mimeType: 'text/plain', buffer: Buffer.from('over there') },
      { name: 'parts.bin', mimeType: 'application/octet-stream', buffer: Buffer.alloc(9 * 1024 * 1024, 7) },
    ];
    await page.getByLabel('Upload files').setInputFiles(files);
    await page.getByRole('heading', { name: 'Uploads complete' }).waitFor();
    await page.getByRole('cell', { name: '9.4 MB' }).waitFor();
    await page.getByRole('link', { name: 'small.txt' }).click();
    await page.getByText('over there').waitFor();
    await expectAccessible(page);
    await page.getByLabel('Name of a tag').fill('colour');
    await page.getByLabel('Value of the tag').fill('green');
    await page.keyboard.press('Enter');
    await page.getByText('colour: green').waitFor();
    await page.getByRole('button', { name: 'Copy a link' }).click();
    const link = new URL(await page.getByLabel('Link', { exact: true }).inputValue());
    // Object bytes are shared from the app's host, as downloads in a sandbox, because only that host has the JSON APIs.
    expect(link.hostname).toBe('app.localhost');
    const download = page.waitForEvent('download');
    await page.getByRole('button', { name: 'Download', exact: true }).first().click();
    expect((await download).suggestedFilename()).toBe('small.txt');
    await page.getByRole('button', { name: 'Delete', exact: true }).click();
    await page.getByText('A delete marker').waitFor();
    expect([...hosts]).toEqual(['s3.localhost']);
    expect(troubles).toEqual([]);
    await page.context().close();
  });

  it('serves no app on the storage host, and no storage on the app host', async () => {
    const { page } = await openTab(stage.browser);
    const onStorage = await page.goto(at('s3.localhost', '/_/storage'));
    expect([onStorage?.status(), await page.locator('#app').count()]).toEqual([expect.any(Number), 0]);
    expect(onStorage?.headers()['content-type']).toContain('xml');
    const onApp = await page.goto(at('app.localhost', '/far-away/small.txt'));
    expect(onApp?.headers()['content-type']).toContain('problem+json');
    // The root of the app's host must redirect to the app.
    await page.goto(at('app.localhost', '/'));
    await eventually(() => new URL(page.url()).pathname).toBe('/_/');
    await page.context().close();
  });
});
