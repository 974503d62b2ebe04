/**
 * Connects real clients to `/v1/mcp` by its address: the protocol's own client and mcp-remote, each with its own OAuth. A person
 * approves in Chromium.
 */
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import {
  Client,
  type OAuthClientInformationMixed,
  type OAuthClientProvider,
  type OAuthTokens,
  StreamableHTTPClientTransport,
  UnauthorizedError,
} from '@modelcontextprotocol/client';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type MailUser, registerUser } from '../../support/mail/mail.ts';
import { startServer, type TestServer } from '../../support/server.ts';
import { closeTabs, expectAccessible, hasChromium, openChromium } from '../../web/browser/chromium.ts';
import { confirmWithPassword, signIn } from '../browser/mail-page.ts';

/** The id that the client believes to have. The test serves its document on loopback, where the server may fetch it. */
const PUBLIC_ID = 'https://agent.example/client.json';

/** A program on the person's device: publishes its document, and waits for the browser to come back with a code. */
async function startProgram(redirects: (url: string) => string[]) {
  let onCallback: (parameters: URLSearchParams) => void = () => undefined;
  const server: Server = createServer((request, response) => {
    const url = new URL(request.url ?? '', origin);
    if (url.pathname === '/client.json') {
      const document = {
        client_id: `${origin}/client.json`,
        client_name: 'Test agent',
        redirect_uris: redirects(origin),
      };
      response.setHeader('content-type', 'application/json').end(JSON.stringify(document));
    } else {
      onCallback(url.searchParams);
      response.end('You may close this page.');
    }
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    clientId: `${origin}/client.json`,
    redirectUri: `${origin}/callback`,
    nextCallback: () => new Promise<URLSearchParams>((resolve) => (onCallback = resolve)),
    [Symbol.asyncDispose]: () => new Promise<void>((resolve) => server.close(() => resolve())),
  };
}

/** Keeps what the client's own OAuth code wants kept. */
function createProvider(
  redirectUrl: string,
): OAuthClientProvider & { asked: URL | null; kept: OAuthTokens | undefined } {
  let verifier = '';
  let information: OAuthClientInformationMixed | undefined;
  return {
    asked: null,
    kept: undefined,
    redirectUrl,
    clientMetadataUrl: PUBLIC_ID,
    clientMetadata: { client_name: 'Test agent', redirect_uris: [redirectUrl] },
    clientInformation: () => information,
    saveClientInformation(given) {
      information = given;
    },
    tokens() {
      return this.kept;
    },
    saveTokens(tokens) {
      this.kept = tokens;
    },
    redirectToAuthorization(url) {
      this.asked = url;
    },
    saveCodeVerifier(given) {
      verifier = given;
    },
    codeVerifier: () => verifier,
  };
}

describe.skipIf(!hasChromium)('programs that connect by address', () => {
  let server: TestServer;
  let browser: Browser;
  let person: MailUser;
  beforeAll(async () => {
    [server, browser] = await Promise.all([startServer(), openChromium()]);
    person = await registerUser(server, `ann-${crypto.randomUUID()}`);
  });
  afterAll(async () => {
    await closeTabs(browser);
    await server?.[Symbol.asyncDispose]();
  });

  async function approveIn(page: Page, url: string): Promise<void> {
    await page.goto(url);
    await page.getByText('It calls itself “Test agent”').waitFor();
    await page.getByText('a program on this device (').waitFor();
    await expectAccessible(page);
    const boxes = page.getByRole('checkbox');
    expect(await boxes.evaluateAll((all) => all.map((box) => 'checked' in box && box.checked))).toEqual([
      true,
      true,
      false,
      false,
    ]);
    await page.getByRole('button', { name: 'Connect', exact: true }).click();
    await confirmWithPassword(page);
    await page.getByText('You may close this page.').waitFor();
  }

  it('the protocol’s own client finds the way, connects, refreshes, and ends with the connection', async () => {
    await using program = await startProgram((origin) => [`${origin.replace(/:\d+$/, '')}/callback`]);
    // The client knows only HTTPS ids; the server of the test fetches the same document from loopback.
    const swap = (text: string) => text.replaceAll(encodeURIComponent(PUBLIC_ID), encodeURIComponent(program.clientId));
    const localFetch: typeof fetch = (input, init) =>
      fetch(input, init?.body ? { ...init, body: swap(String(init.body)) } : init);
    const authProvider = createProvider(program.redirectUri);
    const url = new URL(`${server.url}/v1/mcp`);
    const transport = () => new StreamableHTTPClientTransport(url, { authProvider, fetch: localFetch });
    const client = new Client({ name: 'test', version: '1' });
    const first = transport();
    await expect(client.connect(first)).rejects.toThrow(UnauthorizedError);
    expect(authProvider.asked?.searchParams.get('client_id')).toBe(PUBLIC_ID);
    expect(authProvider.asked?.searchParams.get('resource')).toBe(url.href);

    const { page } = await signIn(server, browser, person);
    const callback = program.nextCallback();
    await approveIn(page, swap(authProvider.asked?.href ?? ''));
    await first.finishAuth(await callback);
    expect(authProvider.kept?.scope).toBe('mail:read mail:draft');
    await client.connect(transport());
    expect((await client.listTools()).tools.map(({ name }) => name)).toContain('send_draft');

    // An access token that expired: the client refreshes by itself.
    const before = authProvider.kept?.refresh_token;
    authProvider.saveTokens({ ...(authProvider.kept as OAuthTokens), access_token: 'tok_expired' });
    const again = new Client({ name: 'test', version: '1' });
    await again.connect(transport());
    expect(authProvider.kept?.refresh_token).not.toBe(before);
    const whoami = await again.callTool({ name: 'whoami', arguments: {} });
    expect(JSON.stringify(whoami)).toContain(person.email);

    await page.goto(`${server.url}/_/mail#/settings/agents`);
    await page.getByText('connected by 127.0.0.1').waitFor();
    await page.getByRole('button', { name: 'End Test agent' }).click();
    await page.getByText('connected by 127.0.0.1').waitFor({ state: 'detached' });
    await expect(again.callTool({ name: 'whoami', arguments: {} })).rejects.toThrow();
  });

  it('a person who is not signed in signs in first, and may refuse', async () => {
    await using program = await startProgram((origin) => [`${origin}/callback`]);
    const page = await (await browser.newContext()).newPage();
    const query = new URLSearchParams({
      response_type: 'code',
      client_id: program.clientId,
      redirect_uri: program.redirectUri,
      code_challenge: 'A'.repeat(43),
      code_challenge_method: 'S256',
      state: 'x y',
    });
    await page.goto(`${server.url}/v1/oauth/authorize?${query}`);
    await page.getByLabel('Address').fill(person.email);
    await page.getByLabel('Password').fill('correct horse battery');
    await page.getByRole('button', { name: 'Sign in', exact: true }).click();
    const callback = program.nextCallback();
    await page.getByRole('button', { name: 'Do not connect' }).click();
    const answer = Object.fromEntries(await callback);
    expect(answer).toEqual({ error: 'access_denied', state: 'x y', iss: server.url });

    query.set('response_type', 'token');
    await page.goto('about:blank');
    await page.goto(`${server.url}/v1/oauth/authorize?${query}`);
    await page.getByRole('button', { name: 'Back to 127.0.0.1' }).waitFor();
    query.set('redirect_uri', 'https://evil.example/');
    await page.goto('about:blank');
    await page.goto(`${server.url}/v1/oauth/authorize?${query}`);
    await page.getByRole('alert').getByText('The program cannot be connected.').waitFor();
  });
});
