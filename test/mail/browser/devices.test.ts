/** Settings, Devices: what to type into a mail program, and the documents by which programs find it. */
import { readFileSync } from 'node:fs';
import { request } from 'node:http';
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { registerUser } from '../../support/mail/mail.ts';
import { startServer, type TestServer } from '../../support/server.ts';
import { closeTabs, expectAccessible, hasChromium, openChromium } from '../../web/browser/chromium.ts';
import { confirmWithPassword, signIn } from './mail-page.ts';

const HOST = 'mail.example.test';
/** Folder for pictures of the page, if they are wanted. */
const PICTURES = process.env.TESSERA_PICTURES;
let server: TestServer;
beforeAll(async () => {
  server = await startServer({ vars: { REGISTRATION: 'open', MAIL_BRIDGE_HOST: HOST } });
});
afterAll(() => server?.[Symbol.asyncDispose]());

/** Asks the server by another hostname. */
const askHost = (host: string, path: string) =>
  new Promise<{ status: number; text: string }>((resolve, reject) => {
    const asked = request(server.url + path, { headers: { host } }, async (answer) => {
      const chunks: Buffer[] = [];
      for await (const chunk of answer) chunks.push(chunk as Buffer);
      resolve({ status: answer.statusCode ?? 0, text: Buffer.concat(chunks).toString() });
    });
    asked.on('error', reject).end();
  });

describe('autoconfig', () => {
  it('names the bridge for hosted domains, on the host of the app and on that of the domain', async () => {
    const path = '/.well-known/autoconfig/mail/config-v1.1.xml';
    const answer = await fetch(`${server.url}${path}?emailaddress=ann%40example.test`);
    expect([answer.status, answer.headers.get('content-type')]).toEqual([200, 'application/xml; charset=utf-8']);
    const text = await answer.text();
    expect(text).toContain('<emailProvider id="example.test">');
    expect(text.match(/<hostname>mail\.example\.test<\/hostname>/g)).toHaveLength(2);
    expect(text.match(/<port>\d+<\/port>/g)).toEqual(['<port>993</port>', '<port>465</port>']);
    expect((await fetch(`${server.url}${path}?emailaddress=ann%40gmail.com`)).status).toBe(404);
    const ofDomain = await askHost('autoconfig.example.test', '/mail/config-v1.1.xml');
    expect([ofDomain.status, ofDomain.text]).toEqual([
      200,
      text.replace(/url="[^"]*"/, /url="[^"]*"/.exec(ofDomain.text)?.[0] ?? ''),
    ]);
    // The same path on another host is an object of a bucket.
    expect((await askHost('files.example.test', '/mail/config-v1.1.xml')).text).toContain('<Error>');
  });
});

describe.skipIf(!hasChromium)('the page of devices', () => {
  let browser: Browser;
  beforeAll(async () => {
    browser = await openChromium();
  });
  afterAll(async () => {
    await closeTabs(browser);
  });

  it('shows five lines, makes an app password in one step, and saves an Apple profile', async () => {
    const user = await registerUser(server, 'dev');
    const { page } = await signIn(server, browser, user, {});
    await page.goto(`${server.url}/_/mail#/settings/devices`);
    const lines = page.getByRole('region', { name: 'What to enter' });
    await lines.getByText(user.email).waitFor();
    expect(await lines.getByText(HOST).count()).toBe(2);
    await expectAccessible(page);
    await page.getByLabel('Name of the device').fill('Phone');
    await page.getByRole('button', { name: 'Create app password' }).click();
    await confirmWithPassword(page);
    await lines.getByText('It will not be shown again').waitFor();
    const password = await lines.getByText(/^app_|^tok_|^atk_/).innerText();
    const account = await server.call('GET', '/v1/imap', undefined, password);
    expect([account.status, account.body.address]).toEqual([200, user.email]);
    if (PICTURES) await page.screenshot({ path: `${PICTURES}/devices-desktop.png` });
    const saving = page.waitForEvent('download');
    await page.getByRole('button', { name: 'Download profile' }).click();
    const profile = readFileSync(await (await saving).path(), 'utf8');
    expect(profile).toContain(`<key>IncomingMailServerHostName</key><string>${HOST}</string>`);
    expect(profile).not.toContain(password);
    if (!PICTURES) return;
    await page.setViewportSize({ width: 390, height: 760 });
    await page.screenshot({ path: `${PICTURES}/devices-phone.png` });
  });
});
