/**
 * `npm run bench -- web`: first paint of each page, and the time until it can be used, with an empty cache on a slow network and a
 * slow processor. A plain page without script, loaded just before under the same conditions, shows what network, browser and
 * machine cost alone.
 *
 * Network as Lighthouse's slow 4G: 1.6 Mbit/s down, 0.75 Mbit/s up, 150 ms per request; processor four times slower, both by the
 * DevTools protocol. `-- web 562` adds another latency per request: Lighthouse uses 562 ms with this protocol, which stands for the round
 * trips of TCP and TLS. The local server speaks HTTP/1.1 with at most six requests at once. The edge speaks HTTP/2 and 3.
 *
 * By design: prints and asserts nothing, because times depend on the machine. `npm run size` limits the bytes.
 */
import { createServer } from 'node:http';
import { loadavg } from 'node:os';
import { gzipSync } from 'node:zlib';
import type { Browser } from 'playwright-core';
import { importWhole, type MailUser, registerUser } from '../test/support/mail/mail.ts';
import { freePort, startServer, type TestServer } from '../test/support/server.ts';
import { openChromium } from '../test/web/browser/chromium.ts';

const ROUNDS = 5;
const MESSAGES = 120;
const PLAYERS = 200;
const FIRST_PAINT_MS_MAX = 2_000;
const LATENCY_MS = 150;
const MEGABIT_BYTES = 1_000_000 / 8;
const REPORT = 'measured ';

interface Visit {
  readonly name: string;
  readonly path: string;
  /** The page can be used once this element is visible. */
  readonly usable: string;
  readonly cookie?: string;
}

interface Times {
  readonly firstPaintMs: number;
  readonly usableMs: number;
  readonly bytes: number;
  readonly requests: number;
}

const PLAIN_PAGE = `<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Plain</title><link rel="icon" href="data:,">
<link rel="stylesheet" href="/plain.css"></head><body><h1>Plain</h1><p>A page without script.</p></body></html>`;

/** Serves a page with one style sheet, compressed like ours. */
async function startPlainPage(): Promise<{ url: string; stop(): void }> {
  const port = await freePort();
  const server = createServer((request, response) => {
    const isStyle = request.url === '/plain.css';
    response.setHeader('content-type', isStyle ? 'text/css' : 'text/html');
    response.setHeader('content-encoding', 'gzip');
    response.end(gzipSync(isStyle ? 'body { font: 16px sans-serif }' : PLAIN_PAGE));
  });
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve));
  return { url: `http://127.0.0.1:${port}`, stop: () => server.close() };
}

/** Runs in the page: reports the first paint, and when the element was first drawn. As text, because this file has no types of browsers. */
const watchFor = (selector: string): string => `{
  const times = {};
  const note = (name, ms) => {
    times[name] = ms;
    if (times.firstPaintMs && times.usableMs) console.debug(${JSON.stringify(REPORT)} + JSON.stringify(times));
  };
  new PerformanceObserver((list) => {
    for (const { name, startTime } of list.getEntries()) if (name === 'first-contentful-paint') note('firstPaintMs', startTime);
  }).observe({ type: 'paint', buffered: true });
  const look = () => {
    const found = document.querySelector(${JSON.stringify(selector)});
    if (!found || found.getBoundingClientRect().height === 0) return requestAnimationFrame(look);
    requestAnimationFrame(() => setTimeout(() => note('usableMs', performance.now())));
  };
  requestAnimationFrame(look);
}`;

async function load(browser: Browser, origin: string, visit: Visit, latencyMs: number): Promise<Times> {
  const signedIn = { name: 'tessera.mail.signed-in', value: '1' };
  const context = await browser.newContext({
    viewport: { width: 390, height: 844 },
    isMobile: true,
    hasTouch: true,
    ...(visit.cookie ? { storageState: { cookies: [], origins: [{ origin, localStorage: [signedIn] }] } } : {}),
  });
  try {
    if (visit.cookie)
      await context.addCookies([{ name: 'session', value: visit.cookie, url: origin, sameSite: 'Strict' }]);
    const page = await context.newPage();
    await page.addInitScript(watchFor(visit.usable));
    const session = await context.newCDPSession(page);
    let [bytes, requests] = [0, 0];
    session.on('Network.loadingFinished', ({ encodedDataLength }) => {
      bytes += encodedDataLength;
      requests += 1;
    });
    await session.send('Network.enable');
    await session.send('Network.emulateNetworkConditions', {
      offline: false,
      latency: latencyMs,
      downloadThroughput: 1.6 * MEGABIT_BYTES,
      uploadThroughput: 0.75 * MEGABIT_BYTES,
    });
    await session.send('Emulation.setCPUThrottlingRate', { rate: 4 });
    const report = page.waitForEvent('console', {
      predicate: (message) => message.text().startsWith(REPORT),
      timeout: 120_000,
    });
    await page.goto(origin + visit.path, { waitUntil: 'commit' });
    const times = JSON.parse((await report).text().slice(REPORT.length)) as Pick<Times, 'firstPaintMs' | 'usableMs'>;
    return { ...times, bytes, requests };
  } finally {
    await context.close();
  }
}

