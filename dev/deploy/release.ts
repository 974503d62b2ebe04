/**
 * `npm run release` prepares the release of the version in package.json: it dates the version's section of CHANGELOG.md and records
 * the migrations in `migrations/releases.json`. Recorded migrations are never rewritten. It prints the next steps.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from '../local/build.ts';
import { type Migrations, readMigrations } from '../local/local-state.ts';

const RELEASES_PATH = join(ROOT, 'migrations/releases.json');

/** The migrations of each release, by the tag of the release. */
export const readReleases = (): Readonly<Record<string, Migrations>> => JSON.parse(readFileSync(RELEASES_PATH, 'utf8'));

function main(): void {
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
  console.log(
    `Commit the two files, run the gate, then:\n  git tag -a ${tag} -m 'Tessera ${version}'\n  git push origin main ${tag}`,
  );
}

if (import.meta.main) main();
