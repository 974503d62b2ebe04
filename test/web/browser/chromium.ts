/** Starts Chromium for the browser tests, without connections to the outside. If it is missing, these tests are visibly skipped. */
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { type Browser, type BrowserContextOptions, chromium, type Page, type Request } from 'playwright-core';
import { expect } from 'vitest';
import { findChromium, WHOLE } from './chromium-binary.ts';

export { hasChromium, hasWholeChromium } from './chromium-binary.ts';

const FLAGS = [
  '--headless',
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
];

/** The browsers of this process, by path of their binary. The files that run in it share them. */
const running = new Map<string, Promise<Browser>>();

async function share(executablePath: string): Promise<Browser> {
  const known = await running.get(executablePath);
  if (known?.isConnected()) return known;
  const started = chromium.launch({ executablePath, args: FLAGS });
  running.set(executablePath, started);
  return started;
}

/** Starts Chromium, or returns the one that an earlier file of this process started. `closeTabs` ends its use. */
export const openChromium = (): Promise<Browser> => share(findChromium().executablePath);
/** The full Chromium, which shows notifications. The headless shell does not. */
export const openWholeChromium = (): Promise<Browser> => share(WHOLE);

/** Closes every tab. The browser runs until its process ends. */
export async function closeTabs(browser: Browser | undefined): Promise<void> {
  await Promise.all((browser?.contexts() ?? []).map((context) => context.close()));
}

/** Timeout of every wait. It is not a limit of speed: a longer wait means a fault on any machine. */
export const TIMEOUT_MS = 60_000;

/** `CPU_SLOWDOWN=4` makes every page four times slower. It finds tests that pass only on fast machines. */
const cpuSlowdown = Number(process.env.CPU_SLOWDOWN ?? 1);

/** Like `expect.poll`, with enough time for a busy machine. */
export const eventually = <T>(ask: () => T) => expect.poll(ask, { timeout: TIMEOUT_MS, interval: 50 });

/** A tab of one user, with its own cookies and storage. `troubles` collects events that must not happen, such as errors. */
export interface Tab {
  readonly page: Page;
  /** Uncaught errors of the page, and violations of the page's own policy. */
  readonly troubles: string[];
}

const openWrites = new WeakMap<Page, Set<Request>>();

/** Number of requests of a tab, other than GET, that have no answer yet. */
export const countOpenWrites = (page: Page): number => openWrites.get(page)?.size ?? 0;

export async function openTab(browser: Browser, options: BrowserContextOptions = {}): Promise<Tab> {
  const context = await browser.newContext({
    viewport: { width: 1280, height: 800 },
    locale: 'en-GB',
    timezoneId: 'Europe/Berlin',
    ...options,
  });
  const page = await context.newPage();
  if (cpuSlowdown > 1) {
    const session = await context.newCDPSession(page);
    await session.send('Emulation.setCPUThrottlingRate', { rate: cpuSlowdown });
  }
  const troubles: string[] = [];
  page.on('pageerror', (error) => troubles.push(error.message));
  page.on('console', (message) => {
    const text = message.text();
    if (message.type() === 'error' && /Content Security Policy|TrustedHTML|Uncaught/.test(text)) troubles.push(text);
  });
  const writes = new Set<Request>();
  openWrites.set(page, writes);
  page.on('request', (request) => request.method() === 'GET' || writes.add(request));
  for (const end of ['requestfinished', 'requestfailed'] as const)
    page.on(end as 'requestfinished', (request) => writes.delete(request));
  page.setDefaultTimeout(TIMEOUT_MS);
  return { page, troubles };
}

const PICTURES = process.env.PICTURES ?? '';
/** Maximum height in pixels of a picture of a whole page. Of a longer page, only the visible part is taken. */
const PICTURE_HEIGHT_MAX = 6_000;
const SIZES = { desktop: { width: 1280, height: 800 }, phone: { width: 390, height: 760 } };
let pictures = 0;

/**
 * Takes pictures of the page if `PICTURES=<folder>` is set, and otherwise does nothing: desktop and phone, light and dark. The page
 * has its size and colours again afterwards.
 * @param name of the picture, by default that of the test.
 */
export async function takePictures(page: Page, name = expect.getState().currentTestName ?? ''): Promise<void> {
  if (PICTURES === '') return;
  const before = page.viewportSize();
  const title = (name.split(' > ').at(-1) ?? '').replaceAll(/\W+/g, '-').slice(0, 60);
  const start = `${String(++pictures).padStart(2, '0')}-${title}`;
  for (const [size, viewport] of Object.entries(SIZES)) {
    await page.setViewportSize(viewport);
    // The expression is a text, because files without the browser's types import this file and would not compile.
    const height = await page.evaluate<number>('document.documentElement.scrollHeight');
    const fullPage = height < PICTURE_HEIGHT_MAX;
    for (const colorScheme of ['light', 'dark'] as const) {
      await page.emulateMedia({ colorScheme });
      // Wait until transitions of colours end.
      await page.waitForTimeout(400);
      await page.screenshot({ path: join(PICTURES, `${start}-${size}-${colorScheme}.png`), fullPage });
    }
  }
  await page.emulateMedia({ colorScheme: null });
  if (before) await page.setViewportSize(before);
}

const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

interface Finding {
  readonly id: string;
  readonly impact: string | null;
  readonly nodes: { html: string; failureSummary?: string }[];
}

const IS_STILL =
  "document.getAnimations().every((one) => one.playState !== 'running' || one.effect?.getTiming().iterations !== 1)";

/** Leaves twenty operations of the API in its page. They are alike, and axe would need half a minute for all of them. */
const TAKE_OPERATIONS_OUT = `globalThis.takenOut = [...document.querySelectorAll('article.operation')].slice(20).map((operation) => {
  const place = document.createComment('');
  operation.replaceWith(place);
  return { place, operation };
}); undefined`;
const PUT_OPERATIONS_BACK = 'for (const { place, operation } of globalThis.takenOut) place.replaceWith(operation)';

/**
 * Fails on findings of axe-core that are serious or worse. axe-core is evaluated from outside, so the page's policy
 * stays unchanged.
 * @param rules the rules to check, by default all.
 */
export async function expectAccessible(page: Page, rules?: readonly string[]): Promise<void> {
  await takePictures(page);
  // Wait for the end of transitions between themes: during one, text has a mixture of the colours of both.
  await eventually(() => page.evaluate(IS_STILL)).toBe(true);
  await page.evaluate(AXE);
  await page.evaluate(TAKE_OPERATIONS_OUT);
  const findings = await page.evaluate(async (only) => {
    const { axe } = globalThis as unknown as { axe: { run(options: object): Promise<{ violations: Finding[] }> } };
    const runOnly = only && { type: 'rule', values: only };
    return (await axe.run({ resultTypes: ['violations'], ...(runOnly && { runOnly }) })).violations;
  }, rules);
  await page.evaluate(PUT_OPERATIONS_BACK);
  const serious = findings
    .filter((finding) => finding.impact === 'serious' || finding.impact === 'critical')
    .map(
      (finding) => `${finding.id}: ${finding.nodes.map((node) => `${node.html} ${node.failureSummary}`).join(' | ')}`,
    );
  expect(serious).toEqual([]);
}
