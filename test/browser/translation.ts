/**
 * Makes a second language for the web app from the English texts, in which Greek letters replace the Latin ones. It is built as a
 * user would add it.
 */
import { execFileSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { extname, join } from 'node:path';
import type { BrowserContext } from 'playwright-core';
import { ENGLISH, toGreekTexts } from '../support/greek.ts';

const ROOT = join(import.meta.dirname, '../..');

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
