/**
 * `npm run build:web`: builds every page under `web/` into `dist/assets/_/`. Scripts and styles go to `/_/assets/` with
 * a hash in their names. Fails if a page loads too much script before its first paint.
 *
 * Every `wrangler deploy` runs it (`[build]` in wrangler.toml), and so do dry runs in tests. `TESSERA_PREBUILT=1` keeps
 * the existing build.
 */
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import react from '@vitejs/plugin-react';
import { build, type Plugin } from 'vite';

/** Limit of the compressed script that a page loads before its first paint. */
const FIRST_PAINT_BYTES_MAX = 100_000;

/** One HTML file per page. Its address is the path without the extension. */
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
// Without this, Vite takes NODE_ENV from a test or a shell and ships React's development build.
process.env.NODE_ENV = 'production';

const root = import.meta.dirname;
const outDir = join(root, '../dist/assets/_');

/** Inserts the part of the head that all pages share. */
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
    // No data: URLs and no inlined files: the page's policy allows only files under /_/assets/.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    target: 'es2023',
    rolldownOptions: { input: PAGES.map((page) => join(root, page)) },
  },
});

// Names contain a hash of the content, so browsers may cache the files without limit.
await writeFile(join(outDir, '../_headers'), '/_/assets/*\n  Cache-Control: public, max-age=31536000, immutable\n');

const sizes = new Map<string, number>();
async function compressedSize(file: string): Promise<number> {
  const known = sizes.get(file);
  if (known !== undefined) return known;
  const size = gzipSync(await readFile(join(outDir, file)), { level: 9 }).length;
  sizes.set(file, size);
  return size;
}

/** Scripts that a page loads first: its entry and the entry's static imports, which Vite preloads. */
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
