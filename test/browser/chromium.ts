/**
 * Debian's Chromium for the tests, without connections to the outside. If it is missing, the browser tests are visibly
 * skipped.
 */
import { existsSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { type Browser, type BrowserContextOptions, chromium, type Page } from 'playwright-core';
import { expect } from 'vitest';
import { hasClient } from '../support/real-client.ts';

export const hasChromium = hasClient('chromium');

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

/** The headless shell has no window code and takes half the time. `CHROMIUM` chooses another binary. */
const SHELL = '/usr/bin/chromium-headless-shell';
const WHOLE = '/usr/bin/chromium';
const EXECUTABLE = process.env.CHROMIUM ?? (existsSync(SHELL) ? SHELL : WHOLE);

export const launchChromium = (): Promise<Browser> => chromium.launch({ executablePath: EXECUTABLE, args: FLAGS });
/** Shows notifications, which the headless shell does not. */
export const launchWholeChromium = (): Promise<Browser> => chromium.launch({ executablePath: WHOLE, args: FLAGS });

/** Timeout of every wait. It does not measure speed: a longer wait means a fault on any machine. */
export const TIMEOUT_MS = 60_000;

/** `CPU_SLOWDOWN=4` makes every page four times slower. It finds tests that pass only on fast machines. */
const cpuSlowdown = Number(process.env.CPU_SLOWDOWN ?? 1);

/** Like `expect.poll`, with enough time for a busy machine. */
export const eventually = <T>(ask: () => T) => expect.poll(ask, { timeout: TIMEOUT_MS, interval: 50 });

/** A tab of one user, with its own cookies and storage. `troubles` collects what must not happen. */
export interface Tab {
  readonly page: Page;
  /** Uncaught errors, and violations of the page's own policy. */
  readonly troubles: string[];
}

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
  page.setDefaultTimeout(TIMEOUT_MS);
  return { page, troubles };
}

const PICTURES = process.env.PICTURES ?? '';
/** A longer page is pictured as far as it is seen. */
const PICTURE_HEIGHT_MAX = 6_000;
const SIZES = { desktop: { width: 1280, height: 800 }, phone: { width: 390, height: 760 } };
let pictures = 0;

/**
 * With `PICTURES=<folder>`, writes pictures of the page to it: desktop and phone, light and dark. Otherwise does nothing.
 * The page has its size and colours again afterwards.
 * @param name by default that of the test.
 */
export async function takePictures(page: Page, name = expect.getState().currentTestName ?? ''): Promise<void> {
  if (PICTURES === '') return;
  const before = page.viewportSize();
  const title = (name.split(' > ').at(-1) ?? '').replaceAll(/\W+/g, '-').slice(0, 60);
  const start = `${String(++pictures).padStart(2, '0')}-${title}`;
  for (const [size, viewport] of Object.entries(SIZES)) {
    await page.setViewportSize(viewport);
    // As text, because files without the types of browsers import this one.
    const height = await page.evaluate<number>('document.documentElement.scrollHeight');
    const fullPage = height < PICTURE_HEIGHT_MAX;
    for (const colorScheme of ['light', 'dark'] as const) {
      await page.emulateMedia({ colorScheme });
      // Until transitions of colours end.
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

/**
 * Fails on findings of axe-core that are serious or worse. axe-core is evaluated from outside, so the page's policy
 * stays unchanged.
 * @param rules the rules to check, by default all.
 */
export async function expectAccessible(page: Page, rules?: readonly string[]): Promise<void> {
  await takePictures(page);
  // In a transition between two themes, text has colours of both.
  await eventually(() => page.evaluate(IS_STILL)).toBe(true);
  await page.evaluate(AXE);
  const findings = await page.evaluate(async (only) => {
    const { axe } = globalThis as unknown as { axe: { run(options: object): Promise<{ violations: Finding[] }> } };
    const runOnly = only && { type: 'rule', values: only };
    return (await axe.run({ resultTypes: ['violations'], ...(runOnly && { runOnly }) })).violations;
  }, rules);
  const serious = findings
    .filter((finding) => finding.impact === 'serious' || finding.impact === 'critical')
    .map(
      (finding) => `${finding.id}: ${finding.nodes.map((node) => `${node.html} ${node.failureSummary}`).join(' | ')}`,
    );
  expect(serious).toEqual([]);
}
