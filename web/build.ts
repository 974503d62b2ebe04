/**
 * `npm run build:web`: builds every page under `web/` into `dist/assets/_/`. Scripts and styles go to `/_/assets/` with
 * a hash in their names. Fails if a page loads too much script before its first paint.
 *
 * Every `wrangler deploy` runs it (`[build]` in wrangler.toml), and so do dry runs in tests. `TESSERA_PREBUILT=1` keeps
 * the existing build.
 */
import { createHash } from 'node:crypto';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { build, type Plugin } from 'vite';
import { measurePages, printSizes } from './page-sizes.ts';
import { PREACT_ALIAS } from './preact-alias.ts';

/** Address of a page: the path of its HTML file without the extension. */
const PAGES = [
  'index.html',
  'mail.html',
  'mail-frame.html',
  'turnstile.html',
  'storage.html',
  'leaderboard.html',
  'embed/leaderboard.html',
  'operator.html',
  'docs.html',
  'not-found.html',
];

if (process.env.TESSERA_PREBUILT === '1') process.exit(0);
// Set NODE_ENV: otherwise Vite takes it from a test or a shell and ships React's development build.
process.env.NODE_ENV = 'production';

const root = import.meta.dirname;
const outDir = join(root, '../dist/assets/_');

const readShared = async (name: string): Promise<string> =>
  (await readFile(join(root, 'shared', name), 'utf8')).trim().replaceAll(/\n\s*/g, '');

/**
 * Inserts the parts that pages share: the head, and the rail with the logo as the first picture, which needs no script. The script
 * replaces it.
 */
const sharedParts: Plugin = {
  name: 'shared-parts',
  transformIndexHtml: {
    order: 'pre',
    handler: async (html) =>
      html
        .replace('<!-- shared/head.html -->', await readShared('head.html'))
        .replace(
          '<!-- rail -->',
          `<header class="rail"><span class="brand">${await readShared('icon.svg')}</span></header>`,
        ),
  },
};

const built = await build({
  root,
  base: '/_/',
  configFile: false,
  logLevel: 'warn',
  publicDir: false,
  plugins: [sharedParts],
  resolve: { alias: PREACT_ALIAS },
  build: {
    outDir,
    emptyOutDir: true,
    assetsDir: 'assets',
    // No data: URLs and no inlined files: the Content-Security-Policy allows only files under /_/assets/.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    target: 'es2023',
    rolldownOptions: { input: PAGES.map((page) => join(root, page)) },
  },
});
if (!('output' in built)) throw new Error('The build has no output.');
const { output } = built;

// File names under /_/assets/ contain a hash of the content, so browsers may cache the files without limit.
await writeFile(join(outDir, '../_headers'), '/_/assets/*\n  Cache-Control: public, max-age=31536000, immutable\n');

/** Web app manifest (W3C), which lets a browser install the mail page as an app. */
const icon = output.find((one) => /icon-[^/]*\.svg$/.test(one.fileName))?.fileName;
if (!icon) throw new Error('The build has no icon.');
const manifest = {
  id: '/_/mail',
  name: 'Tessera Mail',
  short_name: 'Mail',
  start_url: '/_/mail',
  scope: '/_/',
  display: 'standalone',
  background_color: '#faf9f6',
  theme_color: '#14695f',
  icons: [{ src: `/_/${icon}`, type: 'image/svg+xml', sizes: 'any' }],
};
await writeFile(join(outDir, 'mail.webmanifest'), JSON.stringify(manifest));

/** Files of the mail page that the service worker keeps for offline use, including those that the page loads later. */
function shellFiles(): string[] {
  const files = new Set<string>();
  const visit = (fileName: string) => {
    if (files.has(fileName)) return;
    files.add(fileName);
    const chunk = output.find((one) => one.fileName === fileName);
    if (chunk?.type !== 'chunk') return;
    const { importedCss = [], importedAssets = [] } = chunk.viteMetadata ?? {};
    for (const next of [...chunk.imports, ...chunk.dynamicImports, ...importedCss, ...importedAssets]) visit(next);
  };
  for (const page of ['mail.html', 'mail-frame.html']) {
    const html = output.find((one) => one.fileName === page);
    const source = html?.type === 'asset' ? String(html.source) : '';
    for (const match of source.matchAll(/(?:src|href)="\/_\/(assets\/[^"]+)"/g)) visit(match[1] ?? '');
  }
  return [...files].map((file) => `/_/${file}`).sort();
}

const shell = shellFiles();
// The HTML pages are hashed into the version too, because an offline copy of a page must fit its scripts and styles.
const version = createHash('sha256').update(shell.join());
for (const page of ['mail.html', 'mail-frame.html']) version.update(await readFile(join(outDir, page)));
await build({
  root,
  configFile: false,
  logLevel: 'warn',
  publicDir: false,
  define: {
    SHELL_VERSION: JSON.stringify(version.digest('hex').slice(0, 16)),
    SHELL_FILES: JSON.stringify(shell),
  },
  build: {
    outDir,
    emptyOutDir: false,
    target: 'es2023',
    lib: { entry: join(root, 'service-worker.ts'), formats: ['es'], fileName: () => 'sw.js' },
  },
});

for (const page of PAGES) {
  const html = await readFile(join(outDir, page), 'utf8');
  if (page !== 'mail-frame.html' && /<script(?![^>]*\ssrc=)|\son[a-z]+=|<style/i.test(html))
    throw new Error(`${page} holds inline script or style, which its policy forbids.`);
}
const problems = printSizes(await measurePages(outDir));
if (problems.length > 0) throw new Error(problems.join('\n'));
