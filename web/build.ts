/**
 * `npm run build:web`: builds every page under `web/` into `dist/assets/_/`, all scripts and styles under
 * `/_/assets/` with their hash in the name, and refuses a page whose first paint costs too much script. Every `wrangler deploy` runs
 * it (wrangler.toml's `[build]`), the tests' dry runs too: with `TESSERA_PREBUILT=1` what is built stays.
 */
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import react from '@vitejs/plugin-react';
import { build, type Plugin } from 'vite';

/** Compressed script that a page may load before it can be seen. Issue 8 sets it. */
const FIRST_PAINT_BYTES_MAX = 100_000;

/** One HTML file a page; the address is its path without the extension. */
const PAGES = [
  'index.html',
  'mail.html',
  'mail-frame.html',
  'storage.html',
  'leaderboard.html',
  'embed/leaderboard.html',
  'operator.html',
  'docs.html',
];

if (process.env.TESSERA_PREBUILT === '1') process.exit(0);
// Vite takes another value from the environment (a test's, a shell's) and ships React's development build.
process.env.NODE_ENV = 'production';

const root = import.meta.dirname;
const outDir = join(root, '../dist/assets/_');

/** What the heads of all pages have in common stands in one file. */
const sharedHead: Plugin = {
  name: 'shared-head',
  transformIndexHtml: {
    order: 'pre',
    handler: async (html) =>
      html.replace('<!-- shared/head.html -->', (await readFile(join(root, 'shared/head.html'), 'utf8')).trim()),
  },
};

await build({
  root,
  base: '/_/',
  configFile: false,
  logLevel: 'warn',
  publicDir: false,
  plugins: [sharedHead, react()],
  build: {
    outDir,
    emptyOutDir: true,
    assetsDir: 'assets',
    // Nothing becomes a data: URL and nothing is written into the page: the policy allows files under /_/assets/ only.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    target: 'es2023',
    rolldownOptions: { input: PAGES.map((page) => join(root, page)) },
  },
});

// Names carry a hash of the content, so a browser may keep them for good.
await writeFile(join(outDir, '../_headers'), '/_/assets/*\n  Cache-Control: public, max-age=31536000, immutable\n');

const sizes = new Map<string, number>();
async function compressedSize(file: string): Promise<number> {
  const known = sizes.get(file);
  if (known !== undefined) return known;
  const size = gzipSync(await readFile(join(outDir, file)), { level: 9 }).length;
  sizes.set(file, size);
  return size;
}

/** Scripts that the page names itself: its entry and everything the entry imports statically (Vite preloads those). */
async function firstPaintScripts(page: string): Promise<string[]> {
  const html = await readFile(join(outDir, page), 'utf8');
  if (/<script(?![^>]*\ssrc=)|\son[a-z]+=|<style/i.test(html) && page !== 'mail-frame.html') {
    throw new Error(`${page} holds inline script or style, which its policy forbids.`);
  }
  return [...html.matchAll(/(?:src|href)="\/_\/(assets\/[^"]+\.js)"/g)].map((match) => match[1] ?? '');
}

for (const page of PAGES) {
  const files = await firstPaintScripts(page);
  let total = 0;
  for (const file of files) total += await compressedSize(file);
  console.log(`${page.padEnd(24)} ${(total / 1000).toFixed(1).padStart(6)} KB of compressed script`);
  if (total > FIRST_PAINT_BYTES_MAX) throw new Error(`${page} is over ${FIRST_PAINT_BYTES_MAX / 1000} KB.`);
}
