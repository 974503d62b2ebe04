/**
 * Determines whether this checkout can open local state. A file in the state folder has the hash of each migration that created the
 * state.
 */
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import tree from '../../package.json' with { type: 'json' };
import { ROOT } from './build.ts';
import { readCommit } from './commit.ts';

/** Hash of each migration, by the path of the migration, such as `mailbox/0000_initial.sql`. */
export type Migrations = Readonly<Record<string, string>>;

export const toMigrationHash = (text: string): string => createHash('sha256').update(text).digest('hex');

export function readMigrations(): Migrations {
  const folder = join(ROOT, 'migrations');
  const paths = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((path) => path.endsWith('.sql'));
  return Object.fromEntries(
    paths.sort().map((path) => [path, toMigrationHash(readFileSync(join(folder, path), 'utf8'))]),
  );
}

/**
 * Compares two sets of migrations.
 * @returns those that are missing in `current` or were rewritten since. Added migrations do not count.
 */
export const findRewritten = (earlier: Migrations, current: Migrations): string[] =>
  Object.keys(earlier).filter((path) => current[path] !== earlier[path]);

const RECORD = 'migrations.json';
/** Says which version used the state last: `{version, commit}`. State of 0.2.0 lacks it. */
const MADE_BY = 'version.json';
/** Folders in which Miniflare stores D1 databases and Durable Objects. */
const STORES = ['d1', 'do'];

/** Names the version that used the state last, and how to get it. */
function describeMaker(folder: string): string {
  const path = join(folder, MADE_BY);
  if (!existsSync(path)) return 'the version that made it';
  const { version, commit } = JSON.parse(readFileSync(path, 'utf8')) as { version: string; commit?: string };
  return commit === undefined ? version : `${version} (git checkout ${commit})`;
}

/**
 * Says why this checkout cannot open the state, and what to do.
 * @param earlier the migrations of the state; null if they are unknown.
 * @returns null if it can. Otherwise advice that loses nothing: the state is left as it is.
 */
function refuse(folder: string, earlier: Migrations | null, current: Migrations): string | null {
  const another = 'set STATE_DIR to another folder';
  const kept = 'It was left as it is.';
  if (earlier === null)
    return `The local state in ${folder} is from before 0.2.0. ${kept} Move it away (mv '${folder}' '${folder}-old'), or ${another}.`;
  const rewritten = findRewritten(earlier, current);
  if (rewritten.length === 0) return null;
  const files = rewritten.join(', ');
  if (rewritten.every((path) => current[path] === undefined))
    return `The local state in ${folder} is of a newer version than this checkout: it has the migrations ${files}. ${kept} Start it with ${describeMaker(folder)}, or ${another}.`;
  return `The local state in ${folder} was made with other migrations than this checkout has (${files}). ${kept} Start it with ${describeMaker(folder)}, or ${another}.`;
}

/**
 * Records the migrations of this checkout in the state folder.
 * @returns null if this checkout can open the state, else a sentence with the reason and the remedy.
 */
export function claimLocalState(folder: string): string | null {
  const path = join(folder, RECORD);
  const current = readMigrations();
  const isUsed = STORES.some((name) => existsSync(join(folder, name)));
  const earlier = existsSync(path) ? (JSON.parse(readFileSync(path, 'utf8')) as Migrations) : null;
  const refusal = isUsed ? refuse(folder, earlier, current) : null;
  if (refusal !== null) return refusal;
  mkdirSync(folder, { recursive: true });
  writeFileSync(path, JSON.stringify(current, null, 1));
  writeFileSync(join(folder, MADE_BY), JSON.stringify({ version: tree.version, commit: readCommit() }));
  return null;
}
