/**
 * `npm run release` prepares the release of the version in package.json: it dates the version's section of CHANGELOG.md, records the
 * migrations in `migrations/releases.json`, and keeps the API document, the objects as one module and the list of packages in
 * `migrations/releases/VERSION/`. Recorded migrations are never rewritten. It prints the next steps.
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

const RELEASES_PATH = join(ROOT, 'migrations/releases.json');

/** The migrations of each release, by the tag of the release. */
export const readReleases = (): Readonly<Record<string, Migrations>> => JSON.parse(readFileSync(RELEASES_PATH, 'utf8'));

const OBJECTS = 'LeaderboardShard, LeaderboardSeason, LeaderboardView, Mailbox, MailboxJobs';

/** Bundles the object classes of the checkout in `root` into one module. Tests run it under the Worker of a later version. */
export async function bundleObjects(root: string): Promise<string> {
  const { outputFiles } = await build({
    stdin: { contents: `export { ${OBJECTS} } from './workers/index.ts';`, resolveDir: root, loader: 'ts' },
    absWorkingDir: root,
    bundle: true,
    format: 'esm',
    target: 'es2024',
    conditions: ['workerd', 'worker', 'browser'],
    mainFields: ['browser', 'module', 'main'],
    loader: { '.sql': 'text' },
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
  keep('objects.js', await bundleObjects(ROOT));
  keep('sbom.cdx.json', toSbom());
}

async function main(): Promise<void> {
  const { version } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as { version: string };
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
  const today = new Date().toISOString().slice(0, 10);
  writeFileSync(changelogPath, changelog.replace(heading, `## ${version}, ${today}\n`));
  writeFileSync(RELEASES_PATH, `${JSON.stringify({ ...releases, [tag]: readMigrations() }, null, 2)}\n`);
  await keepRelease(version);
  console.log(
    `Commit the changed files, run the gate, then:\n  git tag -a ${tag} -m 'Tessera ${version}'\n  git push origin main ${tag}`,
  );
}

if (import.meta.main) await main();