async function fillMailbox(server: TestServer, user: MailUser): Promise<void> {
  const letters = Array.from({ length: MESSAGES }, (_, index) => {
    const head = `From: Sender ${index} <s${index}@letters.example>\nTo: ${user.email}\nSubject: Letter ${index}\n`;
    return `From x@y.example Sat Jan 10 10:00:00 2026\n${head}Message-ID: <${index}@letters.example>\n\nText ${index}\n\n`;
  });
  const { imported } = await importWhole(server, user.token, letters.join(''));
  if (imported !== MESSAGES) throw new Error(`The import stored ${imported} messages of ${MESSAGES}.`);
}

async function fillBoard(server: TestServer): Promise<void> {
  const updates = Array.from({ length: PLAYERS }, (_, index) => ({
    user_id: `player-${index}`,
    user_name: `Player ${index}`,
    points: index * 7,
  }));
  const game = await server.call('POST', '/v1/iam/tokens', { name: 'game', scopes: ['scores:write'] });
  const { status } = await server.call('POST', '/v1/scores/batch', { updates }, game.body.token);
  if (status !== 200) throw new Error(`The scores were answered with ${status}.`);
}

const median = (values: readonly number[]): number => values.toSorted((a, b) => a - b)[values.length >> 1] ?? 0;
const range = (values: readonly number[]): string =>
  `${Math.round(median(values))} (${Math.round(Math.min(...values))}–${Math.round(Math.max(...values))})`;

export async function run([latency]: readonly string[]): Promise<void> {
  const latencyMs = Number(latency ?? LATENCY_MS);
  await using server = await startServer({ vars: { REGISTRATION: 'open' }, withoutRules: true });
  const user = await registerUser(server, 'reader');
  await fillMailbox(server, user);
  await fillBoard(server);
  const plainPage = await startPlainPage();
  const browser = await openChromium();
  const visits: Visit[] = [
    { name: 'start', path: '/_/', usable: 'main h1' },
    { name: 'mail, log-in', path: '/_/mail', usable: 'form.sign-in input[name="password"]' },
    { name: 'mail, list', path: '/_/mail', usable: '.message-row:not(.waiting)', cookie: user.token },
    { name: 'storage', path: '/_/storage', usable: 'form.sign-in input[name="secret_access_key"]' },
    { name: 'leaderboard', path: '/_/leaderboard', usable: '.board table tbody tr' },
    { name: 'operator', path: '/_/operator', usable: 'form.sign-in input[name="token"]' },
    { name: 'docs', path: '/_/docs', usable: '.docs-main article' },
  ];
  console.log(
    `${latencyMs} ms per request, 1.6 Mbit/s, processor 4 times slower, ${ROUNDS} rounds: median (range) in ms`,
  );
  console.log('page | first paint | to the plain page | usable | KB | requests | load of the machine');
  try {
    for (const visit of visits) {
      const plain: Times[] = [];
      const ours: Times[] = [];
      for (let round = 0; round < ROUNDS; round += 1) {
        plain.push(await load(browser, plainPage.url, { name: 'plain', path: '/', usable: 'h1' }, latencyMs));
        ours.push(await load(browser, server.url, visit, latencyMs));
      }
      const paints = ours.map(({ firstPaintMs }) => firstPaintMs);
      const ratio = median(paints.map((paint, round) => paint / (plain[round]?.firstPaintMs ?? 1)));
      const [last] = ours.slice(-1);
      const note = median(paints) > FIRST_PAINT_MS_MAX ? ' | over 2 s' : '';
      console.log(
        [
          visit.name,
          range(paints),
          `${ratio.toFixed(2)} of ${range(plain.map(({ firstPaintMs }) => firstPaintMs))}`,
          range(ours.map(({ usableMs }) => usableMs)),
          Math.round((last?.bytes ?? 0) / 1000),
          last?.requests,
          loadavg()[0]?.toFixed(1),
        ].join(' | ') + note,
      );
    }
  } finally {
    await browser.close();
    plainPage.stop();
  }
}
