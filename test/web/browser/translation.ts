/**
 * Makes a second language for the web app from the English texts, in which Greek letters replace the Latin ones. It is built as a
 * user would add it.
 */
import { execFileSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { extname, join } from 'node:path';
import type { BrowserContext, Page } from 'playwright-core';
import { ENGLISH, toGreekTexts } from '../../support/mail/greek.ts';

const ROOT = join(import.meta.dirname, '../../..');

/** Builds the web app with one more file, `languages/el.ts`. @returns the folder of its pages. */
export function buildTranslated(): string {
  const copy = mkdtempSync(join(tmpdir(), 'tessera-language-'));
  for (const folder of ['web', 'workers', 'docs']) cpSync(join(ROOT, folder), join(copy, folder), { recursive: true });
  symlinkSync(join(ROOT, 'node_modules'), join(copy, 'node_modules'));
  for (const file of ['package.json', 'tsconfig.json']) cpSync(join(ROOT, file), join(copy, file));
  const languages = join(copy, 'web/shared/texts/languages');
  mkdirSync(languages, { recursive: true });
  writeFileSync(join(languages, 'el.ts'), `export default ${JSON.stringify(toGreekTexts(ENGLISH))};\n`);
  execFileSync(process.execPath, ['web/build.ts'], { cwd: copy, env: { ...process.env, TESSERA_PREBUILT: '' } });
  return join(copy, 'dist/assets/_');
}

const TYPES: Record<string, string> = { '.js': 'text/javascript', '.css': 'text/css', '.svg': 'image/svg+xml' };

/** Serves the pages of that build instead of the server's, with the headers of the server. */
export async function serveTranslated(context: BrowserContext, pages: string): Promise<void> {
  await context.route(/\/_\//, async (route) => {
    const path = new URL(route.request().url()).pathname.replace('/_/', '');
    const asset = join(pages, path);
    if (path.startsWith('assets/')) {
      const contentType = TYPES[extname(path)] ?? 'application/octet-stream';
      return route.fulfill({ body: readFileSync(asset), contentType });
    }
    if (route.request().resourceType() !== 'document') return route.continue();
    const page = path === '' ? 'index' : path;
    const file = join(pages, `${existsSync(join(pages, `${page}.html`)) ? page : 'not-found'}.html`);
    const response = await route.fetch();
    return route.fulfill({ response, body: readFileSync(file, 'utf8') });
  });
}

/** Texts that are the same in every language: addresses, hosts, ids, units, versions, names of products, of settings and of tools. */
const NEUTRAL =
  /\S+@\S*|https?:\/\/\S+|\b[0-9a-f]{8}-[0-9a-f-]+|\b[0-9a-f]{32}\b|\b[A-Z]+(?:_[A-Z0-9]+)+\b|\b[a-z]+(?:[._:][a-z0-9]+)+\b|\b\d+(?:\.\d+)? [KMG]B\b|\b\d+\.\d+\.\d+-[a-z]+\b|\b(?:Tessera|curl|TypeScript|UTC|USD)\b/g;

/** Finds English texts that the page shows or reads out: words in Latin letters. The second language has Greek letters. */
export async function findEnglish(page: Page, neutral: readonly string[] = []): Promise<string[]> {
  const shown = await page.evaluate(() => {
    const CODE = 'code, kbd, pre, samp, script, style, [lang]:not(html), [translate="no"]';
    const found: string[] = [];
    const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    for (let node = walker.nextNode(); node; node = walker.nextNode()) {
      const parent = node.parentElement;
      if (parent && !parent.closest(CODE) && parent.closest('option, :not(:empty)')?.checkVisibility())
        found.push(node.textContent ?? '');
    }
    for (const element of document.querySelectorAll('[aria-label], [title], [placeholder], [alt], [data-tip]'))
      if (!element.closest(CODE) && element.checkVisibility())
        for (const name of ['aria-label', 'title', 'placeholder', 'alt', 'data-tip'])
          found.push(element.getAttribute(name) ?? '');
    return [...found, document.title];
  });
  return [...new Set(shown.filter((text) => isEnglish(text, neutral)).map((text) => text.trim()))];
}

/** Whether a text has words in Latin letters that are not the same in every language. */
export function isEnglish(text: string, neutral: readonly string[] = []): boolean {
  const rest = neutral.reduce((part, name) => part.replaceAll(name, ''), text).replaceAll(NEUTRAL, '');
  return /[a-z]{2}/i.test(rest);
}
