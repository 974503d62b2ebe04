/**
 * `npm run release` prepares the release of the version in package.json, without its `-dev`: it removes that suffix, dates the
 * version's section of CHANGELOG.md, records the migrations in `migrations/releases.json`, and keeps the API document, the Worker as
 * one module and the list of packages in `migrations/releases/VERSION/`. Recorded migrations are never rewritten. It prints the next
 * steps.
 */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { build } from 'esbuild';
import { RELEASES } from '../generate/api-document.ts';
import { readServedDocument } from '../generate/api-types.ts';
import { toSbom } from '../generate/sbom.ts';
import { ROOT } from '../local/build.ts';
import { type Migrations, readMigrations } from '../local/local-state.ts';

/** Suffix of the version of a tree that is not released. */
const DEVELOPED = /-dev$/;
const RELEASES_PATH = join(ROOT, 'migrations/releases.json');

/** The migrations of each release, by the tag of the release. */
export const readReleases = (): Readonly<Record<string, Migrations>> => JSON.parse(readFileSync(RELEASES_PATH, 'utf8'));

/**
 * Bundles the Worker of the checkout in `root`, with its object classes, into one module. Tests run its objects under the Worker of a
 * later version, and the reverse.
 */
export async function bundleRelease(root: string): Promise<string> {
  const { outputFiles } = await build({
    stdin: {
      contents: "export * from './workers/index.ts'; export { default } from './workers/index.ts';",
      resolveDir: root,
      loader: 'ts',
    },
    absWorkingDir: root,
    bundle: true,
    format: 'esm',
    target: 'es2024',
    conditions: ['workerd', 'worker', 'browser'],
    mainFields: ['browser', 'module', 'main'],
    // One file has no place for modules of WebAssembly. The tests compute none of their checksums with a kept release.
    loader: { '.sql': 'text', '.wasm': 'empty' },
    external: ['node:*', 'cloudflare:*'],
    minify: true,
    write: false,
    logLevel: 'warning',
  });
  return outputFiles.map(({ text }) => text).join('');
}

/** Keeps what later versions compare themselves with. */
async function keepRelease(version: string): Promise<void> {
  const folder = join(RELEASES, version);
  mkdirSync(folder, { recursive: true });
  const keep = (name: string, text: string) => writeFileSync(join(folder, `${name}.gz`), gzipSync(text, { level: 9 }));
  keep('openapi.json', await readServedDocument());
  keep('worker.js', await bundleRelease(ROOT));
  keep('sbom.cdx.json', toSbom());
}

async function main(): Promise<void> {
  const packagePath = join(ROOT, 'package.json');
  const { version: named } = JSON.parse(readFileSync(packagePath, 'utf8')) as { version: string };
  const version = named.replace(DEVELOPED, '');
  const tag = `v${version}`;
  const releases = readReleases();
  const changelogPath = join(ROOT, 'CHANGELOG.md');
  const changelog = readFileSync(changelogPath, 'utf8');
  const heading = `## ${version}, unreleased\n`;
  if (tag in releases || !changelog.includes(heading)) {
    console.error(
      `CHANGELOG.md needs the line "${heading.trim()}", and ${tag} must be new. Set the version in package.json.`,
    );
    process.exit(1);
  }
  for (const path of [packagePath, join(ROOT, 'package-lock.json')])
    writeFileSync(path, readFileSync(path, 'utf8').replaceAll(`"version": "${named}"`, `"version": "${version}"`));
  const today = new Date().toISOString().slice(0, 10);
  writeFileSync(changelogPath, changelog.replace(heading, `## ${version}, ${today}\n`));
  writeFileSync(RELEASES_PATH, `${JSON.stringify({ ...releases, [tag]: readMigrations() }, null, 2)}\n`);
  await keepRelease(version);
  console.log(
    `Commit the changed files, run the gate, then:\n  git tag -a ${tag} -m 'Tessera ${version}'\n  git push origin main ${tag}\nThen set the next version with -dev in package.json and package-lock.json.`,
  );
}

if (import.meta.main) await main();
